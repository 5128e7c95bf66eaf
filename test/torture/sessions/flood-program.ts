import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'

// Begins more sessions than the limit without ending any, and prints what happened to them.

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const url = 'http://localhost/mcp'
const version = '2025-11-25'

interface Input {
  sessions: number
  room: number
}

const { sessions, room }: Input = JSON.parse(process.argv[2] ?? '{}')
const server = defineServer({
  name: 'flooded',
  version: '1.0.0',
  tools: { wait: tool({ run: () => new Promise<string>(() => {}) }) },
})
const handler = serveHttp(server, { keys: ['k'.repeat(32)], limits: { sessions: room } })

function send(method: string, id: string | undefined, body?: object): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
    ...(id === undefined ? {} : { 'mcp-session-id': id, 'mcp-protocol-version': version }),
  }
  return handler.fetch(
    new Request(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
  )
}

async function begin(): Promise<string> {
  const clientInfo = { name: 'flood', version: '1.0.0' }
  const params = { protocolVersion: version, capabilities: {}, clientInfo }
  const response = await send('POST', undefined, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
  await response.text()
  if (response.status !== 200) throw new Error(`initialize was answered with ${response.status}`)
  return response.headers.get('mcp-session-id') ?? ''
}

async function isAlive(id: string): Promise<boolean> {
  const response = await send('POST', id, { jsonrpc: '2.0', id: 2, method: 'ping' })
  await response.text()
  return response.status === 200
}

function heap(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** How far the characters at one place are from equally frequent: about 63 where they are. */
function chiSquare(ids: readonly string[], at: number): number {
  const counts = new Map([...alphabet].map((char) => [char, 0]))
  for (const id of ids) {
    const char = id[at] ?? ''
    counts.set(char, (counts.get(char) ?? 0) + 1)
  }
  const each = ids.length / alphabet.length
  return [...counts.values()].reduce((sum, count) => sum + (count - each) ** 2 / each, 0)
}

const listening = await begin()
const stream = await send('GET', listening)
const working = await begin()
send('POST', working, { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'wait' } }).catch(
  () => {},
)
const used = await begin()
const busy = [listening, working]
const ids: string[] = []
for (let i = 0; i < 100; i++) ids.push(await begin())
const before = heap()
const grown = room - 103
for (let i = 0; i < grown; i++) ids.push(await begin())
const bytes = (heap() - before) / grown
for (let i = 0; ids.length < sessions; i++) {
  if (i % 100 === 0 && !(await isAlive(used))) throw new Error('A session in use was ended')
  ids.push(await begin())
}

// The sessions that are asked are used by that, so the ones that must be gone are asked first.
const expectedCount = room - 3
let wrong = 0
for (let i = 0; i < 200; i++) {
  const old = ids[Math.floor((i / 200) * (ids.length - expectedCount))]
  if (old === undefined || (await isAlive(old))) wrong++
}
for (let i = 0; i < 200; i++) {
  const young = ids[ids.length - 1 - Math.floor((i / 200) * expectedCount)]
  if (young === undefined || !(await isAlive(young))) wrong++
}
let busyEnded = 0
for (const id of busy) if (!(await isAlive(id))) busyEnded++
const places = ids[0]?.length ?? 0
const found = {
  begun: ids.length,
  wrong,
  busyEnded,
  bytes,
  duplicates: ids.length - new Set(ids).size,
  unprintable: ids.filter((id) => !/^[\x21-\x7e]+$/.test(id) || id.length !== places).length,
  characters: places,
  farthest: Math.max(...Array.from({ length: places }, (_, at) => chiSquare(ids, at))),
}
await stream.body?.cancel()
console.log(JSON.stringify(found))
process.exit(0)
