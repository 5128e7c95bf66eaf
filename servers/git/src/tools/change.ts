import { type Context, reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { pathArgument, pathsIn, repositoryArgument, resolveRevision, revisionArgument } from '../arguments.ts'
import { changedFileShape, changedFiles, filesText } from '../diff.ts'
import { GitError } from '../git.ts'
import type { Repository } from '../repositories.ts'
import type { ServerContext } from '../server-context.ts'
import { clip, count, decode, oneLine, records, visible } from '../text.ts'
import { emptyTree } from './history.ts'
import { readStatus, type Status, statusShape, statusText, unfinishedOperation } from './inspect.ts'

/*
 * Tools that change a repository: git_add, git_reset, git_create_branch, git_checkout, git_commit. What a person confirmed is what
 * happens: a commit is made from the tree that the question described, on the branch and parent that it named, or not at all.
 */

const additive = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const

/** Runs one change at a time on each repository: git refuses a second one while the first has its lock. */
class ChangeQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T>(repository: Repository, work: () => Promise<T>): Promise<T> {
    const key = repository.commonDirectory
    const before = this.#last.get(key)
    const mine = (before ?? Promise.resolve()).then(work, work)
    this.#last.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key)
    }
  }
}

/** The tools that change a repository. */
export function changeTools(server: ServerContext) {
  const queue = new ChangeQueue()
  return {
    git_add: gitAdd(server, queue),
    git_reset: gitReset(server, queue),
    git_create_branch: gitCreateBranch(server, queue),
    git_checkout: gitCheckout(server, queue),
    git_commit: gitCommit(server, queue),
  }
}

const requiredPaths = z
  .array(pathArgument)
  .min(1)
  .max(500)
  .describe('Files and folders, relative to the top of the repository; "." for everything')

const gitAdd = (server: ServerContext, queue: ChangeQueue) =>
  tool({
    title: 'Stage files',
    description:
      'Stage the present contents of files for the next commit, deletions included. Ignored files are refused.',
    input: z.object({ repository: repositoryArgument, paths: requiredPaths }),
    output: statusShape,
    annotations: additive,
    async run({ repository: name, paths }, ctx) {
      const repository = await server.repositories.open(ctx, name)
      const given = await pathsIn(repository, paths)
      const { signal } = ctx
      const status = await queue.run(repository, async () => {
        const { stdout } = await filesToAdd(repository, given, signal)
        await rejectFiltered(repository, stdout, 'Nothing was staged', signal)
        await repository.run(['add', '--pathspec-from-file=-', '--pathspec-file-nul'], {
          signal,
          input: given.map((path) => `${path}\0`).join(''),
          writes: true,
        })
        return readStatus(repository, 'normal', signal)
      })
      return statusReply(status)
    },
  })

/** The names of the files that `git add` would read; empty if there are no filters. */
async function filesToAdd(
  repository: Repository,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<{ stdout: Buffer }> {
  if (repository.filters.size === 0) return { stdout: Buffer.alloc(0) }
  return repository.run(['ls-files', '-z', '--modified', '--others', '--exclude-standard', '--', ...paths], {
    signal,
  })
}

/** @throws ToolError if git itself would change the contents of one of these files by a filter, which is not run here */
async function rejectFiltered(
  repository: Repository,
  names: Buffer,
  refusal: string,
  signal: AbortSignal,
): Promise<void> {
  if (names.length === 0 || repository.filters.size === 0) return
  const { stdout, truncated } = await repository.run(['check-attr', '-z', '--stdin', 'filter'], {
    signal,
    input: names,
    limit: 16_777_216,
  })
  const parts = records(stdout).map(decode)
  const filtered: string[] = []
  let filter = ''
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const value = parts[at + 2] ?? ''
    if (!repository.filters.has(value)) continue
    filtered.push(parts[at] ?? '')
    filter = value
  }
  if (truncated)
    throw new ToolError(`${refusal}: there are too many files to check for filters. Name fewer paths.`)
  if (filtered.length === 0) return
  const shown = filtered.slice(0, 10).map(oneLine).join(', ')
  throw new ToolError(
    `${refusal}: ${count(filtered.length, 'file')} (${shown}${filtered.length > 10 ? ', …' : ''}) would pass through the filter "${oneLine(filter)}", a program that this server does not run. Without it the contents would be wrong. Use git itself for these files.`,
  )
}

