import { fork } from 'node:child_process'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Order, Report } from './idle-server.ts'

// Connects very many idle clients to a server, and prints the memory of each and their events.

type Held = Extract<Report, { type: 'held' }>

interface Input {
  /** `streams` and `sessions` are of the legacy era, with a stream open each or without; `bare` is Node alone. */
  kind: 'streams' | 'sessions' | 'listen' | 'bare'
  count: number
  keepAliveMs: number
  /** How long comments are listened to, in keep-alive intervals. */
  intervals: number
  /** The program of `idle-server.ts`. */
  server: string
}

const { kind, count, keepAliveMs, intervals, server: program }: Input = JSON.parse(process.argv[2] ?? '{}')
const atOnce = 64
const version = '2025-11-25'
const clientInfo = { name: 'idle', version: '1.0.0' }
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
}
const json = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
}

const settings = { room: count + 200, keepAliveMs, bare: kind === 'bare' }
const server = fork(program, [JSON.stringify(settings)], { execArgv: ['--expose-gc', '--no-warnings'] })
server.once('exit', (code) => {
  throw new Error(`The server ended with ${code}`)
})

function reported<T extends Report['type']>(type: T): Promise<Extract<Report, { type: T }>> {
  return new Promise((resolve) => {
    const onReport = (report: Report): void => {
      if (!isOf(report, type)) return
      server.off('message', onReport)
      resolve(report)
    }
    server.on('message', onReport)
  })
}

function isOf<T extends Report['type']>(report: Report, type: T): report is Extract<Report, { type: T }> {
  return report.type === type
}

function order(what: Order): void {
  server.send(what)
}

async function measure(): Promise<Held> {
  const heldReport = reported('held')
  order('measure')
  return heldReport
}

const { port } = await reported('listening')
const agent = new Agent({ keepAlive: true, maxSockets: atOnce })

