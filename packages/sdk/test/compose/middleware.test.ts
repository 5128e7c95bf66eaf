import { defineServer, type Middleware, RpcError, type Server, tool } from '@jackfield/sdk'
import { compose, proxy } from '@jackfield/sdk/compose'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { client, legacy, modern, served, textOf } from './support.ts'

const inner = (use: Middleware[] = []) =>
  defineServer({
    name: 'inner',
    version: '1',
    use,
    tools: {
      echo: tool({
        description: 'Gives back what it got',
        input: z.object({ text: z.string() }),
        run: ({ text }, ctx) => `${text} ${ctx.peer.principal ?? 'nobody'}`,
      }),
      sure: tool({
        description: 'Asks',
        async run(_, ctx) {
          const answer = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
          return answer.action
        },
      }),
    },
  })

/** The three ways a server value with layers comes about. */
const kinds: Record<string, { name: string; make: (use: Middleware[]) => Server | Promise<Server> }> = {
  'a server of its own': { name: 'echo', make: inner },
  'a composition': {
    name: 'in__echo',
    make: (use) => compose({ name: 'c', version: '1', servers: { in: inner() }, use }),
  },
  'a proxy': {
    name: 'echo',
    make: async (use) => {
      const through = await proxy(inner(), { use, onError: () => {} })
      onTestFinished(() => through.close())
      return through
    },
  },
}

describe.each(Object.entries(kinds))('layers around %s', (_kind, { name, make }) => {
  const open = async (use: Middleware[], revision: typeof legacy | typeof modern = modern) =>
    client(await make(use), { revisions: [revision] })

  it('run in order, the first one outermost', async () => {
    const order: string[] = []
    const layer =
      (label: string): Middleware =>
      async (exchange, next) => {
        if (exchange.method !== 'tools/call') return next(exchange)
        order.push(`${label} in`)
        try {
          return await next(exchange)
        } finally {
          order.push(`${label} out`)
        }
      }
    const end = await open([layer('a'), layer('b'), layer('c')])
    await end.call(name, { text: 'hi' })
    expect(order).toEqual(['a in', 'b in', 'c in', 'c out', 'b out', 'a out'])
  })

  it('see every request with its outcome and duration', async () => {
    const lines: string[] = []
    const elapsedMs: number[] = []
    const end = await open([
      async (exchange, next) => {
        const began = performance.now()
        try {
          const outcome = await next(exchange)
          lines.push(`${exchange.method} ${outcome.type}`)
          return outcome
        } catch (error) {
          lines.push(`${exchange.method} ${error instanceof RpcError ? error.code : 'failed'}`)
          throw error
        } finally {
          elapsedMs.push(performance.now() - began)
        }
      },
    ])
    await end.call(name, { text: 'hi' })
    await end.call('nothing').catch(() => {})
    expect(lines.slice(-2)).toEqual(['tools/call complete', 'tools/call -32602'])
    expect(elapsedMs.every((ms) => ms >= 0)).toBe(true)
  })

  it.each([legacy, modern] as const)(
    'may refuse, change params and change results (%s)',
    async (revision) => {
      const end = await open(
        [
          (exchange, next) => {
            if (exchange.method !== 'tools/call') return next(exchange)
            const { arguments: args } = exchange.params
            if (JSON.stringify(args).includes('forbidden'))
              throw new RpcError(-32001, 'No', { why: 'policy' })
            const changed = JSON.parse(JSON.stringify(args).replace('hi', 'hello'))
            return next({ ...exchange, params: { ...exchange.params, arguments: changed } })
          },
          async (exchange, next) => {
            const outcome = await next(exchange)
            if (exchange.method !== 'tools/call' || outcome.type !== 'complete') return outcome
            const { content } = outcome.result
            const more = { type: 'text', text: 'checked' }
            return {
              ...outcome,
              result: { ...outcome.result, content: Array.isArray(content) ? [...content, more] : [more] },
            }
          },
        ],
        revision,
      )
      await expect(end.call(name, { text: 'forbidden' })).rejects.toEqual(
        new RpcError(-32001, 'No', { why: 'policy' }),
      )
      expect((await end.call(name, { text: 'hi' })).content).toEqual([
        { type: 'text', text: 'hello nobody' },
        { type: 'text', text: 'checked' },
      ])
    },
  )

  it('may respond themselves, so that nothing further in runs', async () => {
    const reached: string[] = []
    const end = await open([
      async (exchange, next) =>
        exchange.method === 'tools/call'
          ? { type: 'complete', result: { content: [{ type: 'text', text: 'kept' }] } }
          : next(exchange),
      (exchange, next) => {
        reached.push(exchange.method)
        return next(exchange)
      },
    ])
    expect(textOf(await end.call(name, { text: 'hi' }))).toBe('kept')
    expect(reached).not.toContain('tools/call')
  })

  it.each([legacy, modern] as const)(
    'may copy the exchange, with input requests and cancellation intact (%s)',
    async (revision) => {
      const seen: boolean[] = []
      const server = await make([
        (exchange, next) => {
          const copy = { ...exchange, params: { ...exchange.params } }
          seen.push(copy.signal instanceof AbortSignal && copy.id === exchange.id)
          return next(copy)
        },
      ])
      const end = await client(await served(server), {
        revisions: [revision],
        onElicit: () => ({ action: 'decline' }),
      })
      expect(textOf(await end.call(name.replace('echo', 'sure')))).toBe('decline')
      expect(seen.every(Boolean)).toBe(true)
    },
  )
})
