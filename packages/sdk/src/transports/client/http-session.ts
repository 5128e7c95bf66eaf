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

type Reading = 'ended' | 'broke' | undefined

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
  const position: StreamPosition = { id: undefined, retryMs: undefined }
  const backoff = new RetryBackoff()
  let response: Response | undefined = first
  for (;;) {
    const how = response && (await read(source, response, position, backoff, signal))
    if (isAnswered()) return
    if (position.id === undefined) {
      throw new McpError('CONNECTION_CLOSED', 'The stream ended before the response arrived')
    }
    await wait(
      how === 'ended' ? backoff.afterClose(position.retryMs) : backoff.afterFailure(position.retryMs),
      signal,
    )
    if (isAnswered()) return
    response = await resume(source, position, inSession, signal)
  }
}

/** Resumes a stream; undefined after a failure that may be transient. */
async function resume(
  source: StreamSource,
  position: StreamPosition,
  inSession: boolean,
  signal: AbortSignal,
): Promise<Response | undefined> {
  let response: Response
  try {
    response = await source.get(position, signal)
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
  if (isStream(response)) return response
  if (response.status === 404 && inSession) {
    discard(response)
    throw new SessionEnded(undefined)
  }
  if (isTransient(response)) {
    position.retryMs = retryAfter(response) ?? position.retryMs
    discard(response)
    return undefined
  }
  const failure = await failureOf(response, signal, source.url)
  if (failure instanceof McpError && failure.code === 'UNAUTHORIZED') throw failure
  throw new McpError(
    'CONNECTION_CLOSED',
    'The stream broke before the response arrived, and the server does not support resuming it',
    { details: { status: response.status } },
  )
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
  const position: StreamPosition = { id: undefined, retryMs: undefined }
  const backoff = new RetryBackoff()
  let wasOpen = false
  while (!signal.aborted) {
    const response = await source.get(position, signal).catch(() => undefined)
    opened()
    let how: Reading
    if (response !== undefined && isStream(response)) {
      wasOpen = true
      how = await read(source, response, position, backoff, signal)
    } else if (response !== undefined) {
      discard(response)
      const stale = position.id !== undefined && response.status !== 405
      if (response.status === 404 && wasOpen && !stale) throw new SessionEnded(false)
      if (!isTransient(response) && !stale) return
      if (stale) position.id = undefined
      position.retryMs = retryAfter(response) ?? position.retryMs
    }
    await wait(
      how === 'ended' ? backoff.afterClose(position.retryMs) : backoff.afterFailure(position.retryMs),
      signal,
    )
  }
}

async function read(
  source: StreamSource,
  response: Response,
  position: StreamPosition,
  backoff: RetryBackoff,
  signal: AbortSignal,
): Promise<Reading> {
  const onMessage = (isProgress: boolean): void => {
    backoff.received()
    if (isProgress) backoff.refund()
  }
  try {
    await source.read(response, position, onMessage, signal)
    return 'ended'
  } catch (error) {
    if (signal.aborted || (error instanceof McpError && error.code === 'LIMIT')) throw error
    return 'broke'
  }
}

function isStream(response: Response): boolean {
  return response.ok && mediaType(response) === 'text/event-stream'
}

function isTransient(response: Response): boolean {
  return response.status === 429 || response.status >= 500
}
