import { Agent, request } from 'node:http'
import { serveHttp } from '@jackfield/sdk/http'
import { EventReader, type ServerSentEvent } from '../../../packages/sdk/src/jsonrpc/sse.ts'
import { type Tool, testServer } from '../../../packages/sdk/test/serve/support.ts'
import { input, numberIn, report } from '../limits/meter.ts'
import { Random } from '../random.ts'

// Cuts streams of a server in this process at each byte, resumes each, and prints their number.

const notices = 199
const revisions = ['2025-03-26', '2025-06-18', '2025-11-25'] as const
const expected = [...Array.from({ length: notices }, (_, at) => `notice ${at + 1}`), 'answer']
const clientInfo = { name: 'cutter', version: '1' }
const cutsEach = 20
const maxTries = 100

interface Asked {
  method: 'GET' | 'POST' | 'DELETE'
  headers?: Record<string, string>
  body?: object
  /** Bytes of the answer after which its connection is cut; undefined to read all of it. */
  cutAfter?: number
}

interface Answered {
  status: number
  session: string
  /** Whole events that came. */
  events: ServerSentEvent[]
  /** Whether its connection was cut. */
  wasCut: boolean
}

const keptOpen = new Agent({ keepAlive: true })

function send(url: string, { method, headers, body, cutAfter }: Asked): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const events: ServerSentEvent[] = []
    const reader = new EventReader({ onEvent: (event) => events.push(event) })
    const accept = method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream'
    const all = { accept, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers }
    const agent = cutAfter === undefined ? keptOpen : false
    const sent = request(url, { method, headers: all, agent }, (response) => {
      let left = cutAfter ?? Number.POSITIVE_INFINITY
      const session = String(response.headers['mcp-session-id'])
      const done = (wasCut: boolean): void =>
        resolve({ status: response.statusCode ?? 0, session, events, wasCut })
      const cut = (): void => {
        sent.destroy()
        done(true)
      }
      if (left === 0) return cut()
      response.on('data', (chunk: Buffer) => {
        if (left <= 0) return
        reader.push(chunk.subarray(0, Math.min(left, chunk.length)))
        left -= chunk.length
        if (left <= 0) cut()
      })
      response.on('error', () => {})
      response.on('end', () => done(false))
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** What the messages among events say, in order. */
function messagesIn(events: readonly ServerSentEvent[]): string[] {
  return events
    .filter(({ data }) => data !== '')
    .map(({ data }) => {
      const { params, result } = JSON.parse(data)
      return String(params?.message ?? result?.content?.[0]?.text)
    })
}

function same(found: unknown, wanted: unknown, where: string): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (one !== other) throw new Error(`${where}: ${one} in place of ${other}`)
}

/** Reads one stream that is cut at a byte, and whatever it takes to have all of it. Gives how many cuts were made. */
async function cutOnce(url: string, revision: string, at: number, random: Random): Promise<number> {
  const where = `seed ${seed}: ${revision}, cut after ${at} bytes`
  const params = { protocolVersion: revision, capabilities: {}, clientInfo }
  const { session } = await send(url, {
    method: 'POST',
    body: { jsonrpc: '2.0', id: 0, method: 'initialize', params },
  })
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': revision }
  const begun = { jsonrpc: '2.0', method: 'notifications/initialized' }
  await send(url, { method: 'POST', headers, body: begun })
  const calling = { name: 'count', _meta: { progressToken: 1 } }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: calling }
  const { events } = await send(url, { method: 'POST', headers, body: call, cutAfter: at })
  let cuts = 1
  let last = events.at(-1)?.id
  if (last === undefined) withoutId++
  else {
    for (let tries = 0; messagesIn(events).at(-1) !== 'answer' && tries < maxTries; tries++) {
      const from = { ...headers, 'last-event-id': last }
      const again = tries < cutsEach ? { cutAfter: random.between(0, wholeBytes / 8) } : {}
      const rest = await send(url, { method: 'GET', headers: from, ...again })
      same(rest.status, 200, where)
      if (rest.wasCut) cuts++
      events.push(...rest.events)
      last = events.at(-1)?.id ?? last
    }
    same(messagesIn(events), expected, where)
    const from = random.between(0, events.length - 1)
    const replay = { ...headers, 'last-event-id': events[from]?.id ?? '' }
    const replayed = await send(url, { method: 'GET', headers: replay })
    same(replayed.events, events.slice(from + 1), `${where}, again from ${from}`)
  }
  await send(url, { method: 'DELETE', headers })
  return cuts
}

const [trials, wholeBytes, from, step, seed] = input((given) => [
  numberIn(given, 'trials'),
  numberIn(given, 'wholeBytes'),
  numberIn(given, 'from'),
  numberIn(given, 'step'),
  numberIn(given, 'seed'),
])
let withoutId = 0
const random = new Random(seed)
const count: Tool = async (_args, exchange) => {
  for (let progress = 1; progress <= notices; progress++) {
    const params = { progressToken: 1, progress, message: `notice ${progress}` }
    exchange.notify({ method: 'notifications/progress', params })
    if (random.fraction() < 0.04) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return 'answer'
}
const handler = serveHttp(testServer({ count }), {
  keys: ['k'.repeat(32)],
  limits: { storedEvents: 2 * notices },
  onWarning: () => {},
})
const { url, close } = await handler.listen()
let cuts = 0
for (let trial = 0; trial < trials; trial++) {
  const revision = revisions[trial % revisions.length] ?? '2025-11-25'
  cuts += await cutOnce(url, revision, from + Math.floor(trial / revisions.length) * step, random)
}
keptOpen.destroy()
await close()
report({ cuts, withoutId })
