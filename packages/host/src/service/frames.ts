import type { Fix } from '../types/index.ts'
import type { Position } from './topic.ts'
import type { Change } from './view.ts'

/** An error, as a frame carries it. */
export interface Fault {
  /** A code of this side (`INVALID`, `UNAUTHORIZED` …), or the number of a JSON-RPC error. */
  readonly code: string | number
  /** What happened and why, for a person. */
  readonly message: string
  readonly data?: unknown
  /** What the person can do about it. */
  readonly fixes?: readonly Fix[]
}

/** What a client sends. */
export type ClientFrame =
  /** First of all: who the client is. `client` outlives its connections, so that no effect happens twice. */
  | { readonly hello: { readonly client: string; readonly name: string; readonly build: string } }
  /** Calls a method. `call` is a number that the client uses once. */
  | { readonly call: number; readonly method: string; readonly params: unknown }
  /** The answer to a call is no longer wanted. */
  | { readonly stop: number }
  /** Subscribes to a topic. */
  | { readonly subscribe: string; readonly have?: Position }
  | { readonly unsubscribe: string }
  /** The last frame of a client that does not come back. */
  | { readonly bye: true }

/** Who a host is, for a client that connected. */
export interface Welcome {
  readonly host: string
  readonly version: string
  readonly build: string
  /** The host knows the client from an earlier connection, with its surface and what it called. */
  readonly isKnown: boolean
}

/** What a host sends. */
export type HostFrame =
  | { readonly welcome: Welcome }
  | { readonly call: number; readonly result: unknown }
  | { readonly call: number; readonly fault: Fault }
  | ({ readonly topic: string; readonly rows: readonly (readonly [string, unknown])[] } & Position)
  | ({ readonly topic: string; readonly changes: readonly Change<unknown>[] } & Position)
  /** A topic that there is not, or no longer. */
  | { readonly topic: string; readonly fault: Fault }

/** One connection between a client and a host: a socket, a WebSocket, or a pair in memory. */
export interface Channel {
  send(frame: string): void
  /** Bytes that were sent and are not out yet. */
  readonly unsent: number
  /** `message` gets each frame; `closed` is called once, also where the connection never came about. */
  listen(message: (frame: string) => void, closed: (reason: string) => void): void
  close(reason?: string): void
}
