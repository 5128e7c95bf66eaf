import { defineServer, tool } from '@jackfield/sdk'
import { type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { during } from '../links/during.ts'
import { listed } from './support/results.ts'

const working = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 400))

const desk = defineServer({
  name: 'desk',
  version: '1',
  tools: {
    ask: tool({
      description: 'Works a while before each of so many questions',
      input: z.object({ questions: z.number() }),
      run: async ({ questions }, ctx) => {
        for (let nth = 1; nth <= questions; nth++) {
          await working()
          await ctx.elicit({ message: `Go on after ${nth}?`, schema: z.object({ ok: z.boolean() }) })
        }
        return 'done'
      },
    }),
  },
})

/** The same, as messages of the newer era: each round works a while, and asks until it asked often enough. */
async function rounds(_: URL, { body }: RequestInit): Promise<Response> {
  const { id, method, params } = JSON.parse(String(body))
  const answer = (result: object): Response => Response.json({ jsonrpc: '2.0', id, result })
  if (method !== 'tools/call') {
    return answer(listed({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }))
  }
  await working()
  const asked = Number(params.requestState ?? 0)
  if (asked === params.arguments.questions) {
    return answer({ resultType: 'complete', content: [{ type: 'text', text: 'done' }] })
  }
  const requestedSchema = { type: 'object', properties: { ok: { type: 'boolean' } } }
  const question = { method: 'elicitation/create', params: { message: 'Go on?', requestedSchema } }
  return answer({
    resultType: 'input_required',
    inputRequests: { q: question },
    requestState: String(asked + 1),
  })
}

const servers = { '2025-11-25': desk, '2026-07-28': http('http://127.0.0.1/mcp', { fetch: rounds }) } as const

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  return () => vi.useRealTimers()
})

describe.each(['2025-11-25', '2026-07-28'] as const)('a call with input requests, on %s,', (revision) => {
  const open = async (thinkingMs: number) => {
    const options: ConnectOptions = {
      revisions: [revision],
      timeoutMs: 800,
      maxTotalMs: 1_500,
      onElicit: async () => {
        await new Promise((resolve) => setTimeout(resolve, thinkingMs))
        return { action: 'accept', content: { ok: true } }
      },
    }
    const client = await connect(servers[revision], options)
    onTestFinished(() => client.close())
    return client
  }

  it('may take as long as the user needs', async () => {
    const client = await open(60_000)
    await expect(during(client.call('ask', { questions: 2 }))).resolves.toMatchObject({
      content: [{ text: 'done' }],
    })
  })

  it.each([0, 5_000])('cannot exceed its total time by asking, if each answer takes %i ms', async (ms) => {
    const client = await open(ms)
    await expect(during(client.call('ask', { questions: 9 }))).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('1500 ms in total'),
    })
  })
})
