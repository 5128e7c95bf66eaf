import type { CreateMessageParams } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import { createConversation } from '../../src/models/agent/index.ts'
import { returned, scripted, textOf, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { agreeing, eras, hostIn, request, sample } from './support.ts'

const story = (host: Watched) => host.activity().map(({ kind, outcome, cause }) => [kind, outcome, cause])

describe.each(eras)('sampling (%s)', (era) => {
  it('shows the user the request and the result, and answers with the model', async () => {
    const model = scripted('test/one', 'Paris')
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow' }),
      'sampling-result': () => ({ verdict: 'allow' }),
    })
    const host = await hostIn(era, { surface, models: [model] })
    const call = await sample(host)
    expect(returned(call)).toMatchObject({
      answer: {
        role: 'assistant',
        content: { type: 'text', text: 'Paris' },
        model: 'test/one',
        stopReason: 'endTurn',
      },
    })
    expect(model.requests).toHaveLength(1)
    expect(model.requests[0]).toMatchObject({
      messages: request.messages,
      system: 'Be brief.',
      maxTokens: 50,
      temperature: 0.25,
      stopSequences: ['\n'],
    })
    expect(surface.asked).toMatchObject([
      {
        kind: 'sampling-request',
        params: request,
        choice: { model: 'test/one', reason: 'it is the first of your models' },
        cause: { server: 's', tool: 'sample', caller: 'cli', arguments: { params: request } },
      },
      { kind: 'sampling-result', params: request, result: { content: { type: 'text', text: 'Paris' } } },
    ])
  })

  it('uses the model of the conversation, unless a hint of the server matches another one', async () => {
    const surface = agreeing()
    const host = await hostIn(era, { surface, models: [scripted('test/first'), scripted('test/second')] })
    const talk = createConversation({ host, model: scripted('test/first') })
    const answeredBy = async (modelPreferences?: object, conversation = talk.id): Promise<unknown> => {
      const call = await sample(host, { ...request, modelPreferences }, { conversation })
      return Object(Object(returned(call)).answer).model
    }
    talk.model = scripted('test/second')
    expect(await answeredBy()).toBe('test/second')
    expect(surface.asked[0]).toMatchObject({
      choice: { model: 'test/second', reason: 'it is the model of your conversation' },
    })
    expect(await answeredBy({ hints: [{ name: 'first' }] })).toBe('test/first')
    expect(await answeredBy({}, 'another conversation')).toBe('test/first')
    talk.model = scripted('test/third')
    expect(await answeredBy({ hints: [{ name: 'unknown' }], speedPriority: 1 })).toBe('test/third')
    host.endConversation(talk.id)
    expect(await answeredBy({})).toBe('test/first')
  })

  it('gives the model the edited request and the server the edited result, to the byte', async () => {
    const edited: CreateMessageParams = {
      ...request,
      messages: [{ role: 'user', content: { type: 'text', text: 'Und von Österreich? \u2028 "quoted"' } }],
      systemPrompt: 'Auf Deutsch.',
      maxTokens: 20,
    }
    const editedResult = {
      role: 'assistant',
      content: { type: 'text', text: 'Wien — „schön“\n' },
      model: 'the person',
      stopReason: 'endTurn',
    } as const
    const model = scripted('test/one')
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow', params: edited }),
      'sampling-result': () => ({ verdict: 'allow', result: editedResult }),
    })
    const host = await hostIn(era, { surface, models: [model] })
    const call = await sample(host)
    expect(textOf(call)).toContain(JSON.stringify(editedResult.content))
    expect(returned(call)).toMatchObject({ answer: editedResult })
    expect(model.requests[0]).toMatchObject({
      messages: edited.messages,
      system: 'Auf Deutsch.',
      maxTokens: 20,
    })
    expect(surface.asked[1]).toMatchObject({ kind: 'sampling-result', params: edited })
    const { messages, system, maxTokens, temperature, stopSequences } = model.requests[0] ?? {}
    expect(JSON.stringify({ messages, system, maxTokens, temperature, stopSequences })).toBe(
      JSON.stringify({
        messages: edited.messages,
        system: edited.systemPrompt,
        maxTokens: edited.maxTokens,
        temperature: edited.temperature,
        stopSequences: edited.stopSequences,
      }),
    )
  })

  it('never requests more tokens than the server did', async () => {
    const model = scripted('test/one')
    const surface = person({
      'sampling-request': ({ params }) => ({ verdict: 'allow', params: { ...params, maxTokens: 9_999 } }),
      'sampling-result': () => ({ verdict: 'allow' }),
    })
    await sample(await hostIn(era, { surface, models: [model] }))
    expect(model.requests[0]?.maxTokens).toBe(50)
  })

  it.each(['request', 'result'] as const)('is refused when the user refuses the %s', async (stage) => {
    const model = scripted('test/one', 'secret')
    const answer = (at: 'request' | 'result') => ({
      verdict: at === stage ? ('deny' as const) : ('allow' as const),
    })
    const surface = person({
      'sampling-request': () => answer('request'),
      'sampling-result': () => answer('result'),
    })
    const host = await hostIn(era, { surface, models: [model] })
    const call = await sample(host)
    expect(textOf(call)).toContain('User rejected sampling request')
    expect(textOf(call)).not.toContain('secret')
    if (era === 'session') expect(returned(call)).toMatchObject({ error: { code: -1 } })
    else expect(call.result.isError).toBe(true)
    expect(model.requests).toHaveLength(stage === 'request' ? 0 : 1)
    expect(host.activity({ kind: 'sampling' })[0]).toMatchObject({ outcome: 'denied', detail: { stage } })
  })

  it('fails without an answer if a surface or the model fails, and hides the reason from the server', async () => {
    const model = {
      id: 'm',
      isLanguageModel: true,
      generate: () => Promise.reject(new Error('key sk-123 is bad')),
    }
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow' }),
      'sampling-result': () => ({ verdict: 'allow' }),
    })
    const host = await hostIn(era, { surface, models: [model] })
    const call = await sample(host)
    expect(textOf(call)).toContain('No message could be made')
    expect(textOf(call)).not.toContain('sk-123')
    expect(host.activity({ kind: 'model' })).toMatchObject([
      { outcome: 'error', detail: { reason: 'key sk-123 is bad' } },
    ])
    expect(surface.asked).toHaveLength(1)
  })

  it("forwards the server's tools and the model's calls of them", async () => {
    const tools = [{ name: 'lookup', inputSchema: { type: 'object' as const } }]
    const use = { type: 'tool_use', id: 'u1', name: 'lookup', input: { q: 'x' } } as const
    const requests: unknown[] = []
    const model = {
      id: 'm',
      isLanguageModel: true,
      generate: async (asked: unknown) => {
        requests.push(asked)
        return {
          content: [{ type: 'text' as const, text: 'Let me see.' }, use],
          stopReason: 'toolUse' as const,
          model: 'm',
        }
      },
    }
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow' }),
      'sampling-result': () => ({ verdict: 'allow' }),
    })
    const host = await hostIn(era, { surface, models: [model] })
    const call = await sample(host, { ...request, tools, toolChoice: { mode: 'required' } })
    expect(requests).toMatchObject([{ tools, toolChoice: 'required' }])
    if (era === 'stateless')
      expect(returned(call)).toMatchObject({
        answer: { content: [{ type: 'text' }, use], stopReason: 'toolUse' },
      })
  })

  it('logs what happened and why', async () => {
    const surface = person({
      'sampling-request': ({ params }) => ({
        verdict: 'allow',
        params: { ...params, systemPrompt: 'Mine.' },
      }),
      'sampling-result': () => ({ verdict: 'allow' }),
    })
    const host = await hostIn(era, { surface, models: [scripted('test/one', 'Paris')] })
    await sample(host)
    const [, call, sampling, review, model, check] = host.activity()
    expect(story(host)).toEqual([
      ['connection', 'ready', null],
      ['call', 'ok', null],
      ['sampling', 'ok', call?.id],
      ['sampling', 'allowed', sampling?.id],
      ['model', 'ok', sampling?.id],
      ['sampling', 'allowed', sampling?.id],
    ])
    expect(review?.detail).toMatchObject({
      stage: 'request',
      edited: true,
      params: { systemPrompt: 'Mine.' },
    })
    expect(model?.detail).toMatchObject({ model: 'test/one', stopReason: 'endTurn' })
    expect(check?.detail).toMatchObject({ stage: 'result', edited: false })
  })
})

