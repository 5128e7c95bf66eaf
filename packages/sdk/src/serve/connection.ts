import type { Caller, Peer } from '../core/exchange.ts'
import type { JsonRpcMessage } from '../jsonrpc/message.ts'
import type { Server } from '../server/server.ts'

/** The far end's way in: one whole message at a time. */
export interface Connection {
  /**
   * Takes one parsed value as it came off the wire. Never throws; bad input is answered as the protocol says.
   * @param bytes what the value holds, about; default 0, for one that is not counted
   */
  receive(value: unknown, bytes?: number): void
  /** Answers bytes that were not JSON, or not acceptable, with a protocol error. */
  reject(code: number, message: string): void
  /** The peer is gone: aborts what runs, settles what waits. Resolves when every handler let go or 0.9 s passed. */
  close(reason?: string): Promise<void>
  /** The legacy session's peer once `initialize` was answered. */
  readonly peer: Peer | undefined
}

export interface ConnectionOptions {
  /** Who is on the other end. Default: whoever owns both ends, who may use everything. */
  caller?: Caller
}

/** Serves one ordered two-way channel (stdio, memory, a socket) in both eras at once. */
export type OpenConnection = (
  server: Server,
  send: (message: JsonRpcMessage) => void,
  options?: ConnectionOptions,
) => Connection
