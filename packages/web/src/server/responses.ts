import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { securityHeaders } from './headers.ts'

/** The parts of a response besides its status and the security headers. */
export interface ResponseContent {
  readonly contentType?: string
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the policy of the page, without a nonce. */
  readonly policy?: string
}

/** Sends a response, to HEAD without its body. */
export function send(response: ServerResponse, status: number, content: ResponseContent = {}): void {
  const { contentType, body = '', headers = {}, policy } = content
  const isRead = response.req.method === 'GET' || response.req.method === 'HEAD'
  response.writeHead(status, {
    ...securityHeaders(policy),
    ...(contentType !== undefined && { 'Content-Type': contentType }),
    ...(status !== 204 && { 'Content-Length': Buffer.byteLength(body) }),
    // The rest of the body of a refused request is not read.
    ...(!isRead && status >= 400 && { Connection: 'close' }),
    ...headers,
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}

/** Refuses a request. `message`: the reason, sent as text; an empty one sends no body. */
export function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = message === '' ? '' : `${message}\n`
  send(response, status, { body, headers, ...(body !== '' && { contentType: 'text/plain; charset=utf-8' }) })
}

/** Sends a value as JSON with status 200. */
export function sendJson(
  response: ServerResponse,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  send(response, 200, {
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify(value),
    headers,
  })
}

/** Escapes a text for HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** A text in each language of the page. */
export type LocalizedText = Readonly<Record<'en' | 'zh-CN', string>>

/** The language for a browser, by the same rule as in the page. */
export function languageOf({ headers }: IncomingMessage): keyof LocalizedText {
  const accepted = (headers['accept-language'] ?? '').split(',').map((language) => language.trim())
  return accepted.some((language) => /^zh\b/i.test(language)) && !/^en\b/i.test(accepted[0] ?? '')
    ? 'zh-CN'
    : 'en'
}

/** Sends an HTML page with a title and one paragraph, in the language of the browser. */
export function sendNotice(
  response: ServerResponse,
  status: number,
  notice: { readonly title: LocalizedText; readonly html: LocalizedText },
  headers: Readonly<Record<string, string>> = {},
): void {
  const language = languageOf(response.req)
  const [title, text] = [notice.title[language], notice.html[language]]
  const body =
    `<!doctype html><html lang="${language}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<meta name="color-scheme" content="light dark"><title>${title}</title><h1>${title}</h1><p>${text}</p></html>\n`
  send(response, status, { contentType: 'text/html; charset=utf-8', body, headers })
}

/** Refuses a request for which Node has no response object, and closes its connection. */
export function refuseRaw(stream: Duplex, status: number, message = ''): void {
  if (!stream.writable) {
    stream.destroy()
    return
  }
  const body = message === '' ? '' : `${message}\n`
  const headers = {
    ...securityHeaders(),
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  stream.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${body}`, () =>
    stream.destroy(),
  )
}

/**
 * Reads the body of a request; undefined if it is larger than `maxBytes`.
 * @throws Error if the client disconnects
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return undefined
  if (request.headers.expect !== undefined) response.writeContinue()
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    const chunk: Buffer = part
    bytes += chunk.byteLength
    if (bytes > maxBytes) return undefined
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}
