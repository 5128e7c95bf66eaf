import type { CreateMessageParams, ElicitParams } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import { ActiveRequests } from '../../src/core/active-requests.ts'
import type { HostAnswers, HostOptions, Surface } from '../../src/types/index.ts'
import { everything, returned, scripted, started, textOf, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { hostIn } from '../sampling/support.ts'

const cli = { caller: 'cli' } as const
const rules = [{ id: 'all', verdict: 'allow' as const }]

const eras = ['session', 'stateless'] as const
const request: CreateMessageParams = {
  messages: [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }],
  systemPrompt: 'Be brief.',
  maxTokens: 50,
  temperature: 0.25,
  stopSequences: ['\n'],
}
const form: ElicitParams = {
  message: 'Which seat?',
  requestedSchema: {
    type: 'object',
    properties: { seat: { type: 'string' }, meal: { type: 'boolean', default: true } },
    required: ['seat'],
  },
}

describe.each(eras)('elicitation (%s)', (era) => {
  const ask = (host: Watched, params: object = form) => host.call('s__ask', { params }, cli)

  it.each<[string, HostAnswers['elicitation'], object]>([
    [
      'accept',
      { action: 'accept', content: { seat: '4A' } },
      { action: 'accept', content: { seat: '4A', meal: true } },
    ],
    ['decline', { action: 'decline' }, { action: 'decline' }],
    ['cancel', { action: 'cancel' }, { action: 'cancel' }],
  ])('carries %s to the server unchanged', async (_name, answer, received) => {
    const surface = person({ elicitation: () => answer })
    const host = await hostIn(era, { surface })
    expect(returned(await ask(host))).toMatchObject({ answer: received })
    expect(surface.asked).toMatchObject([
      { kind: 'elicitation', params: form, cause: { server: 's', tool: 'ask', caller: 'cli' } },
    ])
    const rows = host.activity()
    expect(rows.find((row) => row.kind === 'elicitation')).toMatchObject({
      cause: rows.find((row) => row.kind === 'call')?.id,
      outcome: { accept: 'accepted', decline: 'declined', cancel: 'cancelled' }[answer.action],
    })
  })

  it('of many concurrent calls gives each call its own answer, in any order', async () => {
    const waiting: (() => void)[] = []
    const surface = person({
      elicitation: ({ params }) =>
        new Promise((resolve) =>
          waiting.push(() => resolve({ action: 'accept', content: { seat: `seat of ${params.message}` } })),
        ),
    })
    const host = await hostIn(era, { surface })
    const messages = Array.from({ length: 20 }, (_, n) => `passenger ${n}`)
    const calls = messages.map((message) => ask(host, { ...form, message }))
    await until(() => waiting.length === messages.length, 'all asked')
    for (const answer of waiting.toReversed()) answer()
    const answers = (await Promise.all(calls)).map(returned)
    expect(answers).toMatchObject(
      messages.map((message) => ({ answer: { content: { seat: `seat of ${message}` } } })),
    )
    for (const { cause, params } of surface.asked.flatMap((question) =>
      question.kind === 'elicitation' ? [question] : [],
    )) {
      const recordedParams = cause.arguments === undefined ? undefined : { ...form, message: params.message }
      expect(cause.arguments?.['params']).toEqual(recordedParams)
      if (era === 'stateless') expect(recordedParams).toBeDefined()
    }
  })

  it('is logged below its call, even among equal ones', async () => {
    const surface = person({
      elicitation: () => new Promise((resolve) => setTimeout(resolve, 200, { action: 'cancel' })),
    })
    const host = await hostIn(era, { surface })
    const calls = await Promise.all([ask(host), ask(host), ask(host)])
    const rows = calls.map((call) => call.activity).toSorted()
    const causes = host.activity({ kind: 'elicitation' }).map((row) => row.cause)
    // On stdio a request of a session's server does not name the call it belongs to, so with several calls none is named.
    expect(causes.toSorted()).toEqual(era === 'session' ? [null, null, null] : rows)
    expect(surface.asked.map(({ cause }) => cause.tool)).toEqual(['ask', 'ask', 'ask'])
  })

  it("may take longer than a call's time limit", async () => {
    const surface = person({
      elicitation: () =>
        new Promise((resolve) => setTimeout(resolve, 1_500, { action: 'accept', content: { seat: '1A' } })),
    })
    const host = await hostIn(era, { surface, callTimeoutMs: 700 })
    expect(returned(await ask(host))).toMatchObject({ answer: { content: { seat: '1A' } } })
  })

  it('that could not be shown is an error, never a refusal by the user', async () => {
    const host = await hostIn(era, {
      surface: person({ elicitation: () => Promise.reject(new Error('no window')) }),
    })
    const call = await ask(host)
    expect(textOf(call)).toContain('could not be shown')
    expect(textOf(call)).not.toMatch(/decline|cancel/)
    expect(host.activity({ kind: 'elicitation' })).toMatchObject([
      { outcome: 'error', detail: { reason: 'no window' } },
    ])
  })

  it('to a URL reaches only a surface that supports URLs', async () => {
    const urlParams = { mode: 'url', message: 'Sign in', url: 'https://example.com/in', elicitationId: 'e1' }
    const surface = person({ elicitation: () => ({ action: 'accept' }), urlElicitation: true })
    const host = await hostIn(era, { surface })
    expect(returned(await ask(host, urlParams))).toMatchObject({ answer: { action: 'accept' } })
    expect(surface.asked).toMatchObject([{ params: { mode: 'url', url: 'https://example.com/in' } }])

    const plain = person({ elicitation: () => ({ action: 'accept' }) })
    const other = await hostIn(era, { surface: plain })
    await ask(other, urlParams)
    expect(plain.asked).toEqual([])
  })
})

