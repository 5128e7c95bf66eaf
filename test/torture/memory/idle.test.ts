import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { expect, onTestFinished, vi } from 'vitest'
import { programFile } from '../../setup/program-file.ts'
import { type CampaignRun, campaign } from '../campaign.ts'
import { figure, type Measured, measuredBy } from '../limits/child.ts'

const program = '../memory/programs/idle-clients.ts'
const keepAliveMs = 15_000
/** Bytes of the heap one client that does nothing may take. */
const maxHeap = 20_000
/** Bytes that code takes once it ran, however many clients there were. */
const onceKept = 1_000_000
/** Comments that go out in one fifteenth of their interval, of all: the even share is 0.067. */
const maxAtOnce = 0.25

async function idle(
  campaignRun: CampaignRun,
  kind: 'streams' | 'sessions' | 'listen' | 'bare',
): Promise<Measured> {
  const awaitsKeepAlives = campaignRun.long && (kind === 'streams' || kind === 'listen')
  const server = programFile(new URL('programs/idle-server.ts', import.meta.url))
  const input = {
    kind,
    count: campaignRun.trials,
    keepAliveMs,
    intervals: awaitsKeepAlives ? 2.5 : 0,
    server,
  }
  return measuredBy(program, input, campaignRun.long ? 600_000 : 110_000)
}

function check(campaignRun: CampaignRun, found: Measured, unit: string): void {
  const heap = figure(found, 'heap')
  expect(figure(found, 'held')).toBe(campaignRun.trials)
  expect(heap).toBeLessThan(maxHeap)
  expect(figure(found, 'kept')).toBeLessThan(heap / 10 + onceKept / campaignRun.trials)
  expect(figure(found, 'wrong')).toBe(0)
  campaignRun.measured('heap', Math.round(heap), `bytes/${unit}`)
  campaignRun.measured('resident', Math.round(figure(found, 'resident')), `bytes/${unit}`)
  campaignRun.measured('heap after they went', Math.round(figure(found, 'kept')), `bytes/${unit}`)
}

function checkRhythm(campaignRun: CampaignRun, found: Measured): void {
  if (!campaignRun.long) return
  expect(figure(found, 'silent')).toBe(0)
  // A machine that is busy elsewhere bunches what was well spread: evenness is held to account in virtual time below.
  expect(figure(found, 'most')).toBeLessThan(0.75)
  campaignRun.measured('comments in the fullest second', Math.round(figure(found, 'most') * 1000) / 10, '%')
  campaignRun.measured('comment early or late, 99 of 100', Math.round(figure(found, 'jitter')), 'ms')
}

campaign(
  {
    id: 'idle-streams',
    chapter: 'Memory',
    claim:
      'An idle session with an open stream takes less than 20 kB of heap, gets a change once, and leaves nothing behind',
    trial: 'session with an open stream',
    trials: { change: 1_000, long: 10_000 },
  },
  async (campaignRun) => {
    const found = await idle(campaignRun, 'streams')
    check(campaignRun, found, 'session')
    checkRhythm(campaignRun, found)
    if (!campaignRun.long) return
    const bare = await idle(campaignRun, 'bare')
    campaignRun.measured('of it a stream of Node alone', Math.round(figure(bare, 'heap')), 'bytes/session')
  },
)

campaign(
  {
    id: 'idle-sessions',
    chapter: 'Memory',
    claim:
      'A session without a stream takes less than 20 kB of heap, gets a change once it opens one, and leaves nothing behind',
    trial: 'unused session',
    trials: { change: 1_000, long: 10_000 },
  },
  async (campaignRun) => check(campaignRun, await idle(campaignRun, 'sessions'), 'session'),
)

campaign(
  {
    id: 'idle-subscriptions',
    chapter: 'Memory',
    claim:
      'A subscription without a session takes less than 20 kB of heap, gets a change once, and leaves nothing behind',
    trial: 'open subscription',
    trials: { change: 1_000, long: 10_000 },
  },
  async (campaignRun) => {
    const found = await idle(campaignRun, 'listen')
    check(campaignRun, found, 'subscription')
    checkRhythm(campaignRun, found)
  },
)

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'idle', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

function subscription(id: number): Request {
  const params = { notifications: { toolsListChanged: true }, _meta: meta }
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params }),
  })
}

/** Notes at which milliseconds comments come on a stream. */
async function receive(body: ReadableStream<Uint8Array<ArrayBuffer>> | null, times: number[]): Promise<void> {
  if (body === null) throw new Error('An answer has no body')
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    if (text.includes(': keep-alive')) times.push(Date.now())
  }
}

campaign(
  {
    id: 'keep-alive-spread',
    chapter: 'Memory',
    claim:
      'Keep-alives of streams that were opened at once are spread: no stream exceeds its interval, and no second has them all',
    trial: 'stream opened together with all others',
    trials: { change: 300, long: 3000 },
  },
  async ({ trials, measured }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const tools = { noop: tool({ run: () => '' }) }
    const server = defineServer({ name: 'idle', version: '1', tools })
    const handler = serveHttp(server, {
      limits: { keepAliveMs, listenStreams: trials },
      onWarning: () => {},
    })
    const opened = Date.now()
    const streams = await Promise.all(
      Array.from({ length: trials }, async (_, id) => {
        const times: number[] = []
        const { body } = await handler.fetch(subscription(id))
        return { times, over: receive(body, times) }
      }),
    )
    const seconds = 45
    await vi.advanceTimersByTimeAsync(seconds * 1000)
    const counts = Array.from({ length: seconds }, () => 0)
    for (const [at, { times }] of streams.entries()) {
      let last = opened
      for (const time of times) {
        const second = Math.ceil((time - opened) / 1000) - 1
        counts[second] = (counts[second] ?? 0) + 1
        if (time - last > keepAliveMs) throw new Error(`Stream ${at} was quiet for ${time - last} ms`)
        last = time
      }
      expect(times.length, `comments on stream ${at}`).toBeGreaterThanOrEqual(3)
    }
    const most = Math.max(...counts) / trials
    expect(most).toBeLessThan(maxAtOnce)
    measured('comments in the fullest second', Math.round(most * 1000) / 10, '%')
    const closed = handler.close()
    await vi.advanceTimersByTimeAsync(2000)
    await closed
    await Promise.all(streams.map(({ over }) => over))
  },
)
