import type { FullBudget, MemoryAccount } from '../memory-budget.ts'
import type { CredentialValidity } from './event-stream.ts'

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
  validity: CredentialValidity | undefined
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

const json = /^application\/json[\t ]*(;[^,]*)?$/i
const otherCharset = /;[\t ]*charset=(?!"?utf-?8"?[\t ]*(?:;|$))/i

/** Whether a Content-Type says JSON in UTF-8. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true
  return contentType !== undefined && json.test(contentType) && !otherCharset.test(contentType)
}

/** Whether a body is compressed, or said to be: others who read it would see another one. */
export function isCoded(contentEncoding: string | undefined): boolean {
  return contentEncoding !== undefined && !/^(?:identity)?$/i.test(contentEncoding)
}

/**
 * Headers of which a message has one at most. Where there are two, one reader takes the first and another the last, so a proxy
 * could check another value than the server uses. A second `DPoP` is answered as RFC 9449 says, by the check of proofs.
 */
export const singletons = [
  'host',
  'origin',
  'content-type',
  'content-length',
  'content-encoding',
  'authorization',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
] as const

/** Whether a body has a transfer coding besides `chunked`, which the HTTP parser leaves in place (RFC 9112, section 6.1). */
export function isTransferCoded(transferEncoding: string | undefined): boolean {
  return transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked'
}

/** What a client is ready to read. */
export interface Accepted {
  readonly json: boolean
  readonly events: boolean
}

const nothing: Accepted = { json: false, events: false }

/** Reads Accept headers, and remembers the last: clients send the same one every time. */
export class AcceptReader {
  #header: string | undefined
  #accepted = nothing

  /** What a header accepts. Absent, nothing: the protocol demands one. */
  read(header: string | undefined): Accepted {
    if (header === undefined) return nothing
    if (header !== this.#header) {
      this.#accepted = parseAccept(header)
      this.#header = header
    }
    return this.#accepted
  }
}

function parseAccept(header: string): Accepted {
  const ranges = new Map<string, boolean>()
  for (const range of header.toLowerCase().split(',')) {
    const [type = '', ...params] = range.split(';').map((part) => part.trim())
    const wanted = !params.some((param) => /^q[\t ]*=[\t ]*0(?:\.0*)?$/.test(param))
    ranges.set(type, wanted || ranges.get(type) === true)
  }
  // The most specific range counts, whatever the others say.
  const accepts = (type: string, group: string): boolean =>
    ranges.get(type) ?? ranges.get(group) ?? ranges.get('*/*') ?? false
  return {
    json: accepts('application/json', 'application/*'),
    events: accepts('text/event-stream', 'text/*'),
  }
}

/** The session id in the query of a request; undefined where there is none. */
export function sessionIdIn({ url }: HttpRequest): string | undefined {
  const at = url.indexOf('?')
  return at === -1 ? undefined : (new URLSearchParams(url.slice(at)).get('sessionId') ?? undefined)
}
