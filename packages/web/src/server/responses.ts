import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { securityHeaders } from './headers.ts'

/** What a response has beside its status and the headers of every response. */
export interface Content {
  readonly contentType?: string
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the policy of the page, without a nonce. */
  readonly policy?: string
}

/** Sends a response, to HEAD without its body. */
export function send(response: ServerResponse, status: number, content: Content = {}): void {
  const { contentType, body = '', headers = {}, policy } = content
  const isRead = response.req.method === 'GET' || response.req.method === 'HEAD'
  response.writeHead(status, {
    ...securityHeaders(policy),
    ...(contentType !== undefined && { 'Content-Type': contentType }),
    ...(status !== 204 && { 'Content-Length': Buffer.byteLength(body) }),
    // What is left of the body of a refused request is not read.
    ...(!isRead && status >= 400 && { Connection: 'close' }),
    ...headers,
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}

/** Refuses a request with a sentence that says why. */
export function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = message === '' ? '' : `${message}\n`
  send(response, status, { body, headers, ...(body !== '' && { contentType: 'text/plain; charset=utf-8' }) })
}

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

/** A text as HTML that shows it. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** A text in each language of the page. */
export type Texts = Readonly<Record<'en' | 'zh-CN', string>>

/** The language of a browser: the one that the page chooses, too. */
export function languageOf({ headers }: IncomingMessage): keyof Texts {
  const accepted = (headers['accept-language'] ?? '').split(',').map((one) => one.trim())
  return accepted.some((one) => /^zh\b/i.test(one)) && !/^en\b/i.test(accepted[0] ?? '') ? 'zh-CN' : 'en'
}

/** Sends a page of a title and one paragraph of HTML, in the language of the browser. */
export function sendNotice(
  response: ServerResponse,
  status: number,
  notice: { readonly title: Texts; readonly html: Texts },
  headers: Readonly<Record<string, string>> = {},
): void {
  const language = languageOf(response.req)
  const [title, text] = [notice.title[language], notice.html[language]]
  const body =
    `<!doctype html><html lang="${language}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<meta name="color-scheme" content="light dark"><title>${title}</title><h1>${title}</h1><p>${text}</p></html>\n`
  send(response, status, { contentType: 'text/html; charset=utf-8', body, headers })
}

/** Refuses a request where Node has no response object, and closes its connection. */
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
 * Reads the body of a request; undefined where it is larger than `maxBytes`.
 * @throws Error where the client breaks off
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
