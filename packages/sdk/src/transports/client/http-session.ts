import { McpError } from '../../jsonrpc/error.ts'
import { limits } from '../../request/limits.ts'
import { discard, failureOf, mediaType, retryAfter } from './http-response.ts'
import { RetryBackoff, wait } from './retry-backoff.ts'
import { SessionEnded } from './transport.ts'

interface StreamPosition {
  id: string | undefined
  retryMs: number | undefined
}

export function updatePosition(position: StreamPosition, event: { id?: string; retry?: number }): void {
  if (event.id !== undefined) position.id = isHeaderSafe(event.id) ? event.id : undefined
  if (event.retry !== undefined) position.retryMs = event.retry
}

/** Whether an event id is valid in the `Last-Event-ID` header. */
function isHeaderSafe(id: string): boolean {
  return id.length <= limits.eventIdChars && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(id)
}

export interface StreamSource {
  readonly url: URL
  /** Opens a stream: the rest of one from `position`, or the standalone stream of the session. */
  get(position: StreamPosition, signal: AbortSignal): Promise<Response>
  /**
   * Reads a stream to its end and updates `position`. Calls `onMessage` for each message, with whether it is progress.
   * Rejects when the stream breaks.
   */
  read(
    response: Response,
    position: StreamPosition,
    onMessage: (isProgress: boolean) => void,
    signal: AbortSignal,
  ): Promise<void>
}

/** Reads one stream after another from a source, each from the position of the one before, with pauses in between. */
class StreamReader {
  readonly position: StreamPosition = { id: undefined, retryMs: undefined }
  readonly #source: StreamSource
  readonly #signal: AbortSignal
  readonly #backoff = new RetryBackoff()
  #hasEnded = false

  constructor(source: StreamSource, signal: AbortSignal) {
    this.#source = source
    this.#signal = signal
  }

  /** Reads a stream until it ends or breaks. */
  async read(response: Response): Promise<void> {
    const onMessage = (isProgress: boolean): void => {
      this.#backoff.received()
      if (isProgress) this.#backoff.refund()
    }
    try {
      await this.#source.read(response, this.position, onMessage, this.#signal)
      this.#hasEnded = true
    } catch (error) {
      if (this.#signal.aborted || (error instanceof McpError && error.code === 'LIMIT')) throw error
    }
  }

  /** Discards a response that is not a stream, after which the request may be repeated. */
  skip(response: Response): void {
    this.position.retryMs = retryAfter(response) ?? this.position.retryMs
    discard(response)
  }

  /** Waits before the next stream. */
  async pause(): Promise<void> {
    const { retryMs } = this.position
    const ms = this.#hasEnded ? this.#backoff.afterClose(retryMs) : this.#backoff.afterFailure(retryMs)
    this.#hasEnded = false
    await wait(ms, this.#signal)
  }
}

/**
 * Reads the response stream of one request, and resumes it when it breaks, until `isAnswered`. Rejects if no response can
 * arrive any more.
 */
export async function readResponseStream(
  source: StreamSource,
  first: Response,
  isAnswered: () => boolean,
  inSession: boolean,
  signal: AbortSignal,
): Promise<void> {
  const reader = new StreamReader(source, signal)
  /** Resumes the stream; undefined after a failure that may be transient. */
  const resume = async (): Promise<Response | undefined> => {
    const response = await source.get(reader.position, signal).catch((error) => {
      if (signal.aborted) throw error
      return undefined
    })
    if (response === undefined || isStream(response)) return response
    if (response.status === 404 && inSession) {
      discard(response)
      throw new SessionEnded(undefined)
    }
    if (isTransient(response)) {
      reader.skip(response)
      return undefined
    }
    const failure = await failureOf(response, signal, source.url)
    if (failure instanceof McpError && failure.code === 'UNAUTHORIZED') throw failure
    throw new McpError(
      'CONNECTION_CLOSED',
      `The event stream of ${source.url} broke before the response arrived, and the server does not support resuming it`,
      { details: { status: response.status } },
    )
  }
  for (let response: Response | undefined = first; ; response = await resume()) {
    if (response !== undefined) await reader.read(response)
    if (isAnswered()) return
    if (reader.position.id === undefined) {
      throw new McpError(
        'CONNECTION_CLOSED',
        `The event stream of ${source.url} ended before the response arrived. Check the log of the server.`,
      )
    }
    await reader.pause()
    if (isAnswered()) return
  }
}

/**
 * Keeps the standalone stream of a session open until the signal aborts. Servers need not offer one, so refusals are not
 * errors. Calls `opened` after the first attempt. Rejects with SessionEnded if the stream was open before and the session
 * is gone.
 */
export async function keepStreamOpen(
  source: StreamSource,
  opened: () => void,
  signal: AbortSignal,
): Promise<void> {
  const reader = new StreamReader(source, signal)
  const { position } = reader
  let wasOpen = false
  while (!signal.aborted) {
    const response = await source.get(position, signal).catch(() => undefined)
    opened()
    if (response !== undefined && isStream(response)) {
      wasOpen = true
      await reader.read(response)
    } else if (response !== undefined) {
      const stale = position.id !== undefined && response.status !== 405
      if (response.status === 404 && wasOpen && !stale) {
        discard(response)
        throw new SessionEnded(false)
      }
      if (stale) position.id = undefined
      reader.skip(response)
      if (!isTransient(response) && !stale) return
    }
    await reader.pause()
  }
}

function isStream(response: Response): boolean {
  return response.ok && mediaType(response) === 'text/event-stream'
}

function isTransient(response: Response): boolean {
  return response.status === 429 || response.status >= 500
}
