import { toBase64 } from '../jsonrpc/bytes.ts'
import { ErrorCode, invalid, invalidParams, kindOf, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ResourceContents } from '../protocol/content.ts'
import type { CacheHints, Resource } from '../protocol/definitions.ts'
import type { Exchange, Outcome } from '../request/exchange.ts'
import { defined } from '../request/object-members.ts'
import { completersOf } from './completion.ts'
import {
  faultOfContents,
  isContents,
  requireSerializable,
  requireSerializableBlock,
  withJsonPath,
} from './content.ts'
import type { Context } from './context.ts'
import {
  listedMetadata,
  metadataMembers,
  prefixErrors,
  requireHints,
  requireMembers,
  scopesOf,
} from './definition-metadata.ts'
import { rethrowForPeer, runHandler } from './handler-context.ts'
import type { Registry, ResourceEntry, TemplateEntry } from './registry.ts'
import type { AnyTemplate, ResourceValue } from './server.ts'
import { parseTemplate } from './uri-template.ts'

/** Serves `resources/read`: the resource at the URI, else the first template that matches it. */
export async function readResource(registry: Registry, exchange: Exchange): Promise<Outcome> {
  const { uri } = exchange.params
  const { uriChars } = exchange.limits
  if (typeof uri !== 'string') throw invalidParams('"uri" must be a string')
  if (uri.length > uriChars) throw invalidParams(`"uri" must have at most ${uriChars} characters`)
  const resource = registry.resourceAt(uri)
  if (resource !== undefined) return resource.serve(exchange)
  for (const template of registry.templates.values()) {
    const served = template.serve(exchange, uri)
    if (served !== undefined) return served
  }
  throw resourceNotFound(uri)
}

export function resourceNotFound(uri: string): RpcError {
  return new RpcError(ErrorCode.ResourceNotFound, 'Resource not found', { uri })
}

interface Source {
  scopes: readonly string[]
  mimeType: string | undefined
  cache: Partial<CacheHints> | undefined
  read(ctx: Context): unknown
}

/** A result that depends on requested input must not be cached. */
const uncached: CacheHints = { ttlMs: 0, cacheScope: 'private' }

/** A result that requires scopes must not be shared between callers. */
const unshared: Pick<CacheHints, 'cacheScope'> = { cacheScope: 'private' }

/** Serves a read of the resource at a URI. */
async function serveRead(exchange: Exchange, uri: string, source: Source): Promise<Outcome> {
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
    return rethrowForPeer(withJsonPath(error))
  }
}

/** Whether a variable of a `file:` URI has `..` or NUL. Such URIs are not passed to handlers. */
function leavesFolder(uri: string, variables: Readonly<Record<string, string | string[]>>): boolean {
  if (!/^file:/i.test(uri)) return false
  const parts = Object.values(variables).flat()
  return parts.some((part) => part.includes('\0') || part.split(/[/\\]/).includes('..'))
}

function resultOf(uri: string, source: Source, returned: unknown): JsonObject {
  if (returned === undefined) throw resourceNotFound(uri)
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
  if (meta !== undefined) requireSerializable('_meta', meta)
  return {
    contents: contents.map(requireContents),
    ...cache,
    ...(isObject(own) ? own : {}),
    ...(isObject(meta) ? { _meta: meta } : {}),
  }
}

function requireContents(value: unknown, at: number): ResourceContents {
  if (isContents(value)) {
    requireSerializableBlock(`contents[${at}]`, value)
    return value
  }
  throw new TypeError(
    'A resource must return text, bytes, or contents with a "uri" and either a "text" or a "blob" in base64; ' +
      `contents[${at}] cannot be used: ${faultOfContents(value)}`,
  )
}

const resourceMembers = [...metadataMembers, 'uri', 'mimeType', 'annotations', 'size', 'cache', 'read']

/** Prepares a resource for serving. @throws McpError 'INVALID' */
export function resourceEntry(name: string, value: ResourceValue): ResourceEntry {
  const what = `Resource "${name}"`
  if ('uriTemplate' in value) throw invalid(`${what} has a "uriTemplate": define it with template()`)
  requireMembers(what, value, resourceMembers, { name: 'read', does: 'serves a read' })
  const { uri, mimeType, annotations, size, cache } = value
  if (/\{[^{}]*\}/.test(uri)) {
    throw invalid(
      `${what} has a URI template in "uri": define it with template({ uriTemplate: '${uri}', … })`,
    )
  }
  if (!URL.canParse(uri)) {
    throw invalid(
      `${what} needs an absolute URI as its "uri", not ${typeof uri === 'string' ? `"${uri}"` : kindOf(uri)}`,
    )
  }
  requireHints(what, cache)
  const scopes = scopesOf(what, value.scopes)
  const source: Source = { scopes, mimeType, cache, read: (ctx) => value.read(ctx) }
  return {
    name,
    scopes,
    serve: (exchange) => serveRead(exchange, uri, source),
    listed: { uri, name, ...listedMetadata(what, value), ...defined({ mimeType, annotations, size }) },
  }
}

const templateMembers = [
  ...metadataMembers,
  'uriTemplate',
  'mimeType',
  'annotations',
  'cache',
  'complete',
  'list',
  'read',
]

/** Listed resources, with the MIME type of their template unless they have their own. */
function withMimeType(resources: Resource[], mimeType: string | undefined): Resource[] {
  if (mimeType === undefined) return resources
  return resources.map((resource) => ({ ...resource, mimeType: resource.mimeType ?? mimeType }))
}

/** Prepares a resource template for serving. @throws McpError 'INVALID' */
export function templateEntry(name: string, value: AnyTemplate): TemplateEntry {
  const what = `Template "${name}"`
  if ('uri' in value) {
    throw invalid(`${what} has a "uri": name its URI template in "uriTemplate", or define it with resource()`)
  }
  requireMembers(what, value, templateMembers, { name: 'read', does: 'serves a read' })
  const { uriTemplate, mimeType, annotations, cache, list } = value
  const template = prefixErrors(`${what}: uriTemplate`, () => parseTemplate(uriTemplate))
  requireHints(what, cache)
  // Declared as a method: the type of the variables is inferred from this template.
  const handler: {
    read(variables: Record<string, string | string[]>, ctx: Context, uri: string): unknown
  } = value
  const scopes = scopesOf(what, value.scopes)
  return {
    name,
    scopes,
    template,
    serve: (exchange, uri) => {
      const variables = template.match(uri)
      if (variables === undefined || leavesFolder(uri, variables)) return undefined
      const read = (ctx: Context): unknown => handler.read(variables, ctx, uri)
      return serveRead(exchange, uri, { scopes, mimeType, cache, read })
    },
    list: list === undefined ? undefined : async (ctx) => withMimeType(await list.call(value, ctx), mimeType),
    completers: completersOf(what, value.complete, template.names),
    listed: { uriTemplate, name, ...listedMetadata(what, value), ...defined({ mimeType, annotations }) },
  }
}
