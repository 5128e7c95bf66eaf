import type { CreateMessageParams } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import type { HostAnswers } from '../../src/types/index.ts'
import { everything, returned, scripted, started, textOf, until } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { agreeing, eras, hostAndServer, hostIn, replying, request, sample } from './support.ts'

const prices = [
  { id: 'a/large', cost: { input: 10, output: 50 }, speed: 0.2, intelligence: 0.9 },
  { id: 'b/small', cost: { input: 1, output: 5 }, speed: 0.9, intelligence: 0.3 },
]

describe.each(eras)('the review of a request (%s)', (era) => {
  it('shows which model of several and why, the estimated cost, and redactions', async () => {
    const models = [scripted('a/large'), scripted('b/small')]
    const surface = agreeing()
    const host = await hostIn(era, { surface, models, sampling: { models: prices } })
    const secret = 'sk-abcdefghijklmnop1234'
    const params: CreateMessageParams = {
      ...request,
      systemPrompt: `Use ${secret}.`,
      maxTokens: 1_000,
      modelPreferences: { costPriority: 0.9, intelligencePriority: 0.1 },
    }
    await sample(host, params)
    expect(surface.asked[0]).toMatchObject({
      kind: 'sampling-request',
      params,
      choice: {
        model: 'b/small',
        reason: 'it scores best (0.93) for cost 0.9, intelligence 0.1',
        ranking: [
          { model: 'b/small' },
          { model: 'a/large', reason: 'cost 0.00, speed 0.20, intelligence 0.90' },
        ],
      },
      redactions: [{ rule: 'api-key', count: 1, at: ['systemPrompt'] }],
      estimate: { outputTokens: 1_000, currency: 'USD' },
    })
    const [question] = surface.asked
    const estimate = question?.kind === 'sampling-request' ? question.estimate : undefined
    expect(host.sampling.preview(params)).toMatchObject({ estimate, redactions: [{ rule: 'api-key' }] })
    expect(estimate?.cost).toBeCloseTo(((estimate?.inputTokens ?? 0) + 5 * 1_000) / 1_000_000, 9)
    expect(models[0]?.requests).toEqual([])
    expect(models[1]?.requests[0]?.system).toBe('Use [redacted: api-key].')
    expect(host.activity({ kind: 'model' })[0]?.detail).toMatchObject({
      redactions: [{ rule: 'api-key', count: 1 }],
    })
  })

  it('lets the user change tools, tool choice, temperature and stop sequences, and pick another model', async () => {
    const models = [scripted('a/large'), scripted('b/small')]
    const tools = [{ name: 'look', inputSchema: { type: 'object' as const } }]
    const edited: CreateMessageParams = {
      messages: request.messages,
      maxTokens: 7,
      temperature: 1,
      stopSequences: ['END'],
      tools,
      toolChoice: { mode: 'none' },
    }
    const surface = agreeing({ request: { params: edited, model: 'b/small' } })
    const host = await hostIn(era, { surface, models })
    await sample(host)
    expect(models[0]?.requests).toEqual([])
    const { signal: _signal, ...asked } = models[1]?.requests[0] ?? {}
    expect(asked).toEqual({
      messages: request.messages,
      maxTokens: 7,
      temperature: 1,
      stopSequences: ['END'],
      tools,
      toolChoice: 'none',
    })
    expect(surface.asked[1]).toMatchObject({ choice: { model: 'b/small', reason: 'you chose it' } })
  })

  it.each<[string, Partial<Extract<HostAnswers['sampling-request'], { verdict: 'allow' }>>, string]>([
    ['no message', { params: { messages: [], maxTokens: 5 } }, 'at least one message'],
    ['an unknown model', { model: 'nobody/knows' }, 'no model "nobody/knows"'],
    [
      'a tool result without its use',
      {
        params: {
          messages: [{ role: 'user', content: { type: 'tool_result', toolUseId: 'u1', content: [] } }],
          maxTokens: 5,
        },
      },
      'answers no tool use',
    ],
  ])('asks again with the reason if the user left %s', async (_name, wrong, why) => {
    let times = 0
    const model = scripted('m')
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow', ...(times++ === 0 ? wrong : {}) }),
      'sampling-result': () => ({ verdict: 'allow' }),
    })
    const host = await hostIn(era, { surface, models: [model] })
    expect(returned(await sample(host))).toMatchObject({ answer: { model: 'm' } })
    const problems = surface.asked.map((question) => ('problem' in question ? question.problem : undefined))
    expect(problems).toEqual([undefined, expect.stringContaining(why), undefined])
    expect(model.requests).toHaveLength(1)
  })
})

