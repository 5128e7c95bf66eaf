import type { Exchange, Outcome } from '../core/exchange.ts'
import type { Middleware, Server } from '../server/server.ts'

/** Layers around the handling of requests, outermost first. */
export function through(
  layers: readonly Middleware[],
  serve: (exchange: Exchange) => Promise<Outcome>,
): (exchange: Exchange) => Promise<Outcome> {
  return layers.reduceRight<typeof serve>((next, layer) => async (exchange) => layer(exchange, next), serve)
}

/** Reports to whoever runs a server, whose own failure to hear must not become another one. */
export function reporter(name: () => string, onError: Server['report'] | undefined): Server['report'] {
  return (error, where) => {
    try {
      if (onError !== undefined) onError(error, where)
      else console.error(`[${name()}] ${where.method}:`, error)
    } catch {
      // There is nobody left to tell.
    }
  }
}