const gitReset = (server: ServerContext, queue: ChangeQueue) =>
  tool({
    title: 'Unstage files',
    description: 'Remove files from the next commit. The working tree is not changed.',
    input: z.object({
      repository: repositoryArgument,
      paths: z.array(pathArgument).max(500).optional().describe('Default: everything that is staged'),
    }),
    output: statusShape,
    annotations: additive,
    async run({ repository: name, paths = [] }, ctx) {
      const repository = await server.repositories.open(ctx, name)
      const given = await pathsIn(repository, paths.length === 0 ? ['.'] : paths)
      const { signal } = ctx
      const status = await queue.run(repository, async () => {
        await repository.run(['reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'], {
          signal,
          input: given.map((path) => `${path}\0`).join(''),
          writes: true,
        })
        return readStatus(repository, 'normal', signal)
      })
      return statusReply(status)
    },
  })

function statusReply(status: Status) {
  return reply({ content: statusText(status), structured: status })
}

const branchName = z.string().min(1).max(250)

const gitCreateBranch = (server: ServerContext, queue: ChangeQueue) =>
  tool({
    title: 'Create a branch',
    description: 'Create a branch without checking it out. An existing branch is not changed.',
    input: z.object({
      repository: repositoryArgument,
      name: branchName.describe('The new branch'),
      from: revisionArgument.default('HEAD').describe('Where it begins'),
    }),
    output: z.object({ branch: z.string(), commit: z.string() }),
    annotations: { ...additive, idempotentHint: false },
    async run({ repository: given, name, from }, ctx) {
      const repository = await server.repositories.open(ctx, given)
      const { signal } = ctx
      await requireBranchName(repository, name, signal)
      const commit = await resolveRevision(repository, from, signal)
      await queue.run(repository, () =>
        repository.run(['branch', '--no-track', '--', name, commit], { signal, writes: true }),
      )
      return reply({
        content: `Created the branch ${oneLine(name)} at ${commit.slice(0, 10)}. git_checkout switches to it.`,
        structured: { branch: name, commit },
      })
    },
  })

/** @throws ToolError for a name that no branch can have, or that would be read as an option */
async function requireBranchName(repository: Repository, name: string, signal: AbortSignal): Promise<void> {
  if (!/^-|[\p{Cc}\p{Cs}]|^HEAD$/u.test(name)) {
    const { code } = await repository.run(['check-ref-format', `refs/heads/${name}`], { signal, allow: [1] })
    if (code === 0) return
  }
  throw new ToolError(
    `"${oneLine(name)}" cannot be the name of a branch. Use letters, digits, "-", "_" and "/", such as "feature/login".`,
  )
}

const checkoutResult = z.object({
  status: z.enum(['switched', 'declined', 'cancelled']),
  branch: z.string().nullable(),
  commit: z.string().nullable(),
})

const gitCheckout = (server: ServerContext, queue: ChangeQueue) =>
  tool({
    title: 'Check out a branch',
    description:
      'Switch the working tree to an existing local branch. With uncommitted changes the person is asked first; git keeps these changes, or refuses if the branch has other versions of the same files.',
    input: z.object({ repository: repositoryArgument, branch: branchName.describe('A local branch') }),
    output: checkoutResult,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    async run({ repository: name, branch }, ctx) {
      const { signal } = ctx
      const repository = await server.repositories.open(ctx, name)
      await requireBranchName(repository, branch, signal)
      const target = await resolveRevision(repository, `refs/heads/${branch}`, signal).catch(
        (error: unknown) => {
          if (!(error instanceof ToolError)) throw error
          throw new ToolError(
            `There is no local branch "${oneLine(branch)}". git_branch lists them, git_create_branch creates one.`,
          )
        },
      )
      const uncommitted = await ctx.step('uncommitted', () => uncommittedChanges(repository, signal))
      if (uncommitted !== '') {
        const refused = await confirm(server, ctx, {
          key: 'checkout',
          outcome: 'Nothing was checked out: there are uncommitted changes',
          message: [
            `Check out ${visible(oneLine(branch))} in ${visible(repository.path)}? There are uncommitted changes, which come along if git can keep them:`,
            uncommitted,
          ].join('\n\n'),
          title: 'Check out with these changes',
        })
        if (refused !== undefined) return checkoutReply(repository, refused, signal)
      }
      await ctx.step('checkout', () =>
        queue.run(repository, async () => {
          if (repository.filters.size > 0) {
            const { stdout } = await repository.run(
              ['diff', '--name-only', '-z', '--no-ext-diff', '--no-textconv', '--cached', target],
              { signal },
            )
            await rejectFiltered(repository, stdout, 'Nothing was checked out', signal)
          }
          await repository.run(
            ['checkout', '--quiet', '--no-guess', '--no-recurse-submodules', branch, '--'],
            {
              signal,
              writes: true,
            },
          )
        }),
      )
      return checkoutReply(repository, 'switched', signal)
    },
  })

