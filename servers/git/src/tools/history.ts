import { createHash } from 'node:crypto'
import { reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import {
  isId,
  offsetArgument,
  pathArgument,
  pathIn,
  pathsArgument,
  pathsIn,
  repositoryArgument,
  resolveRange,
  resolveRevision,
  revisionArgument,
} from '../arguments.ts'
import { commitFormat, commitShape, commitText, parseCommits, readCommit } from '../commits.ts'
import { changedFileShape, changedFiles, continuation, filesText, patch } from '../diff.ts'
import type { Repository } from '../repositories.ts'
import type { ServerContext } from '../server-context.ts'
import { binaryCheckBytes, clip, decode, isBinary, itemsWithin, oneLine } from '../text.ts'
import { entryAt } from './contents.ts'
import { readOnly } from './inspect.ts'

/* Tools that show history: git_log, git_show, git_blame. */

const dateForms =
  /^(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?|\d{1,4} (?:minute|hour|day|week|month|year)s? ago)$/

const dateArgument = z
  .string()
  .regex(dateForms, 'must be a date (2026-05-31), a time (2026-05-31T12:00:00Z) or an age (3 weeks ago)')

const logInput = z.object({
  repository: repositoryArgument,
  revision: revisionArgument
    .default('HEAD')
    .describe('Where to begin: a branch, tag or commit, or a range such as v1..main'),
  paths: pathsArgument,
  author: z.string().min(1).max(200).optional().describe('Text in the name or e-mail address of the author'),
  grep: z.string().min(1).max(200).optional().describe('Text in the message'),
  since: dateArgument.optional().describe('Only commits after this time'),
  until: dateArgument.optional().describe('Only commits before this time'),
  limit: z.number().int().min(1).max(200).default(20).describe('Commits on one page'),
  cursor: z
    .string()
    .max(4096)
    .optional()
    .describe('The nextCursor of the page before, with the same arguments'),
})

const cursorShape = z.object({
  /** A hash of the arguments of the page before. */
  query: z.string(),
  /** The ids that the revision named then, so that new commits do not move the pages. */
  from: z.array(z.string().refine((text) => isId(text.replace(/^\^/, '')))).max(20),
  skip: z.number().int().nonnegative(),
})

type Cursor = z.infer<typeof cursorShape>

export const gitLog = (server: ServerContext) =>
  tool({
    title: 'Log',
    description:
      'List commits, newest first, optionally only those of a path, author, time or message. Text filters are literal and ignore case.',
    input: logInput,
    output: z.object({ commits: z.array(commitShape), nextCursor: z.string().optional() }),
    annotations: readOnly,
    async run(args, ctx) {
      const repository = await server.repositories.open(ctx, args.repository)
      const { revision, paths = [], author, grep, since, until, limit } = args
      const query = hashOf([repository.path, revision, paths, author, grep, since, until])
      const cursor = args.cursor === undefined ? undefined : readCursor(args.cursor, query)
      const from = cursor?.from ?? (await resolveRange(repository, revision, ctx.signal))
      const skip = cursor?.skip ?? 0
      const { stdout } = await repository.run(
        [
          'log',
          '--no-show-signature',
          '--no-notes',
          '--no-color',
          '--no-follow',
          '--fixed-strings',
          '--regexp-ignore-case',
          ...commitFormat,
          `--skip=${skip}`,
          `--max-count=${limit + 1}`,
          ...(author === undefined ? [] : [`--author=${author}`]),
          ...(grep === undefined ? [] : [`--grep=${grep}`]),
          ...(since === undefined ? [] : [`--since=${timeOf(since, '00:00:00')}`]),
          ...(until === undefined ? [] : [`--until=${timeOf(until, '23:59:59')}`]),
          ...from,
          '--',
          ...(await pathsIn(repository, paths)),
        ],
        { signal: ctx.signal, limit: 8_388_608 },
      )
      const found = parseCommits(stdout, 1_000)
      const commits = itemsWithin(found.slice(0, limit), server.maxOutputBytes)
      const more = found.length > commits.length
      const nextCursor = more ? writeCursor({ query, from, skip: skip + commits.length }) : undefined
      const text = commits.map(commitText)
      if (text.length === 0) text.push('No commits.')
      if (nextCursor !== undefined) text.push(`[There are more. Continue with cursor ${nextCursor}]`)
      return reply({
        content: text.join('\n\n'),
        structured: { commits, ...(nextCursor === undefined ? {} : { nextCursor }) },
      })
    },
  })

/** A time for git. To a date alone git would add the current time of day. */
function timeOf(date: string, time: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(date) ? `${date}T${time}` : date
}

function hashOf(query: unknown): string {
  return createHash('sha256').update(JSON.stringify(query)).digest('base64url').slice(0, 16)
}

function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

function readCursor(text: string, query: string): Cursor {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    value = undefined
  }
  const { data } = cursorShape.safeParse(value)
  if (data?.query === query) return data
  throw new ToolError(
    'This cursor does not belong to these arguments. Pass those of the page before together with its nextCursor, or begin without a cursor.',
  )
}

const contextArgument = z
  .number()
  .int()
  .min(0)
  .max(100)
  .default(3)
  .describe('Unchanged lines around each change')