describe.each(eras)('roots (%s)', (era) => {
  const roots = [{ uri: import.meta.resolve('..'), name: 'data' }]

  it('are listed after one consent for the session', async () => {
    const surface = person({ roots: () => ({ verdict: 'allow' }) })
    const host = await hostIn(era, { surface, roots })
    expect(returned(await host.call('s__roots', {}, cli))).toMatchObject({ answer: { roots } })
    expect(returned(await host.call('s__roots', {}, cli))).toMatchObject({ answer: { roots } })
    // On stdio a request of a session's server does not name the call it belongs to.
    const cause =
      era === 'session' ? { server: 's' } : { server: 's', tool: 'roots', arguments: {}, caller: 'cli' }
    expect(surface.asked).toMatchObject([{ kind: 'roots', roots }])
    expect(surface.asked[0]?.cause).toEqual(cause)
    expect(host.activity({ kind: 'roots' })).toMatchObject([
      { outcome: 'ok', detail: { asked: true } },
      { outcome: 'ok', detail: { asked: false } },
    ])
  })

  it('are empty after a refusal, which stays', async () => {
    const surface = person({ roots: () => ({ verdict: 'deny' }) })
    const host = await hostIn(era, { surface, roots })
    expect(returned(await host.call('s__roots', {}, cli))).toMatchObject({ answer: { roots: [] } })
    expect(returned(await host.call('s__roots', {}, cli))).toMatchObject({ answer: { roots: [] } })
    expect(surface.asked).toHaveLength(1)
    expect(host.activity({ kind: 'roots' }).map((row) => row.outcome)).toEqual(['denied', 'denied'])
  })
})

describe('the declared capabilities', () => {
  const everySurface: Surface = person({
    approval: () => ({ verdict: 'allow' }),
    elicitation: () => ({ action: 'cancel' }),
    'sampling-request': () => ({ verdict: 'allow' }),
    'sampling-result': () => ({ verdict: 'allow' }),
    roots: () => ({ verdict: 'allow' }),
    urlElicitation: true,
  })
  const all: Partial<HostOptions> = {
    surface: everySurface,
    models: [scripted('m')],
    roots: [{ uri: 'file:///srv' }],
  }
  const outputOf = async (options: Partial<HostOptions>): Promise<unknown> => {
    const host = await hostIn('session', options)
    return returned(await host.call('s__client', {}, cli))
  }

  it('include everything if everything can be shown', async () => {
    expect(await outputOf({ ...all, info: { name: 'mine', version: '2' } })).toMatchObject({
      info: { name: 'mine', version: '2' },
      capabilities: {
        elicitation: { form: {}, url: {} },
        sampling: { tools: {} },
        roots: { listChanged: true },
      },
    })
  })

  it.each<[string, Partial<HostOptions>, string[]]>([
    ['no surface can answer', { ...all, surface: { name: 'script', show: {} } }, []],
    [
      'only approvals can be shown',
      { ...all, surface: person({ approval: () => ({ verdict: 'allow' }) }) },
      [],
    ],
    [
      'results of sampling cannot be shown',
      { ...all, surface: person({ 'sampling-request': () => ({ verdict: 'allow' }) }) },
      [],
    ],
    ['there is no model', { ...all, models: [] }, ['elicitation', 'roots']],
    ['there are no roots', { ...all, roots: [] }, ['elicitation', 'sampling']],
  ])('leave out what cannot be answered when %s', async (_name, options, kinds) => {
    const output = await outputOf(options)
    const { capabilities } = output as { capabilities: object }
    // Extensions are supported whoever is there.
    const answerable = Object.keys(capabilities).filter((capability) => capability !== 'extensions')
    expect(answerable.sort()).toEqual(kinds)
  })

  it('are empty without a surface, and nothing is answered for the user', async () => {
    for (const era of eras) {
      const host = await hostIn(era, { ...all, surface: { name: 'script', show: {} } })
      for (const [tool, params] of [
        ['ask', form],
        ['sample', request],
      ] as const) {
        const call = await host.call(`s__${tool}`, { params }, cli)
        expect(textOf(call)).not.toMatch(/"action"|"role"/)
      }
      expect(host.activity().map((row) => row.kind)).not.toContain('elicitation')
      expect(host.activity().map((row) => row.kind)).not.toContain('sampling')
    }
  })
})

