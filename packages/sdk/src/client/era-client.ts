import type { JsonObject } from '../jsonrpc/message.ts'
import type { LoggingLevel, SubscriptionFilter } from '../protocol/definitions.ts'
import type { OutgoingRequest, ReceivedResult } from './client-connection.ts'
import type { CallOptions, ServerChange, ServerFacts, Watch } from './types.ts'

/** The part of a client that differs between sessions (up to 2025-11-25) and stateless revisions (2026-07-28). */
export interface EraClient {
  readonly facts: ServerFacts
  /** The `_meta` members that every request carries. */
  envelope(options: CallOptions): JsonObject
  send(outgoing: OutgoingRequest): Promise<ReceivedResult>
  setLogLevel(level: LoggingLevel | undefined): Promise<void>
  ping(options: CallOptions): Promise<void>
  rootsChanged(): Promise<void>
  watch(filter: SubscriptionFilter, onChange: (change: ServerChange) => void): Promise<Watch>
  /** Notifies the watches of a change that arrived outside any subscription. */
  changed(change: ServerChange): void
}
