import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connect } from '@jackfield/sdk/client'
import { createFilesystemServer } from '@jackfield/server-filesystem'
import { describe, expect } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { campaign } from '../../../../test/torture/campaign.ts'
import { Random } from '../../../../test/torture/random.ts'

const swapper = programFile(new URL('swapper.ts', import.meta.url))
const atOnce = 8
/** Calls continue up to this multiple of the trials while few of them raced a swap: the swapper may get little of the CPU. */
const maxTrials = 100
/** Leaks of a naive lookup that show that the campaign finds them, and the tries in which it has to. */
const naiveLeaks = 20
const naiveTries = 5_000_000
/** What only files outside of the boundary have: in their content, their names and their size. */
const secret = 'OUTSIDE'
const secretBytes = 47_111
/** The size as a number of its own: the random names of temporary files contain its digits by chance. */
const secretSize = new RegExp(`(?<![0-9a-f])${secretBytes}(?![0-9a-f])`)

/** A boundary in which a directory, a parent, a file and two links change all the time between inside and outside. */
function makeBoundary() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'jackfield-swaps-')))
  const [inside, outside] = [join(base, 'inside'), join(base, 'outside')]
  for (const folder of ['folder', 'parent/child', 'target']) {
    mkdirSync(join(inside, folder), { recursive: true })
    writeFileSync(join(inside, folder, 'a.txt'), 'inside')
  }
  writeFileSync(join(inside, 'a.txt'), 'inside')
  writeOutside(outside)
  symlinkSync(outside, join(inside, 'link-0'))
  symlinkSync(outside, join(inside, 'link-1'))
  symlinkSync(join(outside, 'a.txt'), join(inside, 'link-2'))
  const swaps = [
    ['swap', join(inside, 'folder'), join(inside, 'link-0')],
    ['swap', join(inside, 'parent'), join(inside, 'link-1')],
    ['swap', join(inside, 'a.txt'), join(inside, 'link-2')],
    ['flip', join(inside, 'door'), 'target', outside],
    ['flip', join(inside, 'file'), 'target/a.txt', join(outside, 'a.txt')],
  ]
  symlinkSync('target', join(inside, 'door'))
  symlinkSync('target/a.txt', join(inside, 'file'))
  return { base, inside, outside, swaps: swaps.flat() }
}

function writeOutside(outside: string): void {
  for (const folder of ['', 'child']) {
    mkdirSync(join(outside, folder), { recursive: true })
    writeFileSync(join(outside, folder, 'a.txt'), secret.padEnd(secretBytes, '.'))
    writeFileSync(join(outside, folder, `${secret}.txt`), secret)
  }
}

/** Everything below a folder, with what the files contain. */
function contentOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return lstatSync(path).isFile() ? `${path}: ${readFileSync(path, 'utf8')}` : path
    })
    .sort()
}

