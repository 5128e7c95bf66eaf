import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { programFile } from '../../setup/program-file.ts'

/** How a measured server is doing. Bytes and counts. */
export interface State {
  readonly rss: number
  /** The peak memory since `begin`. */
  readonly maxBytes: number
  readonly running: number
  /** Connections that are open. */
  readonly sockets: number
  /** The most handlers at work at once since `begin`. */
  readonly maxRunning: number
  /** In use after a collection; 0 but at `end`. */
  readonly heldBytes: number
}

/** Where a server listens. */
export type Address = { readonly port: number } | { readonly path: string }

/** A server in a process of its own, over HTTP, HTTP+SSE, a Unix socket and, where asked for, its standard streams. */
export interface Served {
  readonly port: number
  readonly path: string
  /** Another Unix socket, for HTTP. */
  readonly webPath: string
  readonly stdin: Writable
  readonly stdout: Readable
  /** Begins to measure. */
  begin(): Promise<State>
  now(): Promise<State>
  /** Collects garbage, and returns what is left. */
  end(): Promise<State>
}

/** Starts a server that ends with the test. */
export async function serveMeasured(given: object): Promise<Served> {
  const path = programFile(new URL('server-program.ts', import.meta.url))
  const child = spawn(process.execPath, ['--expose-gc', '--no-warnings', path, JSON.stringify(given)], {
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const { stdin, stdout } = child
  if (stdin === null || stdout === null) throw new Error('The server has no streams')
  const places: { port: number; path: string; webPath: string } = await nextMessage(child)
  onTestFinished(() => {
    for (const path of [places.path, places.webPath]) rmSync(path, { force: true })
  })
  const ask = (what: string): Promise<State> => {
    const answer = nextMessage<State>(child)
    if (child.connected) child.send(what, () => {})
    return answer
  }
  return {
    ...places,
    stdin,
    stdout,
    begin: () => ask('begin'),
    now: () => ask('now'),
    end: () => ask('end'),
  }
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('The server is over'))
    child.once('exit', ended)
    child.once('message', (message: T) => {
      child.off('exit', ended)
      resolve(message)
    })
    if (!child.connected) ended()
  })
}

/** A connection of this process to a measured server. */
export function dial(to: Address): Promise<Socket> {
  const socket = 'path' in to ? connect(to.path) : connect(to.port, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
  })
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'tester', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** A call of a tool in the stateless era. */
export function callOf(name: string, id: number, more: object = {}): string {
  const params = { name, arguments: {}, _meta: { ...meta, ...more } }
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
}

/** The same in an HTTP request. */
export function postOf(body: string, headers: Record<string, string>, path = '/mcp'): string {
  const all = {
    Host: '127.0.0.1',
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** The headers that mirror a call of the stateless era. */
export function mirrored(name: string): Record<string, string> {
  return { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name }
}

/** Collects the output of a connection. */
export function received(from: Readable): { text(): string; until(what: string | RegExp): Promise<void> } {
  let text = ''
  from.on('data', (chunk) => {
    text += chunk
  })
  return {
    text: () => text,
    until: (what) =>
      watched(`${what}`, () => (typeof what === 'string' ? text.includes(what) : what.test(text))),
  }
}

/** Settles when something is so. */
export async function watched(
  what: string,
  so: () => boolean | Promise<boolean>,
  ms = 60_000,
): Promise<void> {
  const end = performance.now() + ms
  while (!(await so())) {
    if (performance.now() > end) throw new Error(`Not so after ${ms} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** A session over lines or over HTTP: the first two messages of its client. */
export const opening: readonly string[] = [
  {
    jsonrpc: '2.0',
    id: 'init',
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'tester', version: '1' },
    },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
].map((message) => JSON.stringify(message))
