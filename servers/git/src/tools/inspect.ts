import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { reply, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { repositoryArgument, resolveRevision, revisionArgument } from '../arguments.ts'
import type { Repository } from '../repositories.ts'
import type { ServerContext } from '../server-context.ts'
import { clip, decode, itemsWithin, maxListBytes, oneLine, records } from '../text.ts'

/* Tools that show the state of a repository: git_repositories, git_status, git_branch, git_tag. */

/** Hints of a tool that changes nothing and reaches nothing beyond the repositories. */
export const readOnly = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const

export const gitRepositories = (server: ServerContext) =>
  tool({
    title: 'List repositories',
    description:
      'List the Git repositories that the other tools can use, by the name to pass in "repository".',
    output: z.object({
      repositories: z.array(z.object({ name: z.string(), path: z.string() })),
      complete: z.boolean().describe('Whether all folders were searched'),
    }),
    annotations: readOnly,
    async run(_args, ctx) {
      const found = await server.repositories.list(ctx)
      const lines = found.repositories.map(({ name, path }) => `${oneLine(name)}\t${oneLine(path)}`)
      if (lines.length === 0) lines.push('There is no Git repository in the allowed folders.')
      if (!found.complete) lines.push('There may be more: name a repository by its path to use it.')
      return reply({ content: lines.join('\n'), structured: found })
    },
  })

const maxEntries = 1_000
const maxStatusBytes = 4_194_304

const changes: Readonly<
  Record<string, 'added' | 'copied' | 'deleted' | 'modified' | 'renamed' | 'type changed'>
> = { A: 'added', C: 'copied', D: 'deleted', M: 'modified', R: 'renamed', T: 'type changed' }

const statusEntryShape = z.object({
  path: z.string(),
  change: z.enum(['added', 'copied', 'deleted', 'modified', 'renamed', 'type changed', 'unknown']),
  oldPath: z.string().optional(),
})

export const statusShape = z.object({
  repository: z.string(),
  branch: z.string().nullable().describe('Null if HEAD is detached'),
  commit: z.string().nullable().describe('Null before the first commit'),
  upstream: z.string().optional(),
  ahead: z.number().optional(),
  behind: z.number().optional(),
  operation: z.string().optional().describe('A merge, rebase or other operation that is not finished'),
  clean: z.boolean(),
  staged: z.array(statusEntryShape),
  unstaged: z.array(statusEntryShape),
  untracked: z.array(z.string()),
  conflicts: z.array(z.string()),
  complete: z.boolean().describe('Whether all changed files are listed'),
  ignoredConfiguration: z
    .array(z.string())
    .describe('Configuration of the repository that names programs, which this server does not run'),
})

export type Status = z.infer<typeof statusShape>

export const gitStatus = (server: ServerContext) =>
  tool({
    title: 'Status',
    description:
      'Show the branch, and the staged, unstaged, untracked and conflicting files of the working tree.',
    input: z.object({
      repository: repositoryArgument,
      untracked: z
        .enum(['normal', 'all', 'no'])
        .default('normal')
        .describe('Untracked files: folders as one entry, all files, or none'),
    }),
    output: statusShape,
    annotations: readOnly,
    async run({ repository: name, untracked }, ctx) {
      const repository = await server.repositories.open(ctx, name)
      const status = await readStatus(repository, untracked, ctx.signal)
      return reply({ content: statusText(status), structured: status })
    },
  })

/** Reads the status of a working tree. */
export async function readStatus(
  repository: Repository,
  untracked: 'normal' | 'all' | 'no',
  signal: AbortSignal,
): Promise<Status> {
  const { stdout, truncated } = await repository.run(
    [
      'status',
      '--porcelain=v2',
      '-z',
      '--branch',
      `--untracked-files=${untracked}`,
      '--ignore-submodules=dirty',
      '--find-renames',
    ],
    { signal, limit: maxStatusBytes },
  )
  const status: Status = {
    repository: repository.name,
    branch: null,
    commit: null,
    clean: true,
    staged: [],
    unstaged: [],
    untracked: [],
    conflicts: [],
    complete: !truncated,
    ignoredConfiguration: [...repository.ignored],
  }
  const operation = await unfinishedOperation(repository)
  if (operation !== undefined) status.operation = operation
  const parts = records(stdout).map(decode)
  let entries = 0
  let bytes = 0
  for (let at = 0; at < parts.length; at++) {
    const line = parts[at] ?? ''
    if (line.startsWith('# ')) {
      readHeader(status, line)
      continue
    }
    status.clean = false
    const oldPath = line.startsWith('2 ') ? parts[++at] : undefined
    bytes += Buffer.byteLength(JSON.stringify([line, oldPath]))
    if (++entries <= maxEntries && bytes <= maxListBytes) readEntry(status, line, oldPath)
    else status.complete = false
  }
  return status
}

function readHeader(status: Status, line: string): void {
  const [, key, ...values] = line.split(' ')
  const value = values.join(' ')
  if (key === 'branch.oid' && value !== '(initial)') status.commit = value
  if (key === 'branch.head' && value !== '(detached)') status.branch = value
  if (key === 'branch.upstream') status.upstream = value
  if (key !== 'branch.ab') return
  status.ahead = Number(values[0])
  status.behind = Math.abs(Number(values[1]))
}

/** Fields before the path in an entry of porcelain version 2. */
const fieldsBeforePath: Readonly<Record<string, number>> = { '1': 8, '2': 9, u: 10, '?': 1, '!': 1 }

function readEntry(status: Status, line: string, oldPath: string | undefined): void {
  const kind = line[0] ?? ''
  const words = line.split(' ')
  const path = words.slice(fieldsBeforePath[kind] ?? 1).join(' ')
  if (kind === '?') status.untracked.push(path)
  if (kind === 'u') status.conflicts.push(path)
  if (kind !== '1' && kind !== '2') return
  const [index = '.', tree = '.'] = words[1] ?? ''
  const rename = oldPath === undefined ? {} : { oldPath }
  if (index !== '.') status.staged.push({ path, change: changes[index] ?? 'unknown', ...rename })
  if (tree !== '.') status.unstaged.push({ path, change: changes[tree] ?? 'unknown' })
}

const operations: readonly (readonly [file: string, name: string])[] = [
  ['MERGE_HEAD', 'merge'],
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['BISECT_LOG', 'bisect'],
]

/** The operation that waits to be continued in a working tree, if there is one. */
export async function unfinishedOperation(repository: Repository): Promise<string | undefined> {
  for (const [file, name] of operations) {
    const exists = await lstat(join(repository.gitDirectory, file)).then(
      () => true,
      () => false,
    )
    if (exists) return name
  }
  return undefined
}

export function statusText(status: Status): string {
  const { branch, commit, upstream, ahead = 0, behind = 0, operation, ignoredConfiguration } = status
  const lines = [
    branch === null ? `HEAD detached at ${commit?.slice(0, 10)}` : `On branch ${oneLine(branch)}`,
  ]
  if (commit === null) lines.push('No commits yet')
  if (upstream !== undefined) lines.push(`Upstream ${oneLine(upstream)}: ${ahead} ahead, ${behind} behind`)
  if (operation !== undefined) lines.push(`A ${operation} is in progress`)
  const section = (title: string, entries: readonly string[]): void => {
    if (entries.length > 0)
      lines.push('', `${title} (${entries.length}):`, ...entries.map((entry) => `  ${entry}`))
  }
  const entry = ({ path, change, oldPath }: z.infer<typeof statusEntryShape>): string =>
    `${change}: ${oldPath === undefined ? '' : `${oneLine(oldPath)} -> `}${oneLine(path)}`
  section('Conflicts', status.conflicts.map(oneLine))
  section('Staged', status.staged.map(entry))
  section('Not staged', status.unstaged.map(entry))
  section('Untracked', status.untracked.map(oneLine))
  if (status.clean) lines.push('', 'The working tree is clean.')
  if (!status.complete) lines.push('', 'There are more changed files, which are not shown.')
  if (ignoredConfiguration.length > 0) {
    lines.push(
      '',
      `The repository configures programs that this server does not run: ${ignoredConfiguration.join(', ')}`,
    )
  }
  return lines.join('\n')
}

const refLimit = z.number().int().min(1).max(1000).default(100).describe('The most names to return')

const branchShape = z.object({
  name: z.string(),
  commit: z.string(),
  date: z.string(),
  subject: z.string(),
  current: z.boolean(),
  remote: z.boolean(),
  upstream: z.string().optional(),
})

export const gitBranch = (server: ServerContext) =>
  tool({
    title: 'List branches',
    description: 'List branches, those with the latest commits first.',
    input: z.object({
      repository: repositoryArgument,
      type: z.enum(['local', 'remote', 'all']).default('local'),
      contains: revisionArgument.optional().describe('Only branches that contain this commit'),
      notContains: revisionArgument.optional().describe('Only branches that do not contain this commit'),
      limit: refLimit,
    }),
    output: z.object({ branches: z.array(branchShape), complete: z.boolean() }),
    annotations: readOnly,
    async run({ repository: name, type, contains, notContains, limit }, ctx) {
      const repository = await server.repositories.open(ctx, name)
      const roots = {
        local: ['refs/heads/'],
        remote: ['refs/remotes/'],
        all: ['refs/heads/', 'refs/remotes/'],
      }
      const rows = await listRefs(repository, ctx.signal, {
        fields: [
          'refname',
          'objectname',
          'committerdate:iso-strict',
          'contents:subject',
          'HEAD',
          'upstream:short',
        ],
        roots: roots[type],
        sort: '-committerdate',
        contains,
        notContains,
        limit,
      })
      const branches = itemsWithin(rows.slice(0, limit), maxListBytes).map(
        ([ref = '', commit = '', date = '', subject = '', head, upstream]) => ({
          name: ref.replace(/^refs\/(?:heads|remotes)\//, ''),
          commit,
          date,
          subject,
          current: head === '*',
          remote: ref.startsWith('refs/remotes/'),
          ...(upstream ? { upstream } : {}),
        }),
      )
      const complete = branches.length === rows.length
      const lines = branches.map(
        ({ name: branch, commit, date, subject, current }) =>
          `${current ? '*' : ' '} ${oneLine(branch)} ${commit.slice(0, 10)} ${date.slice(0, 10)} ${oneLine(subject)}`,
      )
      if (lines.length === 0) lines.push('No branches.')
      if (!complete)
        lines.push(`[There are more than these ${lines.length}. Raise "limit", or narrow with "contains".]`)
      return reply({ content: lines.join('\n'), structured: { branches, complete } })
    },
  })

const tagShape = z.object({
  name: z.string(),
  commit: z.string(),
  date: z.string(),
  subject: z.string(),
  annotated: z.boolean(),
})

export const gitTag = (server: ServerContext) =>
  tool({
    title: 'List tags',
    description: 'List tags, the newest first.',
    input: z.object({
      repository: repositoryArgument,
      contains: revisionArgument.optional().describe('Only tags that contain this commit'),
      limit: refLimit,
    }),
    output: z.object({ tags: z.array(tagShape), complete: z.boolean() }),
    annotations: readOnly,
    async run({ repository: name, contains, limit }, ctx) {
      const repository = await server.repositories.open(ctx, name)
      const rows = await listRefs(repository, ctx.signal, {
        fields: [
          'refname',
          'objectname',
          '*objectname',
          'creatordate:iso-strict',
          'contents:subject',
          'objecttype',
        ],
        roots: ['refs/tags/'],
        sort: '-creatordate',
        contains,
        limit,
      })
      const tags = itemsWithin(rows.slice(0, limit), maxListBytes).map(
        ([ref = '', object = '', peeled, date = '', subject = '', type]) => ({
          name: ref.replace(/^refs\/tags\//, ''),
          commit: peeled || object,
          date,
          subject,
          annotated: type === 'tag',
        }),
      )
      const complete = tags.length === rows.length
      const lines = tags.map(
        ({ name: tag, commit, date, subject }) =>
          `${oneLine(tag)} ${commit.slice(0, 10)} ${date.slice(0, 10)} ${oneLine(subject)}`,
      )
      if (lines.length === 0) lines.push('No tags.')
      if (!complete)
        lines.push(`[There are more than these ${lines.length}. Raise "limit", or narrow with "contains".]`)
      return reply({ content: lines.join('\n'), structured: { tags, complete } })
    },
  })

interface RefQuery {
  /** Fields of `git for-each-ref`. */
  fields: readonly string[]
  roots: readonly string[]
  sort: string
  contains?: string | undefined
  notContains?: string | undefined
  /** Maximum number of refs. One more is returned if there are more. */
  limit: number
}

/** The fields of each ref. */
export async function listRefs(
  repository: Repository,
  signal: AbortSignal,
  { fields, roots, sort, contains, notContains, limit }: RefQuery,
): Promise<string[][]> {
  const args = ['for-each-ref', `--sort=${sort}`, `--count=${limit + 1}`]
  args.push(`--format=${fields.map((field) => `%(${field})`).join('%00')}%00`)
  if (contains !== undefined) args.push(`--contains=${await resolveRevision(repository, contains, signal)}`)
  if (notContains !== undefined)
    args.push(`--no-contains=${await resolveRevision(repository, notContains, signal)}`)
  const { stdout } = await repository.run([...args, ...roots], { signal })
  const parts = records(stdout).map(decode)
  const rows: string[][] = []
  for (let at = 0; at + fields.length <= parts.length; at += fields.length) {
    // Each line but the first begins with the line break of the one before.
    const [first = '', ...rest] = parts.slice(at, at + fields.length)
    rows.push([first.replace(/^\n/, ''), ...rest].map((field) => clip(field, 1_000)))
  }
  return rows
}
