import { ByteCollector } from '../../jsonrpc/bytes.ts'
import { McpError } from '../../jsonrpc/error.ts'
import type { JsonRpcErrorObject, JsonRpcMessage, JsonRpcRequest } from '../../jsonrpc/message.ts'
import { InvalidInput } from '../../jsonrpc/parse.ts'
import { nextTurn, pieceEnd, TimeSlice } from '../../jsonrpc/promises.ts'
import { EventReader, type ServerSentEvent } from '../../jsonrpc/sse.ts'
import { MetaKey, metaOf } from '../../protocol/meta.ts'
import { limits } from '../../request/limits.ts'
import { fetchError } from './http-request.ts'
import { tooMuchInvalidInput } from './parse-messages.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The media type of a response, without parameters. */
export function mediaType(response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** Cancels a body that is not read. */
export function discard(response: Response): void {
  response.body?.cancel().catch(() => {})
}

/** A whole body as text. Rejects above `maxBytes` and for invalid UTF-8. */
export async function bodyText(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
  url: URL,
): Promise<string> {
  if (Number(response.headers.get('content-length') ?? 0) > maxBytes) {
    discard(response)
    throw tooLarge(maxBytes)
  }
  const body = new ByteCollector()
  await readChunks(response, signal, url, (chunk) => {
    if (body.length + chunk.length > maxBytes) throw tooLarge(maxBytes)
    body.add(chunk)
    return undefined
  })
  try {
    return decoder.decode(body.drain())
  } catch (cause) {
    throw new McpError('PROTOCOL', `The response of ${url} is not valid UTF-8`, { cause })
  }
}

/** Reads an event stream to its end. `onEvent` returns whether the event contained a message. */
export async function readEvents(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
  url: URL,
  onEvent: (event: ServerSentEvent) => boolean,
  onNotUtf8: () => void,
): Promise<void> {
  let tooLong = false
  let tooInvalid = false
  const invalid = new InvalidInput(limits)
  const wasInvalid = (bytes: number, lines?: number): void => {
    if (invalid.add(bytes, lines)) tooInvalid = true
  }
  const events = new EventReader({
    maxBytes,
    onEvent: (event) => {
      if (onEvent(event)) invalid.reset()
      else wasInvalid(event.data.length)
    },
    onNotUtf8: () => {
      onNotUtf8()
      wasInvalid(0)
    },
    onTooLong: () => {
      tooLong = true
    },
  })
  const slice = new TimeSlice()
  // Synchronous where possible: a promise per chunk would cost more than most chunks.
  const onChunk = (chunk: Uint8Array): Promise<void> | undefined => {
    for (let from = 0; from < chunk.length; ) {
      const end = pieceEnd(chunk, from)
      slice.begin()
      events.push(chunk.subarray(from, end))
      const ignored = events.takeIgnored()
      if (ignored > 0) wasInvalid(0, ignored)
      if (tooLong) throw tooLarge(maxBytes)
      if (tooInvalid) throw tooMuchInvalidInput(invalid)
      from = end
      if (slice.end()) {
        return nextTurn().then(() => {
          signal.throwIfAborted()
          return onChunk(chunk.subarray(end))
        })
      }
    }
    return undefined
  }
  await readChunks(response, signal, url, onChunk)
  events.end()
}

async function readChunks(
  response: Response,
  signal: AbortSignal,
  url: URL,
  onChunk: (chunk: Uint8Array) => Promise<void> | undefined,
): Promise<void> {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const turn = onChunk(value)
      if (turn !== undefined) await turn
    }
  } catch (error) {
    reader.cancel().catch(() => {})
    throw fetchError(error, signal, url)
  }
}

function tooLarge(maxBytes: number): McpError {
  return new McpError('LIMIT', `The server's response exceeds ${maxBytes} bytes`)
}

/** The error of a failed response. Its code is loaded with the first one. */
export async function failureOf(
  response: Response,
  signal: AbortSignal,
  url: URL,
): Promise<JsonRpcErrorObject | McpError> {
  const { readFailure } = await import('./http-failure.ts')
  return readFailure(response, signal, url)
}

/** Milliseconds from the `Retry-After` header. */
export function retryAfter(response: Response): number | undefined {
  const value = response.headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}

/**
 * Distinguishes messages that advance a call, its response and increasing progress, from those that a server could send
 * forever.
 */
export class ProgressDetector {
  readonly #id: unknown
  readonly #token: unknown
  #progress = Number.NEGATIVE_INFINITY

  constructor({ id, params }: JsonRpcRequest) {
    this.#id = id
    this.#token = metaOf(params)[MetaKey.progressToken]
  }

  isProgress(message: JsonRpcMessage): boolean {
    if (!('method' in message)) return message.id === this.#id
    if (message.method !== 'notifications/progress' || this.#token === undefined) return false
    const { progressToken, progress } = message.params ?? {}
    if (progressToken !== this.#token || typeof progress !== 'number' || !(progress > this.#progress))
      return false
    this.#progress = progress
    return true
  }
}
