import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** One HTTP request as a hand-written server sees it. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The JSON-RPC message in the body; empty for requests without one. */
  readonly message: Message
  readonly res: ServerResponse
  /** Milliseconds since the server began to listen. */
  readonly at: number
}

/** What a test reads of the params a client sent; a part it did not send is missing all the same. */
export interface Params {
  [name: string]: unknown
  _meta: Record<string, unknown>
  name: string
  cursor?: string
  protocolVersion: string
  inputResponses: object
}

export interface Message {
  jsonrpc?: string
  id?: number | string
  method?: string
  params: Params
  result?: unknown
  error?: { code: number; message: string }
}

export interface Scripted {
  readonly url: string
  readonly seen: Seen[]
  /** Messages of one JSON-RPC method, in order of arrival. */
  of(method: string): Seen[]
}

/** A hand-written HTTP server, gone when the test is over. */
export async function scripted(handle: (seen: Seen) => void): Promise<Scripted> {
  const seen: Seen[] = []
  const began = performance.now()
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const one: Seen = {
        method: req.method ?? '',
        url: req.url ?? '',
        headers: req.headers,
        message: text === '' ? {} : JSON.parse(text),
        res,
        at: performance.now() - began,
      }
      seen.push(one)
      handle(one)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    of: (method) => seen.filter((one) => one.message.method === method),
  }
}

export function json(res: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}) {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function result(one: Seen, value: object, headers: Record<string, string> = {}): void {
  json(one.res, { jsonrpc: '2.0', id: one.message.id, result: value }, 200, headers)
}

export function failure(one: Seen, code: number, message: string, status = 400, data?: unknown): void {
  json(one.res, { jsonrpc: '2.0', id: one.message.id, error: { code, message, data } }, status)
}

export function sse(res: ServerResponse): (event: { id?: string; retry?: number; data?: unknown }) => void {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  return ({ id, retry, data }) => {
    const lines = [
      ...(id === undefined ? [] : [`id: ${id}`]),
      ...(retry === undefined ? [] : [`retry: ${retry}`]),
      `data: ${data === undefined ? '' : JSON.stringify(data)}`,
    ]
    res.write(`${lines.join('\n')}\n\n`)
  }
}

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true },
  prompts: {},
  logging: {},
}

/** Answers `server/discover`; false for any other message. */
export function discovered(one: Seen): boolean {
  if (one.message.method !== 'server/discover') return false
  result(one, {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities,
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'hand', version: '1' } },
  })
  return true
}

/** Plays the beginning of a session; false for what comes after it. `session` is the id to hand out. */
export function begun(one: Seen, session?: string): boolean {
  const { method } = one.message
  if (one.method === 'DELETE') one.res.writeHead(200).end()
  else if (method === 'server/discover') failure(one, -32601, 'Method not found', 404)
  else if (method === 'initialize') {
    const headers = session === undefined ? {} : { 'mcp-session-id': session }
    const info = { name: 'hand', version: '1' }
    result(one, { protocolVersion: '2025-11-25', capabilities, serverInfo: info }, headers)
  } else if (method?.startsWith('notifications/')) one.res.writeHead(202).end()
  else return false
  return true
}

export const tick = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits until something is so. */
export async function until(so: () => boolean, ms = 5_000): Promise<void> {
  const end = performance.now() + ms
  while (!so()) {
    if (performance.now() > end) throw new Error(`not so after ${ms} ms: ${so}`)
    await tick(5)
  }
}