function send(method: string, headers: Record<string, string>, body?: object): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/mcp', method, headers, agent }, (response) => {
      response.resume()
      const id = response.headers['mcp-session-id']
      if ((response.statusCode ?? 500) >= 300) reject(new Error(`${method}: ${response.statusCode}`))
      response.once('end', () => resolve(typeof id === 'string' ? id : undefined))
    })
    sent.once('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

function ofSession(id: string): Record<string, string> {
  return { ...json, 'Mcp-Session-Id': id, 'Mcp-Protocol-Version': version }
}

async function begin(): Promise<string> {
  const params = { protocolVersion: version, capabilities: {}, clientInfo }
  const id = await send('POST', json, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
  if (id === undefined) throw new Error('A session has no id')
  await send('POST', ofSession(id), { jsonrpc: '2.0', method: 'notifications/initialized' })
  return id
}

/** One open event stream, and what came on it. */
interface Stream {
  readonly socket: Socket
  changes: number
  /** Whether the notification arrived that ends them. */
  last: boolean
  /** Milliseconds at which comments came. */
  readonly breaths: number[]
}

function open(head: readonly string[], body: string, isOpen: string): Promise<Stream> {
  const socket = connect(port, '127.0.0.1')
  const stream: Stream = { socket, changes: 0, last: false, breaths: [] }
  socket.write(
    `${[...head, 'Host: 127.0.0.1', `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`,
  )
  return new Promise((resolve, reject) => {
    let opened = false
    let first = ''
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      const text = chunk.toString()
      stream.changes += text.split('"notifications/tools/list_changed"').length - 1
      if (text.includes('"notifications/prompts/list_changed"')) stream.last = true
      if (text.includes(': keep-alive\n')) stream.breaths.push(performance.now())
      if (!opened) {
        first += text
        if (!first.includes(isOpen)) return
        if (!first.startsWith('HTTP/1.1 200')) reject(new Error(first.slice(0, 300)))
        opened = true
        resolve(stream)
      }
    })
  })
}

const openBare = (): Promise<Stream> => open(['GET / HTTP/1.1'], '', ': open')

function openSession(id: string): Promise<Stream> {
  const head = ['GET /mcp HTTP/1.1', 'Accept: text/event-stream', `Mcp-Session-Id: ${id}`]
  return open([...head, `Mcp-Protocol-Version: ${version}`], '', ': keep-alive')
}

function listen(): Promise<Stream> {
  const head = ['POST /mcp HTTP/1.1', 'Accept: application/json, text/event-stream']
  const notifications = { toolsListChanged: true, promptsListChanged: true }
  const params = { notifications, _meta: meta }
  return open(
    [
      ...head,
      'Content-Type: application/json',
      'Mcp-Protocol-Version: 2026-07-28',
      'Mcp-Method: subscriptions/listen',
    ],
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }),
    'notifications/subscriptions/acknowledged',
  )
}

/** Does something for each of a list, several at once. */
async function each<A, B>(of: readonly A[], work: (one: A) => Promise<B>): Promise<B[]> {
  const made: B[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < of.length; at = next++) {
      const one = of[at]
      if (one !== undefined) made.push(await work(one))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return made
}

/** The clients that are there: sessions by their ids, and streams. */
interface Crowd {
  readonly sessions: readonly string[]
  readonly streams: readonly Stream[]
}

async function gather(size: number): Promise<Crowd> {
  const places = Array.from({ length: size }, (_, at) => at)
  if (kind === 'bare') return { sessions: [], streams: await each(places, openBare) }
  if (kind === 'listen') return { sessions: [], streams: await each(places, listen) }
  const sessions = await each(places, begin)
  return { sessions, streams: kind === 'sessions' ? [] : await each(sessions, openSession) }
}

/** All go: half of the streams say goodbye, the others are just gone. */
async function disconnect({ sessions, streams }: Crowd): Promise<void> {
  for (const [at, { socket }] of streams.entries()) {
    socket.removeAllListeners('error').on('error', () => {})
    if (at % 2 === 0) socket.end()
    else socket.resetAndDestroy()
  }
  await each(sessions, (id) => send('DELETE', ofSession(id)))
  while ((await measure()).sockets > atOnce + 1) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** Waits until the condition is true for every stream; a watchdog of the caller bounds it. */
async function all(streams: readonly Stream[], holds: (stream: Stream) => boolean): Promise<void> {
  while (!streams.every(holds)) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** How the comments of one interval spread over it, and how late or early each stream's second one is. */
function rhythm(streams: readonly Stream[], from: number): { most: number; jitter: number; silent: number } {
  const parts = 15
  const counts = Array.from({ length: parts }, () => 0)
  const off: number[] = []
  let silent = 0
  for (const { breaths } of streams) {
    const [first, second] = breaths.filter((time) => time >= from)
    if (first === undefined || second === undefined) {
      silent++
      continue
    }
    const part = Math.min(parts - 1, Math.floor(((first - from) / keepAliveMs) * parts))
    counts[part] = (counts[part] ?? 0) + 1
    off.push(Math.abs(second - first - keepAliveMs))
  }
  off.sort((a, b) => a - b)
  return {
    most: Math.max(...counts) / Math.max(1, streams.length),
    jitter: off[Math.floor(off.length * 0.99)] ?? 0,
    silent,
  }
}

await disconnect(await gather(100))
const before = await measure()
const crowd = await gather(count)
const during = await measure()

let streams = crowd.streams
let expected = 0
if (kind !== 'bare') {
  order('change')
  expected++
  // A session without a stream is notified when it opens one.
  if (kind === 'sessions') streams = await each(crowd.sessions, openSession)
  await all(streams, ({ changes }) => changes > 0)
  order('change')
  expected++
  order('last change')
  await all(streams, ({ last }) => last)
}
const wrong = streams.filter(({ changes }) => changes !== expected).length

const from = performance.now()
await new Promise((resolve) => setTimeout(resolve, keepAliveMs * intervals))
const { most, jitter, silent } = rhythm(streams, from)

await disconnect({ sessions: crowd.sessions, streams })
const after = await measure()
const found = {
  held: kind === 'sessions' ? crowd.sessions.length : streams.length,
  heap: (during.heap - before.heap) / count,
  outside: (during.outside - before.outside) / count,
  resident: (during.resident - before.resident) / count,
  kept: (after.heap - before.heap) / count,
  wrong,
  most,
  jitter,
  silent,
}
agent.destroy()
server.removeAllListeners('exit')
server.disconnect()
process.stdout.write(JSON.stringify(found), () => process.exit(0))
