import type { Caller } from '../core/exchange.ts'
import { allows } from '../core/scopes.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Registry } from './registry.ts'

const none: readonly string[] = []

/**
 * What a request needs its caller to be allowed. Nothing for one that is malformed or names what is not there.
 * @param uriChars the longest URI of a client that is looked up; a longer one is refused wherever it is used
 */
export function scopesFor(
  registry: Registry,
  method: string,
  params: Readonly<JsonObject> | undefined,
  uriChars?: number,
): readonly string[] {
  if (registry.scopes.length === 0 || params === undefined) return none
  switch (method) {
    case 'tools/call':
      return byName(registry.tools, params['name'])
    case 'prompts/get':
      return byName(registry.prompts, params['name'])
    case 'resources/read':
    case 'resources/subscribe':
      return scopesOfUri(registry, params['uri'], uriChars)
    case 'completion/complete':
      return scopesOfReference(registry, params['ref'])
    default:
      return none
  }
}

/** What reading a URI needs: whatever its resource does, or else the first template that matches it. */
export function scopesOfUri(
  registry: Registry,
  uri: unknown,
  uriChars: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  if (registry.scopes.length === 0 || typeof uri !== 'string' || uri.length > uriChars) return none
  const resource = registry.resourceAt(uri)
  if (resource !== undefined) return resource.scopes
  for (const { template, scopes } of registry.templates.values()) {
    if (template.match(uri) !== undefined) return scopes
  }
  return none
}

/** The rows of a list that a caller may see. */
export function visible<Row>(
  entries: ReadonlyMap<string, { readonly listed: Row; readonly scopes: readonly string[] }>,
  rows: readonly Row[],
  caller: Caller,
): readonly Row[] {
  const seen = [...entries.values()].filter(({ scopes }) => allows(caller, scopes))
  return seen.length === entries.size ? rows : seen.map(({ listed }) => listed)
}

/** The error for a caller who lacks something that a request needs; undefined for one who does not. */
export function lacking(needed: readonly string[], caller: Caller): RpcError | undefined {
  if (allows(caller, needed)) return undefined
  return new RpcError(
    ErrorCode.InvalidRequest,
    `Forbidden: this request needs the scopes ${needed.join(' ')}`,
    {
      scopes: needed,
    },
  )
}

function scopesOfReference(registry: Registry, ref: unknown): readonly string[] {
  const { type, name, uri } = isObject(ref) ? ref : {}
  if (type === 'ref/prompt') return byName(registry.prompts, name)
  if (type !== 'ref/resource' || typeof uri !== 'string') return none
  return registry.templateOf(uri)?.scopes ?? registry.resourceAt(uri)?.scopes ?? none
}

function byName(
  entries: ReadonlyMap<string, { readonly scopes: readonly string[] }>,
  name: unknown,
): readonly string[] {
  return (typeof name === 'string' ? entries.get(name)?.scopes : undefined) ?? none
}
