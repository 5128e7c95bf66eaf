import { type Client, type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { listed } from '../client/support/results.ts'
import { during } from './during.ts'

type Revision = '2025-11-25' | '2026-07-28'

function resultOf(method: string, revision: Revision): object {
  const serverInfo = { name: 'hand', version: '1' }
  if (method === 'initialize') return { protocolVersion: revision, capabilities: {}, serverInfo }
  return listed({ supportedVersions: [revision], capabilities: {} })
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  return () => vi.useRealTimers()
})

describe('a server behind a failing gateway', () => {
  /** A server of the revision behind a gateway, and when each method reached the gateway. */
  function through(
    answer: (nth: number, method: string) => Response | undefined | Promise<Response | undefined>,
    revision: Revision,
  ) {
    const seen: { method: string; at: number }[] = []
    const send = async (_: URL, init: RequestInit): Promise<Response> => {
      if (init.method !== 'POST') return new Response(null, { status: init.method === 'GET' ? 405 : 200 })
      const { id, method } = JSON.parse(String(init.body))
      seen.push({ method, at: performance.now() })
      const instead = await answer(seen.length - 1, method)
      if (instead !== undefined) return instead
      if (id === undefined) return new Response(null, { status: 202 })
      if (revision === '2025-11-25' && method === 'server/discover') {
        return Response.json(
          { jsonrpc: '2.0', id, error: { code: -32600, message: 'no session' } },
          { status: 400 },
        )
      }
      return Response.json({ jsonrpc: '2.0', id, result: resultOf(method, revision) })
    }
    const connectThrough = (options: ConnectOptions = {}): Promise<Client> =>
      connect(http('http://127.0.0.1/mcp', { fetch: send }), options)
    return { connectThrough, seen, methods: () => seen.map(({ method }) => method) }
  }
  const failing =
    (times: number, status: number, headers: Record<string, string> = {}) =>
    (nth: number): Response | undefined =>
      nth < times ? new Response('<h1>Bad gateway</h1>', { status, headers }) : undefined

  it.each([502, 503, 504])('is probed again after %i, and is modern', async (status) => {
    const { connectThrough, methods } = through(failing(3, status), '2026-07-28')
    const client = await during(connectThrough())
    onTestFinished(() => client.close())
    expect(client.server).toMatchObject({ era: 'stateless', revision: '2026-07-28' })
    expect(methods()).toEqual(Array.from({ length: 4 }, () => 'server/discover'))
  })

  it('is probed again, and is of the older era if it responds so itself', async () => {
    const { connectThrough, methods } = through(failing(2, 502), '2025-11-25')
    const client = await during(connectThrough())
    onTestFinished(() => client.close())
    expect(client.server).toMatchObject({ era: 'session', revision: '2025-11-25' })
    expect(methods()).toEqual([
      ...Array.from({ length: 3 }, () => 'server/discover'),
      'initialize',
      'notifications/initialized',
    ])
  })

  it('is not offered a session if the gateway never forwards the probe', async () => {
    const { connectThrough, methods } = through(failing(100, 502), '2025-11-25')
    await expect(during(connectThrough())).rejects.toMatchObject({
      code: 'HTTP',
      message: expect.stringContaining('Bad gateway'),
      details: { status: 502 },
    })
    expect(methods()).toEqual(Array.from({ length: 6 }, () => 'server/discover'))
  })

  it('is awaited for as long as the gateway says, beyond the probe timeout', async () => {
    const { connectThrough, seen } = through(failing(2, 503, { 'retry-after': '8' }), '2026-07-28')
    const client = await during(connectThrough({ probeTimeoutMs: 1_000 }))
    onTestFinished(() => client.close())
    expect(client.server.era).toBe('stateless')
    const [first, second, third] = seen.map(({ at }) => at)
    expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(8_000)
    expect(Number(third) - Number(second)).toBeGreaterThanOrEqual(8_000)
  })

  it('has its whole timeout after each late response of the gateway', async () => {
    const late = async (response: Response | undefined): Promise<Response | undefined> => {
      await new Promise((resolve) => setTimeout(resolve, 800))
      return response
    }
    const { connectThrough, methods } = through((nth) => late(failing(3, 504)(nth)), '2026-07-28')
    const client = await during(connectThrough({ probeTimeoutMs: 1_000 }))
    onTestFinished(() => client.close())
    expect(client.server.era).toBe('stateless')
    expect(methods()).not.toContain('initialize')
  })

  it('is not awaited beyond the connection timeout', async () => {
    const { connectThrough, methods } = through(failing(100, 503, { 'retry-after': '20' }), '2026-07-28')
    const before = performance.now()
    await expect(during(connectThrough({ connectTimeoutMs: 10_000 }))).rejects.toMatchObject({
      code: 'HTTP',
      message: expect.stringContaining('after 20 s'),
      details: { status: 503, retryAfterMs: 20_000 },
    })
    expect(performance.now() - before).toBeLessThan(1_000)
    expect(methods()).toEqual(['server/discover'])
  })

  it('is not probed again once the caller aborts', async () => {
    const { connectThrough, methods } = through(failing(100, 503, { 'retry-after': '5' }), '2026-07-28')
    const stop = new AbortController()
    const connecting = connectThrough({ signal: stop.signal })
    connecting.catch(() => {})
    await vi.advanceTimersByTimeAsync(1_000)
    stop.abort()
    await expect(during(connecting)).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(methods()).toEqual(['server/discover'])
  })

  it('is not probed again in a session, and no timer remains', async () => {
    const late = async (nth: number, method: string): Promise<Response | undefined> => {
      if (method === 'notifications/initialized') return undefined
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      return method === 'server/discover' ? failing(1, 503, { 'retry-after': '5' })(nth) : undefined
    }
    const { connectThrough, methods } = through(late, '2025-11-25')
    const client = await during(connectThrough({ probeTimeoutMs: 1_000 }))
    onTestFinished(() => client.close())
    expect(client.server.era).toBe('session')
    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(methods()).toEqual(['server/discover', 'initialize', 'notifications/initialized'])
  })

  it('that reports its own failure is not probed again', async () => {
    const refusing = (): Response =>
      Response.json({ jsonrpc: '2.0', id: null, error: { code: -32603, message: 'full' } }, { status: 503 })
    const { connectThrough, methods } = through(refusing, '2026-07-28')
    await expect(during(connectThrough({ revisions: ['2026-07-28'] }))).rejects.toThrow(/full/)
    expect(methods()).toEqual(['server/discover'])
  })
})
