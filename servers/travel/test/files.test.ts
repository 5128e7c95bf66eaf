import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
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
  test('is made of names that stay inside, or is refused', () => {
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
})

describe.runIf(process.platform === 'linux')('writing while someone swaps a folder for a link', () => {
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
})
