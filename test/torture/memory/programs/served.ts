import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Server } from '@jackfield/sdk'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import { listenersOf } from './http-connection.ts'

/** A server on a port of this process. */
export interface Served {
  readonly port: number
  /** Listeners on all the connections it has. */
  listeners(): number
  /** Connections it has. */
  connections(): number
}

/** Serves over HTTP, with a view of the connections. */
export async function served(server: Server, options: ServeHttpOptions): Promise<Served> {
  const handler = serveHttp(server, {
    keys: ['k'.repeat(32)],
    onWarning: (text) => process.stderr.write(`${text}\n`),
    ...options,
  })
  const sockets = new Set<Socket>()
  const web = createServer({ keepAliveTimeout: 600_000 }, handler.node)
  web.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  const address = web.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    listeners: () => [...sockets].reduce((sum, socket) => sum + listenersOf(socket), 0),
    connections: () => sockets.size,
  }
}

/** The bytes of a POST. `headers` are whole lines. */
export function post(body: string, headers: string, path = '/mcp'): string {
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`
}

/** The bytes of a GET that opens an event stream. */
export function get(headers: string, path = '/mcp'): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n${headers}\r\n`
}

/** What the requests of a session say about it. */
export function sessionHeaders(session: string | undefined): string {
  return `MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: ${session}\r\n`
}

/** The headers of a request of the stateless era. `named` is its name or URI. */
export function modernHeaders(method: string, named?: unknown): string {
  const name = typeof named === 'string' ? `Mcp-Name: ${named}\r\n` : ''
  return `MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: ${method}\r\n${name}`
}
