import { connect, http } from '@jackfield/sdk/client'
import { expect, vi } from 'vitest'
import { RetryBackoff } from '../../../packages/sdk/src/transports/client/retry-backoff.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

/** Has a test's own clock run, and chance repeat itself; what ran before is back when it is over. */
async function withClock(random: Random, run: () => Promise<void> | void): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  vi.spyOn(Math, 'random').mockImplementation(() => random.fraction())
  try {
    await run()
  } finally {
    vi.restoreAllMocks()
    vi.useRealTimers()
  }
}

type Answer = () => Response

const streamed = (text: string): Response =>
  new Response(text, { status: 200, headers: { 'content-type': 'text/event-stream' } })

const news = JSON.stringify({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info', data: 1 },
})

/** What a server can do immediately with a request for its stream. */
const rude: Record<string, Answer> = {
  'ends the stream': () => streamed(''),
  'ends it and wants no wait': () => streamed('retry: 0\n\n'),
  'gives an id and ends it': () => streamed('id: 1\nretry: 0\ndata:\n\n'),
  'sends a comment and ends it': () => streamed(': hello\n\n'),
  'brings a message and ends it': () => streamed(`retry: 0\n\ndata: ${news}\n\n`),
  'brings a message and breaks it off': () => {
    const bytes = new TextEncoder().encode(`retry: 0\n\ndata: ${news}\n\n`)
    let hasSentEvent = false
    const pull = (stream: ReadableStreamDefaultController<Uint8Array>): void => {
      if (hasSentEvent) stream.error(new Error('broken'))
      else stream.enqueue(bytes)
      hasSentEvent = true
    }
    return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'text/event-stream' } })
  },
  'breaks it off': () =>
    new Response(new ReadableStream({ start: (stream) => stream.error(new Error('broken')) }), {
      headers: { 'content-type': 'text/event-stream' },
    }),
  'is down': () => {
    throw new TypeError('fetch failed')
  },
  'is overrun': () => new Response(null, { status: 503, headers: { 'retry-after': '0' } }),
  'limits the rate': () => new Response(null, { status: 429 }),
}

/** Plays a server whose own stream ends at once; counts how often it is asked for. */
function player(answer: Answer) {
  const seen = { streams: 0 }
  const send = async (_: URL, { method, body }: RequestInit): Promise<Response> => {
    if (method === 'GET') {
      seen.streams++
      return answer()
    }
    if (method === 'DELETE') return new Response(null, { status: 200 })
    const { id, method: called } = JSON.parse(String(body))
    if (called !== 'initialize') return new Response(null, { status: 202 })
    const serverInfo = { name: 'rude', version: '1' }
    const result = { protocolVersion: '2025-11-25', capabilities: { logging: {} }, serverInfo }
    return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': 's' } })
  }
  return { seen, send }
}

campaign(
  {
    id: 'reconnect-storm',
    chapter: 'Sessions and streams',
    claim: 'A server that ends every stream at once gets at most 20 new ones per minute',
    trial: 'minute with such a server, by a clock of the test',
    trials: { test: 30, change: 100, long: 2_000 },
  },
  async ({ trials, seed, measured }) => {
    const random = new Random(seed)
    const ways = Object.entries(rude)
    let most = 0
    await withClock(random, async () => {
      for (let trial = 0; trial < trials; trial++) {
        const [how, answer] = ways[trial % ways.length] ?? ['', () => streamed('')]
        const { seen, send } = player(answer)
        const client = await connect(http('http://127.0.0.1/mcp', { fetch: send }), {
          revisions: ['2025-11-25'],
        })
        for (let second = 0; second < 60; second++) await vi.advanceTimersByTimeAsync(1_000)
        expect(seen.streams, `trial ${trial}: a server that ${how}`).toBeGreaterThan(1)
        expect(seen.streams, `trial ${trial}: a server that ${how}`).toBeLessThanOrEqual(20)
        most = Math.max(most, seen.streams)
        await client.close()
      }
    })
    measured('most attempts in a minute', most, '')
  },
)

const clients = 10_000
const outageMs = 60_000

/** When clients that lost their server at once come back, in milliseconds of the outage and after it. */
function attempts(requested: (() => number | undefined) | undefined): { during: number[]; after: number[] } {
  const during: number[] = []
  const after: number[] = []
  for (let client = 0; client < clients; client++) {
    const start = performance.now()
    const pace = new RetryBackoff()
    let at = pace.afterClose(undefined)
    while (at < outageMs) {
      during.push(at)
      vi.advanceTimersByTime(start + at - performance.now())
      at += pace.afterFailure(requested?.())
    }
    after.push(at - outageMs)
  }
  return { during, after }
}

/** The most in any second. */
function peak(times: readonly number[]): number {
  const seconds = new Map<number, number>()
  for (const time of times) {
    const second = Math.floor(time / 1_000)
    seconds.set(second, (seconds.get(second) ?? 0) + 1)
  }
  return Math.max(...seconds.values())
}

campaign(
  {
    id: 'reconnect-crowd',
    chapter: 'Sessions and streams',
    claim: `Of ${clients.toLocaleString('en-GB')} clients that lost a server for a minute, at most 1.5 times the average reconnect in any second`,
    trial: 'outage of a minute, by a clock of the test',
    trials: { change: 2, long: 100 },
  },
  async ({ trials, seed, measured }) => {
    let worst = 0
    await withClock(new Random(seed), () => {
      for (let trial = 0; trial < trials; trial++) {
        const wishMs = trial % 2 === 0 ? undefined : 5_000
        const { during, after } = attempts(wishMs === undefined ? undefined : () => wishMs)
        const lastMs = 20_000
        const steady = during.filter((at) => at >= outageMs - lastMs).length / (lastMs / 1_000)
        const ratio = peak(after) / steady
        expect(ratio, `trial ${trial}: against ${steady} in a usual second`).toBeLessThanOrEqual(1.5)
        worst = Math.max(worst, ratio)
      }
    })
    measured('most in one second against the usual', worst, '×')
  },
)
