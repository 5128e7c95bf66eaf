import { lstat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { reply, tool } from '@jackfield/sdk'
import { z } from 'zod'
import type { Boundary } from '../access/boundary.ts'
import { type Directory, entriesOf, type FileKind, fileKinds, kindOf, statIn } from '../access/directory.ts'
import { describeErrors, errnoOf, FileError } from '../access/file-error.ts'
import type { Place } from '../access/resolve.ts'
import { mediaTypeOf, sizeText } from '../files/text.ts'
import { Gitignore } from '../search/gitignore.ts'
import { parseExcludes } from '../search/glob.ts'
import { walk } from '../search/walk.ts'
import { pathArgument, readAnnotations, type ToolDependencies, withPath } from './shared.ts'

/** Maximum entries of one directory that are read and sorted. */
const maxSortedEntries = 100_000

/** Opens the directory at a place and runs `use` with it. @throws FileError if it is not a directory */
export async function withDirectory<T>(place: Place, use: (directory: Directory) => Promise<T>): Promise<T> {
  return describeErrors(`Cannot list ${place.path}`, async () => {
    const directory = await place.directory.openDirectory(place.name).catch((error: unknown) => {
      const errno = errnoOf(error)
      if (errno !== 'ENOTDIR' && errno !== 'ELOOP') throw error
      throw new FileError('kind', `Cannot list ${place.path}: it is not a directory.`, { cause: error })
    })
    try {
      return await use(directory)
    } finally {
      await directory.close()
    }
  })
}

/** One page of a directory. */
export interface Page {
  readonly entries: readonly { name: string; type: FileKind }[]
  readonly total: number
  /** Whether the directory has more than `total` entries. The rest was not read. */
  readonly isPartial: boolean
  /** The cursor of the next page; undefined on the last. */
  readonly cursor: string | undefined
}

/** The entries of a directory by name, after the one that the cursor names. */
export async function pageOf(
  directory: Directory,
  cursor: string | undefined,
  limit: number,
  signal: AbortSignal,
): Promise<Page> {
  const all: { name: string; type: FileKind }[] = []
  let isPartial = false
  for await (const entry of entriesOf(directory)) {
    if (all.length >= maxSortedEntries) {
      isPartial = true
      break
    }
    all.push({ name: entry.name, type: kindOf(entry) })
    if (all.length % 1000 === 0) signal.throwIfAborted()
  }
  all.sort((a, b) => (a.name < b.name ? -1 : 1))
  const rest = cursor === undefined ? all : all.filter(({ name }) => name > cursor)
  const entries = rest.slice(0, limit)
  return {
    entries,
    total: all.length,
    isPartial,
    cursor: rest.length > limit ? entries.at(-1)?.name : undefined,
  }
}

function pageNotice({ entries, total, isPartial, cursor }: Page): string[] {
  const of = `${isPartial ? 'more than ' : ''}${total}`
  if (cursor !== undefined) {
    return [`[${entries.length} of ${of} entries. Continue with cursor ${JSON.stringify(cursor)}.]`]
  }
  return isPartial
    ? [`[The directory has ${of} entries; the others cannot be listed. Use search_files.]`]
    : []
}

const pageArguments = {
  path: pathArgument,
  cursor: z
    .string()
    .optional()
    .describe('The name after which to continue, from a listing that was too long for one result'),
}

const pageOutput = {
  content: z.string(),
  total: z.number().describe('Entries of the directory'),
  cursor: z.string().optional().describe('Pass it to get the next entries; absent if there are none'),
}

/** The prefix of an entry in a listing. */
const typePrefix = (type: FileKind): string => (type === 'directory' ? '[DIR]' : '[FILE]')

export const listDirectory = (dependencies: ToolDependencies) =>
  tool({
    title: 'List Directory',
    description:
      'List the files and directories in a directory, by name, with [FILE] and [DIR] prefixes. A long listing comes in parts: pass the ' +
      'cursor of the result to continue. Only works within allowed directories.',
    input: z.object(pageArguments),
    output: z.object({
      ...pageOutput,
      entries: z.array(z.object({ name: z.string(), type: z.enum(fileKinds) })),
    }),
    annotations: readAnnotations,
    async run({ path, cursor }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      const { entries } = dependencies.settings.limits
      const page = await withPath(dependencies, boundary, path, (place) =>
        withDirectory(place, (directory) => pageOf(directory, cursor, entries, ctx.signal)),
      )
      const content = page.entries.map(({ name, type }) => `${typePrefix(type)} ${name}`).join('\n')
      return reply({
        content: [content, ...pageNotice(page)],
        structured: { content, entries: [...page.entries], ...pageFields(page) },
      })
    },
  })

function pageFields({ total, cursor }: Page): { total: number; cursor?: string } {
  return { total, ...(cursor === undefined ? {} : { cursor }) }
}

export const listDirectoryWithSizes = (dependencies: ToolDependencies) =>
  tool({
    title: 'List Directory with Sizes',
    description:
      'List the files and directories in a directory with their sizes, by name or by size (largest first), and their sum. A long listing ' +
      'comes in parts: pass the cursor of the result to continue; sizes are sorted within each part. Only works within allowed directories.',
    input: z.object({
      ...pageArguments,
      sortBy: z.enum(['name', 'size']).optional().default('name').describe('Sort entries by name or size'),
    }),
    output: z.object({
      ...pageOutput,
      entries: z.array(
        z.object({ name: z.string(), type: z.enum(fileKinds), size: z.number(), modified: z.string() }),
      ),
    }),
    annotations: readAnnotations,
    async run({ path, cursor, sortBy }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      const limit = dependencies.settings.limits.entries
      const { page, sized } = await withPath(dependencies, boundary, path, (place) =>
        withDirectory(place, async (directory) => {
          const page = await pageOf(directory, cursor, limit, ctx.signal)
          const sized: { name: string; type: FileKind; size: number; modified: string }[] = []
          for (const entry of page.entries) {
            ctx.signal.throwIfAborted()
            const stats = await statIn(directory, entry.name)
            // The entry was removed since it was listed.
            if (stats === undefined) continue
            sized.push({
              ...entry,
              size: stats.isDirectory() ? 0 : stats.size,
              modified: stats.mtime.toISOString(),
            })
          }
          return { page, sized }
        }),
      )
      if (sortBy === 'size') sized.sort((a, b) => b.size - a.size)
      const files = sized.filter(({ type }) => type !== 'directory')
      const lines = sized.map(
        ({ name, type, size }) =>
          `${typePrefix(type)} ${name.padEnd(30)} ${type === 'directory' ? '' : sizeText(size).padStart(10)}`,
      )
      const sum = files.reduce((total, { size }) => total + size, 0)
      const content = [
        ...lines,
        '',
        `Total: ${files.length} files, ${sized.length - files.length} directories`,
        `Combined size: ${sizeText(sum)}`,
      ].join('\n')
      return reply({
        content: [content, ...pageNotice(page)],
        structured: { content, entries: sized, ...pageFields(page) },
      })
    },
  })

interface TreeNode {
  name: string
  type: 'file' | 'directory'
  children?: TreeNode[]
}

export const directoryTree = (dependencies: ToolDependencies) =>
  tool({
    title: 'Directory Tree',
    description:
      "Get a recursive tree of files and directories as JSON. Each entry has 'name' and 'type' (file or directory), and each directory " +
      "'children', which may be empty. Links are shown as files and not followed. A tree that is too large is cut, and the result says so: " +
      'use excludePatterns or maxDepth. Only works within allowed directories.',
    input: z.object({
      path: pathArgument,
      excludePatterns: z
        .array(z.string())
        .max(100)
        .optional()
        .default([])
        .describe('Glob patterns, or names, to leave out'),
      maxDepth: z.number().int().min(1).optional().describe('Levels of directories to show'),
      respectGitignore: z
        .boolean()
        .optional()
        .default(false)
        .describe('Leave out what .gitignore files ignore'),
    }),
    output: z.object({ content: z.string(), entries: z.number(), truncated: z.boolean() }),
    annotations: readAnnotations,
    async run({ path, excludePatterns, maxDepth, respectGitignore }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      const { treeEntries, depth } = dependencies.settings.limits
      return withPath(dependencies, boundary, path, (place) =>
        withDirectory(place, async (directory) => {
          const tree: TreeNode[] = []
          const levels: TreeNode[][] = [tree]
          let entries = 0
          const walked = await walk(directory, {
            excludes: parseExcludes(excludePatterns),
            gitignore: respectGitignore
              ? await gitignoreAt(dependencies, boundary, place, ctx.signal)
              : undefined,
            depth: Math.min(maxDepth ?? depth, depth),
            visited: dependencies.settings.limits.visited,
            signal: ctx.signal,
            isOver: () => entries >= treeEntries,
            async visit({ entry, names, path: below }) {
              const children: TreeNode[] = []
              const isDirectory = entry.isDirectory()
              levels[names.length - 1]?.push({
                name: entry.name,
                type: isDirectory ? 'directory' : 'file',
                ...(isDirectory ? { children } : {}),
              })
              if (isDirectory) levels[names.length] = children
              entries++
              if (entries % 250 === 0) ctx.progress(entries, undefined, below)
            },
          })
          const truncated = walked.truncated && (maxDepth === undefined || entries >= treeEntries)
          const content = JSON.stringify(tree, null, 2)
          const notices = [
            ...(truncated
              ? [`[Truncated after ${entries} entries. Use excludePatterns, maxDepth, or a directory below.]`]
              : []),
            ...unreadableNotice(walked.unreadable),
          ]
          return reply({ content: [content, ...notices], structured: { content, entries, truncated } })
        }),
      )
    },
  })

/** A notice about directories that a walk could not read. */
export function unreadableNotice(paths: readonly string[]): string[] {
  return paths.length === 0 ? [] : [`[Could not be read: ${paths.join(', ')}]`]
}

export const getFileInfo = (dependencies: ToolDependencies) =>
  tool({
    title: 'Get File Info',
    description:
      'Get what is known about a file or directory without reading it: size, times of creation, modification and access, type, permissions, ' +
      'media type and, if it is a link, the file that it leads to. Only works within allowed directories.',
    input: z.object({ path: pathArgument }),
    output: z.object({
      content: z.string(),
      path: z.string(),
      type: z.enum(fileKinds),
      size: z.number(),
      created: z.string(),
      modified: z.string(),
      accessed: z.string(),
      permissions: z.string(),
      mimeType: z.string().optional(),
    }),
    annotations: readAnnotations,
    async run({ path }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      return withPath(dependencies, boundary, path, (place) =>
        describeErrors(`Cannot read ${place.path}`, async () => {
          const stats = await place.directory.use(place.name, (real) => lstat(real))
          const type = kindOf(stats)
          const mimeType = type === 'file' ? mediaTypeOf(place.path) : undefined
          const info = {
            size: stats.size,
            created: stats.birthtime,
            modified: stats.mtime,
            accessed: stats.atime,
            isDirectory: stats.isDirectory(),
            isFile: stats.isFile(),
            permissions: (stats.mode & 0o777).toString(8).padStart(3, '0'),
            ...(mimeType === undefined ? {} : { mimeType }),
          }
          const content = Object.entries(info)
            .map(([name, value]) => `${name}: ${value}`)
            .join('\n')
          return reply({
            content,
            structured: {
              content,
              path: place.path,
              type,
              size: stats.size,
              created: stats.birthtime.toISOString(),
              modified: stats.mtime.toISOString(),
              accessed: stats.atime.toISOString(),
              permissions: info.permissions,
              ...(mimeType === undefined ? {} : { mimeType }),
            },
          })
        }),
      )
    },
  })

export const listAllowedDirectories = (dependencies: ToolDependencies) =>
  tool({
    title: 'List Allowed Directories',
    description:
      'List the directories and files that this server may access. Everything below these directories is accessible as well. Use it before ' +
      'accessing files.',
    output: z.object({
      content: z.string(),
      directories: z.array(z.object({ path: z.string(), type: z.enum(['directory', 'file']) })),
      readOnly: z.boolean(),
    }),
    annotations: readAnnotations,
    async run(_args, ctx) {
      const { allowed } = await dependencies.access.forRequest(ctx)
      const content = `Allowed directories:\n${allowed.map(({ path }) => path).join('\n')}`
      const none =
        'None. Start the server with directories as arguments, or open a folder (root) in the client.'
      return reply({
        content: allowed.length === 0 ? `${content}${none}` : content,
        structured: {
          content,
          directories: allowed.map(({ path, kind }) => ({ path, type: kind })),
          readOnly: dependencies.settings.readOnly,
        },
      })
    },
  })

/** The `.gitignore` rules of a directory and all directories between it and its allowed directory. */
export async function gitignoreAt(
  dependencies: ToolDependencies,
  boundary: Boundary,
  place: Place,
  signal: AbortSignal,
): Promise<{ rules: Gitignore; above: readonly string[] }> {
  const above = relative(place.allowed.path, place.path).split(sep).filter(Boolean)
  let rules = Gitignore.none
  for (let depth = 0; depth <= above.length; depth++) {
    const path = join(place.allowed.path, ...above.slice(0, depth))
    rules = await withPath(dependencies, boundary, path, (one) =>
      withDirectory(one, (directory) => rules.enter(directory, depth, signal)),
    )
  }
  return { rules, above }
}