describe('the official everything server', () => {
  it('samples, elicits and lists roots through the user', async () => {
    const model = scripted('claude-test', 'a fake completion')
    const surface = person({
      elicitation: () => ({ action: 'accept', content: { name: 'Ada', check: true } }),
      'sampling-request': ({ params }) => ({
        verdict: 'allow',
        params: { ...params, systemPrompt: 'edited' },
      }),
      'sampling-result': ({ result }) => ({
        verdict: 'allow',
        result: { ...result, content: { type: 'text', text: 'edited answer' } },
      }),
      roots: () => ({ verdict: 'allow' }),
    })
    const host = await started({
      servers: { everything },
      rules,
      surface,
      models: [model],
      roots: [{ uri: import.meta.resolve('..'), name: 'data' }],
    })
    await until(
      () => host.tools().some((tool) => tool.name === 'everything__trigger-sampling-request'),
      'conditional tools',
    )
    const sampled = await host.call(
      'everything__trigger-sampling-request',
      { prompt: 'hello', maxTokens: 7 },
      cli,
    )
    expect(textOf(sampled)).toContain('edited answer')
    expect(model.requests[0]).toMatchObject({ system: 'edited', maxTokens: 7 })
    const elicited = await host.call('everything__trigger-elicitation-request', {}, cli)
    expect(textOf(elicited)).toContain('Ada')
    expect(textOf(await host.call('everything__get-roots-list', {}, cli))).toContain('packages/host/test')
    // The server's own list of roots was asked for outside any call.
    expect(surface.asked.find((question) => question.kind === 'roots')?.cause).toEqual({
      server: 'everything',
    })
  })
})

describe('the call that caused a question', () => {
  const origin = { server: 's', method: 'tools/call', target: 't', caller: 'cli' } as const
  const asked = (params: Record<string, unknown>) => ({ id: 1, method: 'tools/call', params })

  it('is the one reported by the transport, among many calls', () => {
    const origins = new ActiveRequests()
    const [a, b] = [{ n: 1 }, { n: 2 }]
    origins.begin({ ...origin, row: 1, arguments: a })
    origins.begin({ ...origin, row: 2, arguments: b })
    expect(origins.find('s', asked({ name: 't', arguments: { n: 2 } }))).toMatchObject({
      row: 2,
      cause: { arguments: b },
    })
    expect(origins.find('s', asked({ name: 'other', arguments: { n: 2 } })).row).toBeNull()
    expect(origins.find('other', asked({ name: 't', arguments: { n: 2 } })).row).toBeNull()
  })

  it('is the only running call if the transport reports none, and unknown if there are several', () => {
    const origins = new ActiveRequests()
    expect(origins.find('s', undefined)).toEqual({ cause: { server: 's' }, row: null })
    const over = origins.begin({ ...origin, row: 1, arguments: { n: 1 } })
    expect(origins.find('s', undefined)).toMatchObject({ row: 1, cause: { tool: 't', caller: 'cli' } })
    origins.begin({ ...origin, row: 2, arguments: { n: 2 } })
    expect(origins.find('s', undefined)).toEqual({ cause: { server: 's' }, row: null })
    over()
    expect(origins.find('s', undefined).row).toBe(2)
  })

  it('is a call like it, without a row, if two equal ones cannot be distinguished', () => {
    const origins = new ActiveRequests()
    origins.begin({ ...origin, row: 1, arguments: { n: 1 } })
    origins.begin({ ...origin, row: 2, arguments: { n: 1 } })
    expect(origins.find('s', asked({ name: 't', arguments: { n: 1 } }))).toMatchObject({
      row: null,
      cause: { tool: 't', arguments: { n: 1 } },
    })
  })
})
