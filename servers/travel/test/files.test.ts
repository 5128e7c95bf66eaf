import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { namesOf, WriteError, writeBelow } from '../src/files/write.ts'

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'travel-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

describe('a path inside a root', () => {
  test('is made of names inside the folder, or is rejected', () => {
    const part = fc.oneof(
      fc.constantFrom('..', '.', '', 'a', '/', '\\', '~', 'C:', '\0', 'con', '%2e%2e'),
      fc.string(),
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const path = parts.join('/')
        try {
          const { folders, file } = namesOf(path)
          for (const name of [...folders, file]) {
            expect(name).not.toMatch(/^\.{0,2}$|[/\\:\0]/)
          }
          expect([...folders, file].join('/')).toBe(path)
        } catch (error) {
          if (!(error instanceof WriteError)) throw error
        }
      }),
      { numRuns: 2000 },
    )
  })

  test.each([
    ['a right-to-left override', 'plan-\u202edm.exe.md'],
    ['a left-to-right mark', 'pl\u200ean.md'],
    ['an isolate', 'pl\u2066an.md'],
    ['an Arabic letter mark', 'pl\u061can.md'],
    ['a zero-width space', 'pl\u200ban.md'],
    ['a soft hyphen', 'pl\u00adan.md'],
    ['a byte order mark', '\ufeffplan.md'],
    ['a tag character', 'plan\u{e0041}.md'],
    ['a variation selector', 'plan\ufe0f.md'],
    ['a Hangul filler', 'plan\u3164.md'],
    ['a line separator', 'plan\u2028.md'],
    ['a next-line control', 'plan\u0085.md'],
    ['half a surrogate pair', 'plan\ud800.md'],
    ['a no-break space at its end', 'folder\u00a0/plan.md'],
    ['a space at its start', ' plan.md'],
    ['a dot at its end', 'folder./plan.md'],
    ['an alternate data stream', 'plan.md:hidden.md'],
    ['a device of Windows', 'NUL.md'],
    ['a device of Windows behind spaces', 'con .md'],
    ['a device of Windows with two extensions', 'aux.tar.md'],
    ['a device of Windows with a superscript digit', 'COM\u00b9.md'],
    ['a console of Windows', 'CONOUT$.md'],
    ['a device of Windows as a folder', 'lpt9/plan.md'],
  ])('is refused with %s in a name', (_, path) => {
    expect(() => namesOf(path)).toThrow(WriteError)
  })

  test.each(['Zürich → 京都, Mai.md', 'console.md', 'com10.md', 'a b/c.d.md'])('may be %s', (path) => {
    expect(namesOf(path).file).toBe(path.split('/').at(-1))
  })
})

describe('several writers of one file that does not exist', () => {
  test('with overwrite: false exactly one of them writes it, and the others are refused', async () => {
    const root = folder()
    for (let round = 0; round < 50; round++) {
      const path = `plan-${round}.md`
      const outcomes = await Promise.allSettled(
        [0, 1, 2, 3].map((n) => writeBelow(root, path, `writer ${n}`, { overwrite: false })),
      )
      const winners = outcomes.flatMap(({ status }, n) => (status === 'fulfilled' ? [n] : []))
      expect(winners).toHaveLength(1)
      expect(readFileSync(join(root, path), 'utf8')).toBe(`writer ${winners[0]}`)
      for (const one of outcomes) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(WriteError)
    }
    expect(readdirSync(root)).toHaveLength(50)
  })

  test('with overwrite: true all of them write it, and one of them reports that there was none before', async () => {
    const root = folder()
    const outcomes = await Promise.all(
      [0, 1, 2, 3].map((n) => writeBelow(root, 'plan.md', `writer ${n}`, { overwrite: true })),
    )
    expect(outcomes.filter(({ replaced }) => !replaced)).toHaveLength(1)
    expect(readdirSync(root)).toEqual(['plan.md'])
  })

  test('a file that exists is not changed without overwrite', async () => {
    const root = folder()
    writeFileSync(join(root, 'plan.md'), 'mine')
    await expect(writeBelow(root, 'plan.md', 'theirs', { overwrite: false })).rejects.toThrow(
      /exists already/,
    )
    expect(readFileSync(join(root, 'plan.md'), 'utf8')).toBe('mine')
    expect(readdirSync(root)).toEqual(['plan.md'])
  })
})

describe.runIf(process.platform === 'linux')(
  'writing while another process swaps a folder for a link',
  () => {
    test('never writes outside the root', async () => {
      const base = folder()
      const root = join(base, 'root')
      const outside = join(base, 'outside')
      mkdirSync(join(root, 'real'), { recursive: true })
      mkdirSync(outside)
      symlinkSync(outside, join(root, 'link'))
      const rounds = 400
      let written = 0
      let refused = 0
      let swapping = true
      const swap = async (): Promise<void> => {
        while (swapping) {
          renameSync(join(root, 'real'), join(root, 'target'))
          await new Promise(setImmediate)
          renameSync(join(root, 'target'), join(root, 'real'))
          renameSync(join(root, 'link'), join(root, 'target'))
          await new Promise(setImmediate)
          renameSync(join(root, 'target'), join(root, 'link'))
        }
      }
      const swapper = swap()
      for (let i = 0; i < rounds; i++) {
        await writeBelow(root, 'target/plan.md', `round ${i}`, { overwrite: true }).then(
          () => written++,
          (error: unknown) => {
            if (!(error instanceof WriteError)) throw error
            refused++
          },
        )
      }
      swapping = false
      await swapper
      expect(readdirSync(outside)).toEqual([])
      expect(written + refused).toBe(rounds)
      expect(written).toBeGreaterThan(0)
      expect(refused).toBeGreaterThan(0)
    })
  },
)
