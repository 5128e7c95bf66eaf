import { reply, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { kindOf } from '../access/directory.ts'
import { FileError } from '../access/file-error.ts'
import {
  contentsOf,
  removeDirectory,
  removeEmptyDirectory,
  removeFile,
  requireRemovable,
} from '../files/remove.ts'
import { sizeText } from '../files/text.ts'
import { fingerprintOf, requireUnchanged } from '../files/write.ts'
import { at, changing, confirm, pathArgument, type Scope } from './scope.ts'

/** A link itself is deleted, never what it leads to. */
const last = { followLast: false }

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`

export const deleteFile = (scope: Scope) =>
  tool({
    title: 'Delete File',
    description:
      'Delete one file or link; of a link, what it leads to stays. A person may be asked first. It cannot be undone. Only works within ' +
      'allowed directories.',
    input: z.object({ path: pathArgument }),
    output: z.object({ content: z.string(), path: z.string() }),
    annotations: changing({ destructive: true, idempotent: false }),
    async run({ path }, ctx) {
      const boundary = await scope.access.forRequest(ctx)
      const before = await ctx.step('look', () =>
        at(
          scope,
          boundary,
          path,
          async (place) => {
            const stats = await requireRemovable(place)
            if (stats.isDirectory())
              throw new FileError('kind', `${place.path} is a directory. Use delete_directory.`)
            const what = stats.isFile()
              ? `the file ${place.path} (${sizeText(stats.size)})`
              : `the ${kindOf(stats)} ${place.path}`
            return { what, fingerprint: fingerprintOf(stats) }
          },
          last,
        ),
      )
      await confirm(ctx, scope, 'replace', `Delete ${before.what}? This cannot be undone.`)
      return at(
        scope,
        boundary,
        path,
        async (place) => {
          await removeFile(place, before.fingerprint)
          const text = `Successfully deleted ${path}`
          return reply({ content: text, structured: { content: text, path: place.path } })
        },
        last,
      )
    },
  })

export const deleteDirectory = (scope: Scope) =>
  tool({
    title: 'Delete Directory',
    description:
      'Delete a directory: an empty one, or with recursive one with everything in it. Links in it are deleted, and what they lead to stays. ' +
      'A person may be asked first. It cannot be undone. Only works within allowed directories.',
    input: z.object({
      path: pathArgument,
      recursive: z.boolean().optional().default(false).describe('Delete everything in it as well'),
    }),
    output: z.object({ content: z.string(), path: z.string(), files: z.number(), directories: z.number() }),
    annotations: changing({ destructive: true, idempotent: false }),
    async run({ path, recursive }, ctx) {
      const boundary = await scope.access.forRequest(ctx)
      const limit = scope.settings.limits.deleted
      const before = await ctx.step('look', () =>
        at(
          scope,
          boundary,
          path,
          async (place) => {
            const stats = await requireRemovable(place)
            if (!stats.isDirectory())
              throw new FileError('kind', `${place.path} is a ${kindOf(stats)}. Use delete_file.`)
            const contents = await contentsOf(place, limit, ctx.signal)
            const { files, directories } = contents
            if (!recursive && files + directories > 0) {
              throw new FileError(
                'kind',
                `${place.path} is not empty (${counted(files, 'file', 'files')}, ${counted(directories, 'directory', 'directories')}). Set recursive to delete it with everything in it.`,
              )
            }
            return { path: place.path, fingerprint: fingerprintOf(stats), ...contents }
          },
          last,
        ),
      )
      const { files, directories } = before
      const contained =
        files + directories === 0
          ? ''
          : ` with ${counted(files, 'file', 'files')} and ${counted(directories, 'directory', 'directories')} in it`
      await confirm(
        ctx,
        scope,
        'replace',
        `Delete the directory ${before.path}${contained}? This cannot be undone.`,
      )
      return at(
        scope,
        boundary,
        path,
        async (place) => {
          await requireUnchanged(place, before.fingerprint)
          let removed = 0
          if (recursive) {
            await removeDirectory(place, limit, ctx.signal, (one) => {
              if (++removed % 100 === 0) ctx.progress(removed, files + directories, one)
            })
          } else await removeEmptyDirectory(place)
          const text = `Successfully deleted ${path}`
          return reply({ content: text, structured: { content: text, path: place.path, files, directories } })
        },
        last,
      )
    },
  })
