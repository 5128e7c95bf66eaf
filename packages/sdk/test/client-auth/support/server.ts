import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One request as a hand-written server saw it. */
export interface Seen {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The body of a form, or the query. */
  readonly params: URLSearchParams
  readonly res: ServerResponse
}

export interface Hand {
  readonly origin: string
  readonly seen: Seen[]
  /** Requests to one path, in order of arrival. */
  at(path: string): Seen[]
  close(): void
}

/** A hand-written HTTP server on 127.0.0.1. */
export async function listen(handle: (seen: Seen) => void): Promise<Hand> {
  const seen: Seen[] = []
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const url = new URL(req.url ?? '/', `http://${req.headers.host}`)
      const form = req.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true
      const params = form ? new URLSearchParams(body) : url.searchParams
      const one: Seen = { method: req.method ?? '', url, headers: req.headers, body, params, res }
      seen.push(one)
      handle(one)
    })
  })
  // Idle connections stay open, so that no request is sent on a closing one.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    seen,
    at: (path) => seen.filter(({ url }) => url.pathname === path),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

export function json(
  res: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string | string[]> = {},
): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
