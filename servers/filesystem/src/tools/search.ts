import { join } from 'node:path'
import { type Context, reply, tool } from '@jackfield/sdk'
import { z } from 'zod'
import type { Boundary } from '../access/boundary.ts'
import { type Directory, statIn } from '../access/directory.ts'
import { describeErrors, errnoOf, FileError } from '../access/file-error.ts'
import { sizeText } from '../files/text.ts'
import { charsOf, type FileMatches, type Match, searchFile } from '../search/content.ts'
import { parseExcludes, parseGlob } from '../search/glob.ts'
import { parsePattern } from '../search/pattern.ts'
import { type WalkEntry, type WalkResult, walk } from '../search/walk.ts'
import { gitignoreAt, unreadableNotice, withDirectory } from './list.ts'
import { pathArgument, readAnnotations, type ToolDependencies, withPath } from './shared.ts'

const excludes = z
  .array(z.string())
  .max(100)
  .optional()
  .default([])
  .describe('Glob patterns, or names, to leave out')
const respectGitignore = z
  .boolean()
  .optional()
  .default(false)
  .describe('Leave out what .gitignore files ignore, and .git')

/** The walk of a search, and whether it reached the time limit. */
type SearchResult = WalkResult & { timedOut: boolean }

/** Arguments of both search tools. */
interface SearchArguments {
  path: string
  excludePatterns: string[]
  respectGitignore: boolean
}

/** Walks a directory until it ends, `isFull` returns true, or a limit is reached. */
async function search(
  dependencies: ToolDependencies,
  ctx: Context,
  boundary: Boundary,
  { path, excludePatterns, respectGitignore: isGit }: SearchArguments,
  visit: (found: WalkEntry, start: string, isOver: () => boolean) => Promise<void>,
  isFull: () => boolean,
): Promise<SearchResult> {
  const { depth, visited, searchMs } = dependencies.settings.limits
  const deadline = performance.now() + searchMs
  const isLate = (): boolean => performance.now() > deadline
  let count = 0
  return withPath(dependencies, boundary, path, (place) =>
    withDirectory(place, async (directory) => {
      const walked = await walk(directory, {
        excludes: parseExcludes(excludePatterns),
        gitignore: isGit ? await gitignoreAt(dependencies, boundary, place, ctx.signal) : undefined,
        depth,
        visited,
        signal: ctx.signal,
        isOver: () => isFull() || isLate(),
        async visit(found) {
          if (++count % 250 === 0) ctx.progress(count, undefined, found.path)
          await visit(found, place.path, () => isFull() || isLate())
        },
      })
      return { ...walked, timedOut: isLate() }
    }),
  )
}

/** Notices about an incomplete result. */
function incompleteNotices(
  { truncated, timedOut, visited, unreadable: paths }: SearchResult,
  isFull: boolean,
): string[] {
  const reason = isFull
    ? 'there are more matches. Narrow the pattern or the path'
    : timedOut
      ? 'the time limit was reached. Narrow the path, or exclude directories'
      : 'the limit of entries or levels was reached. Narrow the path, or exclude directories'
  return [
    ...(truncated || isFull ? [`[Incomplete after ${visited} entries: ${reason}.]`] : []),
    ...unreadableNotice(paths),
  ]
}

export const searchFiles = (dependencies: ToolDependencies) =>
  tool({
    title: 'Search Files',
    description:
      'Search recursively for files and directories whose path matches a glob pattern. Patterns match paths relative to the directory: ' +
      "'*.ext' matches files directly in it, and '**/*.ext' files in all subdirectories. Returns full paths. Links are not followed. " +
      'Only searches within allowed directories.',
    input: z.object({
      path: pathArgument,
      pattern: z.string().describe('Glob pattern: *, ?, **, [a-z], {a,b}'),
      excludePatterns: excludes,
      respectGitignore,
    }),
    output: z.object({ content: z.string(), matches: z.array(z.string()), truncated: z.boolean() }),
    annotations: readAnnotations,
    async run({ pattern, ...where }, ctx) {
      const glob = parseGlob(pattern)
      const limit = dependencies.settings.limits.matches
      const matches: string[] = []
      const isFull = (): boolean => matches.length > limit
      const walked = await search(
        dependencies,
        ctx,
        await dependencies.access.forRequest(ctx),
        where,
        async ({ path, names }, start) => {
          if (glob.matches(path)) matches.push(join(start, ...names))
        },
        isFull,
      )
      const notices = incompleteNotices(walked, isFull())
      const shown = matches.slice(0, limit)
      const content = shown.length > 0 ? shown.join('\n') : 'No matches found'
      return reply({
        content: [content, ...notices],
        structured: { content, matches: shown, truncated: walked.truncated || isFull() },
      })
    },
  })

const maxContext = 10
/** Characters of all lines of one result after which a search ends. */
const maxResultChars = 400_000

const contentOutput = z.object({
  content: z.string(),
  matches: z.array(
    z.object({
      path: z.string(),
      line: z.number(),
      column: z.number(),
      text: z.string(),
      before: z.array(z.string()).optional(),
      after: z.array(z.string()).optional(),
    }),
  ),
  files: z.number().describe('Files that were searched'),
  leftOut: z.number().describe('Files that are binary, too large, or could not be read'),
  truncated: z.boolean(),
})

/** A line that matches, and its file. */
type FoundLine = Match & { path: string }

/** What one search of contents found. */
class FoundLines {
  readonly lines: FoundLine[] = []
  readonly limit: number
  files = 0
  leftOut = 0
  hasLongLines = false
  #chars = 0

  /** @param limit lines of the result. One more is collected, to know whether there are more */
  constructor(limit: number) {
    this.limit = limit
  }

