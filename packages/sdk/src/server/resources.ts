import { conduct } from '../core/conduct.ts'
import type { Exchange, Outcome } from '../core/exchange.ts'
import { limits } from '../core/limits.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ResourceContents } from '../protocol/content.ts'
import type { CacheHints } from '../protocol/definitions.ts'
import { toBase64 } from './base64.ts'
import type { Context } from './context.ts'
import { HandlerContext } from './make-context.ts'
import type { Registry } from './registry.ts'

interface Source {
  mimeType: string | undefined
  cache: Partial<CacheHints> | undefined
  read(ctx: Context): unknown
}

/** Serves `resources/read`: the resource at the URI, else the first template that matches it. */
export async function readResource(registry: Registry, exchange: Exchange): Promise<Outcome> {
  const { uri } = exchange.params
  if (typeof uri !== 'string')
    throw new RpcError(ErrorCode.InvalidParams, 'Invalid params: "uri" must be a string')
  if (uri.length > limits.uriChars)
    throw new RpcError(ErrorCode.InvalidParams, 'Invalid params: "uri" is too long')
  const source = sourceOf(registry, uri)
  if (source === undefined) throw notFound(uri)
  return conduct(
    exchange,
    async (round) => {
      const ctx = new HandlerContext(exchange, round)
      const returned = await source.read(ctx)
      ctx.flush()
      return returned
    },
    (returned) => resultOf(uri, source, returned),
  )
}

function sourceOf(registry: Registry, uri: string): Source | undefined {
  const resource = registry.resourceAt(uri)?.definition
  if (resource !== undefined) {
    return { mimeType: resource.mimeType, cache: resource.cache, read: (ctx) => resource.read(ctx) }
  }
  for (const { template, definition, read } of registry.templates.values()) {
    const variables = template.match(uri)
    if (variables !== undefined) {
      return {
        mimeType: definition.mimeType,
        cache: definition.cache,
        read: (ctx) => read.call(definition, variables, ctx, uri),
      }
    }
  }
  return undefined
}

function notFound(uri: string): RpcError {
  return new RpcError(ErrorCode.ResourceNotFound, 'Resource not found', { uri })
}

function resultOf(uri: string, source: Source, returned: unknown): JsonObject {
  const { ttlMs, cacheScope } = source.cache ?? {}
  const hints = {
    ...(ttlMs === undefined ? {} : { ttlMs }),
    ...(cacheScope === undefined ? {} : { cacheScope }),
  }
  if (returned === undefined) throw notFound(uri)
  if (typeof returned === 'string') {
    return { contents: [{ uri, mimeType: source.mimeType ?? 'text/plain', text: returned }], ...hints }
  }
  if (returned instanceof Uint8Array) {
    const mimeType = source.mimeType ?? 'application/octet-stream'
    return { contents: [{ uri, mimeType, blob: toBase64(returned) }], ...hints }
  }
  if (Array.isArray(returned)) return { contents: returned.map(requireContents), ...hints }
  if (isObject(returned) && Array.isArray(returned['contents'])) {
    const { contents, cache, meta } = returned
    return {
      contents: contents.map(requireContents),
      ...hints,
      ...(isObject(cache) ? cache : {}),
      ...(isObject(meta) ? { _meta: meta } : {}),
    }
  }
  return { contents: [requireContents(returned)], ...hints }
}

function requireContents(value: unknown): ResourceContents {
  if (isContents(value)) return value
  throw new TypeError('A resource must give text, bytes, or contents with a "uri" and a "text" or "blob"')
}

function isContents(value: unknown): value is ResourceContents {
  return (
    isObject(value) &&
    typeof value['uri'] === 'string' &&
    (typeof value['text'] === 'string' || typeof value['blob'] === 'string')
  )
}