async function uncommittedChanges(repository: Repository, signal: AbortSignal): Promise<string> {
  const { staged, unstaged, conflicts } = await readStatus(repository, 'no', signal)
  const paths = new Set([...staged, ...unstaged].map(({ path }) => path).concat(conflicts))
  return questionList([...paths].map(oneLine))
}

async function checkoutReply(
  repository: Repository,
  status: z.infer<typeof checkoutResult>['status'],
  signal: AbortSignal,
) {
  const { branch, commit } = await readStatus(repository, 'no', signal)
  const where =
    branch === null ? `a detached HEAD at ${commit?.slice(0, 10)}` : `the branch ${oneLine(branch)}`
  const content =
    status === 'switched'
      ? `The working tree is on ${where} now.`
      : `The person ${status} the checkout. The working tree is still on ${where}.`
  return reply({ content, structured: { status, branch, commit } })
}

const maxQuestionLines = 40

/** Lines for a question to the person, up to a limit. */
function questionList(lines: readonly string[]): string {
  const shown = lines.slice(0, maxQuestionLines).map((line) => visible(clip(line, 200)))
  if (lines.length > maxQuestionLines) shown.push(`and ${lines.length - maxQuestionLines} more`)
  return shown.join('\n')
}

/** What a commit will be, as it was asked about. JSON, since it is recorded between the question and the commit. */
type Draft = {
  tree: string
  /** Null for the first commit. */
  parent: string | null
  /** The branch's ref; null on a detached HEAD. */
  ref: string | null
  author: string
  files: string
}

