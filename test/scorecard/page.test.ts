import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { capabilities } from '../../scorecard/capabilities.ts'
import { pageOf } from '../../scorecard/page.ts'
import { brokeOff, readResults } from '../../scorecard/results.ts'
import { scripts } from '../../scorecard/scripts/index.ts'
import { labelOf, tools } from '../../scorecard/tools.ts'

const page = readFileSync(new URL('../../docs/scorecard.md', import.meta.url), 'utf8')
const { cells } = readResults()

describe('docs/scorecard.md', () => {
  test('matches scorecard/results.json', () => {
    expect(page).toBe(pageOf(scripts, readResults()))
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
  test('has a verdict on every tool in every script, and no other', () => {
    expect(Object.keys(cells)).toEqual(scripts.map(({ id }) => id))
    for (const { id } of scripts) expect(Object.keys(cells[id] ?? {}), id).toEqual(tools)
  })

  test('has the observation for every ✗, and the source for every —', () => {
    for (const [id, row] of Object.entries(cells)) {
      for (const [tool, verdict] of Object.entries(row)) {
        const pageText =
          verdict.kind === 'no' ? verdict.note : verdict.kind === 'absent' ? verdict.source : undefined
        if (pageText !== undefined) expect(pageText.trim().length, `${id}, ${tool}`).toBeGreaterThan(10)
      }
    }
  })

  test('has no interrupted script, which would have no verdict', () => {
    const broken = Object.entries(cells).filter(([, row]) =>
      Object.values(row).some((verdict) => verdict.kind === 'no' && verdict.note.startsWith(brokeOff)),
    )
    expect(broken.map(([id]) => id)).toEqual([])
  })

  test('marks a feature as absent only if the script, or running the tool, showed that', () => {
    for (const script of scripts) {
      for (const tool of tools) {
        const check = script.tools[tool]
        if (typeof check !== 'function')
          expect(cells[script.id]?.[tool], `${script.id}, ${labelOf(tool)}`).toEqual(check)
      }
    }
  })
})
