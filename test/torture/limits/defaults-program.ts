import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineServer, limits, resource, tool } from '@jackfield/sdk'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import { serveSocket } from '@jackfield/sdk/socket'
import { report } from './meter.ts'

// Takes what a server gives by default until it gives no more, and prints how much of each that was.

const url = 'http://localhost/mcp'
const server = defineServer({
  name: 'default',
  version: '1.0.0',
  tools: {
    wait: tool({ run: () => new Promise<string>(() => {}) }),
    echo: tool({ run: () => 'echo' }),
  },
  resources: { note: resource({ uri: 'note://one', read: () => 'one' }) },
})

type Send = (body: unknown, headers?: Record<string, string>, method?: string) => Promise<Response>

/** A handler with nothing set but who calls. */
function served(principal?: string) {
  const authenticate: ServeHttpOptions =
    principal === undefined ? {} : { authenticate: async () => ({ principal }) }
  const handler = serveHttp(server, { keys: ['k'.repeat(32)], onWarning: () => {}, ...authenticate })
  const send: Send = (body, headers = {}, method = 'POST') => {
    const accept = method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream'
    const all = { 'content-type': 'application/json', accept, ...headers }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return handler.fetch(
      new Request(url, { method, headers: all, ...(body === undefined ? {} : { body: text }) }),
    )
  }
  return { handler, send }
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'taker', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

function modern(send: Send, method: string, params: object, name?: string): Promise<Response> {
  return send(
    { jsonrpc: '2.0', id: 1, method, params: { _meta: meta, ...params } },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
    },
  )
}

const wait = (send: Send): Promise<Response> => modern(send, 'tools/call', { name: 'wait' }, 'wait')
const listen = (send: Send, uris: string[] = []): Promise<Response> =>
  modern(send, 'subscriptions/listen', { notifications: { resourceSubscriptions: uris } })

/** A session, and its headers. */
async function begun(send: Send, version = '2025-11-25'): Promise<Record<string, string>> {
  const clientInfo = { name: 'taker', version: '1.0.0' }
  const params = { protocolVersion: version, capabilities: {}, clientInfo }
  const response = await send({ jsonrpc: '2.0', id: 'begin', method: 'initialize', params })
  await response.text()
  if (response.status !== 200) throw new Error(`initialize was answered with ${response.status}`)
  return { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': version }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** The number of concurrent requests before one is refused with a status. */
async function takenBefore(status: number, request: () => Promise<Response>): Promise<number> {
  for (let taken = 0; taken < 20_000; taken++) {
    let count = 0
    request().then((response) => {
      count = response.status
    })
    for (let turns = 0; turns < 3 && count === 0; turns++) await turn()
    if (count === status) return taken
    if (count !== 0 && count !== 200) throw new Error(`Refused with ${count}, not with ${status}`)
  }
  return Number.POSITIVE_INFINITY
}

/** How many sessions are kept of more than there is room for: shown by the first that is gone. */
async function sessionsKept(send: Send, room: number): Promise<number> {
  const all: Record<string, string>[] = []
  for (let session = 0; session < room + 2; session++) all.push(await begun(send))
  const alive: boolean[] = []
  for (const session of all.slice(0, 4)) {
    const answer = await send({ jsonrpc: '2.0', id: 1, method: 'ping' }, session)
    await answer.text()
    alive.push(answer.status === 200)
  }
  return all.length - alive.indexOf(true)
}

/** Sizes from one below to one above a limit; gives the largest that was taken before the first that was not. */
async function largest(limit: number, taken: (size: number) => Promise<boolean>): Promise<number> {
  let last = limit - 2
  for (const size of [limit - 1, limit, limit + 1]) {
    if (!(await taken(size))) return last
    last = size
  }
  return last
}

async function connectionsTaken(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'defaults-'))
  const path = join(folder, 'socket')
  const one = await serveSocket(server, { path })
  const sockets: Socket[] = []
  try {
    for (let taken = 0; taken < 2 * limits.connections; taken++) {
      const socket = connect(path).on('error', () => {})
      sockets.push(socket)
      const ping = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } }
      socket.write(`${JSON.stringify(ping)}\n`)
      const reply = await new Promise((resolve) => socket.once('data', (chunk) => resolve(String(chunk))))
      if (String(reply).includes('Too many clients')) return taken
    }
    return Number.POSITIVE_INFINITY
  } finally {
    for (const socket of sockets) socket.destroy()
    await one.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const found: Record<string, number> = {}

const session = served()
const own = await begun(session.send)
let id = 0
found['inFlight'] = await takenBefore(400, () =>
  session.send({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { name: 'wait' } }, own),
)
const ada = served('ada')
found['inFlightPerPrincipal'] = await takenBefore(429, () => wait(ada.send))
found['listenStreamsPerPrincipal'] = await takenBefore(429, () => listen(ada.send))
const anonymous = served()
found['inFlightPerNode'] = await takenBefore(503, () => wait(anonymous.send))
found['listenStreams'] = await takenBefore(503, () => listen(anonymous.send))
found['sessions'] = await sessionsKept(served().send, limits.sessions)
found['sessionsPerPrincipal'] = await sessionsKept(served('ada').send, limits.sessionsPerPrincipal)
found['connections'] = await connectionsTaken()

const { send } = served()
found['messageBytes'] = await largest(limits.messageBytes, async (size) => {
  const more = { _meta: meta, name: 'echo', arguments: { more: '' } }
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: more })
  const body = text.replace('"more":""', `"more":"${'x'.repeat(size - text.length)}"`)
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
  const answer = await send(body, headers)
  await answer.text()
  return answer.status === 200
})
found['subscribedUris'] = await largest(limits.subscribedUris, async (size) => {
  const answer = await listen(
    send,
    Array.from({ length: size }, (_, nth) => `note://${nth}`),
  )
  await answer.body?.cancel()
  return answer.headers.get('content-type')?.startsWith('text/event-stream') === true
})
const batched = await begun(send, '2025-03-26')
found['batch'] = await largest(limits.batch, async (size) => {
  const pings = Array.from({ length: size }, (_, nth) => ({ jsonrpc: '2.0', id: nth, method: 'ping' }))
  const answer = await send(pings, batched)
  await answer.text()
  return answer.status === 200
})
report(found)
process.exit(0)
