import type { JsonObject } from '../jsonrpc/message.ts'
import type { LoggingLevel, SubscriptionFilter } from '../protocol/definitions.ts'
import type { CallOptions, ServerChange, ServerFacts, Watch } from './types.ts'
import type { Answered, Outgoing } from './wire.ts'

/** What a client does differently in each era. */
export interface Era {
  readonly facts: ServerFacts
  /** Whether the server may send requests of its own. */
  readonly takesRequests: boolean
  /** What every request says of its sender. */
  envelope(options: CallOptions): JsonObject
  /** Sends one request. */
  send(out: Outgoing): Promise<Answered>
  setLogLevel(level: LoggingLevel | undefined): Promise<void>
  ping(options: CallOptions): Promise<void>
  rootsChanged(): Promise<void>
  /** Opens a watch whose listener is `tell`. */
  watch(filter: SubscriptionFilter, tell: (change: ServerChange) => void): Promise<Watch>
  /** Tells the watches of a change that came outside any subscription. */
  changed(change: ServerChange): void
}
