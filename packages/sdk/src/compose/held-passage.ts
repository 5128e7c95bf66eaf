import type { ProgressReport, Relay } from '../client/types.ts'
import type { Exchange } from '../core/exchange.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import type { Notices } from '../server/notices.ts'
import { HeldCall } from './held.ts'
import type { LogMessage, Passage } from './seat.ts'

/** A request that stays open upstream between the rounds of its client; meanwhile nobody hears its progress. */
export class HeldPassage extends HeldCall<JsonObject, Notices> implements Passage {
  readonly relay: Relay
  readonly logLevel: LoggingLevel | undefined

  constructor({ peer }: Exchange, relay: Relay, run: (passage: Passage) => Promise<JsonObject>) {
    super(peer.principal)
    this.relay = relay
    this.logLevel = peer.logLevel
    this.begin(() => run(this))
  }

  progress(report: ProgressReport): void {
    this.listener?.progress(report)
  }

  log({ level, data, logger }: LogMessage): void {
    this.listener?.log(level, data, logger)
  }
}