describe.each(eras)('the review of a result (%s)', (era) => {
  it('can generate again, with another model too, before the server gets anything', async () => {
    const models = [replying('a', { content: { type: 'text', text: 'first' } }), scripted('b', 'second')]
    const answers: HostAnswers['sampling-result'][] = [
      { verdict: 'regenerate' },
      { verdict: 'regenerate', model: 'b' },
      { verdict: 'allow' },
    ]
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow' }),
      'sampling-result': () => answers.shift() ?? { verdict: 'deny' },
    })
    const host = await hostIn(era, { surface, models })
    expect(returned(await sample(host))).toMatchObject({
      answer: { content: { type: 'text', text: 'second' }, model: 'b' },
    })
    expect(models.map(({ requests }) => requests.length)).toEqual([2, 1])
    expect(surface.asked.slice(1)).toMatchObject([
      { result: { content: { text: 'first' } }, choice: { model: 'a' } },
      { result: { content: { text: 'first' } }, choice: { model: 'a' } },
      {
        result: { content: { text: 'second' } },
        choice: { model: 'b', reason: 'you chose it' },
        earlier: [
          { model: 'a', result: { content: { text: 'first' } } },
          { model: 'a', result: { content: { text: 'first' } } },
        ],
      },
    ])
    expect(host.activity({ kind: 'model' })).toHaveLength(3)
  })

  it('returns an earlier response, also when the second model fails', async () => {
    const models = [scripted('a', 'first'), replying('b', { unreadable: { u: 'x' } })]
    const answers: HostAnswers['sampling-result'][] = [
      { verdict: 'regenerate' },
      { verdict: 'regenerate', model: 'b' },
      { verdict: 'allow', chosen: 7 },
      { verdict: 'allow', chosen: 0 },
    ]
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow' }),
      'sampling-result': () => answers.shift() ?? { verdict: 'deny' },
    })
    const host = await hostIn(era, { surface, models })
    expect(returned(await sample(host))).toMatchObject({ answer: { content: { text: 'first' }, model: 'a' } })
    expect(surface.asked.slice(3)).toMatchObject([
      { problem: expect.stringContaining('The answer of b cannot be used'), choice: { model: 'a' } },
      { problem: 'there is no earlier response 7', earlier: [{ model: 'a' }] },
    ])
    expect(host.activity({ kind: 'sampling' }).at(-1)?.detail).toMatchObject({ chosen: 0, model: 'a' })
  })

  it('compares the offline planner, too, before the server gets its response', async () => {
    const offline = { ...scripted('planner', 'planned'), isLanguageModel: false }
    const answers: HostAnswers['sampling-result'][] = [
      { verdict: 'regenerate', model: 'planner' },
      { verdict: 'deny' },
    ]
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow' }),
      'sampling-result': () => answers.shift() ?? { verdict: 'deny' },
    })
    const host = await hostIn(era, { surface, models: [scripted('a', 'first'), offline] })
    expect(textOf(await sample(host))).toContain('User rejected sampling request')
    expect(surface.asked.at(-1)).toMatchObject({ result: { content: { text: 'planned' } }, earlier: [{}] })
  })

  it('asks again if the user wrote a result that does not match its request', async () => {
    const use = { type: 'tool_use' as const, id: 'u', name: 'unheard', input: {} }
    let times = 0
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow' }),
      'sampling-result': ({ result }) => ({
        verdict: 'allow',
        ...(times++ === 0 && { result: { ...result, content: use } }),
      }),
    })
    const host = await hostIn(era, { surface, models: [scripted('m', 'fine')] })
    expect(returned(await sample(host))).toMatchObject({ answer: { content: { text: 'fine' } } })
    expect(surface.asked[2]).toMatchObject({ problem: expect.stringContaining('"unheard"') })
  })

  it('shows the usage of the result', async () => {
    const surface = agreeing()
    const model = replying('a/large', { usage: { inputTokens: 100, outputTokens: 20 } })
    const host = await hostIn(era, { surface, models: [model], sampling: { models: prices } })
    await sample(host)
    expect(surface.asked[1]).toMatchObject({
      usage: { inputTokens: 100, outputTokens: 20, cost: 0.002, currency: 'USD' },
    })
    expect(host.sampling.usage()).toMatchObject([{ server: 's', tokens: 120, cost: { USD: 0.002 } }])
  })
})

