import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connect } from '@jackfield/sdk/client'
import { serveSocket } from '@jackfield/sdk/socket'
import { HttpConnection } from './http-connection.ts'
import { openSession } from './http-session.ts'
import { cancelledOf } from './kinds.ts'
import { type Ending, Line } from './line.ts'
import { get, modernHeaders, post, served } from './served.ts'
import { planIn, soak } from './soak.ts'
import { wares } from './wares.ts'

// Streams of changes that are opened, notified of a change and dropped: subscriptions of the stateless era, streams of sessions,
// and what a client watches; and the server and the client that must not keep them.

const plan = planIn(process.argv[2])
const concurrency = 8
const patienceMs = 30_000

let listening = 0
const { server } = wares([
  async (exchange, next) => {
    if (exchange.method !== 'subscriptions/listen') return next(exchange)
    listening++
    try {
      return await next(exchange)
    } finally {
      listening--
    }
  },
])
const { port, listeners, connections } = await served(server, { limits: { storedEvents: 50 } })
const path = join(tmpdir(), `jackfield-streams-${process.pid}.sock`)
await serveSocket(server, { path })
process.on('exit', () => rmSync(path, { force: true }))

/** A session and a socket for one stream at a time. */
interface Connection {
  /** The headers of the session. */
  readonly session: string
  /** The connection to the socket. */
  readonly line: Line
}

async function openConnection(): Promise<Connection> {
  const lane = new HttpConnection(port)
  const { headers } = await openSession(lane)
  await lane.close()
  return { session: headers, line: await Line.to({ path }) }
}

function listen(n: number): string {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'streams', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const notifications = { toolsListChanged: true, resourceSubscriptions: [`wares://items/${n}`] }
  return JSON.stringify({
    jsonrpc: '2.0',
    id: n,
    method: 'subscriptions/listen',
    params: { notifications, _meta },
  })
}

const acknowledged = 'notifications/subscriptions/acknowledged'

async function subscription(n: number, how: Ending): Promise<void> {
  const line = await Line.to({ port })
  line.write(post(listen(n), modernHeaders('subscriptions/listen')))
  await line.until(acknowledged)
  server.resourceUpdated(`wares://items/${n}`)
  await line.until('resources/updated')
  await line.end(how)
}

/** Opens the stream of a session, and retries until the server has noticed that the last one is closed. */
async function streamOf(headers: string): Promise<Line> {
  for (;;) {
    const line = await Line.to({ port })
    line.write(get(headers))
    if ((await line.until('HTTP/1.1 ')).includes(' 200 ')) return line
    await line.end('FIN')
  }
}

/** Opens the stream of a session, and once more where it broke off. */
async function sessionStream({ session }: Connection, how: Ending): Promise<void> {
  const line = await streamOf(session)
  server.changes.publish({ type: 'prompts' })
  const id = /id: (\S+)/.exec(await line.until('list_changed'))?.[1]
  await line.end(how)
  const again = await streamOf(`${session}Last-Event-ID: ${id}\r\n`)
  server.changes.publish({ type: 'prompts' })
  await again.until('list_changed')
  await again.end(how)
}

async function watched(n: number, client: Client): Promise<void> {
  const uri = `wares://items/${n}`
  const notified = Promise.withResolvers<void>()
  const watch = await client.watch({ resourceSubscriptions: [uri] }, (change) => {
    if (change.type === 'resource' && change.uri === uri) notified.resolve()
  })
  server.resourceUpdated(uri)
  await notified.promise
  await watch.close()
}

const clients = {
  modern: await connect(server, { revisions: ['2026-07-28'] }),
  session: await connect(server, { revisions: ['2025-11-25'] }),
}
const ways: readonly ((n: number, connection: Connection) => Promise<void>)[] = [
  (n) => subscription(n, 'FIN'),
  (n) => subscription(n, 'RST'),
  (_, connection) => sessionStream(connection, 'FIN'),
  (_, connection) => sessionStream(connection, 'RST'),
  async (n, { line }) => {
    line.write(`${listen(n)}\n`)
    await line.until(acknowledged)
    line.write(`${cancelledOf(n)}\n`)
  },
  (n) => watched(n, clients.modern),
  (n) => watched(n, clients.session),
]
const chosen = plan.way === 'all' ? ways : ways.slice(Number(plan.way), Number(plan.way) + 1)
const idle = await Promise.all(Array.from({ length: concurrency }, openConnection))

async function runRequest(n: number): Promise<void> {
  const taken = idle.pop()
  if (taken === undefined) throw new Error('More is put at once than there are seats')
  await chosen[n % chosen.length]?.(n, taken)
  idle.push(taken)
}

/** Settles when the server has seen that every stream is gone. */
async function settled(): Promise<void> {
  const late = performance.now() + patienceMs
  while (listening > 0 || connections() > 0) {
    if (performance.now() > late) {
      throw new Error(`${listening} streams and ${connections()} connections are left after ${patienceMs} ms`)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

await soak({ runRequest, concurrency, listeners, settled }, plan)
