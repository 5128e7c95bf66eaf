import { type Context, reply, tool } from '@jackfield/sdk'
import { z } from 'zod'
import type { Boundary } from '../access/boundary.ts'
import { kindOf, statIn } from '../access/directory.ts'
import { FileError } from '../access/file-error.ts'
import type { Place } from '../access/resolve.ts'
import { applyEdits, diffBlock } from '../files/edit.ts'
import { BinaryFileError, readBytes, withFile } from '../files/read.ts'
import { decoderOf, type Encoding, encode, encodingOf, sizeText } from '../files/text.ts'
import {
  createDirectory as createAt,
  type Fingerprint,
  fingerprintOf,
  move,
  writeAtomically,
} from '../files/write.ts'
import { confirm, pathArgument, type ToolDependencies, withPath, writeAnnotations } from './shared.ts'

/** Maximum characters of a diff in a question to the person. */
const maxDiffChars = 4_000

/** The state of a path before the change. Recorded as a step, so that a handler that runs again asks the same question. */
interface Before {
  path: string
  fingerprint: Fingerprint
  size: number
}

export const writeFile = (dependencies: ToolDependencies) =>
  tool({
    title: 'Write File',
    description:
      'Create a new file or completely replace an existing one with new text. A person may be asked before a file is replaced. The file is ' +
      'written whole or not at all, and keeps its permissions. Only works within allowed directories.',
    input: z.object({ path: pathArgument, content: z.string() }),
    output: z.object({ content: z.string(), path: z.string(), bytes: z.number(), created: z.boolean() }),
    annotations: writeAnnotations({ destructive: true, idempotent: true }),
    async run({ path, content }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      const before = await ctx.step('look', () => withPath(dependencies, boundary, path, inspectFile))
      const bytes = Buffer.from(content, 'utf8')
      const isNew = before.fingerprint === null
      await confirm(
        ctx,
        dependencies,
        isNew ? 'create' : 'replace',
        isNew
          ? `Create ${before.path} (${sizeText(bytes.length)})?`
          : `Overwrite ${before.path}? Its ${sizeText(before.size)} are replaced by ${sizeText(bytes.length)}.`,
      )
      return withPath(dependencies, boundary, path, async (place) => {
        await writeAtomically(place, bytes, before.fingerprint)
        const text = `Successfully wrote to ${path}`
        return reply({
          content: text,
          structured: { content: text, path: place.path, bytes: bytes.length, created: isNew },
        })
      })
    },
  })

/** The state of a file before the change. @throws FileError if it is not a regular file */
async function inspectFile(place: Place): Promise<Before> {
  const stats = await statIn(place.directory, place.name)
  if (stats !== undefined && !stats.isFile()) {
    throw new FileError(
      'kind',
      `Cannot write ${place.path}: it is a ${kindOf(stats)}, and only regular files are replaced.`,
    )
  }
  return { path: place.path, fingerprint: fingerprintOf(stats), size: stats?.size ?? 0 }
}

/** A text file with its text after the edits. */
interface PreparedEdit {
  path: string
  fingerprint: Fingerprint
  encoding: Encoding
  text: string
  notes: readonly string[]
  diff: string
  isChanged: boolean
}

type EditArguments = {
  path: string
  edits: { oldText: string; newText: string; replaceAll?: boolean | undefined }[]
}

async function prepareEdit(
  dependencies: ToolDependencies,
  boundary: Boundary,
  { path, edits }: EditArguments,
  ctx: Context,
): Promise<PreparedEdit> {
  return withPath(dependencies, boundary, path, (place) =>
    withFile(place, async (file) => {
      const bytes = await readBytes(file, place.path, dependencies.settings.limits.editBytes, ctx.signal)
      const encoding = encodingOf(bytes)
      if (encoding === undefined) throw new BinaryFileError(place.path, bytes.length)
      const original = decodeText(bytes, encoding, place.path)
      const { text, notes } = applyEdits(original, edits, place.path)
      const isChanged = text !== original
      return {
        path: place.path,
        fingerprint: fingerprintOf(file.stats),
        encoding,
        text,
        notes: isChanged ? notes : [...notes, 'The edits change nothing: the file has the new text already.'],
        diff: diffBlock(original, text, place.path),
        isChanged,
      }
    }),
  )
}

function decodeText(bytes: Uint8Array, encoding: Encoding, path: string): string {
  try {
    return decoderOf(encoding, true)(bytes, false)
  } catch {
    throw new BinaryFileError(path, bytes.length)
  }
}