describe('a refusal', () => {
  it.each(['sampling-request', 'sampling-result'] as const)(
    'at %s ends a round of 2026-07-28: the server gets no retry',
    async (stage) => {
      const surface = person({
        'sampling-request': () => ({ verdict: stage === 'sampling-request' ? 'deny' : 'allow' }),
        'sampling-result': () => ({ verdict: 'deny' }),
      })
      const { host, server } = await hostAndServer('stateless', { surface, models: [scripted('m')] })
      const call = await sample(host)
      expect(call.error?.code ?? call.result.isError).toBeTruthy()
      expect(textOf(call)).toContain('User rejected sampling request')
      expect(server?.methods.filter((method) => method === 'tools/call')).toHaveLength(1)
      expect(server?.ran).toEqual([])
    },
  )
})

describe("a model's reply", () => {
  it.each([
    ['by its own count', { inputTokens: 5, outputTokens: 400 }],
    ['by the estimate, where it does not count', undefined],
  ])('longer than allowed is cut and marked, %s', async (_name, usage) => {
    const text = 'word '.repeat(80)
    const model = replying('m', { content: { type: 'text', text }, ...(usage !== undefined && { usage }) })
    const host = await hostIn('session', { surface: agreeing(), models: [model] })
    const call = await sample(host, { ...request, maxTokens: 20 })
    expect(returned(call)).toMatchObject({ answer: { stopReason: 'maxTokens' } })
    const length = usage === undefined ? 80 : 20
    expect(textOf(call)).toContain(JSON.stringify(text.slice(0, length)))
    expect(textOf(call)).not.toContain(JSON.stringify(text.slice(0, length + 1)).slice(0, -1))
  })

  it('that is marked as cut is not cut twice', async () => {
    const cut = { content: { type: 'text' as const, text: 'x'.repeat(80) }, stopReason: 'maxTokens' }
    const model = replying('m', { ...cut, usage: { inputTokens: 1, outputTokens: 400 } })
    const host = await hostIn('session', { surface: agreeing(), models: [model] })
    expect(returned(await sample(host, { ...request, maxTokens: 20 }))).toMatchObject({ answer: cut })
  })

  it('that is empty is an empty text', async () => {
    const model = replying('m', { content: [] })
    const host = await hostIn('session', { surface: agreeing(), models: [model] })
    expect(returned(await sample(host))).toMatchObject({ answer: { content: { type: 'text', text: '' } } })
  })
})

describe('the official everything server', () => {
  it('gets the edited answer to the edited request, to the byte', async () => {
    const model = scripted('claude-test', 'a fake completion')
    const messages = [
      { role: 'user' as const, content: { type: 'text' as const, text: 'Bearbeitet „so“ \u2028' } },
    ]
    const edited = { type: 'text' as const, text: 'geändert\t"Wien"' }
    const surface = person({
      'sampling-request': ({ params }) => ({ verdict: 'allow', params: { ...params, messages } }),
      'sampling-result': ({ result }) => ({ verdict: 'allow', result: { ...result, content: edited } }),
    })
    const host = await started({
      servers: { everything },
      rules: [{ id: 'all', verdict: 'allow' }],
      surface,
      models: [model],
    })
    const name = 'everything__trigger-sampling-request'
    await until(() => host.tools().some((tool) => tool.name === name), 'conditional tools')
    const call = await host.call(name, { prompt: 'hello', maxTokens: 7 }, { caller: 'cli' })
    expect(JSON.stringify(model.requests[0]?.messages)).toBe(JSON.stringify(messages))
    expect(textOf(call)).toContain(JSON.stringify(edited.text))
  })
})
