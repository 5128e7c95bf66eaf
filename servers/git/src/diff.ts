import { z } from 'zod'
import type { Repository } from './repositories.ts'
import { count, decode, itemsWithin, maxListBytes, oneLine, type Page, pageOf, records } from './text.ts'

/*
 * Differences between two states of a repository: the changed files, and a page of the patch. Used by git_diff, git_show, the
 * question before a commit, and the prompts.
 */

export const changedFileShape = z.object({
  path: z.string(),
  oldPath: z.string().optional().describe('The path before a rename or copy'),
  status: z.enum([
    'added',
    'copied',
    'deleted',
    'modified',
    'renamed',
    'type changed',
    'unmerged',
    'unknown',
  ]),
  additions: z.number().optional(),
  deletions: z.number().optional(),
  binary: z.boolean(),
})

export type ChangedFile = z.infer<typeof changedFileShape>

/** What is compared. */
export interface Comparison {
  /** Arguments of `git diff`: `--cached`, ids of commits or trees, or none for the working tree and the index. */
  between: readonly string[]
  /** Paths relative to the top. Empty: all. */
  paths: readonly string[]
}

const maxFiles = 1_000
const maxOverviewBytes = 2_097_152

const statuses: Readonly<Record<string, ChangedFile['status']>> = {
  A: 'added',
  C: 'copied',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  T: 'type changed',
  U: 'unmerged',
}

/** Options with which configuration can neither change the format of a difference nor run a program for it. */
const fixedOptions = [
  'diff',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--no-relative',
  '--ignore-submodules=dirty',
  '--submodule=short',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--find-renames',
]

/** The changed files, at most 1000. */
export async function changedFiles(
  repository: Repository,
  { between, paths }: Comparison,
  signal: AbortSignal,
): Promise<{ files: ChangedFile[]; complete: boolean }> {
  const { stdout, truncated } = await repository.run(
    [...fixedOptions, '--raw', '--numstat', '-z', ...between, '--', ...paths],
    { signal, limit: maxOverviewBytes },
  )
  const all = parseOverview(records(stdout))
  const files = itemsWithin(all.slice(0, maxFiles), maxListBytes)
  return { files, complete: !truncated && files.length === all.length }
}

/** A page of the patch. */
export async function patch(
  repository: Repository,
  { between, paths }: Comparison,
  page: { offset: number; limit: number; contextLines: number },
  signal: AbortSignal,
): Promise<Page> {
  const { offset, limit, contextLines } = page
  const { stdout, truncated } = await repository.run(
    [...fixedOptions, '--patch', `--unified=${contextLines}`, ...between, '--', ...paths],
    { signal, skip: offset, limit: limit + 1 },
  )
  return pageOf(stdout, offset, limit, truncated)
}

/** Parses `--raw --numstat -z`: first all raw records, then those with line counts. */
function parseOverview(parts: readonly Buffer[]): ChangedFile[] {
  const files = new Map<string, ChangedFile>()
  for (let at = 0; at < parts.length; ) {
    const head = decode(parts[at++] ?? Buffer.alloc(0))
    if (head.startsWith(':')) {
      const letter = head.split(' ')[4]?.[0] ?? ''
      const first = decode(parts[at++] ?? Buffer.alloc(0))
      const isMoved = letter === 'R' || letter === 'C'
      const path = isMoved ? decode(parts[at++] ?? Buffer.alloc(0)) : first
      const status = statuses[letter] ?? 'unknown'
      // An unmerged file has a second record for its version in the working tree.
      if (files.get(path)?.status === 'unmerged') continue
      files.set(path, { path, ...(isMoved ? { oldPath: first } : {}), status, binary: false })
      continue
    }
    const [added = '', deleted = '', ...rest] = head.split('\t')
    const plainPath = rest.join('\t')
    // An empty path is followed by the old and the new path of a rename.
    if (plainPath === '') at++
    const file = files.get(plainPath === '' ? decode(parts[at++] ?? Buffer.alloc(0)) : plainPath)
    if (file === undefined) continue
    if (added === '-') file.binary = true
    else Object.assign(file, { additions: Number(added), deletions: Number(deleted) })
  }
  return [...files.values()]
}

/** The changed files as text, one on each line, with totals at the end. */
export function filesText(files: readonly ChangedFile[], complete = true): string {
  if (files.length === 0) return 'No changes.'
  const lines = files.map((file) => {
    const name =
      file.oldPath === undefined ? oneLine(file.path) : `${oneLine(file.oldPath)} -> ${oneLine(file.path)}`
    const size = file.binary ? 'binary' : `+${file.additions ?? 0} -${file.deletions ?? 0}`
    return `${file.status}: ${name} (${size})`
  })
  const sum = (of: 'additions' | 'deletions'): number =>
    files.reduce((total, file) => total + (file[of] ?? 0), 0)
  const all = `${count(files.length, 'file')}${complete ? '' : ' or more'}, +${sum('additions')} -${sum('deletions')}`
  return [...lines, all].join('\n')
}

/** A note about how to continue after a page; empty after the last one. */
export function continuation({ nextOffset, bytes }: Page, offset: number): string {
  if (nextOffset === undefined) return ''
  return `\n[Truncated: bytes ${offset} to ${offset + bytes} of more. Continue with offset ${nextOffset}, or name fewer paths.]`
}
