import { request } from 'node:http'
import { expect, onTestFinished } from 'vitest'
import { EventReader, type ServerSentEvent } from '../../../packages/sdk/src/jsonrpc/sse.ts'
import { nodeFace, session } from '../../../packages/sdk/test/serve/http-support.ts'
import { type Tool, testServer } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const notices = 199
const revisions = ['2025-03-26', '2025-06-18', '2025-11-25'] as const
/** A little more than all bytes of the stream. */
const wholeBytes = 33_000
/** Where the first event has ended on every revision. */
const sweepFrom = 200
const expected = [...Array.from({ length: notices }, (_, at) => `notice ${at + 1}`), 'answer']

campaign(
  {
    id: 'cut-streams',
    chapter: 'Sessions and streams',
    claim: 'A stream that is cut at any byte goes on from the last whole event, with every event once',
    trial: 'cut of a 200-event stream at one byte',
    trials: { change: 160, long: 3 * wholeBytes },
    longMinutes: 60,
  },
  async (course) => {
    const random = new Random(course.seed)
    const mounted = await nodeFace(counting(random), { limits: { storedEvents: 2 * notices } })
    onTestFinished(() => mounted.close())
    let withoutId = 0
    const sweepAt = random.between(sweepFrom, wholeBytes - 1000)
    for (let trial = 0; trial < course.trials; trial++) {
      const revision = revisions[trial % revisions.length] ?? '2025-11-25'
      const own = await session(mounted, revision)
      const headers = { 'mcp-session-id': own.id, 'mcp-protocol-version': revision }
      const params = { name: 'count', _meta: { progressToken: 1 } }
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
      const at = course.long ? Math.floor(trial / revisions.length) : sweepAt + trial
      const where = `trial ${trial}: ${revision}, cut after ${at} bytes`

      const first = await read(mounted.url, { method: 'POST', headers, body: JSON.stringify(call) }, at)
      const events = [...first.events]
      let last = events.at(-1)?.id
      if (last === undefined) {
        withoutId++
      } else {
        for (let cuts = 0; !isAnswered(events) && cuts < 100; cuts++) {
          const limit = cuts < 2 ? random.between(0, wholeBytes) : Number.POSITIVE_INFINITY
          const rest = await read(
            mounted.url,
            { method: 'GET', headers: { ...headers, 'last-event-id': last } },
            limit,
          )
          expect(rest.status, where).toBe(200)
          events.push(...rest.events)
          last = events.at(-1)?.id ?? last
        }
        expect(told(events), where).toEqual(expected)
        const from = random.between(0, events.length - 1)
        const again = { ...headers, 'last-event-id': events[from]?.id ?? '' }
        const replayed = await read(mounted.url, { method: 'GET', headers: again }, Number.POSITIVE_INFINITY)
        expect(replayed.events, `${where}, again from ${from}`).toEqual(events.slice(from + 1))
      }
      await own.end()
    }
    course.measured('cut before the first id, so that the outcome is unknown', withoutId, 'streams')
  },
)

/** A server whose one tool gives many notices, some at once and some after a while. */
function counting(random: Random) {
  const count: Tool = async (_args, exchange) => {
    for (let progress = 1; progress <= notices; progress++) {
      const params = { progressToken: 1, progress, message: `notice ${progress}` }
      exchange.notify({ method: 'notifications/progress', params })
      if (random.fraction() < 0.04) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    return 'answer'
  }
  return testServer({ count })
}

interface Asked {
  method: string
  headers: Record<string, string>
  body?: string
}

/** The whole events in the first bytes of a stream, whose connection is then cut. */
function read(url: string, { method, headers, body }: Asked, bytes: number) {
  return new Promise<{ status: number; events: ServerSentEvent[] }>((resolve, reject) => {
    const events: ServerSentEvent[] = []
    const reader = new EventReader({ onEvent: (event) => events.push(event) })
    const accept = method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream'
    const all = { accept, 'content-type': 'application/json', ...headers }
    const sent = request(url, { method, headers: all, agent: false }, (response) => {
      let left = bytes
      const done = (): void => resolve({ status: response.statusCode ?? 0, events })
      const cut = (): void => {
        sent.destroy()
        done()
      }
      if (left === 0) return cut()
      response.on('data', (chunk: Buffer) => {
        if (left <= 0) return
        reader.push(chunk.subarray(0, Math.min(left, chunk.length)))
        left -= chunk.length
        if (left <= 0) cut()
      })
      response.on('error', () => {})
      response.on('end', done)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

function isAnswered(events: readonly ServerSentEvent[]): boolean {
  return told(events).at(-1) === 'answer'
}

/** What the messages among events say, in order. */
function told(events: readonly ServerSentEvent[]): string[] {
  return events
    .filter(({ data }) => data !== '')
    .map(({ data }) => {
      const { params, result } = JSON.parse(data)
      return String(params?.message ?? result?.content?.[0]?.text)
    })
}
