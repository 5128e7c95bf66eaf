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
import { confirm, pathArgument, type ToolDependencies, withPath, writeAnnotations } from './shared.ts'

/** Deletes a link itself, never its target. */
const noFollow = { followLast: false }

const count = (n: number, one: string, several: string): string => `${n} ${n === 1 ? one : several}`

export const deleteFile = (dependencies: ToolDependencies) =>
  tool({
    title: 'Delete File',
    description:
      'Delete one file or link; of a link, what it leads to stays. A person may be asked first. It cannot be undone. Only works within ' +
      'allowed directories.',
    input: z.object({ path: pathArgument }),
    output: z.object({ content: z.string(), path: z.string() }),
    annotations: writeAnnotations({ destructive: true, idempotent: false }),
    async run({ path }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      const before = await ctx.step('look', () =>
        withPath(
          dependencies,
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
          noFollow,
        ),
      )
      await confirm(ctx, dependencies, 'replace', `Delete ${before.what}? This cannot be undone.`)
      return withPath(
        dependencies,
        boundary,
        path,
        async (place) => {
          await removeFile(place, before.fingerprint)
          const text = `Successfully deleted ${path}`
          return reply({ content: text, structured: { content: text, path: place.path } })
        },
        noFollow,
      )
    },
  })

export const deleteDirectory = (dependencies: ToolDependencies) =>
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
    annotations: writeAnnotations({ destructive: true, idempotent: false }),
    async run({ path, recursive }, ctx) {
      const boundary = await dependencies.access.forRequest(ctx)
      const limit = dependencies.settings.limits.deleted
      const before = await ctx.step('look', () =>
        withPath(
          dependencies,
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
                `${place.path} is not empty (${count(files, 'file', 'files')}, ${count(directories, 'directory', 'directories')}). Set recursive to delete it with everything in it.`,
              )
            }
            return { path: place.path, fingerprint: fingerprintOf(stats), ...contents }
          },
          noFollow,
        ),
      )
      const { files, directories } = before
      const contained =
        files + directories === 0
          ? ''
          : ` with ${count(files, 'file', 'files')} and ${count(directories, 'directory', 'directories')} in it`
      await confirm(
        ctx,
        dependencies,
        'replace',
        `Delete the directory ${before.path}${contained}? This cannot be undone.`,
      )
      return withPath(
        dependencies,
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
        noFollow,
      )
    },
  })
