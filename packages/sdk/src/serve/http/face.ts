import type { FullBudget, MemoryAccount } from '../memory.ts'
import type { Lease } from './lease.ts'

/** The body of one HTTP request as it was read: bytes, a value somebody else parsed, or more than allowed. */
export type Body =
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  | { readonly type: 'value'; readonly value: unknown }
  | { readonly type: 'too large' }
  | { readonly type: 'no room'; readonly full: FullBudget }
  | { readonly type: 'cut off' }
  | { readonly type: 'consumed' }

export type HeaderFields = Readonly<Record<string, string>>

/** What one HTTP request says, the same for every runtime. */
export interface HttpRequest {
  readonly method: string
  /** Path and query, as sent. */
  readonly url: string
  /** The host it was sent to. */
  readonly host: string | undefined
  /** The network address it came from; undefined where the runtime does not say. */
  readonly address: string | undefined
  /** A header by its lower-case name. */
  header(name: string): string | undefined
  /** Whether a header came more than once. */
  repeats(name: string): boolean
  /** The name of a header that came more than once though a message may have one at most; undefined where none did. */
  repeatedSingleton(): string | undefined
  /** Whether the path, ignoring the query, is this one. */
  isAt(path: string): boolean
  /**
   * Reads the body and calls back once; never, if the client goes away meanwhile. What came of it is on the account until
   * then.
   */
  read(maxBytes: number, memory: MemoryAccount, onBody: (body: Body) => void): void
}

/** Where the answer to one HTTP request goes. */
export interface HttpReply {
  /** Headers to send with whatever the answer is. */
  extra: HeaderFields | undefined
  /** The account that unsent bytes of the answer are on; absent as long as nobody asked for the caller. */
  memory: MemoryAccount | undefined
  /** How long an event stream may last; absent where only its client and its answer end it. */
  lease: Lease | undefined
  /** Whether a timer that another request set may ring for this one: some runtimes end timers with their request. */
  readonly sharesTimers: boolean
  /** Says whom to tell when the connection is over, answered or not; in place of whoever was named before. */
  onClose(listener: () => void): void
  /** Sends a whole answer. A body is JSON text, or the bytes of one; '' is none. */
  send(status: number, body: string | Uint8Array<ArrayBuffer>, headers?: HeaderFields): void
  /** Begins an event stream. */
  open(headers?: HeaderFields): Pipe
}

/** An open event stream, as bytes. */
export interface Pipe {
  /** Bytes written and not yet taken by the client's connection. */
  readonly queued: number
  /** Called whenever the client's connection took everything that was written. */
  onDrained: (() => void) | undefined
  write(text: string): void
  end(): void
  /** Breaks the connection. */
  cut(): void
}

/** What every event stream is sent with: no cache, no proxy that waits for more, no compression. */
export const streamHeaders: HeaderFields = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}
