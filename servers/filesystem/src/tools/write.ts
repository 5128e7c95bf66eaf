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
  writeWhole,
} from '../files/write.ts'
import { at, changing, confirm, pathArgument, type Scope } from './scope.ts'

/** Characters of a difference that a question shows. */
const shownDiffChars = 4_000

/** The state of a path before the change. Recorded, so that a handler that runs again asks the same question. */
interface Before {
  path: string
  fingerprint: Fingerprint
  size: number
}

export const writeFile = (scope: Scope) =>
  tool({
    title: 'Write File',
    description:
      'Create a new file or completely replace an existing one with new text. A person may be asked before a file is replaced. The file is ' +
      'written whole or not at all, and keeps its permissions. Only works within allowed directories.',
    input: z.object({ path: pathArgument, content: z.string() }),
    output: z.object({ content: z.string(), path: z.string(), bytes: z.number(), created: z.boolean() }),
    annotations: changing({ destructive: true, idempotent: true }),
    async run({ path, content }, ctx) {
      const boundary = await scope.access.forRequest(ctx)
      const before = await ctx.step('look', () => at(scope, boundary, path, lookAtFile))
      const bytes = Buffer.from(content, 'utf8')
      const isNew = before.fingerprint === null
      await confirm(
        ctx,
        scope,
        isNew ? 'create' : 'replace',
        isNew
          ? `Create ${before.path} (${sizeText(bytes.length)})?`
          : `Overwrite ${before.path}? Its ${sizeText(before.size)} are replaced by ${sizeText(bytes.length)}.`,
      )
      return at(scope, boundary, path, async (place) => {
        await writeWhole(place, bytes, before.fingerprint)
        const text = `Successfully wrote to ${path}`
        return reply({
          content: text,
          structured: { content: text, path: place.path, bytes: bytes.length, created: isNew },
        })
      })
    },
  })

/** @throws FileError for what cannot be replaced by a file */
async function lookAtFile(place: Place): Promise<Before> {
  const stats = await statIn(place.directory, place.name)
  if (stats !== undefined && !stats.isFile()) {
    throw new FileError(
      'kind',
      `Cannot write ${place.path}: it is a ${kindOf(stats)}, and only regular files are replaced.`,
    )
  }
  return { path: place.path, fingerprint: fingerprintOf(stats), size: stats?.size ?? 0 }
}

/** A text file, and its text after the edits. */
interface Draft {
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

async function draftOf(
  scope: Scope,
  boundary: Boundary,
  { path, edits }: EditArguments,
  ctx: Context,
): Promise<Draft> {
  return at(scope, boundary, path, (place) =>
    withFile(place, async (file) => {
      const bytes = await readBytes(file, place.path, scope.settings.limits.editBytes, ctx.signal)
      const encoding = encodingOf(bytes)
      if (encoding === undefined) throw new BinaryFileError(place.path, bytes.length)
      const original = decoded(bytes, encoding, place.path)
      const { text, notes } = applyEdits(original, edits, place.path)
      return {
        path: place.path,
        fingerprint: fingerprintOf(file.stats),
        encoding,
        text,
        notes,
        diff: diffBlock(original, text, place.path),
        isChanged: text !== original,
      }
    }),
  )
}

function decoded(bytes: Uint8Array, encoding: Encoding, path: string): string {
  try {
    return decoderOf(encoding, true)(bytes, false)
  } catch {
    throw new BinaryFileError(path, bytes.length)
  }
}

export const editFile = (scope: Scope) =>
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
    annotations: changing({ destructive: true, idempotent: false }),
    async run({ dryRun, ...args }, ctx) {
      const boundary = await scope.access.forRequest(ctx)
      if (!dryRun) {
        // Only what the question shows is recorded: the text of the file is read again after it.
        const asked = await ctx.step('look', async () => {
          const { path, fingerprint, diff, isChanged } = await draftOf(scope, boundary, args, ctx)
          return { path, fingerprint, isChanged, diff: cut(diff) }
        })
        if (asked.isChanged) await confirm(ctx, scope, 'replace', `Change ${asked.path}?\n\n${asked.diff}`)
        const draft = await draftOf(scope, boundary, args, ctx)
        if (draft.isChanged) {
          await at(scope, boundary, args.path, (place) =>
            writeWhole(place, encode(draft.text, draft.encoding), asked.fingerprint),
          )
        }
        return resultOf(draft, draft.isChanged)
      }
      return resultOf(await draftOf(scope, boundary, args, ctx), false)
    },
  })

function cut(diff: string): string {
  return diff.length > shownDiffChars
    ? `${diff.slice(0, shownDiffChars).toWellFormed()}\n… (${diff.length} characters in all)`
    : diff
}

function resultOf({ diff, notes, path }: Draft, changed: boolean) {
  return reply({
    content: [diff, ...notes.map((note) => `[${note}]`)],
    structured: { content: diff, path, changed, notes: [...notes] },
  })
}

export const createDirectory = (scope: Scope) =>
  tool({
    title: 'Create Directory',
    description:
      'Create a directory, with the directories above it that are missing. It is no error if it exists already. Only works within allowed ' +
      'directories.',
    input: z.object({ path: pathArgument }),
    output: z.object({ content: z.string(), path: z.string(), created: z.boolean() }),
    annotations: changing({ destructive: false, idempotent: true }),
    async run({ path }, ctx) {
      const boundary = await scope.access.forRequest(ctx)
      await confirm(ctx, scope, 'create', `Create the directory ${path}?`)
      const create = async (directory: Place['directory'], name: string): Promise<void> => {
        await createAt({ directory, name, path })
      }
      return at(
        scope,
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

export const moveFile = (scope: Scope) =>
  tool({
    title: 'Move File',
    description:
      'Move or rename a file, link or directory. It fails if the destination exists: nothing is replaced. A link itself is moved, not what it ' +
      'leads to. Both source and destination must be within allowed directories.',
    input: z.object({ source: pathArgument, destination: pathArgument }),
    output: z.object({ content: z.string(), source: z.string(), destination: z.string() }),
    annotations: changing({ destructive: true, idempotent: false }),
    async run({ source, destination }, ctx) {
      const boundary = await scope.access.forRequest(ctx)
      await confirm(ctx, scope, 'create', `Move ${source} to ${destination}?`)
      const last = { followLast: false }
      return at(
        scope,
        boundary,
        source,
        (from) =>
          at(
            scope,
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
            last,
          ),
        last,
      )
    },
  })