export const editFile = (dependencies: ToolDependencies) =>
  tool({
    title: 'Edit File',
    description:
      'Replace parts of a text file. Each edit replaces the first place that is exactly oldText (or all of them with replaceAll); without an ' +
      'exact one, lines that differ in indentation only. Line endings, encoding and everything else stay as they are. Returns a git-style ' +
      'diff; with dryRun nothing is written. A person may be asked before the file is changed. Only works within allowed directories.',
    input: z.object({
      path: pathArgument,
      edits: z
        .array(
          z.object({
            oldText: z.string().describe('Text to search for - must match exactly'),
            newText: z.string().describe('Text to replace with'),
            replaceAll: z.boolean().optional().describe('Replace every place, not only the first'),
          }),
        )
        .min(1)
        .max(200),
      dryRun: z.boolean().optional().default(false).describe('Preview changes using git-style diff format'),
    }),
    output: z.object({
      content: z.string(),
      path: z.string(),
      changed: z.boolean(),
      notes: z.array(z.string()),
    }),
    annotations: writeAnnotations({ destructive: true, idempotent: false }),
    async run({ dryRun, ...args }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      if (!dryRun) {
        // Only what the question shows is recorded. The text of the file is read again after the answer.
        const before = await ctx.step('look', async () => {
          const { path, fingerprint, diff, isChanged } = await prepareEdit(dependencies, boundary, args, ctx)
          return { path, fingerprint, isChanged, diff: truncateDiff(diff) }
        })
        if (before.isChanged)
          await confirm(ctx, dependencies, 'replace', `Change ${before.path}?\n\n${before.diff}`)
        const edit = await prepareEdit(dependencies, boundary, args, ctx)
        if (edit.isChanged) {
          await withPath(dependencies, boundary, args.path, (place) =>
            writeAtomically(place, encode(edit.text, edit.encoding), before.fingerprint),
          )
        }
        return editReply(edit, edit.isChanged)
      }
      return editReply(await prepareEdit(dependencies, boundary, args, ctx), false)
    },
  })

function truncateDiff(diff: string): string {
  return diff.length > maxDiffChars
    ? `${diff.slice(0, maxDiffChars).toWellFormed()}\n… (${diff.length} characters in all)`
    : diff
}

function editReply({ diff, notes, path }: PreparedEdit, changed: boolean) {
  return reply({
    content: [diff, ...notes.map((note) => `[${note}]`)],
    structured: { content: diff, path, changed, notes: [...notes] },
  })
}

export const createDirectory = (dependencies: ToolDependencies) =>
  tool({
    title: 'Create Directory',
    description:
      'Create a directory, with the directories above it that are missing. It is no error if it exists already. Only works within allowed ' +
      'directories.',
    input: z.object({ path: pathArgument }),
    output: z.object({ content: z.string(), path: z.string(), created: z.boolean() }),
    annotations: writeAnnotations({ destructive: false, idempotent: true }),
    async run({ path }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      await confirm(ctx, dependencies, 'create', `Create the directory ${path}?`)
      const create = async (directory: Place['directory'], name: string): Promise<void> => {
        await createAt({ directory, name, path })
      }
      return withPath(
        dependencies,
        boundary,
        path,
        async (place) => {
          const created = await createAt(place)
          const text = `Successfully created directory ${path}`
          return reply({ content: text, structured: { content: text, path: place.path, created } })
        },
        { followLast: true, create },
      )
    },
  })

export const moveFile = (dependencies: ToolDependencies) =>
  tool({
    title: 'Move File',
    description:
      'Move or rename a file, link or directory. It fails if the destination exists: nothing is replaced. A link itself is moved, not what it ' +
      'leads to. Both source and destination must be within allowed directories.',
    input: z.object({ source: pathArgument, destination: pathArgument }),
    output: z.object({ content: z.string(), source: z.string(), destination: z.string() }),
    annotations: writeAnnotations({ destructive: true, idempotent: false }),
    async run({ source, destination }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      await confirm(ctx, dependencies, 'create', `Move ${source} to ${destination}?`)
      const noFollow = { followLast: false }
      return withPath(
        dependencies,
        boundary,
        source,
        (from) =>
          withPath(
            dependencies,
            boundary,
            destination,
            async (to) => {
              await move(from, to, ctx.signal)
              const text = `Successfully moved ${source} to ${destination}`
              return reply({
                content: text,
                structured: { content: text, source: from.path, destination: to.path },
              })
            },
            noFollow,
          ),
        noFollow,
      )
    },
  })
