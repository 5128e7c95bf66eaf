import { type Backplane, defineServer, prompt, rateLimit, tool } from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { call, request } from './support.ts'

const complete = {
  ref: { type: 'ref/prompt', name: 'p' },
  argument: { name: 'a', value: '' },
}

function shop(options: Parameters<typeof rateLimit>[0]) {
  const run = vi.fn(() => 'x')
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    use: [rateLimit(options)],
    tools: { t: tool({ run }) },
    prompts: { p: prompt({ input: z.object({ a: z.string() }), complete: { a: () => [] }, run: () => '' }) },
  })
  return { server, run }
}

describe('a rate limit', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('rejects calls of a caller beyond the burst, with a retry time, and accepts them after it', async () => {
    const { server, run } = shop({ perMinute: 60, burst: 3 })
    for (let i = 0; i < 3; i++) await call(server, 't')
    await expect(call(server, 't')).rejects.toMatchObject({ code: -32600, data: { retryAfterMs: 1000 } })
    expect(run).toHaveBeenCalledTimes(3)
    vi.advanceTimersByTime(999)
    await expect(call(server, 't')).rejects.toMatchObject({ data: { retryAfterMs: 1 } })
    vi.advanceTimersByTime(1)
    await call(server, 't')
    expect(run).toHaveBeenCalledTimes(4)
    vi.advanceTimersByTime(3_600_000)
    for (let i = 0; i < 3; i++) await call(server, 't')
    await expect(call(server, 't')).rejects.toMatchObject({ code: -32600 })
  })

  test('counts completions with calls, and no list requests', async () => {
    const { server } = shop({ perMinute: 60, burst: 2 })
    await call(server, 't')
    await request(server, 'completion/complete', complete)
    await expect(request(server, 'completion/complete', complete)).rejects.toMatchObject({ code: -32600 })
    await request(server, 'tools/list')
    await request(server, 'prompts/get', { name: 'p', arguments: { a: 'x' } })
  })

  test('is separate for each principal', async () => {
    const { server } = shop({ perMinute: 60, burst: 1 })
    const as = (principal: string) => call(server, 't', {}, { peer: { principal } })
    await as('ada')
    await as('bob')
    for (const caller of ['ada', 'bob']) await expect(as(caller)).rejects.toMatchObject({ code: -32600 })
  })

  test('is separate for each network address without authentication, and shared where no address is known', async () => {
    const { server } = shop({ perMinute: 60, burst: 1 })
    const from = (quotaKey?: string) => {
      const key = quotaKey === undefined ? {} : { quotaKey }
      return call(server, 't', {}, { peer: { principal: null, ...key } })
    }
    await from('address 192.0.2.1')
    await from('address 192.0.2.2')
    await from()
    for (const address of ['address 192.0.2.1', 'address 192.0.2.2', undefined])
      await expect(from(address)).rejects.toMatchObject({ code: -32600 })
  })

  test('does not count an address as the principal of the same name', async () => {
    const { server } = shop({ perMinute: 60, burst: 1 })
    const quotaKey = 'address 192.0.2.1'
    await call(server, 't', {}, { peer: { principal: quotaKey, quotaKey } })
    await call(server, 't', {}, { peer: { principal: null, quotaKey } })
  })

  test('removes the least recently active caller before the number of callers exceeds its bound', async () => {
    const { server } = shop({ perMinute: 1, burst: 1 })
    const as = (principal: string) => call(server, 't', {}, { peer: { principal } })
    await as('first')
    for (let i = 0; i < 10_000; i++) await as(`caller ${i}`)
    await as('first')
    await expect(as('caller 9999')).rejects.toMatchObject({ code: -32600 })
  })

  test.each([0, -1, Number.NaN])('of %s a minute is refused', (perMinute) => {
    expect(() => rateLimit({ perMinute })).toThrow(TypeError)
  })
})

describe('a rate limit of several nodes', () => {
  const refused = { code: -32600, data: { retryAfterMs: expect.any(Number) } }

  test('counts all of them together, for each caller', async () => {
    const backplane = memoryBackplane()
    const nodes = [0, 1, 2].map(() => shop({ perMinute: 1, burst: 4, backplane }).server)
    const as = (node: number, principal: string) => {
      const server = nodes[node]
      if (server === undefined) throw new Error('no node')
      return call(server, 't', {}, { peer: { principal } })
    }
    for (const node of [0, 1, 2, 0]) await as(node, 'ada')
    for (const node of [0, 1, 2]) await expect(as(node, 'ada')).rejects.toMatchObject(refused)
    await as(1, 'bob')
  })

  test('is divided by the last known number of nodes while the backplane is unavailable', async () => {
    const plane = memoryBackplane()
    let isAway = false
    const backplane: Backplane = {
      ...plane,
      spend: async (...args) => {
        if (isAway) throw new Error('away')
        return (await plane.spend?.(...args)) ?? 0
      },
    }
    const nodes = [0, 1, 2].map(() => shop({ perMinute: 1, burst: 6, backplane }).server)
    for (const [at, server] of nodes.entries())
      await call(server, 't', {}, { peer: { principal: `first ${at}` } })
    isAway = true
    for (const server of nodes) {
      for (let count = 0; count < 2; count++) await call(server, 't')
      await expect(call(server, 't')).rejects.toMatchObject(refused)
    }
  })

  test('waits only briefly for a backplane that does not respond', async () => {
    vi.useFakeTimers()
    const spend = vi.fn(() => new Promise<number>(() => {}))
    const { server } = shop({ perMinute: 1, burst: 2, backplane: { ...memoryBackplane(), spend } })
    const first = call(server, 't')
    await vi.advanceTimersByTimeAsync(1000)
    await first
    await call(server, 't')
    await expect(call(server, 't')).rejects.toMatchObject(refused)
    expect(spend).toHaveBeenCalledTimes(1)
    vi.useRealTimers()
  })

  test('needs a backplane that counts', () => {
    const { spend: _, ...backplane } = memoryBackplane()
    expect(() => rateLimit({ perMinute: 1, backplane })).toThrow(/this backplane cannot count/)
  })
})
