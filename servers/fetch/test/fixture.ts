import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, connect } from '@jackfield/sdk/client'
import { createFetchServer, type FetchOptions, type FetchServer } from '@jackfield/server-fetch'
import { onTestFinished } from 'vitest'

/** A revision with sessions, and the one without. */
export const revisions = ['2025-06-18', '2026-07-28'] as const
export type Revision = (typeof revisions)[number]

/** A site on this machine. */
export interface Site {
  /** `127.0.0.1:<port>`. */
  readonly place: string
  readonly url: string
  readonly port: number
  readonly requests: readonly { path: string; headers: IncomingMessage['headers'] }[]
}

/** A page as text, as a body with headers, or as a handler. */
export type Answer =
  | string
  | {
      readonly status?: number
      readonly type?: string
      readonly body?: string | Uint8Array
      readonly headers?: Record<string, string>
    }
  | RequestListener

/** Starts a site with pages by path, without robots.txt unless it is one of them. It ends with the test. */
export async function siteOf(pages: Readonly<Record<string, Answer>>): Promise<Site> {
  const requests: { path: string; headers: IncomingMessage['headers'] }[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    requests.push({ path, headers: request.headers })
    answer(pages[path] ?? pages['*'] ?? { status: 404 }, request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { place: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}`, port, requests }
}

function answer(page: Answer, request: IncomingMessage, response: ServerResponse): void {
  if (typeof page === 'function') {
    page(request, response)
    return
  }
  const {
    status = 200,
    type = 'text/html; charset=utf-8',
    body = '',
    headers = {},
  } = typeof page === 'string' ? { body: page } : page
  response.writeHead(status, { 'content-type': type, ...headers }).end(body)
}

/** A client of a fetch server, closed with the test. */
export async function clientOf(
  options: FetchOptions,
  revision: Revision = '2026-07-28',
): Promise<Client<FetchServer>> {
  const client = await connect(createFetchServer({ env: {}, ...options }), { revisions: [revision] })
  onTestFinished(() => client.close())
  return client
}

/** A client that may fetch from sites. */
export function clientFor(...sites: readonly Site[]): Promise<Client<FetchServer>> {
  return clientOf({ allowPrivate: sites.map(({ place }) => place) })
}

/** The text of a result, its blocks separated by lines. */
export function textOf(result: { content: readonly { type: string; text?: string }[] }): string {
  return result.content.flatMap(({ type, text }) => (type === 'text' ? [text ?? ''] : [])).join('\n')
}

/** The error of a fetch. */
export async function refusal(client: Client<FetchServer>, url: string): Promise<string> {
  const result = await client.call('fetch', { url })
  if (result.isError !== true) throw new Error(`${url} was fetched: ${textOf(result)}`)
  return textOf(result)
}

/** The content of a fetched page. */
export async function contentOf(
  client: Client<FetchServer>,
  url: string,
  options: { format?: 'markdown' | 'text' | 'html'; max_length?: number } = {},
): Promise<string> {
  const result = await client.call('fetch', { url, max_length: 1_000_000, ...options })
  if (result.isError === true) throw new Error(textOf(result))
  return result.structuredContent?.content ?? ''
}

/** An article of several paragraphs around some HTML. */
export function article(html: string, title = 'A page'): string {
  const paragraph =
    '<p>This is a paragraph of the article, with commas, and enough words to be its main content.</p>'
  return `<!doctype html><html><head><title>${title}</title></head><body><nav><a href="/">Home</a></nav><article>${paragraph}${html}${paragraph.repeat(5)}</article></body></html>`
}
