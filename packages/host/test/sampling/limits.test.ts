import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { limitsOf } from '../../src/config/sampling-section.ts'
import { openStore } from '../../src/log/store/store.ts'
import { Budget, SamplingLimitError } from '../../src/models/sampling/budget.ts'
import type { SamplingLimits } from '../../src/types/index.ts'
import { folder, returned, scripted, textOf } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { agreeing, eras, hostIn, replying, request, sample } from './support.ts'

const often = { requestsPerMinute: 1_000 }

describe.each(eras)('the limits of a server (%s)', (era) => {
  it('reject the sixth request of a minute: no model is called, and server and log get the reason', async () => {
    const model = scripted('m')
    const surface = agreeing()
    const host = await hostIn(era, { surface, models: [model] })
    for (let n = 1; n <= 5; n++) expect(textOf(await sample(host))).toContain('I am m')
    const sixth = await sample(host)
    const limitMessage = 'Sampling limit reached: 5 requests a minute are the limit for s. Try again in'
    expect(textOf(sixth)).toContain(limitMessage)
    if (era === 'session') expect(returned(sixth)).toMatchObject({ error: { code: -32603 } })
    else expect(sixth.result.isError).toBe(true)
    expect(model.requests).toHaveLength(5)
    expect(surface.asked).toHaveLength(10)
    expect(host.activity({ kind: 'sampling' }).at(-1)).toMatchObject({
      outcome: 'limited',
      detail: { limit: 'requestsPerMinute' },
    })
  })

  it('of tokens in a day count model usage, and report the rest', async () => {
    const model = replying('m', { usage: { inputTokens: 300, outputTokens: 100 } })
    const limits = { ...often, tokensPerDay: 1_000 }
    const host = await hostIn(era, { surface: agreeing(), models: [model], sampling: { limits } })
    const asked = { ...request, maxTokens: 200 }
    await sample(host, asked)
    await sample(host, asked)
    expect(host.sampling.usage()).toMatchObject([{ server: 's', tokens: 800, requests: 2, limits }])
    const third = await sample(host, asked)
    expect(textOf(third)).toMatch(/1000 tokens in 24 hours .* 200 are left, and this request may use 2\d\d/)
    expect(model.requests).toHaveLength(2)
    expect(textOf(await sample(host, { ...asked, maxTokens: 50 }))).toContain('"role"')
  })

  it('cap a result, whatever the server requests', async () => {
    const model = scripted('m')
    const surface = agreeing({ request: {} })
    const sampling = { limits: { maxTokens: 100 }, servers: { s: { limits: { maxTokens: 30 } } } }
    const host = await hostIn(era, { surface, models: [model], sampling })
    await sample(host, { ...request, maxTokens: 5_000 })
    expect(surface.asked[0]).toMatchObject({ params: { maxTokens: 30 } })
    expect(model.requests[0]?.maxTokens).toBe(30)
  })

  it('are not used up by refusals of the user', async () => {
    const surface = person({
      'sampling-request': () => ({ verdict: 'deny' }),
      'sampling-result': () => ({ verdict: 'deny' }),
    })
    const host = await hostIn(era, { surface, models: [scripted('m')] })
    await sample(host)
    expect(host.sampling.usage()).toMatchObject([{ tokens: 0, requests: 1 }])
  })
})

describe('requests with tools', () => {
  const tools = [{ name: 'look', inputSchema: { type: 'object' as const } }]
  const round = (n: number) => ({
    messages: [
      ...request.messages,
      ...Array.from({ length: n }, (_, i) => [
        { role: 'assistant', content: { type: 'tool_use', id: `u${i}`, name: 'look', input: {} } },
        { role: 'user', content: { type: 'tool_result', toolUseId: `u${i}`, content: [] } },
      ]).flat(),
    ],
    tools,
    maxTokens: 50,
  })

  it.each(eras)('pass tool uses and results between model and server (%s)', async (era) => {
    const use = { type: 'tool_use' as const, id: 'u0', name: 'look', input: { at: 'x' } }
    const model = replying('m', { content: [use], stopReason: 'toolUse' }, {})
    const host = await hostIn(era, { surface: agreeing(), models: [model] })
    const first = await sample(host, round(0))
    expect(returned(first)).toMatchObject({ answer: { content: use, stopReason: 'toolUse' } })
    const second = await sample(host, round(1))
    expect(returned(second)).toMatchObject({ answer: { content: { text: 'ok' }, stopReason: 'endTurn' } })
    expect(model.requests[1]?.messages).toEqual(round(1).messages)
  })

  it.each(eras)('are limited by the rounds they contain (%s)', async (era) => {
    const model = scripted('m')
    const limits = { toolRounds: 3 }
    const host = await hostIn(era, { surface: agreeing(), models: [model], sampling: { limits } })
    expect(textOf(await sample(host, round(2)))).toContain('I am m')
    expect(textOf(await sample(host, round(3)))).toContain('3 requests with tools for one call are the limit')
    expect(model.requests).toHaveLength(1)
  })
})