async function startSwapper(swaps: readonly string[]): Promise<{ stop: () => Promise<void> }> {
  const child = spawn(process.execPath, [swapper, ...swaps], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  await once(child.stdout, 'data')
  return {
    async stop() {
      child.stdin.end()
      expect((await exited)[0]).toBe(0)
    },
  }
}

const files = ['folder/a.txt', 'parent/child/a.txt', 'door/a.txt', 'file', 'a.txt'] as const
/** What may be moved: not `a.txt`, which the swapper exchanges itself. */
const moved = ['folder/a.txt', 'parent/child/a.txt', 'door/a.txt', 'file'] as const
const folders = ['folder', 'parent/child', 'door', 'parent'] as const

type Request = [tool: string, args: Record<string, unknown>]

/** One request of a random kind; the tool `read` is a read of a resource. */
function request(random: Random, n: number): Request {
  const [path, folder] = [random.pick(files), random.pick(folders)]
  return random.pick<Request>([
    ['read_text_file', { path }],
    ['read_text_file', { path, tail: 1 }],
    ['read_media_file', { path }],
    ['read_multiple_files', { paths: [...files] }],
    ['get_file_info', { path }],
    ['list_directory', { path: folder }],
    ['list_directory_with_sizes', { path: folder }],
    ['directory_tree', { path: '.' }],
    ['search_files', { path: folder, pattern: '**' }],
    ['search_content', { path: '.', pattern: '.', maxMatches: 20 }],
    ['search_content', { path, pattern: secret, literal: true }],
    ['write_file', { path, content: `write ${n.toString(36)}` }],
    ['write_file', { path: `door/new-${n % 10}`, content: `write ${n.toString(36)}` }],
    ['edit_file', { path, edits: [{ oldText: 'e', newText: 'E' }] }],
    ['create_directory', { path: `door/made-${n % 10}/deep` }],
    ['move_file', { source: random.pick(moved), destination: `door/moved-${n % 10}` }],
    ['delete_file', { path: `door/${random.pick(['a.txt', `new-${n % 10}`, `moved-${n % 10}`])}` }],
    ['delete_directory', { path: random.pick([`door/made-${n % 10}`, 'door/child']), recursive: true }],
    ['read', { uri: '' }],
  ])
}

/** Checks the real path and then uses the path, as is usual. */
async function readNaively(inside: string, path: string): Promise<string> {
  const real = await realpath(path)
  if (!real.startsWith(`${inside}/`)) throw new Error('Outside')
  return readFile(path, 'utf8')
}

// Elsewhere than on Linux an open directory has no path of its own, and paths are checked before and after an operation only.
describe.runIf(process.platform === 'linux')('the files of the filesystem server', () => {
  campaign(
    {
      id: 'filesystem-swaps',
      chapter: 'Files',
      claim:
        'The filesystem server accesses nothing outside its boundary while directories, files and links in it are replaced by links that lead out',
      trial: 'call of a random tool',
      trials: { test: 500, change: 100_000, long: 1_000_000 },
      changeMinutes: 18,
      longMinutes: 240,
    },
    async ({ trials, seed, measured, setTrials }) => {
      const random = new Random(seed)
      const { base, inside, outside, swaps } = makeBoundary()
      const before = contentOf(outside)
      const server = await createFilesystemServer({ directories: [inside], confirm: 'never' })
      const client = await connect(server)
      const swapping = await startSwapper(swaps)
      try {
        const counts = { done: 0, outside: 0, other: 0 }
        const needed = Math.ceil(trials / 50)
        const isEnough = () => Math.min(counts.done, counts.outside) > needed
        let calls = 0
        const caller = async (): Promise<void> => {
          while (calls < trials || (!isEnough() && calls < trials * maxTrials)) {
            const [tool, args] = request(random, ++calls)
            const uri = pathToFileURL(join(inside, random.pick(files))).href
            const result =
              tool === 'read'
                ? await client.read(uri, { cache: 'bypass' }).then(
                    (found) => ({ isError: false, ...found }),
                    (error: Error) => ({ isError: true, message: error.message }),
                  )
                : await client.call(tool, args)
            const text = JSON.stringify(result)
            // The name of the target of a link is part of the error; what is at the target must not be.
            const leaked = text.includes(secret) || secretSize.test(text)
            expect(leaked, `${tool} ${JSON.stringify(args)} returned ${text.slice(0, 2_000)}`).toBe(false)
            if (result.isError !== true) counts.done++
            else if (text.includes('Access denied')) counts.outside++
            else counts.other++
            if (calls % 500 === 0) expect(contentOf(outside)).toEqual(before)
          }
        }
        await Promise.all(Array.from({ length: atOnce }, caller))
        expect(contentOf(outside)).toEqual(before)
        expect(Math.min(counts.done, counts.outside)).toBeGreaterThan(needed)
        setTrials(calls)
        measured('calls that succeeded', counts.done, '')
        measured('refused for leading out', counts.outside, '')
        measured('failed otherwise, such as for a missing file', counts.other, '')

        // The same campaign finds the fault in a lookup that has it.
        let [leaks, tries] = [0, 0]
        const reader = async (): Promise<void> => {
          while (leaks < naiveLeaks && tries < naiveTries) {
            tries++
            const text = await readNaively(inside, join(inside, random.pick(files))).catch(() => '')
            if (text.includes(secret)) leaks++
          }
        }
        await Promise.all(Array.from({ length: atOnce }, reader))
        expect(leaks).toBeGreaterThanOrEqual(naiveLeaks)
        measured('leaks of a lookup that checks the real path first', (100 * leaks) / tries, '% of reads')
      } finally {
        await swapping.stop()
        await client.close()
        rmSync(base, { recursive: true })
      }
    },
  )
})
