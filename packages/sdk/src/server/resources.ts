import type { Exchange, Outcome } from '../core/exchange.ts'
import { limits } from '../core/limits.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ResourceContents } from '../protocol/content.ts'
import type { CacheHints } from '../protocol/definitions.ts'
import { toBase64 } from './base64.ts'
import { isContents } from './content.ts'
import type { Context } from './context.ts'
import type { Registry } from './registry.ts'
import { invalidParams, runHandler, shownToPeer } from './run.ts'

interface Source {
  scopes: readonly string[]
  mimeType: string | undefined
  cache: Partial<CacheHints> | undefined
  read(ctx: Context): unknown
}

/** An answer made with a person's input is no answer to the same request of another time. */
const uncached: CacheHints = { ttlMs: 0, cacheScope: 'private' }

/** What only some callers may read is nothing that others may keep. */
const unshared: Pick<CacheHints, 'cacheScope'> = { cacheScope: 'private' }

/** Serves `resources/read`: the resource at the URI, else the first template that matches it. */
export async function readResource(registry: Registry, exchange: Exchange): Promise<Outcome> {
  const { uri, requestState, inputResponses } = exchange.params
  if (typeof uri !== 'string') throw invalidParams('"uri" must be a string')
  if (uri.length > limits.uriChars) {
    throw invalidParams(`"uri" must have at most ${limits.uriChars} characters`)
  }
  const source = sourceOf(registry, uri)
  if (source === undefined) throw notFound(uri)
  const retried = requestState !== undefined || inputResponses !== undefined
  return runHandler(
    exchange,
    (ctx) => source.read(ctx),
    (returned) => ({
      ...resultOf(uri, source, returned),
      ...(source.scopes.length > 0 ? unshared : {}),
      ...(retried ? uncached : {}),
    }),
  ).catch(shownToPeer)
}

function sourceOf(registry: Registry, uri: string): Source | undefined {
  const resource = registry.resourceAt(uri)
  if (resource !== undefined) return resource
  for (const { template, scopes, mimeType, cache, read } of registry.templates.values()) {
    const variables = template.match(uri)
    if (variables !== undefined && !climbs(uri, variables))
      return { scopes, mimeType, cache, read: (ctx) => read(variables, ctx, uri) }
  }
  return undefined
}

/** Whether a path in a file's address leads out of the folder it begins in: no handler is given one. */
function climbs(uri: string, variables: Readonly<Record<string, string | string[]>>): boolean {
  if (!/^file:/i.test(uri)) return false
  const parts = Object.values(variables).flat()
  return parts.some((part) => part.includes('\0') || part.split(/[/\\]/).includes('..'))
}

function notFound(uri: string): RpcError {
  return new RpcError(ErrorCode.ResourceNotFound, 'Resource not found', { uri })
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
    return { contents: [requireContents(returned)], ...cache }
  }
  const { contents, cache: own, meta } = returned
  return {
    contents: contents.map(requireContents),
    ...cache,
    ...(isObject(own) ? own : {}),
    ...(isObject(meta) ? { _meta: meta } : {}),
  }
}

function requireContents(value: unknown): ResourceContents {
  if (isContents(value)) return value
  throw new TypeError(
    'A resource must give text, bytes, or contents with a "uri" and either a "text" or a "blob" in base64',
  )
}
