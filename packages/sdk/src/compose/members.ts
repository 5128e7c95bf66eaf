import type { Asking, Exchange } from '../core/exchange.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { Server } from '../server/server.ts'
import { Catalogue } from './catalogue.ts'

/** One server of a composition. */
export class Member {
  readonly prefix: string
  readonly server: Server
  readonly catalogue: Catalogue

  constructor(prefix: string, server: Server) {
    this.prefix = prefix
    this.server = server
    this.catalogue = new Catalogue(this)
  }

  /**
   * An exchange as this member sees it. What it asks is sealed under its own name, so that no answer given to it opens
   * in another.
   * @param outer the name the client knows; the prefix alone where names are not changed
   */
  exchange(exchange: Exchange, params: Readonly<JsonObject>, outer: string = this.prefix): Exchange {
    return { ...exchange, params, asking: underName(exchange.asking, outer) }
  }
}

function underName(asking: Asking, name: string): Asking {
  const renamed = (exchange: Exchange): Exchange => ({
    ...exchange,
    params: { ...exchange.params, name },
    asking,
  })
  const { relay } = asking
  return {
    begin: (exchange) => asking.begin(renamed(exchange)),
    resume: (exchange) => asking.resume(renamed(exchange)),
    ...(relay === undefined ? {} : { relay }),
  }
}
