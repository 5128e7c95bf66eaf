import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readJson } from '@jackfield/sdk/internal'
import { expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../../packages/host/src/log/store/store.ts'
import { frozenCopy, isRecord, type JsonRecord } from '../../../packages/host/src/shared/json.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

/** Pieces of names that are written with an escape, and some that are not. */
const letters: [string, ...string[]] = ['\\', '"', '\n', '\t', '\0', '\u001f', '\ud800', 'a', 'b', '/', 'é']

campaign(
  {
    id: 'stored-names',
    chapter: 'Parsers',
    claim:
      'Stored data of one server is read back as it was written, whatever keys earlier texts of other servers contain',
    trial: 'value with names that JSON escapes, kept in a file and read again',
    trials: { test: 800, change: 2_500, long: 200_000 },
  },
  (campaignRun) => {
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-stored-'))
    const { activity, close } = openStore(join(folder, 'jackfield.db'))
    onTestFinished(() => {
      close()
      rmSync(folder, { recursive: true })
    })
    let misread = 0
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      const random = new Random(campaignRun.seed + trial * 7919)
      const entry = { server: named(random, 2), result: [named(random, 1)] }
      const written = JSON.stringify(entry)
      const id = activity.begin({ kind: 'call', server: 's', summary: 's: x', cause: null, detail: entry })
      const { detail } = activity.end(id, { outcome: 'ok', durationMs: 1, detail: {} })()
      if (JSON.stringify(JSON.parse(written)) !== written) misread++
      expect(JSON.stringify(detail), `trial ${trial} is read back`).toBe(written)
      expect(JSON.stringify(readJson(written)), `trial ${trial} is read`).toBe(written)
      expect(JSON.stringify(frozenCopy(entry)), `trial ${trial} is copied`).toBe(written)
    }
    campaignRun.measured('texts that JSON.parse alone reads wrong', misread, '')
  },
)

it('is restored as it was given after another text had a similar name', () => {
  const { activity } = openStore(':memory:')
  const strip = (detail: JsonRecord): unknown => {
    const id = activity.begin({ kind: 'call', server: 's', summary: 's: x', cause: null, detail })
    return activity.end(id, { outcome: 'ok', durationMs: 1, detail: {} })().detail
  }
  for (let i = 0; i < 3; i++) strip({ pay: 1, 'to\\': 'eve' })
  const read = strip({ pay: 1, 'to\n': 'ann' })
  expect(isRecord(read) && Object.keys(read)).toEqual(['pay', 'to\n'])
})

/** An object with names of few letters, so that later ones begin like earlier ones. */
function named(random: Random, depth: number): JsonRecord {
  const members = Array.from({ length: random.between(1, 3) }, (_, at) => {
    const name = Array.from({ length: random.between(1, 2) }, () => random.pick(letters)).join('')
    const inner = depth > 0 && random.fraction() < 0.5
    return [name, inner ? named(random, depth - 1) : at] as const
  })
  return Object.fromEntries(members)
}
