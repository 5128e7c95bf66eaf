import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { allows, type Caller, type Exchange, type Outcome, type Peer } from '../request/exchange.ts'
import { clipped } from './handler-context.ts'
import type { Registry } from './registry.ts'
import type { Middleware } from './server.ts'

/** What a caller may or may not see. */
export interface Visible {
  readonly kind: 'tool' | 'prompt'
  readonly name: string
}

/**
 * A layer for a server's `use` that shows each caller only some tools and prompts. What a caller may not see is left out of
 * their lists, and a request for it fails like one for a name that does not exist. Lists that depend on the caller are marked
 * private. For resources, and for what the OAuth scopes of a caller decide, use `scopes` in the definitions.
 * @param shows whether a caller may see this; asked for every row of a list and for every call
 */
export function visibility(shows: (what: Visible, peer: Peer) => boolean | Promise<boolean>): Middleware {
  const listed = async ({ peer }: Exchange, outcome: Outcome, kind: Visible['kind']): Promise<Outcome> => {
    const member = `${kind}s`
    const rows = outcome.type === 'complete' ? outcome.result[member] : undefined
    if (outcome.type !== 'complete' || !Array.isArray(rows)) return outcome
    const seen = await Promise.all(
      rows.map((row: unknown) =>
        isObject(row) && typeof row['name'] === 'string' ? shows({ kind, name: row['name'] }, peer) : true,
      ),
    )
    const result = { ...outcome.result, [member]: rows.filter((_, at) => seen[at]) }
    return { ...outcome, result: 'cacheScope' in result ? { ...result, cacheScope: 'private' } : result }
  }
  return async (exchange, next) => {
    const { method, params, peer } = exchange
    if (method === 'tools/list') return listed(exchange, await next(exchange), 'tool')
    if (method === 'prompts/list') return listed(exchange, await next(exchange), 'prompt')
    const what = namedBy(method, params)
    if (what === undefined || (await shows(what, peer))) return next(exchange)
    if (method === 'completion/complete') {
      throw new RpcError(ErrorCode.InvalidParams, `Invalid params: unknown prompt "${clipped(what.name)}"`)
    }
    throw new RpcError(ErrorCode.InvalidParams, `Unknown ${what.kind}: ${clipped(what.name)}`)
  }
}

/** The tool or prompt a request is about. */
function namedBy(method: string, params: Exchange['params']): Visible | undefined {
  const { name, ref } = params
  switch (method) {
    case 'tools/call':
      return typeof name === 'string' ? { kind: 'tool', name } : undefined
    case 'prompts/get':
      return typeof name === 'string' ? { kind: 'prompt', name } : undefined
    case 'completion/complete':
      return isObject(ref) && ref['type'] === 'ref/prompt' && typeof ref['name'] === 'string'
        ? { kind: 'prompt', name: ref['name'] }
        : undefined
    default:
      return undefined
  }
}

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
export function missingScopesError(needed: readonly string[], caller: Caller): RpcError | undefined {
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
