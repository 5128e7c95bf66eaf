import type { Exchange, Outcome } from '../core/exchange.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ResourceContents } from '../protocol/content.ts'
import type { CacheHints } from '../protocol/definitions.ts'
import { toBase64 } from './base64.ts'
import { faultOfContents, isContents, reported, requireWritable, requireWritableBlock } from './content.ts'
import type { Context } from './context.ts'
import { notFound } from './reading.ts'
import { runHandler, shownToPeer } from './run.ts'

/** What is read, and how. */
export interface Source {
  scopes: readonly string[]
  mimeType: string | undefined
  cache: Partial<CacheHints> | undefined
  read(ctx: Context): unknown
}

/** An answer made with a person's input is no answer to the same request of another time. */
const uncached: CacheHints = { ttlMs: 0, cacheScope: 'private' }

/** What only some callers may read is nothing that others may keep. */
const unshared: Pick<CacheHints, 'cacheScope'> = { cacheScope: 'private' }

/** Serves a read of the resource at a URI. */
export async function serveRead(exchange: Exchange, uri: string, source: Source): Promise<Outcome> {
  const { requestState, inputResponses } = exchange.params
  const retried = requestState !== undefined || inputResponses !== undefined
  try {
    return await runHandler(
      exchange,
      (ctx) => source.read(ctx),
      (returned) => ({
        ...resultOf(uri, source, returned),
        ...(source.scopes.length > 0 ? unshared : {}),
        ...(retried ? uncached : {}),
      }),
    )
  } catch (error) {
    return shownToPeer(await reported(error))
  }
}

/** Whether a path in a file's address leads out of the folder it begins in: no handler is given one. */
export function climbs(uri: string, variables: Readonly<Record<string, string | string[]>>): boolean {
  if (!/^file:/i.test(uri)) return false
  const parts = Object.values(variables).flat()
  return parts.some((part) => part.includes('\0') || part.split(/[/\\]/).includes('..'))
}

function resultOf(uri: string, source: Source, returned: unknown): JsonObject {
  if (returned === undefined) throw notFound(uri)
  const { cache = {}, mimeType } = source
  if (typeof returned === 'string') {
    return { contents: [{ uri, mimeType: mimeType ?? 'text/plain', text: returned }], ...cache }
  }
  if (returned instanceof Uint8Array) {
    const blob = toBase64(returned)
    return { contents: [{ uri, mimeType: mimeType ?? 'application/octet-stream', blob }], ...cache }
  }
  if (Array.isArray(returned)) return { contents: returned.map(requireContents), ...cache }
  if (!isObject(returned) || !Array.isArray(returned['contents'])) {
    return { contents: [requireContents(returned, 0)], ...cache }
  }
  const { contents, cache: own, meta } = returned
  if (meta !== undefined) requireWritable('_meta', meta)
  return {
    contents: contents.map(requireContents),
    ...cache,
    ...(isObject(own) ? own : {}),
    ...(isObject(meta) ? { _meta: meta } : {}),
  }
}

function requireContents(value: unknown, at: number): ResourceContents {
  if (isContents(value)) {
    requireWritableBlock(`contents[${at}]`, value)
    return value
  }
  throw new TypeError(
    'A resource must give text, bytes, or contents with a "uri" and either a "text" or a "blob" in base64; ' +
      `contents[${at}] cannot be used: ${faultOfContents(value)}`,
  )
}
