import { ByteCollector } from '../jsonrpc/bytes.ts'
import { McpError } from '../jsonrpc/error.ts'
import type { JsonRpcErrorObject } from '../jsonrpc/message.ts'
import { classify, parseJson } from '../jsonrpc/parse.ts'
import { EventReader, type ServerSentEvent } from '../jsonrpc/sse.ts'
import { lostBy } from './http-request.ts'

const errorBodyBytes = 64 * 1024
const decoder = new TextDecoder('utf-8', { fatal: true })
const loginHint = 'It wants credentials: give http() the "auth" option, such as oauth(…), or a header'

/** The media type of an answer, without its parameters. */
export function mediaType(response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** Lets go of a body nobody reads. */
export function discard(response: Response): void {
  response.body?.cancel().catch(() => {})
}

/** A whole body as text, refusing one over `maxBytes`, and one that is not UTF-8. */
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
  await eachChunk(response, signal, url, (chunk) => {
    if (body.length + chunk.length > maxBytes) throw tooLarge(maxBytes)
    body.add(chunk)
  })
  try {
    return decoder.decode(body.take())
  } catch (cause) {
    throw new McpError('PROTOCOL', `${url} answered with what is not valid UTF-8`, { cause })
  }
}

/** Reads an event stream to its end. */
export async function eachEvent(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
  url: URL,
  onEvent: (event: ServerSentEvent) => void,
  onNotUtf8: () => void,
): Promise<void> {
  let tooLong = false
  const events = new EventReader({
    maxBytes,
    onEvent,
    onNotUtf8,
    onTooLong: () => {
      tooLong = true
    },
  })
  await eachChunk(response, signal, url, (chunk) => {
    events.push(chunk)
    if (tooLong) throw tooLarge(maxBytes)
  })
  events.end()
}

async function eachChunk(
  response: Response,
  signal: AbortSignal,
  url: URL,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      take(value)
    }
  } catch (error) {
    reader.cancel().catch(() => {})
    throw lostBy(error, signal, url)
  }
}

function tooLarge(maxBytes: number): McpError {
  return new McpError('LIMIT', `The server's answer is larger than ${maxBytes} bytes, so it was cut off`)
}

/** What an answer that is not a success means: a JSON-RPC error if its body holds one, else an McpError. */
export async function failureOf(
  response: Response,
  signal: AbortSignal,
  url: URL,
): Promise<JsonRpcErrorObject | McpError> {
  const text = await bodyStart(response, signal, url)
  const rpc = rpcErrorIn(text)
  const { status } = response
  const refused = status === 401 || status === 403
  if (rpc !== undefined && !refused) return rpc
  const { adviceFor, bodyExcerpt } = await import('./http-excerpt.ts')
  const excerpt = (rpc?.message ?? bodyExcerpt(text, mediaType(response))).replace(/\.+$/, '')
  const why = excerpt === '' ? '' : `: ${excerpt}`
  if (refused) {
    return new McpError(
      'UNAUTHORIZED',
      `${url.origin} refused the request with status ${status}${why}${status === 401 ? `. ${loginHint}` : ''}`,
      { details: { status, challenge: response.headers.get('www-authenticate') ?? undefined } },
    )
  }
  const retryAfterMs = retryAfter(response)
  const advice = adviceFor(status)
  const wish =
    retryAfterMs === undefined
      ? ''
      : ` It wants to be asked again after ${Math.ceil(retryAfterMs / 1_000)} s.`
  return new McpError('HTTP', `${url} answered with status ${status}${why}. ${advice}${wish}`.trimEnd(), {
    details: retryAfterMs === undefined ? { status } : { status, retryAfterMs },
  })
}

/** An answer to a request that is a success and cannot hold a response. */
export async function notAnAnswer(
  response: Response,
  method: string,
  signal: AbortSignal,
  url: URL,
): Promise<McpError> {
  const { status } = response
  const type = mediaType(response)
  const text = await bodyStart(response, signal, url)
  const { bodyExcerpt } = await import('./http-excerpt.ts')
  const excerpt = bodyExcerpt(text, type).replace(/\.+$/, '')
  return new McpError(
    'HTTP',
    `${url} answered ${method} with status ${status} and ${type || 'no content type'}, neither JSON nor an event stream${excerpt === '' ? '' : `: ${excerpt}`}. Is it an MCP endpoint? Check the path of the URL.`,
    { details: { status } },
  )
}

/** The beginning of a body, whatever it holds; `''` if it cannot be read. */
async function bodyStart(response: Response, signal: AbortSignal, url: URL): Promise<string> {
  const decoder = new TextDecoder()
  const enough = new Error('The rest of the body is not read')
  let text = ''
  let bytes = 0
  try {
    await eachChunk(response, signal, url, (chunk) => {
      text += decoder.decode(chunk.subarray(0, errorBodyBytes - bytes), { stream: true })
      bytes += chunk.length
      if (bytes >= errorBodyBytes) throw enough
    })
  } catch (error) {
    if (signal.aborted) throw error
    // A body that broke off is no whole message.
    if (bytes < errorBodyBytes) return ''
  }
  return text
}

function rpcErrorIn(text: string): JsonRpcErrorObject | undefined {
  try {
    const found = classify(parseJson(text))
    return found.kind === 'response' && 'error' in found.message ? found.message.error : undefined
  } catch {
    return undefined
  }
}

/** Milliseconds the server asks to wait, from its `Retry-After` header. */
export function retryAfter(response: Response): number | undefined {
  const value = response.headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}
