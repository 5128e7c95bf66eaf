import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { clis, labelOf } from '../../scorecard/clis.ts'
import { renderPage } from '../../scorecard/render-page.ts'
import { readResults, scriptError } from '../../scorecard/results.ts'
import { capabilities, scripts } from '../../scorecard/scripts/index.ts'

const page = readFileSync(new URL('../../docs/scorecard.md', import.meta.url), 'utf8')
const { cells } = readResults()

describe('docs/scorecard.md', () => {
  test('matches scorecard/results.json', () => {
    expect(page).toBe(renderPage(scripts, readResults()))
  })

  test('has a row for every script, under the heading of its capability', () => {
    expect(new Set(scripts.map(({ id }) => id)).size).toBe(scripts.length)
    for (const { id, capability } of scripts) {
      const [before = '', after] = page.split(`| \`${id}\`: `)
      expect(after, id).toBeDefined()
      expect(before.slice(before.lastIndexOf('\n## ')), id).toContain(`\n## ${capability}. `)
    }
  })

  test('covers every capability', () => {
    expect(new Set(scripts.map(({ capability }) => capability))).toEqual(new Set(Object.keys(capabilities)))
  })
})

describe('scorecard/results.json', () => {
  test('has a verdict for every command line and script, and no others', () => {
    expect(Object.keys(cells)).toEqual(scripts.map(({ id }) => id))
    for (const { id } of scripts) expect(Object.keys(cells[id] ?? {}), id).toEqual(clis)
  })

  test('has the observation for every ✗, and the source for every —', () => {
    for (const [id, row] of Object.entries(cells)) {
      for (const [cli, verdict] of Object.entries(row)) {
        const text =
          verdict.kind === 'no' ? verdict.note : verdict.kind === 'absent' ? verdict.source : undefined
        if (text !== undefined) expect(text.trim().length, `${id}, ${cli}`).toBeGreaterThan(10)
      }
    }
  })

  test('has no script that failed with an error of its own, without a verdict', () => {
    const broken = Object.entries(cells).filter(([, row]) =>
      Object.values(row).some((verdict) => verdict.kind === 'no' && verdict.note.startsWith(scriptError)),
    )
    expect(broken.map(([id]) => id)).toEqual([])
  })

  test('has exactly the sources of the scripts for every —', () => {
    for (const script of scripts) {
      for (const cli of clis) {
        const check = script.checks[cli]
        if (typeof check !== 'function')
          expect(cells[script.id]?.[cli], `${script.id}, ${labelOf(cli)}`).toEqual(check)
      }
    }
  })
})
