import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect } from 'vitest'
import { WriteError, writeBelow } from '../../../servers/travel/src/files/write.ts'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const swapper = programFile(new URL('swapper.ts', import.meta.url))
const content = 'not yours'
const side = 4
const naiveTries = 200

/** What is asked to be written; each of it leads out of the root half of the time. */
const paths = ['folder/plan.md', 'deep/inner/plan.md', 'parent/child/plan.md', 'file.md'] as const

/** A root with four places that change all the time between what they are and a link that leads out. */
function place() {
  const base = mkdtempSync(join(tmpdir(), 'races-'))
  const [root, outside] = [join(base, 'root'), join(base, 'outside')]
  for (const folder of ['folder', 'deep/inner', 'parent/child'])
    mkdirSync(join(root, folder), { recursive: true })
  putOutside(outside)
  writeFileSync(join(root, 'file.md'), 'mine')
  const pairs: [string, string][] = [
    ['folder', outside],
    ['deep/inner', outside],
    ['parent', outside],
    ['file.md', join(outside, 'plan.md')],
  ]
  const swapped = pairs.flatMap(([name, target], n) => {
    symlinkSync(target, join(root, `link-${n}`))
    return [join(root, name), join(root, `link-${n}`)]
  })
  return { base, root, outside, swapped }
}

/** Files where the links lead, and nothing else. */
function putOutside(outside: string): void {
  rmSync(outside, { recursive: true, force: true })
  for (const folder of ['', 'child', 'inner']) {
    mkdirSync(join(outside, folder), { recursive: true })
    writeFileSync(join(outside, folder, 'plan.md'), content)
  }
}

/** Everything below a folder, with the contents of files. */
function contentOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return lstatSync(path).isFile() ? `${path}: ${readFileSync(path, 'utf8')}` : path
    })
    .sort()
}

async function swapping(paths: readonly string[]): Promise<{ stop: () => Promise<void> }> {
  const child: ChildProcess = spawn(process.execPath, [swapper, ...paths], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  if (child.stdout !== null) await once(child.stdout, 'data')
  return {
    async stop() {
      child.stdin?.end()
      expect((await exited)[0]).toBe(0)
    },
  }
}

/** What writers do who look first: the path is judged, then used. */
async function naively(root: string, path: string, text: string): Promise<void> {
  const folder = await realpath(dirname(join(root, path)))
  if (folder !== root && !folder.startsWith(`${root}/`)) throw new WriteError('It leads out')
  if (lstatSync(join(root, path), { throwIfNoEntry: false })?.isSymbolicLink())
    throw new WriteError('It is a link')
  await writeFile(join(root, path), text)
}

// Elsewhere than on Linux a folder that is open has no path of its own, and each name is only looked at before the next.
describe.runIf(process.platform === 'linux')('the files of the travel server', () => {
  campaign(
    {
      id: 'racing-writes',
      chapter: 'Files',
      claim:
        'Nothing is written outside a root while folders, parents and files in it are swapped with links',
      trial: 'write',
      trials: { test: 200, change: 2000, long: 1_000_000 },
      longMinutes: 240,
    },
    async ({ trials, long, seed, measured }) => {
      const random = new Random(seed)
      const { base, root, outside, swapped } = place()
      const before = contentOf(outside)
      const pairs = long ? [0, 2, 4, 6].map((at) => swapped.slice(at, at + 2)) : [swapped]
      const swappers = await Promise.all(pairs.map(swapping))
      try {
        let [written, refused, left] = [0, 0, trials]
        const writer = async (): Promise<void> => {
          while (left-- > 0) {
            try {
              await writeBelow(root, random.pick(paths), `write ${left}`, { overwrite: true })
              written++
            } catch (error) {
              if (!(error instanceof WriteError)) throw error
              refused++
            }
            if (left % 500 === 0) expect(contentOf(outside)).toEqual(before)
          }
        }
        await Promise.all(Array.from({ length: side }, writer))
        expect(contentOf(outside)).toEqual(before)
        expect(Math.min(written, refused)).toBeGreaterThan(trials / 100)
        measured('written', written, 'files')

        let escapes = 0
        for (let n = 0; n < naiveTries; n++) {
          await naively(root, random.pick(paths), `escape ${n}`).catch(() => {})
          if (contentOf(outside).join() === before.join()) continue
          escapes++
          putOutside(outside)
        }
        measured(`escapes of a writer that looks first, of ${naiveTries}`, escapes, 'writes')
      } finally {
        for (const one of swappers) await one.stop()
        rmSync(base, { recursive: true })
      }
    },
  )
})

describe('several writers of one new file', () => {
  campaign(
    {
      id: 'exclusive-writes',
      chapter: 'Files',
      claim: 'Of several writers that create the same file without overwrite, exactly one succeeds',
      trial: 'race of four writers',
      trials: { test: 100, change: 1000, long: 100_000 },
    },
    async ({ trials }) => {
      const root = mkdtempSync(join(tmpdir(), 'races-'))
      try {
        for (let trial = 0; trial < trials; trial++) {
          const outcomes = await Promise.allSettled(
            Array.from({ length: side }, (_, n) =>
              writeBelow(root, 'plan.md', `writer ${n}`, { overwrite: false }),
            ),
          )
          const winners = outcomes.flatMap(({ status }, n) => (status === 'fulfilled' ? [n] : []))
          expect(winners, `trial ${trial}`).toHaveLength(1)
          expect(contentOf(root), `trial ${trial}`).toEqual([
            `${join(root, 'plan.md')}: writer ${winners[0]}`,
          ])
          rmSync(join(root, 'plan.md'))
        }
      } finally {
        rmSync(root, { recursive: true })
      }
    },
  )
})
