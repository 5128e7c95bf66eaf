import { serveHttp } from '@jackfield/sdk/http'
import { expect, onTestFinished, vi } from 'vitest'
import { modern, session, webAdapter } from '../../../packages/sdk/test/serve/http-support.ts'
import { meta, type Tool, testServer, until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { measuredBy } from './child.ts'

/** How many of each, or how large each, a server takes that nothing was set for. */
const published = {
  inFlight: 256,
  inFlightPerPrincipal: 1024,
  inFlightPerNode: 16_384,
  listenStreams: 1024,
  listenStreamsPerPrincipal: 64,
  subscribedUris: 1024,
  sessions: 10_000,
  sessionsPerPrincipal: 1000,
  connections: 256,
  messageBytes: 4_194_304,
  batch: 100,
}

campaign(
  {
    id: 'default-limits',
    chapter: 'Bytes and limits',
    claim: 'A server with default options accepts input up to the published limits, and nothing beyond',
    trial: 'limit, taken up to its end',
    trials: { change: Object.keys(published).length, long: Object.keys(published).length },
  },
  async () => {
    expect(await measuredBy('defaults-program.ts', {})).toEqual(published)
  },
)

const minute = 60_000

/** A tool with a result of a given size, and whether it was aborted. */
function speaking(notices: number, chars: number) {
  let signal: AbortSignal | undefined
  const speak: Tool = async (_args, exchange) => {
    signal = exchange.signal
    for (let progress = 1; progress <= notices; progress++) {
      const params = { progressToken: 'p', progress, message: 'x'.repeat(chars) }
      exchange.notify({ method: 'notifications/progress', params })
    }
    return chars > 0 ? new Promise(() => {}) : 'answer'
  }
  return { server: testServer({ speak }), stopped: () => signal?.aborted === true }
}

const clocks = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'] as const

/** Lets time pass until something is over. */
async function passing<T>(work: Promise<T>): Promise<T> {
  let isOver = false
  const over = (): void => {
    isOver = true
  }
  work.then(over, over)
  while (!isOver) await vi.advanceTimersByTimeAsync(1)
  return work
}

/** Milliseconds after which the call of a reader that reads nothing of 5 MB is aborted. */
async function cutAfterMs(): Promise<number> {
  const { server, stopped } = speaking(100, 50_000)
  const handler = serveHttp(server, { onWarning: () => {} })
  const ask = modern('tools/call', { name: 'speak', _meta: meta({ progressToken: 'p' }) })
  const headers = new Headers({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  })
  for (const [name, value] of Object.entries(ask.headers ?? {})) headers.set(name, String(value))
  const request = new Request('http://localhost/mcp', {
    method: 'POST',
    headers,
    body: JSON.stringify(ask.body),
  })
  expect((await passing(handler.fetch(request))).status).toBe(200)
  let passed = 0
  for (; !stopped() && passed < 2 * minute; passed += 100) await vi.advanceTimersByTimeAsync(100)
  await passing(handler.close())
  return passed
}

/** Whether a stream of this many events can be resumed from its first, some minutes after it ended. */
async function isKept(events: number, minutes = 0): Promise<boolean> {
  // The first event carries an id and nothing else, the last one the answer.
  const { server } = speaking(events - 2, 0)
  const mounted = await webAdapter(server)
  const own = await passing(session(mounted))
  const params = { name: 'speak', _meta: { progressToken: 'p' } }
  const received = await passing(own.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
  await passing(until(() => received.over(), minute))
  expect(received.events).toHaveLength(events)
  // An unused session would end before its events do.
  for (let passed = 0; passed < minutes; passed++) {
    await vi.advanceTimersByTimeAsync(minute)
    if (passed % 20 === 19) await passing(own.post({ jsonrpc: '2.0', id: `ping${passed}`, method: 'ping' }))
  }
  const again = await passing(own.get({ 'last-event-id': received.events[0]?.id }))
  const { status } = again
  again.drop()
  await passing(mounted.close())
  return status === 200
}

campaign(
  {
    id: 'default-times',
    chapter: 'Bytes and limits',
    claim:
      'By default a reader that stalls is disconnected after 30 s, and the last 1000 events of a session are stored for an hour',
    trial: 'default of a server, in time of the test',
    trials: { change: 5, long: 5 },
  },
  async () => {
    vi.useFakeTimers({ toFake: [...clocks] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    expect(await isKept(1000), 'a stream of 1000 events').toBe(true)
    expect(await isKept(1001), 'a stream of 1001 events').toBe(false)
    expect(await cutAfterMs(), 'time until a reader is cut').toBe(30_000)
    expect(await isKept(5, 59), 'events after 59 minutes').toBe(true)
    expect(await isKept(5, 61), 'events after 61 minutes').toBe(false)
  },
)
