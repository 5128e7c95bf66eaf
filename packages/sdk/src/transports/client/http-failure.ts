import { excerpt, McpError } from '../../jsonrpc/error.ts'
import type { JsonRpcErrorObject } from '../../jsonrpc/message.ts'
import { classify, isObject, tryParseJson } from '../../jsonrpc/parse.ts'
import { fetchError } from './http-request.ts'
import { mediaType, retryAfter } from './http-response.ts'

const errorBodyBytes = 64 * 1024
/** Milliseconds to read a body, which may never end. */
const excerptMs = 1_000
const endpointHint = 'Is it an MCP endpoint? Check the path of the URL.'
const loginHint = 'It requires valid credentials: set "auth", or a token in "headers"'

/** Elements whose text is not visible. */
const hidden = new Set(['script', 'style', 'svg', 'template', 'noscript'])
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  nbsp: ' ',
}

/** The error of a failed HTTP response: the JSON-RPC error in its body, else an McpError. */
export async function readFailure(
  response: Response,
  signal: AbortSignal,
  url: URL,
): Promise<JsonRpcErrorObject | McpError> {
  const text = await bodyStart(response, signal, url)
  const classified = classify(tryParseJson(text))
  const rpc =
    classified.kind === 'response' && 'error' in classified.message ? classified.message.error : undefined
  const { status } = response
  const refused = status === 401 || status === 403
  if (rpc !== undefined && !refused) return rpc
  const challenge = response.headers.get('www-authenticate') ?? undefined
  const described = refused ? refusalIn(challenge) : undefined
  const reason = (described ?? rpc?.message ?? bodyExcerpt(text, mediaType(response))).replace(/\.+$/, '')
  const suffix = reason === '' ? '' : `: ${reason}`
  if (refused) {
    return new McpError(
      'UNAUTHORIZED',
      `${url.origin} refused the request with status ${status}${suffix}${status === 401 ? `. ${loginHint}` : ''}`,
      { details: { status, challenge } },
    )
  }
  const retryAfterMs = retryAfter(response)
  const advice = adviceFor(status)
  const retryHint = retryAfterMs === undefined ? '' : ` Retry after ${Math.ceil(retryAfterMs / 1_000)} s.`
  const details = retryAfterMs === undefined ? { status } : { status, retryAfterMs }
  const message = `${url} responded with status ${status}${suffix}. ${advice}${retryHint}`.trimEnd()
  return new McpError('HTTP', message, { details })
}

/** What a challenge says about the refused token, with the scopes if it lacks some. */
function refusalIn(challenge = ''): string | undefined {
  const param = (name: string): string | undefined =>
    new RegExp(`[ ,]${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(challenge)?.[1]?.replaceAll(/\\(.)/g, '$1')
  const reason = param('error_description')
  const scopes = /insufficient_scope/.test(challenge) ? param('scope') : undefined
  if (reason === undefined) return undefined
  return excerpt(scopes === undefined ? reason : `${reason}: ${scopes}`)
}

/** The error for a successful HTTP response of the wrong content type. */
export async function notAResponse(
  response: Response,
  method: string,
  signal: AbortSignal,
  url: URL,
): Promise<McpError> {
  const { status } = response
  const type = mediaType(response)
  const text = await bodyStart(response, signal, url, excerptMs)
  const reason = bodyExcerpt(text, type).replace(/\.+$/, '')
  return new McpError(
    'HTTP',
    `${url} responded to ${method} with status ${status} and ${type || 'no content type'}, neither JSON nor an event stream${reason === '' ? '' : `: ${reason}`}. ${endpointHint}`,
    { details: { status } },
  )
}

/** The error for a successful HTTP response whose JSON answers no request. */
export function noResponseIn(json: string, status: number, method: string, url: URL): McpError {
  return new McpError(
    'PROTOCOL',
    `${url} responded to ${method} with status ${status} and JSON that contains no JSON-RPC response with the same id: ${bodyExcerpt(json, '')}. ${endpointHint}`,
  )
}

/** The start of a body, read for at most `withinMs`. `''` if it cannot be read. */
async function bodyStart(
  response: Response,
  signal: AbortSignal,
  url: URL,
  withinMs?: number,
): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const cancel = (): void => void reader.cancel().catch(() => {})
  const timer = withinMs === undefined ? undefined : setTimeout(cancel, withinMs)
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    while (bytes < errorBodyBytes) {
      const { done, value } = await reader.read()
      if (done) return text
      text += decoder.decode(value.subarray(0, errorBodyBytes - bytes), { stream: true })
      bytes += value.length
    }
    cancel()
    return text
  } catch (error) {
    if (signal.aborted) throw fetchError(error, signal, url)
    return ''
  } finally {
    clearTimeout(timer)
  }
}

/** What to check after a failed response, by status. */
function adviceFor(status: number): string {
  switch (status) {
    case 400:
      return 'The server rejected the request. Check its log.'
    case 404:
    case 410:
      return 'There is no MCP endpoint. Check the path of the URL.'
    case 405:
      return 'The method is not allowed. Check the path of the URL.'
    case 406:
    case 415:
      return 'Check the path of the URL, and whether a proxy changes the request.'
    case 413:
      return 'The message exceeds the limit of the server or of a proxy in front of it.'
    case 429:
      return 'Wait before the next attempt.'
    case 502:
    case 503:
    case 504:
      return 'Check that the server behind this address is running.'
    default:
      return status >= 500 ? 'The server failed: check its log.' : ''
  }
}

/** One line from the start of a body, without control characters: the text of a page, or the message in JSON. */
function bodyExcerpt(body: string, type: string): string {
  if (type === 'text/html' || /^\s*<(?:!doctype|html)/i.test(body)) return excerpt(pageText(body))
  return excerpt((messageIn(body) ?? body).trim())
}

/** The title and the text of a page, in one pass. */
function pageText(html: string): string {
  let title = ''
  let text = ''
  let within = ''
  for (const piece of html.split('<').slice(1)) {
    const [, close = '', tag = ''] = /^(\/?)([a-z]*)/i.exec(piece) ?? []
    const name = tag.toLowerCase()
    if (within !== '') {
      if (close === '' || name !== within) continue
      within = ''
    } else if (close === '' && hidden.has(name)) {
      within = name
      continue
    }
    const after = piece.slice(piece.indexOf('>') + 1)
    if (name === 'title' && close === '') title = tidy(after)
    else text += ` ${after}`
  }
  const rest = tidy(text)
  return title === '' || rest === '' ? title + rest : `${title}: ${rest}`
}

function tidy(text: string): string {
  return text
    .replaceAll(/&(#?\w{1,8});/g, (whole, name: string) => entities[name] ?? whole)
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** The error message in the JSON of common frameworks and gateways. */
function messageIn(body: string): string | undefined {
  const value = tryParseJson(body)
  if (!isObject(value)) return undefined
  const { error } = value
  const texts = [
    isObject(error) ? error['message'] : undefined,
    value['error_description'],
    value['message'],
    error,
    value['detail'],
    value['title'],
  ]
  return texts.find((text): text is string => typeof text === 'string' && text.trim() !== '')
}