describe.each(eras)('an offline model (%s)', (era) => {
  const offlineModel = { ...scripted('offline'), isLanguageModel: false, isOffline: true }
  const asks = { ...request, stopSequences: [] }

  it('answers a server without a review; the event and the log name it', async () => {
    const surface = agreeing()
    const host = await hostIn(era, { surface, models: [offlineModel] })
    expect(returned(await sample(host, asks))).toMatchObject({
      answer: { model: 'offline' },
    })
    expect(surface.asked).toEqual([])
    expect(host.events.filter(({ type }) => type === 'sampling')).toEqual([
      { type: 'sampling', server: 's', model: 'offline' },
    ])
    const rows = host.activity({ kind: 'sampling' })
    expect(rows.map(({ outcome, detail }) => [outcome, detail.stage, detail.passing])).toEqual(
      expect.arrayContaining([
        ['ok', undefined, undefined],
        ['allowed', 'request', { by: 'offline' }],
        ['allowed', 'result', { by: 'offline' }],
      ]),
    )
  })

  it('needs no surface, unless another model could be chosen', async () => {
    const alone = await hostIn(era, { models: [offlineModel] })
    expect(returned(await sample(alone, asks))).toMatchObject({ answer: { role: 'assistant' } })
    const other = await hostIn(era, { models: [offlineModel, scripted('test/one')] })
    expect(textOf(await sample(other, asks))).not.toContain('offline')
  })

  it.each([{ reviewOffline: true }, { servers: { s: { reviewOffline: true } } }])(
    'is reviewed if configured: %j',
    async (sampling) => {
      const surface = agreeing()
      const host = await hostIn(era, { surface, models: [offlineModel], sampling })
      await sample(host, asks)
      expect(surface.asked.map(({ kind }) => kind)).toEqual(['sampling-request', 'sampling-result'])
      expect(host.events.filter(({ type }) => type === 'sampling')).toEqual([])
    },
  )

  it('is the only exception: a language model, and another model with its id, keep both reviews', async () => {
    for (const model of [scripted('test/one'), { ...scripted('offline'), isLanguageModel: false }]) {
      const surface = agreeing()
      const host = await hostIn(era, { surface, models: [model] })
      await sample(host, asks)
      expect(surface.asked.map(({ kind }) => kind)).toEqual(['sampling-request', 'sampling-result'])
    }
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow', model: 'test/one' }),
      'sampling-result': () => ({ verdict: 'allow' }),
    })
    const host = await hostIn(era, {
      surface,
      models: [offlineModel, scripted('test/one')],
      sampling: { reviewOffline: true },
    })
    await sample(host, asks)
    expect(surface.asked).toHaveLength(2)
  })
})
