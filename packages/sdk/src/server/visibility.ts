import { clipped, ErrorCode, invalidParams, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { allows, type Caller, type Exchange, type Outcome, type Peer } from '../request/exchange.ts'
import type { Registry } from './registry.ts'
import type { Middleware } from './server.ts'

/** A tool or prompt whose visibility is decided. */
export interface Visible {
  readonly kind: 'tool' | 'prompt'
  /** The key of the definition. */
  readonly name: string
}

/**
 * Middleware for a server's `use` that hides tools and prompts from callers. Hidden ones are left out of lists, and requests for
 * them fail as for unknown names. The lists are marked private. For resources, and for visibility by OAuth scope, use `scopes`
 * in the definitions.
 * @param shows whether a tool or prompt is visible to a caller; called for every row of a list and every request
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
      throw invalidParams(`unknown prompt "${clipped(what.name)}"`)
    }
    throw new RpcError(ErrorCode.InvalidParams, `Unknown ${what.kind}: ${clipped(what.name)}`)
  }
}

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
 * The scopes that a request requires; none if it is malformed or names no definition.
 * @param uriChars the maximum length of a URI that is looked up; longer ones are rejected later
 */
export function scopesFor(
  registry: Registry,
  method: string,
  params: Readonly<JsonObject> | undefined,
  uriChars?: number,
): readonly string[] {
  if (params === undefined) return none
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

/** The scopes that reading a URI requires: those of its resource, else of the first template that matches. */
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

/** The error for a caller without the required scopes; undefined if they have all. */
export function missingScopesError(needed: readonly string[], caller: Caller): RpcError | undefined {
  if (allows(caller, needed)) return undefined
  const message = `Forbidden: this request needs the scopes ${needed.join(' ')}`
  return new RpcError(ErrorCode.InvalidRequest, message, { scopes: needed })
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
