import { z } from 'zod'
import type { Repository } from './repositories.ts'
import { count, decode, fitting, listBytes, oneLine, type Page, pageOf, records } from './text.ts'

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

const mostFiles = 1_000
const overviewBytes = 2_097_152

const statuses: Readonly<Record<string, ChangedFile['status']>> = {
  A: 'added',
  C: 'copied',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  T: 'type changed',
  U: 'unmerged',
}

/** Nothing that the repository or its user configures changes the form of a difference, or runs a program for it. */
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
    { signal, limit: overviewBytes },
  )
  const all = parseOverview(records(stdout))
  const files = fitting(all.slice(0, mostFiles), listBytes)
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

/** Reads `--raw --numstat -z`: all raw records first, then those with numbers. */
function parseOverview(parts: readonly Buffer[]): ChangedFile[] {
  const files = new Map<string, ChangedFile>()
  for (let at = 0; at < parts.length; ) {
    const head = decode(parts[at++] ?? Buffer.alloc(0))
    if (head.startsWith(':')) {
      const letter = head.split(' ')[4]?.[0] ?? ''
      const first = decode(parts[at++] ?? Buffer.alloc(0))
      const moved = letter === 'R' || letter === 'C'
      const path = moved ? decode(parts[at++] ?? Buffer.alloc(0)) : first
      const status = statuses[letter] ?? 'unknown'
      // An unmerged file has a second record for its version in the working tree.
      if (files.get(path)?.status === 'unmerged') continue
      files.set(path, { path, ...(moved ? { oldPath: first } : {}), status, binary: false })
      continue
    }
    const [added = '', deleted = '', ...rest] = head.split('\t')
    const given = rest.join('\t')
    if (given === '') at++
    const file = files.get(given === '' ? decode(parts[at++] ?? Buffer.alloc(0)) : given)
    if (file === undefined) continue
    if (added === '-') file.binary = true
    else Object.assign(file, { additions: Number(added), deletions: Number(deleted) })
  }
  return [...files.values()]
}

/** The changed files as text, one on each line, with a sum at the end. */
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

/** What to do for the rest of a page; empty at the end. */
export function continuation({ nextOffset, bytes }: Page, offset: number): string {
  if (nextOffset === undefined) return ''
  return `\n[Truncated: bytes ${offset} to ${offset + bytes} of more. Continue with offset ${nextOffset}, or name fewer paths.]`
}
