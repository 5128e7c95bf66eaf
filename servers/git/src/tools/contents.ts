import { reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import {
  offsetArgument,
  pathArgument,
  pathIn,
  pathsArgument,
  pathsIn,
  repositoryArgument,
  resolveRevision,
  revisionArgument,
} from '../arguments.ts'
import { changedFileShape, changedFiles, continuation, filesText, patch } from '../diff.ts'
import type { Repository } from '../repositories.ts'
import type { ServerContext } from '../server-context.ts'
import { decode, isBinary, itemsWithin, maxListBytes, oneLine, pageOf, records } from '../text.ts'
import { readOnly } from './inspect.ts'

/* Tools that show contents: git_diff and git_file. */

export const comparisonInput = z.object({
  repository: repositoryArgument,
  staged: z.boolean().default(false).describe('Compare the staged changes instead of the working tree'),
  from: revisionArgument
    .optional()
    .describe('Compare with this revision. Default: the staged state, or HEAD with "staged"'),
  to: revisionArgument.optional().describe('The revision to compare. Default: the working tree'),
  mergeBase: z
    .boolean()
    .default(false)
    .describe('Compare from the last common commit, as a pull request does. Needs "from"'),
  paths: pathsArgument,
})

export const gitDiff = (server: ServerContext) =>
  tool({
    title: 'Diff',
    description:
      'Show differences. Without further arguments: the unstaged changes. With "staged": what a commit would contain. With "from" and "to": between two revisions. With "from" alone: from that revision to the working tree.',
    input: comparisonInput.extend({
      contextLines: z
        .number()
        .int()
        .min(0)
        .max(100)
        .default(3)
        .describe('Unchanged lines around each change'),
      stat: z.boolean().default(false).describe('Only the changed files, without the patch'),
      offset: offsetArgument,
    }),
    output: z.object({
      files: z.array(changedFileShape),
      filesComplete: z.boolean(),
      patch: z.string().optional(),
      nextOffset: z.number().optional(),
    }),
    annotations: readOnly,
    async run({ contextLines, stat, offset, ...compared }, ctx) {
      const repository = await server.repositories.open(ctx, compared.repository)
      const comparison = {
        between: await comparedStates(repository, compared, ctx.signal),
        paths: await pathsIn(repository, compared.paths ?? []),
      }
      const { files, complete } = await changedFiles(repository, comparison, ctx.signal)
      const structured = { files, filesComplete: complete }
      if (stat) return reply({ content: filesText(files, complete), structured })
      const limit = server.maxOutputBytes
      const page = await patch(repository, comparison, { offset, limit, contextLines }, ctx.signal)
      const head = filesText(files, complete)
      return reply({
        content: page.text === '' ? head : `${head}\n\n${page.text}${continuation(page, offset)}`,
        structured: {
          ...structured,
          patch: page.text,
          ...(page.nextOffset === undefined ? {} : { nextOffset: page.nextOffset }),
        },
      })
    },
  })

/** What `git diff` compares for these arguments. */
export async function comparedStates(
  repository: Repository,
  { staged, from, to, mergeBase }: Omit<z.infer<typeof comparisonInput>, 'repository' | 'paths'>,
  signal: AbortSignal,
): Promise<string[]> {
  if (to !== undefined && from === undefined)
    throw new ToolError('"to" needs "from": the revision to compare with.')
  if (to !== undefined && staged) throw new ToolError('"staged" and "to" exclude each other: leave one out.')
  if (mergeBase && from === undefined) throw new ToolError('"mergeBase" needs "from".')
  const cached = staged ? ['--cached'] : []
  if (from === undefined) return cached
  const first = await resolveRevision(repository, from, signal)
  const last = to === undefined ? [] : [await resolveRevision(repository, to, signal)]
  if (!mergeBase) return [...cached, first, ...last]
  const other = last[0] ?? (await resolveRevision(repository, 'HEAD', signal))
  const base = await repository.text(['merge-base', first, other], { signal, allow: [1] })
  if (base === '')
    throw new ToolError(`"${oneLine(from)}" and "${oneLine(to ?? 'HEAD')}" have no common commit.`)
  return [...cached, base, ...last]
}

const maxEntries = 1_000

const treeEntryShape = z.object({
  name: z.string(),
  type: z.enum(['file', 'folder', 'link', 'submodule']),
  size: z.number().optional(),
})

export const gitFile = (server: ServerContext) =>
  tool({
    title: 'Read a file at a revision',
    description: 'Read a file as it is in a commit, or list a folder of it. Binary contents are not shown.',
    input: z.object({
      repository: repositoryArgument,
      path: pathArgument.default('.').describe('A file or folder, relative to the top of the repository'),
      revision: revisionArgument.default('HEAD').describe('A commit, branch or tag'),
      offset: offsetArgument,
    }),
    output: z.object({
      path: z.string(),
      commit: z.string(),
      type: z.enum(['file', 'folder', 'link', 'submodule']),
      size: z.number().optional().describe('Bytes of a file'),
      binary: z.boolean().optional(),
      text: z.string().optional(),
      nextOffset: z.number().optional(),
      target: z.string().optional().describe('Where a link leads, or the commit of a submodule'),
      entries: z.array(treeEntryShape).optional(),
      complete: z.boolean().optional().describe('Whether all entries of a folder are listed'),
    }),
    annotations: readOnly,
    async run({ repository: name, path: given, revision, offset }, ctx) {
      const { signal } = ctx
      const repository = await server.repositories.open(ctx, name)
      const commit = await resolveRevision(repository, revision, signal)
      const path = await pathIn(repository, given)
      const found = await entryAt(repository, commit, path, signal)
      if (found === undefined) {
        throw new ToolError(
          `There is no "${oneLine(path)}" in ${oneLine(revision)}. git_file with the path of a folder lists it.`,
        )
      }
      const about = { path, commit, type: found.type }
      if (found.type === 'submodule') {
        return reply({
          content: `A submodule at commit ${found.id}, whose contents are in a repository of its own.`,
          structured: { ...about, target: found.id },
        })
      }
      if (found.type === 'folder') {
        const { entries, complete } = await listTree(repository, found.id, signal)
        const lines = entries.map(
          ({ name: entry, type, size }) =>
            `${type}\t${size ?? '-'}\t${oneLine(entry)}${type === 'folder' ? '/' : ''}`,
        )
        if (!complete) lines.push(`[There are more than these ${entries.length} entries.]`)
        return reply({ content: lines.join('\n'), structured: { ...about, entries, complete } })
      }
      const size = await blobSize(repository, found.id, signal)
      const limit = server.maxOutputBytes
      const { stdout, truncated } = await repository.run(['cat-file', 'blob', found.id], {
        signal,
        skip: offset,
        limit: limit + 1,
      })
      if (found.type === 'link') {
        const target = decode(stdout)
        return reply({ content: `A symbolic link to ${oneLine(target)}`, structured: { ...about, target } })
      }
      if (isBinary(stdout)) {
        const content = `A binary file of ${size} bytes, which is not shown. Its resource has the bytes.`
        return reply({ content, structured: { ...about, size, binary: true } })
      }
      const page = pageOf(stdout, offset, limit, truncated)
      return reply({
        content: page.text + continuation(page, offset),
        structured: {
          ...about,
          size,
          binary: false,
          text: page.text,
          ...(page.nextOffset === undefined ? {} : { nextOffset: page.nextOffset }),
        },
      })
    },
  })

export interface TreeEntry {
  type: 'file' | 'folder' | 'link' | 'submodule'
  id: string
}

/** What is at a path in a commit. `.` is its top. */
export async function entryAt(
  repository: Repository,
  commit: string,
  path: string,
  signal: AbortSignal,
): Promise<TreeEntry | undefined> {
  if (path === '.') return { type: 'folder', id: await resolveRevision(repository, commit, signal, 'tree') }
  const { stdout } = await repository.run(['ls-tree', '-z', '--full-tree', commit, '--', path], { signal })
  const [line] = records(stdout)
  if (line === undefined) return undefined
  const [mode = '', , id = ''] = line.toString('utf8', 0, line.indexOf(9)).split(' ')
  return { type: typeOf(mode), id }
}

export async function blobSize(repository: Repository, id: string, signal: AbortSignal): Promise<number> {
  return Number(await repository.text(['cat-file', '-s', id], { signal }))
}

/** The entries of a tree, at most 1000. */
export async function listTree(
  repository: Repository,
  tree: string,
  signal: AbortSignal,
): Promise<{ entries: z.infer<typeof treeEntryShape>[]; complete: boolean }> {
  const { stdout, truncated } = await repository.run(['ls-tree', '-z', '-l', '--full-tree', tree], { signal })
  const entries = records(stdout).map((line) => {
    const tab = line.indexOf(9)
    const [mode = '', , , size = '-'] = line.toString('utf8', 0, tab).split(/ +/)
    const type = typeOf(mode)
    return {
      name: decode(line.subarray(tab + 1)),
      type,
      ...(/^\d+$/.test(size) ? { size: Number(size) } : {}),
    }
  })
  const fit = itemsWithin(entries.slice(0, maxEntries), maxListBytes)
  return { entries: fit, complete: !truncated && fit.length === entries.length }
}

function typeOf(mode: string): TreeEntry['type'] {
  switch (mode) {
    case '040000':
      return 'folder'
    case '120000':
      return 'link'
    case '160000':
      return 'submodule'
    default:
      return 'file'
  }
}
