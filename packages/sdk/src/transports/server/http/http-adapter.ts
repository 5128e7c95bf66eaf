import type { FullBudget, MemoryAccount } from '../memory-budget.ts'
import type { CredentialValidity } from './credential-validity.ts'

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
  /** Every header by its lower-case name, without those that prove who sent it. */
  headers(): Readonly<Record<string, string>>
  /** Whether a header came more than once. */
  repeats(name: string): boolean
  /** The name of a header that came more than once though a message may have one at most; undefined where none did. */
  repeatedSingleton(): string | undefined
  /** Whether the path, ignoring the query, is this one. */
  isAt(path: string): boolean
  /** Whether a framework routed exactly this path to the handler. Absent where a request does not say. */
  readonly isMounted?: boolean
  /**
   * Reads the body, which counts on the account until then. Never settles if the client disconnects before the end.
   */
  read(maxBytes: number, memory: MemoryAccount): Promise<Body>
}

/** Bytes in memory of their own. Not written as `Uint8Array<ArrayBuffer>`: that type has parameters only since TypeScript 5.7. */
export type Bytes = ReturnType<TextEncoder['encode']>

/** Where the answer to one HTTP request goes. */
export interface HttpReply {
  /** Headers to send with whatever the answer is. */
  extra: HeaderFields | undefined
  /** The account that unsent bytes of the answer are on; absent until the caller is known. */
  memory: MemoryAccount | undefined
  /** How long an event stream may last; absent where only its client and its answer end it. */
  lease: CredentialValidity | undefined
  /** Whether a timer that another request set may ring for this one: some runtimes end timers with their request. */
  readonly sharesTimers: boolean
  /** Says whom to tell when the connection is over, answered or not; in place of whoever was named before. */
  onClose(listener: () => void): void
  /** Sends a whole answer. A body is JSON text, or the bytes of one; '' is none. */
  send(status: number, body: string | Bytes, headers?: HeaderFields): void
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

/** Headers that prove who sent a request, or let another one speak in its session: no handler is given them. */
const credentials: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'dpop',
  'mcp-session-id',
])

/** Headers as handlers may see them. */
export function withoutCredentials(
  headers: Iterable<readonly [string, string | readonly string[] | undefined]>,
): Readonly<Record<string, string>> {
  const shown: Record<string, string> = Object.create(null)
  for (const [name, value] of headers) {
    if (value === undefined || credentials.has(name)) continue
    shown[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return Object.freeze(shown)
}

/** What every event stream is sent with: no cache, no proxy that waits for more, no compression. */
export const streamHeaders: HeaderFields = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}