  get charsLeft(): number {
    return maxResultChars - this.#chars
  }

  get isFull(): boolean {
    return this.lines.length > this.limit || this.#chars > maxResultChars
  }

  add(path: string, { matches, hasLongLines }: FileMatches): void {
    this.files++
    this.hasLongLines ||= hasLongLines
    for (const match of matches) {
      this.lines.push({ path, ...match })
      this.#chars += path.length + charsOf(match)
    }
  }
}

export const searchContent = (dependencies: ToolDependencies) =>
  tool({
    title: 'Search Content',
    description:
      'Search the text of files recursively, like grep: for a regular expression (ECMAScript, without back-references and look-behind) or, with ' +
      'literal, for the text itself. Returns path:line: text for each matching line. Binary and very large files are left out and counted. ' +
      'Links are not followed. Only searches within allowed directories.',
    input: z.object({
      path: pathArgument.describe('Directory to search, or one file'),
      pattern: z.string().describe('Regular expression, matched within each line'),
      literal: z.boolean().optional().default(false).describe('Search for the text as it is'),
      ignoreCase: z.boolean().optional().default(false),
      glob: z
        .string()
        .optional()
        .describe("Only files whose path relative to the directory matches, such as '**/*.ts'"),
      excludePatterns: excludes,
      respectGitignore,
      contextLines: z
        .number()
        .int()
        .min(0)
        .max(maxContext)
        .optional()
        .default(0)
        .describe('Lines to show around each match'),
      maxMatches: z.number().int().min(1).max(dependencies.settings.limits.matches).optional(),
    }),
    output: contentOutput,
    annotations: readAnnotations,
    async run({ pattern, literal, ignoreCase, glob, contextLines, maxMatches, ...where }, ctx) {
      const { limits } = dependencies.settings
      const lines = parsePattern(pattern, { literal, ignoreCase })
      const wanted = glob === undefined ? undefined : parseGlob(glob)
      const found = new FoundLines(maxMatches ?? limits.matches)
      const isFull = (): boolean => found.isFull

      const searchOne = async (
        directory: Directory,
        name: string,
        path: string,
        isOver: () => boolean,
      ): Promise<void> => {
        const file = await directory.openFile(name)
        try {
          const result = await searchFile(file, path, lines, {
            context: contextLines,
            matches: found.limit + 1 - found.lines.length,
            chars: found.charsLeft,
            fileBytes: limits.searchBytes,
            lineChars: limits.lineChars,
            signal: ctx.signal,
            isOver,
          })
          found.add(path, result)
        } finally {
          await file.handle.close()
        }
      }

      const boundary = await dependencies.access.forRequest(ctx)
      const searchAll = (): Promise<SearchResult> =>
        search(
          dependencies,
          ctx,
          boundary,
          where,
          async ({ directory, entry, path, names }, start, isOver) => {
            if (!entry.isFile() || wanted?.matches(path) === false) return
            try {
              await searchOne(directory, entry.name, join(start, ...names), isOver)
            } catch (error) {
              ctx.signal.throwIfAborted()
              // A file that cannot be searched is only counted.
              if (!(error instanceof FileError) && errnoOf(error) === undefined) throw error
              found.leftOut++
            }
          },
          isFull,
        )
      const walked = await withPath(dependencies, boundary, where.path, async (place) => {
        const stats = await statIn(place.directory, place.name)
        if (stats?.isFile() !== true) return searchAll()
        if (stats.size > limits.searchBytes) throw tooLargeToSearch(place.path, limits.searchBytes)
        const deadline = performance.now() + limits.searchMs
        const isLate = (): boolean => performance.now() > deadline
        await describeErrors(`Cannot search ${place.path}`, () =>
          searchOne(place.directory, place.name, place.path, () => isFull() || isLate()),
        )
        const timedOut = isLate()
        return { visited: 1, truncated: timedOut, unreadable: [], timedOut }
      })
      return contentReply(found, walked, { hasContext: contextLines > 0, lineChars: limits.lineChars })
    },
  })

function tooLargeToSearch(path: string, limit: number): FileError {
  return new FileError(
    'limit',
    `${path} is larger than ${sizeText(limit)}, the limit of a search. Read it in parts with read_text_file.`,
  )
}

function contentReply(
  found: FoundLines,
  walked: SearchResult,
  { hasContext, lineChars }: { hasContext: boolean; lineChars: number },
) {
  const { files, leftOut, isFull } = found
  const shown = found.lines.slice(0, found.limit)
  const content =
    shown.length > 0 ? shown.map((line) => linesOf(line, hasContext)).join('\n') : 'No matches found'
  const notices = [
    ...incompleteNotices(walked, isFull),
    ...(leftOut > 0
      ? [
          `[${leftOut === 1 ? '1 file was' : `${leftOut} files were`} left out: binary, larger than the limit, or not readable.]`,
        ]
      : []),
    ...(found.hasLongLines
      ? [`[Of lines with more than ${lineChars} characters only the beginning was searched.]`]
      : []),
  ]
  return reply({
    content: [content, ...notices],
    structured: {
      content,
      matches: shown.map(({ before, after, ...match }) => ({
        ...match,
        ...(hasContext ? { before: [...before], after: [...after] } : {}),
      })),
      files,
      leftOut,
      truncated: walked.truncated || isFull,
    },
  })
}

function linesOf({ path, line, text, before, after }: FoundLine, hasContext: boolean): string {
  const main = `${path}:${line}: ${text}`
  if (!hasContext) return main
  return [
    ...before.map((near, index) => `${path}-${line - before.length + index}- ${near}`),
    main,
    ...after.map((near, index) => `${path}-${line + 1 + index}- ${near}`),
    '--',
  ].join('\n')
}
