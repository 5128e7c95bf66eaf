import { defineServer, type JsonObject, tool } from '@jackfield/sdk'
import type { ServeHttpOptions } from '@jackfield/sdk/http'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { modern, webAdapter } from './http-support.ts'

interface Asked {
  /** Answers the question; the state it came with is used up where the answer counts. */
  answer(): Promise<JsonObject>
  /** What came in place of a question. */
  readonly refused: unknown
}

const byPrincipal: ServeHttpOptions = {
  authenticate: async (request) => ({ principal: request.header('authorization') ?? '' }),
}

/** A shop that asks before it pays, and remembers as little as its limits say. */
async function shop(limits: ServeHttpOptions['limits'], callers: ServeHttpOptions = byPrincipal) {
  const paid: string[] = []
  const warnings: string[] = []
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: {
      pay: tool({
        input: z.object({ chars: z.number() }),
        async run({ chars }, ctx) {
          const receipt = await ctx.step('prepare', () => 'x'.repeat(chars))
          const { action } = await ctx.elicit({
            message: `Sure of ${receipt.length}?`,
            schema: z.object({ ok: z.boolean() }),
          })
          paid.push(action)
          return action
        },
      }),
    },
  })
  const mounted = await webAdapter(server, {
    ...(limits && { limits }),
    onWarning: (text) => warnings.push(text),
    ...callers,
  })
  onTestFinished(() => mounted.close())
  const send = async (user: string, params: JsonObject): Promise<JsonObject> =>
    (await mounted.send(modern('tools/call', { name: 'pay', ...params }, { authorization: user }))).json()
  const ask = async (user: string, chars = 1): Promise<Asked> => {
    const first = await send(user, { arguments: { chars } })
    const { requestState, inputRequests = {} } = Object(first['result'])
    const [key = ''] = Object.keys(inputRequests)
    const inputResponses = { [key]: { action: 'accept', content: { ok: true } } }
    const answer = (): Promise<JsonObject> =>
      send(user, { arguments: { chars }, requestState, inputResponses })
    return { answer, refused: first['error'] }
  }
  return { ask, paid, warnings }
}

const done = { result: { content: [{ text: 'accept' }] } }
const full = {
  error: { code: -32603, message: expect.stringMatching(/is full\. Try again later/) },
}
const bad = { error: { code: -32602, message: expect.stringContaining('requestState is not valid here') } }

describe('a server at its limit of used responses', () => {
  it('accepts no further response, without its effect, and reports the reason', async () => {
    const { ask, paid, warnings } = await shop({ remembered: 10 })
    const users = Array.from({ length: 10 }, (_, nth) => `user ${nth}`)
    for (const user of users) expect(await (await ask(user)).answer()).toMatchObject(done)
    const late = await ask('late')
    expect(await late.answer()).toMatchObject(full)
    expect(paid).toHaveLength(10)
    expect(warnings.join()).toMatch(/is full \(limits\.remembered\)/)
  })

  it('accepts none of the used ones a second time', async () => {
    const { ask, paid } = await shop({ remembered: 10 })
    const used = await Promise.all(Array.from({ length: 10 }, (_, nth) => ask(`user ${nth}`)))
    for (const one of used) await one.answer()
    for (const one of used) expect(await one.answer()).toMatchObject(bad)
    expect(paid).toHaveLength(10)
  })

  it('accepts the same response when earlier ones expired', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { ask, paid } = await shop({ remembered: 10, stateTtlMs: 60_000 })
    for (let nth = 0; nth < 10; nth++) await (await ask(`user ${nth}`)).answer()
    vi.advanceTimersByTime(59_000)
    const late = await ask('late')
    expect(await late.answer()).toMatchObject(full)
    vi.advanceTimersByTime(3_000)
    expect(await late.answer()).toMatchObject(done)
    expect(await late.answer()).toMatchObject(bad)
    expect(paid).toHaveLength(11)
  })

  it('keeps room for others if one principal uses up a fifth', async () => {
    const { ask, paid, warnings } = await shop({ remembered: 10 })
    for (let nth = 0; nth < 2; nth++) expect(await (await ask('greedy')).answer()).toMatchObject(done)
    expect(await (await ask('greedy')).answer()).toMatchObject(full)
    expect(warnings.join()).toMatch(/"greedy" has used its share .* \(a fifth of limits\.remembered\)/)
    expect(await (await ask('other')).answer()).toMatchObject(done)
    expect(paid).toHaveLength(3)
  })

  it('keeps room for others if one network address uses up a fifth without authentication', async () => {
    const { ask } = await shop(
      { remembered: 10 },
      { clientAddress: (request) => request.header('authorization') },
    )
    for (let nth = 0; nth < 2; nth++) expect(await (await ask('203.0.113.7')).answer()).toMatchObject(done)
    expect(await (await ask('203.0.113.7')).answer()).toMatchObject(full)
    expect(await (await ask('198.51.100.9')).answer()).toMatchObject(done)
  })

  it('reports it in one line, for any principal name', async () => {
    const { ask, warnings } = await shop({ remembered: 5 })
    const forger = 'mallory\u0085[shop] all is well'
    for (let nth = 0; nth < 2; nth++) await (await ask(forger)).answer()
    expect(warnings.join()).toContain('"mallory [shop] all is well" has used its share')
  })
})

describe('a server at its limit of large states', () => {
  const limits = { rememberedChars: 1_000_000 }

  it('sends no input request that would need more, and continues with small ones', async () => {
    const { ask, warnings } = await shop(limits)
    expect((await ask('first', 80_000)).refused).toBeUndefined()
    const second = await ask('first', 80_000)
    expect(second.refused).toMatchObject(full.error)
    expect(warnings.join()).toMatch(/a fifth of limits\.rememberedChars/)
    expect(await (await ask('first')).answer()).toMatchObject(done)
    expect((await ask('other', 80_000)).refused).toBeUndefined()
  })

  it('has room again as soon as a response arrived', async () => {
    const { ask } = await shop(limits)
    for (let nth = 0; nth < 5; nth++) {
      const one = await ask('first', 80_000)
      expect(await one.answer()).toMatchObject(done)
      expect(await one.answer()).toMatchObject(bad)
    }
  })
})
