import type { Fix } from '../types/index.ts'
import type { Position } from './topic.ts'
import type { Change } from './view.ts'

/** An error in a frame. */
export interface Fault {
  /** A host error code (`INVALID`, `UNAUTHORIZED` …), or a JSON-RPC error number. */
  readonly code: string | number
  /** What happened and why, for the user. */
  readonly message: string
  /** Data from the server, or facts such as an HTTP status. */
  readonly data?: unknown
  /** What the user can do about it. */
  readonly fixes?: readonly Fix[]
}

/** Frames from the client. */
export type ClientFrame =
  /** The first frame, which identifies the client. `client` outlives its connections, so that no effect happens twice. */
  | { readonly hello: { readonly client: string; readonly name: string; readonly build: string } }
  /** Calls a method. `call` is unique to the client. */
  | { readonly call: number; readonly method: string; readonly params: unknown }
  /** The response to a call is no longer needed. */
  | { readonly stop: number }
  /** Subscribes to a topic. */
  | { readonly subscribe: string; readonly have?: Position }
  | { readonly unsubscribe: string }
  /** The last frame of a client that will not reconnect. */
  | { readonly bye: true }

/** The host's identity, sent to a new connection. */
export interface Welcome {
  readonly host: string
  readonly version: string
  readonly build: string
  /** The host still has the surface and the calls of an earlier connection of this client. */
  readonly isKnown: boolean
}

/** Frames from the host. */
export type HostFrame =
  | { readonly welcome: Welcome }
  | { readonly call: number; readonly result: unknown }
  | { readonly call: number; readonly fault: Fault }
  | ({ readonly topic: string; readonly rows: readonly (readonly [string, unknown])[] } & Position)
  | ({ readonly topic: string; readonly changes: readonly Change<unknown>[] } & Position)
  /** A topic that does not exist, or has ended. */
  | { readonly topic: string; readonly fault: Fault }

/** One connection between a client and a host: a socket, a WebSocket, or a pair in memory. */
export interface Channel {
  /** Sends one frame; frames arrive in order. */
  send(frame: string): void
  /** Bytes that are buffered and not sent yet. */
  readonly unsent: number
  /** `message` gets each frame; `closed` is called once, also if the connection never opened. */
  listen(message: (frame: string) => void, closed: (reason: string) => void): void
  /** Closes the connection; the other end gets `reason` if the transport can carry it. */
  close(reason?: string): void
}
