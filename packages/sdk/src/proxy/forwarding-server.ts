import type { JsonObject } from '../jsonrpc/message.ts'
import type { Implementation, LoggingLevel, ServerCapabilities } from '../protocol/definitions.ts'
import { protocolVersions } from '../protocol/methods.ts'
import type { Changes } from '../request/changes.ts'
import type { Exchange, Outcome } from '../request/exchange.ts'
import { reporter } from '../server/define.ts'
import { logOf } from '../server/handler-context.ts'
import type { Server } from '../server/server.ts'

/** The base of compositions and proxies, whose definitions are those of other servers. */
export abstract class ForwardingServer {
  abstract readonly info: Implementation
  abstract readonly instructions: string | undefined
  abstract readonly changes: Changes
  readonly report: Server['report']

  constructor(onError: Server['report'] | undefined) {
    this.report = reporter(() => this.info.name, onError)
  }

  abstract capabilitiesOn(...request: Parameters<Server['capabilitiesOn']>): ServerCapabilities

  resourceUpdated(uri: string): void {
    this.changes.publish({ type: 'resource', uri })
  }

  elicitationComplete(id: string): void {
    this.changes.publish({ type: 'elicitation', id })
  }

  isSubscribed(uri: string): boolean {
    return this.changes.isWatched({ type: 'resource', uri })
  }

  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this.changes.publish(logOf(level, data, logger))
  }

  /** Serves `server/discover`. */
  protected discover({ peer }: Exchange): Outcome {
    const { instructions } = this
    const result: JsonObject = {
      supportedVersions: protocolVersions.toReversed(),
      capabilities: this.capabilitiesOn(peer.revision.version, peer),
      ttlMs: 0,
      cacheScope: 'private',
    }
    if (instructions !== undefined) result['instructions'] = instructions
    return { type: 'complete', result }
  }
}