describe('a budget', () => {
  const minute = 60_000
  const day = 24 * 60 * minute

  function limiter(given: Partial<SamplingLimits> = {}, file = ':memory:') {
    const store = openStore(file)
    onTestFinished(() => store.close())
    const clock = { now: Date.parse('2027-03-01T12:00:00Z') }
    const budget = new Budget(store.sampling, () => clock.now)
    const limits = limitsOf('s', { limits: given })
    const admit = (tokens: number, more: { cause?: number; tools?: boolean; cost?: number } = {}) => {
      const { cause = null, tools = false, cost } = more
      const money = cost === undefined ? undefined : { cost, currency: 'EUR' }
      return budget.admit('s', limits, { cause, rounds: 0, tools, reserve: { tokens, money } })
    }
    return { store, clock, admit, tally: () => store.sampling.tally('s', clock.now) }
  }

  it('frees a request a minute after it was made, and says when', () => {
    const { admit, clock } = limiter({ requestsPerMinute: 2 })
    admit(1)
    clock.now += 20_000
    admit(1)
    clock.now += 15_000
    expect(() => admit(1)).toThrow(
      expect.objectContaining({ limit: 'requestsPerMinute', retryAfterMs: 25_000 }),
    )
    clock.now += 25_000
    admit(1)
    expect(() => admit(1)).toThrow(SamplingLimitError)
  })

  it('reserves the maximum of a running request, and counts the actual usage', () => {
    const { admit, clock, tally } = limiter({ ...often, tokensPerDay: 1_000 })
    const first = admit(800)
    expect(() => admit(300)).toThrow('200 are left')
    first.spend({ tokens: 100, money: undefined })
    expect(tally().tokens).toBe(100)
    const second = admit(900)
    second.settle()
    expect(tally().tokens).toBe(100)
    clock.now += day
    admit(1_000)
  })

  it('counts every regenerated result', () => {
    const { admit, tally } = limiter({ ...often, tokensPerDay: 1_000 })
    const use = admit(900)
    use.reserve({ tokens: 900, money: undefined })
    use.spend({ tokens: 400, money: undefined })
    use.reserve({ tokens: 600, money: undefined })
    expect(tally().tokens).toBe(1_000)
    use.spend({ tokens: 300, money: undefined })
    expect(tally().tokens).toBe(700)
    expect(() => use.reserve({ tokens: 400, money: undefined })).toThrow('300 are left')
    use.settle()
    expect(tally().tokens).toBe(700)
  })

  it('of money requires a price, and is enforced', () => {
    const { admit, tally } = limiter({ ...often, costPerDay: 1 })
    expect(() => admit(10)).toThrow('no price')
    const use = admit(10, { cost: 0.7 })
    expect(() => admit(10, { cost: 0.4 })).toThrow('1 EUR in 24 hours')
    use.spend({ tokens: 10, money: { cost: 0.5, currency: 'EUR' } })
    admit(10, { cost: 0.4 })
    expect(tally().cost['EUR']).toBeCloseTo(0.9)
  })

  it('of money without review requires a price, and asks once it is spent', () => {
    const { admit, tally } = limiter({ ...often, autoCostPerDay: 1 })
    expect(admit(10).passes()).toEqual({ reason: 'the model has no price' })
    const use = admit(10, { cost: 0.7 })
    expect(use.passes()).toEqual({ left: 19_990 })
    expect(admit(10, { cost: 0.4 }).passes()).toEqual({ reason: '1 EUR in 24 hours pass without asking' })
    use.spend({ tokens: 10, money: { cost: 0.5, currency: 'EUR' } })
    expect(admit(10, { cost: 0.4 }).passes()).toHaveProperty('left')
    expect(tally().autoCost).toEqual({ EUR: 0.9 })
  })

  it('counts requests with tools by the call that caused them', () => {
    const { admit } = limiter({ ...often, toolRounds: 2 })
    admit(1, { tools: true, cause: 7 })
    admit(1, { tools: true, cause: 7 })
    expect(() => admit(1, { tools: true, cause: 7 })).toThrow('2 requests with tools')
    admit(1, { tools: true, cause: 8 })
    admit(1, { cause: 7 })
  })

  it('is the same in another process and after a restart', () => {
    const file = join(folder(), 'store.db')
    const here = limiter({ requestsPerMinute: 2 }, file)
    const there = limiter({ requestsPerMinute: 2 }, file)
    here.admit(5)
    there.admit(5)
    expect(() => here.admit(5)).toThrow(SamplingLimitError)
    expect(limiter({ requestsPerMinute: 3 }, file).tally()).toMatchObject({ requests: 2, tokens: 10 })
  })
})
