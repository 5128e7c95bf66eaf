import type { Exchange, Outcome, Peer } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { clipped } from './run.ts'
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