export const gitShow = (server: ServerContext) =>
  tool({
    title: 'Show a commit',
    description:
      'Show one commit: author, message, changed files and patch. The changes of a merge are those to its first parent.',
    input: z.object({
      repository: repositoryArgument,
      revision: revisionArgument.default('HEAD').describe('A commit, branch or tag'),
      paths: pathsArgument,
      contextLines: contextArgument,
      stat: z.boolean().default(false).describe('Only the changed files, without the patch'),
      offset: offsetArgument,
    }),
    output: z.object({
      commit: commitShape,
      files: z.array(changedFileShape),
      filesComplete: z.boolean(),
      patch: z.string().optional(),
      nextOffset: z.number().optional(),
    }),
    annotations: readOnly,
    async run({ repository: name, revision, paths = [], contextLines, stat, offset }, ctx) {
      const repository = await server.repositories.open(ctx, name)
      const id = await resolveRevision(repository, revision, ctx.signal)
      const commit = await readCommit(repository, id, ctx.signal)
      const parent = commit.parents[0] ?? (await emptyTree(repository, ctx.signal))
      const comparison = { between: [parent, id], paths: await pathsIn(repository, paths) }
      const { files, complete } = await changedFiles(repository, comparison, ctx.signal)
      const head = [commitText(commit), filesText(files, complete)]
      const structured = { commit, files, filesComplete: complete }
      if (stat) return reply({ content: head.join('\n\n'), structured })
      const limit = server.maxOutputBytes
      const page = await patch(repository, comparison, { offset, limit, contextLines }, ctx.signal)
      return reply({
        content: [...head, page.text + continuation(page, offset)].join('\n\n'),
        structured: {
          ...structured,
          patch: page.text,
          ...(page.nextOffset === undefined ? {} : { nextOffset: page.nextOffset }),
        },
      })
    },
  })

/** The id of the tree without files, in the hash function of the repository. */
export function emptyTree(repository: Repository, signal: AbortSignal): Promise<string> {
  return repository.text(['hash-object', '-t', 'tree', '--stdin'], { signal })
}

const maxLines = 1_000
const maxLineChars = 500

const blameLineShape = z.object({
  line: z.number(),
  commit: z.string(),
  author: z.string(),
  date: z.string(),
  subject: z.string(),
  text: z.string(),
})

type BlameLine = z.infer<typeof blameLineShape>

export const gitBlame = (server: ServerContext) =>
  tool({
    title: 'Blame',
    description: `Show which commit last changed each line of a file, at most ${maxLines} lines at once.`,
    input: z.object({
      repository: repositoryArgument,
      path: pathArgument.describe('The file, relative to the top of the repository'),
      revision: revisionArgument.default('HEAD').describe('The version of the file'),
      startLine: z.number().int().min(1).default(1),
      endLine: z.number().int().min(1).optional().describe('Default: 200 lines from startLine'),
    }),
    output: z.object({ lines: z.array(blameLineShape), complete: z.boolean() }),
    annotations: readOnly,
    async run({ repository: name, path, revision, startLine, endLine = startLine + 199 }, ctx) {
      if (endLine < startLine) throw new ToolError('"endLine" must not be less than "startLine".')
      const repository = await server.repositories.open(ctx, name)
      const id = await resolveRevision(repository, revision, ctx.signal)
      const file = await pathIn(repository, path)
      await requireText(repository, id, file, ctx.signal)
      const last = Math.min(endLine, startLine + maxLines - 1)
      const { stdout, truncated } = await repository.run(
        [
          'blame',
          '--porcelain',
          '--no-textconv',
          '--no-ext-diff',
          '--no-progress',
          // Forgets the file of blame.ignoreRevsFile, which could be any file of the account: errors show its lines.
          '--no-ignore-revs-file',
          '--encoding=UTF-8',
          // One line more, to know whether the file has further lines.
          `-L${startLine},+${last - startLine + 2}`,
          id,
          '--',
          file,
        ],
        { signal: ctx.signal },
      )
      const all = parseBlame(stdout)
      const lines = itemsWithin(all.slice(0, last - startLine + 1), server.maxOutputBytes)
      const complete = !truncated && all.length === lines.length
      const text = lines.map(
        ({ line, commit, author, date, text: content }) =>
          `${commit.slice(0, 10)} ${date.slice(0, 10)} ${oneLine(author)} ${line}) ${content}`,
      )
      if (!complete) text.push(`[There are more lines. Continue with startLine ${startLine + lines.length}]`)
      return reply({ content: text.join('\n'), structured: { lines, complete } })
    },
  })

/** @throws ToolError if a file is binary. A path that is no file is left to git. */
async function requireText(
  repository: Repository,
  commit: string,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const entry = await entryAt(repository, commit, path, signal)
  if (entry?.type !== 'file') return
  const { stdout } = await repository.run(['cat-file', 'blob', entry.id], { signal, limit: binaryCheckBytes })
  if (isBinary(stdout)) {
    throw new ToolError(
      `${oneLine(path)} is a binary file, without lines. git_log with its path lists its commits.`,
    )
  }
}

/** Reads `git blame --porcelain`, which describes each commit once. */
function parseBlame(output: Buffer): BlameLine[] {
  const known = new Map<string, Record<string, string>>()
  const lines: BlameLine[] = []
  let commit = ''
  let line = 0
  for (const text of decode(output).split('\n')) {
    const header = /^([0-9a-f]{40,64}) \d+ (\d+)/.exec(text)
    const about = known.get(commit)
    if (text.startsWith('\t')) {
      const { author = '', 'author-time': time = '0', summary: subject = '' } = about ?? {}
      const date = new Date(Number(time) * 1_000).toISOString()
      lines.push({
        line,
        commit,
        author: clip(author, 200),
        date,
        subject: clip(subject, 200),
        text: clip(text.slice(1), maxLineChars),
      })
    } else if (header !== null) {
      commit = header[1] ?? ''
      line = Number(header[2])
      if (!known.has(commit)) known.set(commit, {})
    } else if (about !== undefined) {
      const [key = '', ...value] = text.split(' ')
      about[key] = value.join(' ')
    }
  }
  return lines
}
