import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Context, ErrorCode, type Peer, type Resource, RpcError, template } from '@jackfield/sdk'
import { pathOf } from './access/access.ts'
import { entriesOf, statIn } from './access/directory.ts'
import { FileError } from './access/file-error.ts'
import { readBytes, withFile } from './files/read.ts'
import { decoderOf, encodingOf, mediaTypeOf } from './files/text.ts'
import { pageOf, withDirectory } from './tools/list.ts'
import { type ToolDependencies, withPath } from './tools/shared.ts'

/** Media type of a directory, as the protocol's documents suggest. */
const directoryType = 'inode/directory'

/** Files and directories as resources. All within the boundary can be read; only the top level is listed. */
export const files = (dependencies: ToolDependencies) =>
  template({
    uriTemplate: 'file:///{+path}',
    title: 'Files',
    description:
      'Files and directories within the allowed directories, by absolute path. A directory is read as a list of its entries.',
    list: (ctx) => listTopLevel(dependencies, ctx),
    complete: { path: (typed, { peer, signal }) => completions(dependencies, typed, peer, signal) },
    async read(_variables, ctx, uri) {
      const path = pathOf(uri)
      if (path === undefined) {
        throw new RpcError(
          ErrorCode.InvalidParams,
          `Not the URI of a local file: ${uri}. Escape ? and # in file names as %3F and %23.`,
        )
      }
      const boundary = await dependencies.access.forRequest(ctx)
      try {
        return await withPath(dependencies, boundary, path, async (place) => {
          const stats = await statIn(place.directory, place.name)
          if (stats === undefined) return undefined
          if (stats.isDirectory()) {
            const page = await withDirectory(place, (directory) =>
              pageOf(directory, undefined, dependencies.settings.limits.entries, ctx.signal),
            )
            const lines = page.entries.map(({ name, type }) => (type === 'directory' ? `${name}/` : name))
            const more = page.cursor === undefined ? [] : [`… ${page.total - page.entries.length} more`]
            return { uri, mimeType: directoryType, text: [...lines, ...more].join('\n') }
          }
          const { readBytes: textLimit, mediaBytes } = dependencies.settings.limits
          const bytes = await withFile(place, (file) => readBytes(file, place.path, mediaBytes, ctx.signal))
          const text = bytes.length > textLimit ? undefined : textOf(bytes)
          const mimeType = mediaTypeOf(place.path)
          return text === undefined
            ? { uri, mimeType: mimeType ?? 'application/octet-stream', blob: bytes.toString('base64') }
            : { uri, mimeType: mimeType ?? 'text/plain', text }
        })
      } catch (error) {
        if (!(error instanceof FileError)) throw error
        if (error.code === 'missing') return undefined
        throw new RpcError(ErrorCode.InvalidParams, error.message)
      }
    },
  })

function textOf(bytes: Uint8Array): string | undefined {
  const encoding = encodingOf(bytes)
  if (encoding === undefined) return undefined
  try {
    return decoderOf(encoding, true)(bytes, false)
  } catch {
    return undefined
  }
}

/** The allowed directories and the files directly in them, up to a limit. */
async function listTopLevel(dependencies: ToolDependencies, { peer, signal }: Context): Promise<Resource[]> {
  const boundary = dependencies.access.lastOf(peer)
  const limit = dependencies.settings.limits.resources
  const listed: Resource[] = []
  for (const { path, kind } of boundary.allowed) {
    const isDirectory = kind === 'directory'
    listed.push(resourceOf(path, isDirectory ? directoryType : mediaTypeOf(path)))
    if (!isDirectory) continue
    try {
      await withPath(dependencies, boundary, path, (place) =>
        withDirectory(place, async (directory) => {
          const { entries } = await pageOf(directory, undefined, limit * 10, signal)
          for (const { name, type } of entries) {
            if (type === 'file' && listed.length < limit)
              listed.push(resourceOf(join(path, name), mediaTypeOf(name)))
          }
        }),
      )
    } catch (error) {
      // The directory was removed or is not readable. The others are still listed.
      if (!(error instanceof FileError)) throw error
    }
  }
  return listed.slice(0, limit)
}

function resourceOf(path: string, mimeType: string | undefined): Resource {
  return {
    uri: pathToFileURL(path).href,
    name: basename(path) || path,
    ...(mimeType === undefined ? {} : { mimeType }),
  }
}

const maxCompletions = 1000

/** Paths within the boundary that begin with what was typed, without their first slash, as the template has it. */
async function completions(
  dependencies: ToolDependencies,
  typed: string,
  peer: Peer,
  signal: AbortSignal,
): Promise<string[]> {
  const boundary = dependencies.access.lastOf(peer)
  const prefix = pathOf(`file:///${typed.replaceAll('?', '%3F').replaceAll('#', '%23')}`)
  if (prefix === undefined || typed.split('/').includes('..')) return []
  const tops = boundary.allowed.filter(({ path }) => path.startsWith(prefix))
  const found = tops.map(({ path, kind }) => completionOf(path, kind === 'directory'))
  const parent = typed.endsWith('/') || typed === '' ? prefix : dirname(prefix)
  const start = typed.endsWith('/') || typed === '' ? '' : basename(prefix)
  if (boundary.find(parent) === undefined) return found
  const names = await withPath(dependencies, boundary, parent, (place) =>
    withDirectory(place, async (directory) => {
      const matching: { name: string; isDirectory: boolean }[] = []
      for await (const entry of entriesOf(directory)) {
        signal.throwIfAborted()
        if (entry.name.startsWith(start))
          matching.push({ name: entry.name, isDirectory: entry.isDirectory() })
        if (matching.length >= maxCompletions) break
      }
      return matching
    }),
  ).catch((error: unknown) => {
    // What was typed does not lead to a directory.
    if (error instanceof FileError) return []
    throw error
  })
  return [
    ...found,
    ...names.map(({ name, isDirectory }) => completionOf(join(parent, name), isDirectory)).sort(),
  ]
}

/** A path as the value of `{+path}`, in which reserved characters stay as they are. */
function completionOf(path: string, isDirectory: boolean): string {
  const value = path.replaceAll('\\', process.platform === 'win32' ? '/' : '\\').replace(/^\//, '')
  const escaped = value.replaceAll('%', '%25').replaceAll('?', '%3F').replaceAll('#', '%23')
  return isDirectory && escaped !== '' ? `${escaped}/` : escaped
}
