import type { GatewayDesk, Host } from '../types/index.ts'
import { Gateway } from './gateway.ts'
import { ClientRelays } from './relays.ts'

/** The gateways of one host, and the way of questions to their clients. */
export class GatewayRoom implements GatewayDesk {
  readonly relays: ClientRelays
  readonly #host: Host

  constructor(host: Host) {
    this.#host = host
    this.relays = new ClientRelays(host)
  }

  open: GatewayDesk['open'] = (options = {}) => new Gateway(this.#host, this.relays, options)
}
