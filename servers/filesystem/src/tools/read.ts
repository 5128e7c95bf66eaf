import { pathToFileURL } from 'node:url'
import { audio, blob, type Context, image, reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import type { Boundary } from '../access/boundary.ts'
import { FileError } from '../access/file-error.ts'
import {
  BinaryFileError,
  type LineRange,
  readBytes,
  readText,
  type TextPart,
  withFile,
} from '../files/read.ts'
import { encodings, mediaTypeOf, sizeText } from '../files/text.ts'
import { pathArgument, readAnnotations, type ToolDependencies, withPath } from './shared.ts'

const textArguments = z.object({
  path: pathArgument,
  head: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('If provided, returns only the first N lines of the file'),
  tail: z.number().int().min(0).optional().describe('If provided, returns only the last N lines of the file'),
  startLine: z.number().int().min(1).optional().describe('First line to return, from 1'),
  endLine: z.number().int().min(1).optional().describe('Last line to return'),
  encoding: z
    .enum(encodings)
    .optional()
    .describe('Default: detected (UTF-8, or UTF-16 with a byte order mark)'),
})

const textOutput = z.object({
  content: z.string(),
  path: z.string(),
  size: z.number().describe('Bytes of the whole file'),
  encoding: z.enum(encodings),
  firstLine: z.number().optional(),
  lastLine: z.number().optional(),
  truncated: z
    .boolean()
    .describe('Whether a part of what was requested is missing, because one result is limited'),
})

/** The lines that the arguments select. @throws ToolError if they contradict each other */
function rangeOf({ head, tail, startLine, endLine }: z.infer<typeof textArguments>): LineRange {
  const isRange = startLine !== undefined || endLine !== undefined
  // Some models send 0 for an argument that they do not use.
  if ([head, tail].filter(Boolean).length + Number(isRange) > 1) {
    throw new ToolError(
      'Cannot specify both head and tail parameters simultaneously, nor either of them with startLine or endLine.',
    )
  }
  if (head) return { head }
  if (tail) return { tail }
  if (!isRange) return undefined
  const [from, to] = [startLine ?? 1, endLine ?? Number.POSITIVE_INFINITY]
  if (to < from) throw new ToolError(`endLine ${to} is before startLine ${from}.`)
  return { from, to }
}

function readTool(dependencies: ToolDependencies, shown: { title: string; description: string }) {
  return tool({
    ...shown,
    input: textArguments,
    output: textOutput,
    annotations: readAnnotations,
    async run(args, ctx) {
      const { encoding } = args
      const range = rangeOf(args)
      const boundary = await dependencies.access.forRequest(ctx)
      return withPath(dependencies, boundary, args.path, async (place) => {
        const limit = dependencies.settings.limits.readBytes
        try {
          const part = await withFile(place, (file) =>
            readText(file, place.path, { range, encoding, limit, signal: ctx.signal }),
          )
          const { text, firstLine, lastLine, size, encoding: used, truncated } = part
          const notice = noticeOf(part, range)
          return reply({
            content: notice === undefined ? text : [text, notice],
            structured: {
              content: text,
              path: place.path,
              size,
              encoding: used,
              truncated,
              ...(firstLine === undefined ? {} : { firstLine }),
              ...(lastLine === undefined ? {} : { lastLine }),
            },
          })
        } catch (error) {
          if (!(error instanceof BinaryFileError)) throw error
          const { message, size, mediaType } = error
          const link = {
            type: 'resource_link' as const,
            uri: pathToFileURL(place.path).href,
            name: place.name,
            mimeType: mediaType,
            size,
          }
          return reply({ content: [message, link], isError: true })
        }
      })
    },
  })
}

/** What a result says besides the text: that a part of it is missing, or that there are no such lines. */
function noticeOf(part: TextPart, range: LineRange): string | undefined {
  if (part.truncated) return truncation(part, range)
  const isAfterEnd = range !== undefined && 'from' in range && part.firstLine === undefined
  return isAfterEnd ? `[The file has ${part.lineCount ?? 0} lines.]` : undefined
}

function truncation({ size, firstLine, lastLine, isLineCut }: TextPart, range: LineRange): string {
  const whole = `The file has ${sizeText(size)}.`
  if (range !== undefined && 'tail' in range)
    return `[Truncated: only the end of the requested lines is shown. ${whole}]`
  if (firstLine === undefined || lastLine === undefined) return `[Truncated. ${whole}]`
  const shown = isLineCut
    ? `only the beginning of line ${firstLine} is shown`
    : `lines ${firstLine} to ${lastLine} are shown`
  return `[Truncated: ${shown}. ${whole} Continue with startLine ${lastLine + 1}.]`
}

export const readTextFile = (dependencies: ToolDependencies) =>
  readTool(dependencies, {
    title: 'Read Text File',
    description:
      'Read a file from the file system as text: all of it, its first lines (head), its last lines (tail), or lines startLine to ' +
      'endLine. Of a file above the size limit the result is the beginning, and says at which line to continue. Binary files are ' +
      'refused with their size and media type. Only works within allowed directories.',
  })

export const readFile = (dependencies: ToolDependencies) =>
  readTool(dependencies, {
    title: 'Read File (Deprecated)',
    description: 'Read the contents of a file as text. DEPRECATED: Use read_text_file instead.',
  })

export const readMediaFile = (dependencies: ToolDependencies) =>
  tool({
    title: 'Read Media File',
    description:
      'Read a file of any type and return it in base64 with its media type: images and audio as such, any other file as an embedded ' +
      'resource. Only works within allowed directories.',
    input: z.object({ path: pathArgument }),
    output: z.object({ path: z.string(), mimeType: z.string(), size: z.number() }),
    annotations: readAnnotations,
    async run({ path }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      return withPath(dependencies, boundary, path, async (place) => {
        const bytes = await withFile(place, (file) =>
          readBytes(file, place.path, dependencies.settings.limits.mediaBytes, ctx.signal),
        )
        const mimeType = mediaTypeOf(place.path) ?? 'application/octet-stream'
        const content = mimeType.startsWith('image/')
          ? image(bytes, mimeType)
          : mimeType.startsWith('audio/')
            ? audio(bytes, mimeType)
            : blob(pathToFileURL(place.path).href, bytes, mimeType)
        return reply({ content, structured: { path: place.path, mimeType, size: bytes.length } })
      })
    },
  })

const concurrency = 8

export const readMultipleFiles = (dependencies: ToolDependencies) =>
  tool({
    title: 'Read Multiple Files',
    description:
      'Read several text files at once. Each one is returned with its path; a file that cannot be read has an error in its place and ' +
      'does not fail the others. Only works within allowed directories.',
    input: z.object({
      paths: z
        .array(z.string())
        .min(1, 'At least one file path must be provided')
        .max(dependencies.settings.limits.files)
        .describe('File paths to read. Each must be a path of a file within allowed directories.'),
    }),
    output: z.object({
      content: z.string(),
      files: z.array(
        z.object({
          path: z.string(),
          size: z.number().optional(),
          truncated: z.boolean().optional(),
          error: z.string().optional(),
        }),
      ),
    }),
    annotations: readAnnotations,
    async run({ paths }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      const limit = Math.floor(dependencies.settings.limits.readBytes / paths.length)
      const results: FileResult[] = []
      for (let from = 0; from < paths.length; from += concurrency) {
        const batch = paths
          .slice(from, from + concurrency)
          .map((path) => readOne(dependencies, boundary, path, limit, ctx))
        results.push(...(await Promise.all(batch)))
        ctx.progress(results.length, paths.length)
      }
      const content = results.map(({ text }) => text).join('\n---\n')
      return reply({ content, structured: { content, files: results.map(({ text: _, ...file }) => file) } })
    },
  })

interface FileResult {
  text: string
  path: string
  size?: number
  truncated?: boolean
  error?: string
}

async function readOne(
  dependencies: ToolDependencies,
  boundary: Boundary,
  path: string,
  limit: number,
  ctx: Context,
): Promise<FileResult> {
  try {
    const part = await withPath(dependencies, boundary, path, (place) =>
      withFile(place, (file) =>
        readText(file, place.path, { range: undefined, encoding: undefined, limit, signal: ctx.signal }),
      ),
    )
    const { text, size, truncated } = part
    return {
      text: `${path}:\n${text}\n${truncated ? `${truncation(part, undefined)}\n` : ''}`,
      path,
      size,
      truncated,
    }
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return { text: `${path}: Error - ${error.message}`, path, error: error.message }
  }
}
