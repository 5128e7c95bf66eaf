import { type Context, defineServer, prompt, tool } from '@jackfield/sdk'
import { type Client, connect } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, it, onTestFinished } from 'vitest'

/** An object that cannot be looked at without having it thrown again. */
function contagious(): object {
  const itself: object = new Proxy(
    {},
    {
      getPrototypeOf: () => {
        throw itself
      },
    },
  )
  return itself
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const thrown = { 'an object that throws itself': contagious, 'a revoked proxy': revoked }
const schema = { type: 'object', properties: { sure: { type: 'boolean' } } } as const

describe.each(['2025-11-25', '2026-07-28'] as const)('on %s, what a handler throws', (revision) => {
  it.each(Object.entries(thrown))(
    'is answered where it is %s, and its place is free again',
    async (_, make) => {
      const reports: unknown[] = []
      const server = defineServer({
        name: 'hostile',
        version: '1',
        tools: {
          breaks: tool({
            run: async () => {
              throw make()
            },
          }),
        },
        prompts: {
          breaks: prompt({
            run: () => {
              throw make()
            },
          }),
        },
        use: [
          async (exchange, next) => {
            if (exchange.method === 'prompts/list') throw make()
            return next(exchange)
          },
        ],
        onError: (error) => reports.push(error),
      })
      const limits = { inFlight: 1, inFlightPerNode: 1 }
      const listener = await serveHttp(server, { limits, onWarning: () => {} }).listen()
      onTestFinished(() => listener.close())
      const client = await connect(listener.url, { revisions: [revision] })
      onTestFinished(() => client.close())
      for (let turn = 0; turn < 3; turn++) {
        expect(await client.call('breaks')).toMatchObject({ isError: true })
        await expect(client.prompt('breaks')).rejects.toMatchObject({ code: -32603 })
        await expect(client.prompts()).rejects.toMatchObject({ code: -32603 })
      }
      expect(reports).toHaveLength(9)
    },
  )
})

/** A client of a session whose server keeps the context of each call of `early`, and the questions that come to it. */
async function earlyBird(): Promise<{ client: Client; contexts: Context[]; asked: string[] }> {
  const contexts: Context[] = []
  const asked: string[] = []
  const server = defineServer({
    name: 'early',
    version: '1',
    tools: {
      early: tool({
        run: (_args, ctx) => {
          contexts.push(ctx)
          return 'done'
        },
      }),
      asks: tool({
        run: async (_args, ctx) => (await ctx.elicit({ message: 'In time', schema })).action,
      }),
    },
  })
  const client = await connect(server, {
    revisions: ['2025-11-25'],
    onElicit: ({ message }) => {
      asked.push(message)
      return { action: 'decline' }
    },
  })
  onTestFinished(() => client.close())
  return { client, contexts, asked }
}

describe('a handler that sends a request after its response', () => {
  it('sends no request, and later calls of the session send theirs as usual', async () => {
    const { client, contexts, asked } = await earlyBird()
    await client.call('early')
    for (const ctx of contexts) {
      ctx.elicit({ message: 'Too late', schema })
      ctx.elicitUrl({ message: 'Too late', url: 'https://example.com/' })
      ctx.sample({ messages: [], maxTokens: 1 })
      ctx.roots()
    }
    expect(await client.call('asks')).toMatchObject({ content: [{ type: 'text', text: 'decline' }] })
    expect(asked).toEqual(['In time'])
  })
})
