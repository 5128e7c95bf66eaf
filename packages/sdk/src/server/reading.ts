import type { Exchange, Outcome } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { Registry } from './registry.ts'
import { invalidParams } from './run.ts'

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
  throw notFound(uri)
}

/** There is no resource at this URI. */
export function notFound(uri: string): RpcError {
  return new RpcError(ErrorCode.ResourceNotFound, 'Resource not found', { uri })
}
