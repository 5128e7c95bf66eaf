import { type Context, defineServer, type LoggingLevel, tool } from '@jackfield/sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { ServerNotification } from '../../src/protocol/methods.ts'
import { eras, exchange } from './support.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** The messages of a tool's run to the caller, in order, up to its response. */
async function received(
  run: (ctx: Context, sent: readonly ServerNotification[]) => unknown,
  options: { token?: unknown; logLevel?: LoggingLevel } = { token: 'p1' },
): Promise<ServerNotification[]> {
  const sent: ServerNotification[] = []
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: {
      t: tool({
        run: async (_, ctx) => {
          await run(ctx, sent)
          return 'done'
        },
      }),
    },
  })
  const _meta = options.token === undefined ? {} : { progressToken: options.token }
  const over = server.handle(
    exchange(
      'tools/call',
      { name: 't', _meta },
      { peer: { logLevel: options.logLevel }, notify: (notification) => sent.push(notification) },
    ),
  )
  await vi.advanceTimersByTimeAsync(120_000)
  await over
  return sent
}

const values = (sent: ServerNotification[]) =>
  sent.map(({ params }) =>
    'progress' in params && typeof params.progress === 'number' ? params.progress : undefined,
  )
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('progress', () => {
  test("has the caller's token, and the known values", async () => {
    expect(
      await received((ctx) => {
        ctx.progress(0.5)
        ctx.progress(1, 2, 'Half way')
      }),
    ).toEqual([
      { method: 'notifications/progress', params: { progressToken: 'p1', progress: 0.5 } },
      {
        method: 'notifications/progress',
        params: { progressToken: 'p1', progress: 1, total: 2, message: 'Half way' },
      },
    ])
  })

  test('a token may be the number 0', async () => {
    expect(await received((ctx) => ctx.progress(1), { token: 0 })).toMatchObject([
      { params: { progressToken: 0 } },
    ])
  })

  test.each([undefined, null, 1.5, {}])('without a token (%s) nothing is sent', async (token) => {
    expect(await received((ctx) => ctx.progress(1), { token })).toEqual([])
  })

  test('only ever increases', async () => {
    const sent = await received((ctx) => {
      for (const value of [1, 1, 0, Number.NaN, 3, 2, 4]) ctx.progress(value)
    })
    expect(values(sent)).toEqual([1, 3, 4])
  })

  test('values that are no JSON numbers are left out, without hiding later ones', async () => {
    const sent = await received((ctx) => {
      ctx.progress(1, Number.NaN)
      ctx.progress(Number.POSITIVE_INFINITY)
      ctx.progress(2, Number.POSITIVE_INFINITY)
      ctx.progress(3, 4)
    })
    expect(sent.map(({ params }) => params)).toEqual([
      { progressToken: 'p1', progress: 1 },
      { progressToken: 'p1', progress: 2 },
      { progressToken: 'p1', progress: 3, total: 4 },
    ])
  })

  test('a flood is thinned out, and its last value is sent before the answer', async () => {
    const sent = await received((ctx) => {
      for (let i = 1; i <= 10_000; i++) ctx.progress(i)
    })
    expect(sent).toHaveLength(101)
    expect(values(sent).at(-1)).toBe(10_000)
  })

  test('a delayed value is sent when its interval ends, not only at the end', async () => {
    const lasts: (number | undefined)[] = []
    await received(async (ctx, sent) => {
      for (let i = 1; i <= 200; i++) ctx.progress(i)
      lasts.push(values([...sent]).at(-1))
      await wait(60)
      lasts.push(values([...sent]).at(-1))
    })
    expect(lasts).toEqual([100, 200])
  })

  test('at a steady rate nothing is left out', async () => {
    const sent = await received(async (ctx) => {
      for (let i = 1; i <= 300; i++) {
        ctx.progress(i)
        await wait(60)
      }
    })
    expect(sent).toHaveLength(300)
  })

  test('stops with the answer', async () => {
    let late: (() => void) | undefined
    const sent = await received((ctx) => {
      ctx.progress(1)
      late = () => {
        ctx.progress(2)
        ctx.log('error', 'late')
      }
    })
    late?.()
    await vi.advanceTimersByTimeAsync(1000)
    expect(values(sent)).toEqual([1])
  })
})

describe('log messages', () => {
  const all = (ctx: Context) => {
    ctx.log('debug', 'a')
    ctx.log('info', { b: 1 }, 'db')
    ctx.log('error', 'c')
  }

  test('are not sent if the caller requests none', async () => {
    expect(await received(all, {})).toEqual([])
  })

  test('are sent from the requested level up', async () => {
    expect(await received(all, { logLevel: 'info' })).toEqual([
      { method: 'notifications/message', params: { level: 'info', logger: 'db', data: { b: 1 } } },
      { method: 'notifications/message', params: { level: 'error', data: 'c' } },
    ])
    expect(await received(all, { logLevel: 'emergency' })).toEqual([])
  })

  test('values that JSON cannot represent become text', async () => {
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    const sent = await received(
      (ctx) => {
        for (const data of [cyclic, 10n, undefined, new TypeError('odd')]) ctx.log('error', data)
      },
      { logLevel: 'debug' },
    )
    expect(sent.map(({ params }) => ('data' in params ? params.data : undefined))).toEqual([
      '[object Object]',
      '10',
      'undefined',
      'TypeError: odd',
    ])
  })

  test.each<[LoggingLevel, LoggingLevel]>([
    ['debug', 'warning'],
    ['error', 'error'],
  ])('frequent messages are cut, with a notice at a level the caller gets (%s)', async (logLevel, level) => {
    const sent = await received(
      (ctx) => {
        for (let i = 0; i < 1000; i++) ctx.log('error', i)
      },
      { logLevel },
    )
    expect(sent).toHaveLength(101)
    expect(sent.at(-1)).toMatchObject({
      params: { level, data: '900 log messages were left out: at most 20 a second are sent' },
    })
  })
})

test('are not sent again when a handler runs again', async () => {
  vi.useRealTimers()
  const received = vi.fn()
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    use: [
      (one, next) =>
        next({ ...one, notify: ({ params }) => received('progress' in params ? params.progress : params) }),
    ],
    tools: {
      t: tool({
        run: async (_, ctx) => {
          ctx.progress(1)
          await ctx.elicit({ message: 'First?', schema: z.object({}) })
          ctx.progress(2)
          await ctx.elicit({ message: 'Second?', schema: z.object({}) })
          ctx.progress(3)
          return 'done'
        },
      }),
    },
  })
  const params = { name: 't', _meta: { progressToken: 1 } }
  await eras.replay(server, 'tools/call', params, () => Promise.resolve({ action: 'accept', content: {} }))
  expect(received.mock.calls.flat()).toEqual([1, 2, 3])
})