const gitCommit = (server: ServerContext, queue: ChangeQueue) =>
  tool({
    title: 'Commit',
    description:
      'Commit the staged changes. The person sees the message and the changed files and decides. Hooks are not run and commits are not signed.',
    input: z.object({
      repository: repositoryArgument,
      message: z
        .string()
        .min(1)
        .max(65_536)
        .describe('A subject line, and after an empty line an optional description'),
    }),
    output: z.object({
      status: z.enum(['committed', 'declined', 'cancelled']),
      commit: z.string().optional(),
      branch: z.string().nullable().optional().describe('Null on a detached HEAD'),
      files: z.array(changedFileShape).optional(),
    }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    async run({ repository: name, message: given }, ctx) {
      const { signal } = ctx
      const message = `${given.trim()}\n`
      if (message === '\n' || message.includes('\0')) {
        throw new ToolError('Nothing was committed: the message is empty, or contains NUL.')
      }
      requireConfirmation(server, ctx, 'Nothing was committed')
      const repository = await server.repositories.open(ctx, name)
      const draft = await ctx.step('draft', () =>
        queue.run(repository, () => draftCommit(repository, signal)),
      )
      const branch = draft.ref === null ? null : draft.ref.replace(/^refs\/heads\//, '')
      const refused = await confirm(server, ctx, {
        key: 'commit',
        outcome: 'Nothing was committed',
        message: [
          `Commit to ${branch === null ? 'a detached HEAD' : visible(oneLine(branch))} in ${visible(repository.path)}?`,
          visible(clip(message.trimEnd(), 4_000)),
          `Author: ${visible(oneLine(draft.author))}. The commit is not signed, and hooks are not run.`,
          draft.files,
        ].join('\n\n'),
        title: 'Commit these changes',
      })
      if (refused !== undefined) {
        return reply({
          content: `The person ${refused} the commit. Nothing was committed; the changes are still staged. Ask what to change before another call.`,
          structured: { status: refused },
        })
      }
      const commit = await ctx.step('commit', () =>
        queue.run(repository, () => createCommit(repository, draft, message, signal)),
      )
      const from = draft.parent ?? (await emptyTree(repository, signal))
      const { files, complete } = await changedFiles(
        repository,
        { between: [from, commit], paths: [] },
        signal,
      )
      const subject = message.slice(0, message.indexOf('\n'))
      return reply({
        content: `Committed ${commit.slice(0, 10)} to ${branch === null ? 'a detached HEAD' : oneLine(branch)}: ${oneLine(subject)}\n\n${filesText(files, complete)}`,
        structured: { status: 'committed', commit, branch, files },
      })
    },
  })

/** Writes the staged state as a tree and reads what it would be committed to. */
async function draftCommit(repository: Repository, signal: AbortSignal): Promise<Draft> {
  const operation = await unfinishedOperation(repository)
  if (operation !== undefined && operation !== 'bisect') {
    throw new ToolError(
      `Nothing was committed: a ${operation} is in progress, which ends with a commit of its own. Finish or abort it with git itself.`,
    )
  }
  const author = await repository.text(['var', 'GIT_AUTHOR_IDENT'], { signal }).catch((error: unknown) => {
    if (!(error instanceof GitError)) throw error
    throw new ToolError(
      'Nothing was committed: the author is not known. Set it with git config --global user.name "…" and git config --global user.email "…".',
    )
  })
  const ref = await repository.text(['symbolic-ref', '--quiet', 'HEAD'], { signal, allow: [1] })
  const parent = await repository.text(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], {
    signal,
    allow: [1],
  })
  const tree = await repository.text(['write-tree'], { signal, writes: true }).catch((error: unknown) => {
    if (!(error instanceof GitError)) throw error
    throw new ToolError(`Nothing was committed: the staged state cannot be written. ${error.message}`)
  })
  const from = parent === '' ? await emptyTree(repository, signal) : parent
  const { files, complete } = await changedFiles(repository, { between: [from, tree], paths: [] }, signal)
  if (files.length === 0)
    throw new ToolError('Nothing was committed: nothing is staged. Stage files with git_add first.')
  return {
    tree,
    parent: parent === '' ? null : parent,
    ref: ref === '' ? null : ref,
    author: author.replace(/ \d+ [+-]\d{4}$/, ''),
    files: questionList(filesText(files, complete).split('\n')),
  }
}

/** Makes the commit of a draft, unless the branch was changed meanwhile. */
async function createCommit(
  repository: Repository,
  { tree, parent, ref }: Draft,
  message: string,
  signal: AbortSignal,
): Promise<string> {
  const now = await repository.text(['symbolic-ref', '--quiet', 'HEAD'], { signal, allow: [1] })
  if (now !== (ref ?? '')) {
    throw new ToolError(
      'Nothing was committed: another branch was checked out meanwhile. Call git_commit again.',
    )
  }
  const commit = await repository.text(
    ['commit-tree', '--no-gpg-sign', tree, ...(parent === null ? [] : ['-p', parent]), '-F', '-'],
    { signal, input: message, writes: true },
  )
  const subject = clip(message.slice(0, message.indexOf('\n')), 200)
  const reason = `commit${parent === null ? ' (initial)' : ''}: ${subject}`
  const expected = parent ?? '0'.repeat(tree.length)
  await repository
    .run(['update-ref', '-m', reason, 'HEAD', commit, expected], { signal, writes: true })
    .catch((error: unknown) => {
      if (!(error instanceof GitError)) throw error
      throw new ToolError(
        `Nothing was committed: the branch was changed meanwhile, or cannot be written. Call git_commit again. (${error.message})`,
      )
    })
  return commit
}

/** @throws ToolError if the person must be asked and the client cannot do so */
function requireConfirmation(server: ServerContext, ctx: Context, outcome: string): void {
  if (server.confirm === 'never' || ctx.can('elicitation')) return
  throw new ToolError(
    `${outcome}. This needs the person to confirm it in a form (elicitation), which this client cannot show. Use a client that can, or start the server with --confirm never.`,
  )
}

/** Asks the person. Returns how they refused, or undefined if they agreed. */
async function confirm(
  server: ServerContext,
  ctx: Context,
  question: { key: string; message: string; title: string; outcome: string },
): Promise<'declined' | 'cancelled' | undefined> {
  if (server.confirm === 'never') return undefined
  requireConfirmation(server, ctx, question.outcome)
  const { key, message, title } = question
  const schema = z.object({ confirm: z.boolean().meta({ title }) })
  const answer = await ctx.elicit({ key, message, schema })
  if (answer.action === 'cancel') return 'cancelled'
  return answer.action === 'accept' && answer.content.confirm ? undefined : 'declined'
}
