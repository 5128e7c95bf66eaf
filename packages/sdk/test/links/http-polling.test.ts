import { type Client, connect, http } from '@jackfield/sdk/client'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { encodeEvent } from '../../src/jsonrpc/sse.ts'

/** What one opening of a call's stream brings, before the server ends it and wants no wait. */
type Opening = (call: { id: number; token: unknown }, nth: number) => object | readonly object[] | undefined

const progress = (progressToken: unknown, progress: number): object => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken, progress },
})
const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'still here' } }
const news = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }

interface Poll {
  readonly client: Client
  /** When the stream of the call was asked for, in milliseconds since the call. */
  readonly openings: number[]
  /** When the session's own stream was. */
  readonly listens: number[]
}

/** A server that ends each stream right after what it brings, as one does that wants to be polled. */
async function polled(opening: Opening, listening?: () => object): Promise<Poll> {
  const openings: number[] = []
  const listens: number[] = []
  let call = { id: 0, token: undefined as unknown }
  const start = performance.now()
  const stream = (id: number, brought: object | readonly object[] = []): Response => {
    const messages = Array.isArray(brought) ? brought : [brought]
    const events = [
      encodeEvent({ id: String(id), retry: 0, data: '' }),
      ...messages.map((one, nth) => encodeEvent({ id: `${id}.${nth}`, data: JSON.stringify(one) })),
    ]
    return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } })
  }
  const get = (resumed: boolean): Response => {
    const now = performance.now() - start
    if (resumed && listening === undefined) {
      openings.push(now)
      return stream(openings.length, opening(call, openings.length))
    }
    if (listening === undefined) return new Response(null, { status: 405 })
    listens.push(now)
    return stream(listens.length, listening())
  }
  const send = async (_: URL, init: RequestInit): Promise<Response> => {
    if (init.method === 'GET') return get(new Headers(init.headers).has('last-event-id'))
    if (init.method === 'DELETE') return new Response(null, { status: 200 })
    const { id, method, params } = JSON.parse(String(init.body))
    if (id === undefined || method === undefined) return new Response(null, { status: 202 })
    if (method === 'tools/call') {
      call = { id, token: params._meta.progressToken }
      return stream(0)
    }
    const capabilities = { tools: { listChanged: true }, logging: {} }
    const result = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'hand', version: '1' } }
    return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': 's' } })
  }
  const client = await connect(http('http://127.0.0.1/mcp', { fetch: send }), { revisions: ['2025-11-25'] })
  onTestFinished(() => client.close())
  return { client, openings, listens }
}

/** Lets so many seconds pass. */
async function seconds(count: number): Promise<void> {
  for (let second = 0; second < count; second++) await vi.advanceTimersByTimeAsync(1_000)
}

/** How many of these fall into the given minute, counted from 0. */
function inMinute(times: readonly number[], minute: number): number {
  return times.filter((at) => Math.floor(at / 60_000) === minute).length
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  return () => vi.useRealTimers()
})

describe('a server that keeps ending the stream of a call, without a retry time,', () => {
  const vain: readonly [string, Opening][] = [
    ['nothing', () => undefined],
    ['the same progress', ({ token }) => progress(token, 1)],
    ['less progress each time', ({ token }, nth) => progress(token, -nth)],
    ['progress of something else', (_, nth) => progress('other', nth)],
    ['log messages', () => log],
    ['news of its lists', () => news],
    ['pings', (_, nth) => ({ jsonrpc: '2.0', id: nth, method: 'ping' })],
  ]

  it.each(vain)('gets at most 20 requests a minute when it returns %s', async (_, opening) => {
    const { client, openings } = await polled(opening)
    const call = client.call('long', {}, { timeoutMs: 600_000 })
    call.catch(() => {})
    await seconds(180)
    expect(inMinute(openings, 0)).toBeGreaterThan(10)
    expect(inMinute(openings, 0)).toBeLessThanOrEqual(20)
    expect(inMinute(openings, 1)).toBeLessThanOrEqual(11)
    expect(inMinute(openings, 2)).toBeLessThanOrEqual(11)
  })

  it('gets requests at once while each one made progress, and so completes the call', async () => {
    const answer = (id: number): object => ({ jsonrpc: '2.0', id, result: { content: [] } })
    const { client, openings } = await polled(({ id, token }, nth) =>
      nth === 100 ? answer(id) : progress(token, nth),
    )
    const received: number[] = []
    const call = client.call('long', {}, { onProgress: (report) => received.push(report.progress) })
    await seconds(60)
    await expect(call).resolves.toEqual({ content: [] })
    expect(received).toHaveLength(99)
    expect(openings[49]).toBeLessThanOrEqual(6_000)
  })

  it('gets at most 120 requests in the first minute and 60 in later ones, with any progress', async () => {
    const { client, openings } = await polled(({ token }, nth) => progress(token, nth))
    const call = client.call('endless')
    call.catch(() => {})
    await seconds(180)
    expect(inMinute(openings, 0)).toBeGreaterThan(100)
    expect(inMinute(openings, 0)).toBeLessThanOrEqual(120)
    expect(inMinute(openings, 1)).toBeLessThanOrEqual(61)
    expect(inMinute(openings, 2)).toBeLessThanOrEqual(61)
  })

  it('gets only one immediate request for much progress at once', async () => {
    const { client, openings } = await polled(({ token }, nth) =>
      nth % 8 === 0 ? Array.from({ length: 20 }, (_, more) => progress(token, nth * 100 + more)) : undefined,
    )
    const call = client.call('long')
    call.catch(() => {})
    await seconds(60)
    expect(inMinute(openings, 0)).toBeLessThanOrEqual(24)
  })

  it('completes a call without events in between', async () => {
    const { client } = await polled(({ id }, nth) =>
      nth === 15 ? { jsonrpc: '2.0', id, result: { content: [] } } : undefined,
    )
    const call = client.call('quiet')
    await seconds(59)
    await expect(call).resolves.toEqual({ content: [] })
  })
})

it('a session’s own stream that sends something each time and ends is opened at most 20 times a minute', async () => {
  const { listens } = await polled(
    () => undefined,
    () => news,
  )
  await seconds(180)
  expect(inMinute(listens, 0)).toBeGreaterThan(10)
  expect(inMinute(listens, 0)).toBeLessThanOrEqual(20)
  expect(inMinute(listens, 2)).toBeLessThanOrEqual(11)
})
