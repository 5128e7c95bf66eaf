import { McpError } from '../../jsonrpc/error.ts'
import { limits } from '../../request/limits.ts'
import { discard, failureOf, mediaType, retryAfter } from './http-response.ts'
import { RetryBackoff, wait } from './retry-backoff.ts'
import { SessionEnded } from './transport.ts'

/** How far a stream was read, so that it can be taken up again. */
export interface Place {
  id: string | undefined
  retryMs: number | undefined
}

/** Moves a place along with an event. */
export function move(place: Place, event: { id?: string; retry?: number }): void {
  if (event.id !== undefined) place.id = isHeaderSafe(event.id) ? event.id : undefined
  if (event.retry !== undefined) place.retryMs = event.retry
}

/** Whether an event id can be sent back as a header; an empty one stands for none. */
function isHeaderSafe(id: string): boolean {
  return id.length <= limits.eventIdChars && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(id)
}

/** One way of reading a session's event streams. */
export interface StreamSource {
  readonly url: URL
  /** Asks for a stream: the rest of one from `place`, or the session's own. */
  get(place: Place, signal: AbortSignal): Promise<Response>
  /**
   * Reads a stream to its end, moving `place` along, and says of each message whether it brings on what is waited for.
   * Rejects when the stream breaks off.
   */
  read(
    response: Response,
    place: Place,
    onMessage: (advances: boolean) => void,
    signal: AbortSignal,
  ): Promise<void>
}

type Reading = 'ended' | 'broke' | undefined

/**
 * Reads the stream that answers one request and takes it up wherever it breaks off, until `answered`. Rejects when
 * no answer can come any more.
 */
export async function followAnswer(
  source: StreamSource,
  first: Response,
  answered: () => boolean,
  inSession: boolean,
  signal: AbortSignal,
): Promise<void> {
  const place: Place = { id: undefined, retryMs: undefined }
  const pace = new RetryBackoff()
  let response: Response | undefined = first
  for (;;) {
    const how = response && (await read(source, response, place, pace, signal))
    if (answered()) return
    if (place.id === undefined) {
      throw new McpError('CONNECTION_CLOSED', 'The stream ended before the answer came')
    }
    await wait(how === 'ended' ? pace.afterClose(place.retryMs) : pace.afterFailure(place.retryMs), signal)
    if (answered()) return
    response = await resume(source, place, inSession, signal)
  }
}

/** The rest of a stream; undefined when it is worth asking again. */
async function resume(
  source: StreamSource,
  place: Place,
  inSession: boolean,
  signal: AbortSignal,
): Promise<Response | undefined> {
  let response: Response
  try {
    response = await source.get(place, signal)
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
  if (isStream(response)) return response
  if (response.status === 404 && inSession) {
    discard(response)
    throw new SessionEnded(undefined)
  }
  if (isPassing(response)) {
    place.retryMs = retryAfter(response) ?? place.retryMs
    discard(response)
    return undefined
  }
  const failure = await failureOf(response, signal, source.url)
  if (failure instanceof McpError && failure.code === 'UNAUTHORIZED') throw failure
  throw new McpError(
    'CONNECTION_CLOSED',
    'The stream broke off before the answer came, and the server does not let it be resumed',
    { details: { status: response.status } },
  )
}

/**
 * Keeps a session's own stream open until the signal aborts. A server may have none, so no answer to the request for
 * it is a failure. `opened` is called when the first attempt is over. Rejects with SessionEnded where there was one and the
 * session is not known any more.
 */
export async function keepListening(
  source: StreamSource,
  opened: () => void,
  signal: AbortSignal,
): Promise<void> {
  const place: Place = { id: undefined, retryMs: undefined }
  const pace = new RetryBackoff()
  let wasOpen = false
  while (!signal.aborted) {
    const response = await source.get(place, signal).catch(() => undefined)
    opened()
    let how: Reading
    if (response !== undefined && isStream(response)) {
      wasOpen = true
      how = await read(source, response, place, pace, signal)
    } else if (response !== undefined) {
      discard(response)
      const stale = place.id !== undefined && response.status !== 405
      if (response.status === 404 && wasOpen && !stale) throw new SessionEnded(false)
      if (!isPassing(response) && !stale) return
      if (stale) place.id = undefined
      place.retryMs = retryAfter(response) ?? place.retryMs
    }
    await wait(how === 'ended' ? pace.afterClose(place.retryMs) : pace.afterFailure(place.retryMs), signal)
  }
}

async function read(
  source: StreamSource,
  response: Response,
  place: Place,
  pace: RetryBackoff,
  signal: AbortSignal,
): Promise<Reading> {
  const onMessage = (advances: boolean): void => {
    pace.heard()
    if (advances) pace.advanced()
  }
  try {
    await source.read(response, place, onMessage, signal)
    return 'ended'
  } catch (error) {
    if (signal.aborted || (error instanceof McpError && error.code === 'LIMIT')) throw error
    return 'broke'
  }
}

function isStream(response: Response): boolean {
  return response.ok && mediaType(response) === 'text/event-stream'
}

function isPassing(response: Response): boolean {
  return response.status === 429 || response.status >= 500
}
