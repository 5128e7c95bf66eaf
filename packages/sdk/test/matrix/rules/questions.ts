import {
  type CreateMessageResult,
  type ElicitResult,
  type JsonObject,
  MetaKey,
  RpcError,
} from '@jackfield/sdk'
import type { ConnectOptions } from '@jackfield/sdk/client'
import { expect } from 'vitest'
import { type Question, questionedClient, questionsIn } from '../questioned-client.ts'
import { textOf } from '../raw-client.ts'
import { type MatrixCell, type Rule, revisionsOf, sessions } from '../rule.ts'
import { at, notifications, part, requests } from '../transcript.ts'
import { urlQuestion } from './url-elicitation.ts'

const sampled = {
  role: 'assistant' as const,
  model: 'tiny',
  content: { type: 'text' as const, text: 'Paris' },
}
const requestedSchema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
const form = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema } }
const roots = { method: 'roots/list', params: {} }
const prompt = { messages: [{ role: 'user', content: { type: 'text', text: 'Q' } }], maxTokens: 5 }
const sample = { method: 'sampling/createMessage', params: prompt }
const everyHandler: ConnectOptions = {
  onElicit: () => ({ action: 'accept', content: { ok: true } }),
  onSample: () => sampled,
  onRoots: [{ uri: 'file:///home/ada' }],
}

/** Input requests: whether they are allowed, their contents, and the use of the responses. */
export const questionRules: readonly Rule[] = [
  {
    title: 'a client declares exactly its handlers, when a session starts or on every request',
    async holds(cell) {
      for (const [options, expected] of declarations(cell)) {
        const { client, transcript } = await cell.connect(options)
        await client.ping()
        const all = requests(transcript, 'client').filter(
          ({ method }) => cell.stateless || method === 'initialize',
        )
        expect(all.length).toBeGreaterThan(0)
        for (const request of all) {
          const declared = cell.stateless
            ? at(request, 'params', '_meta', MetaKey.clientCapabilities)
            : at(request, 'params', 'capabilities')
          expect(declared).toEqual(expected)
        }
        await client.close()
      }
    },
  },
  {
    title: 'a client that declares elicitation supports at least one mode',
    since: '2025-06-18',
    async holds(cell) {
      const neither = cell.connect({ ...everyHandler, elicitation: { form: false, url: false } })
      await expect(neither).rejects.toMatchObject({ code: 'INVALID' })
      const unheard = cell.connect({ elicitation: { form: true } })
      await expect(unheard).rejects.toMatchObject({ code: 'INVALID' })
    },
  },
  {
    title: 'a client gets no request for an undeclared capability',
    async holds(cell) {
      for (const [capabilities, unasked] of [
        [{ sampling: {}, roots: {} }, ['form', 'visit', 'caught', 'sampleTools']],
        [{ elicitation: {} }, ['visit', 'sample', 'roots']],
        [{ elicitation: { url: {} } }, ['form']],
      ] as const) {
        const raw = await cell.raw(cell.stateless ? undefined : { capabilities })
        for (const name of unasked) {
          const params = name === 'sampleTools' ? { name, arguments: { conversation: 'balanced' } } : { name }
          const answer = await raw.send('tools/call', params, { capabilities })
          expect(raw.asked).toEqual([])
          if (!cell.stateless)
            expect(textOf(part(answer, 'result')), name).toContain('capability that was not declared')
          else
            expect(answer, name).toMatchObject({
              error: { code: -32021, data: { requiredCapabilities: {} } },
            })
        }
      }
    },
  },
  {
    title: 'an input request has everything its revision requires',
    async holds(cell) {
      const asked = questionsIn(await cell.everything())
      const of = (method: string): JsonObject[] =>
        asked.flatMap((one) => (one.method === method ? [one.params] : []))
      expect(of('roots/list')).toHaveLength(1)
      for (const params of of('sampling/createMessage')) {
        expect(params['maxTokens']).toBe(20)
        const { messages } = params
        for (const message of Array.isArray(messages) ? messages : []) {
          expect(['user', 'assistant']).toContain(at(message, 'role'))
          expect(at(message, 'content')).toBeTypeOf('object')
        }
      }
      expect(of('sampling/createMessage').length).toBeGreaterThan(0)
      const elicited = of('elicitation/create')
      expect(elicited.length > 0).toBe(cell.version >= '2025-06-18')
      for (const params of elicited) {
        expect(params['message']).toMatch(/./)
        if (params['mode'] !== 'url') expect(params['requestedSchema']).toMatchObject({ type: 'object' })
        else expect(URL.canParse(String(params['url']))).toBe(true)
        if (cell.version >= '2025-11-25') expect(['form', 'url']).toContain(params['mode'])
      }
      const byUrl = elicited.filter(({ mode }) => mode === 'url')
      expect(byUrl).toHaveLength(cell.version >= '2025-11-25' ? 1 : 0)
      for (const one of byUrl) {
        expect(one['elicitationId']).toBe(cell.version === '2025-11-25' ? 'visit' : undefined)
      }
    },
  },
  {
    title: 'an elicitation without a mode is a form',
    since: '2025-11-25',
    async holds(cell) {
      let mode: unknown
      const { ask } = await questionedClient(cell, {
        onElicit: (question) => {
          mode = question.mode
          return { action: 'accept', content: { ok: true } }
        },
      })
      const { result } = await ask(form)
      expect(mode).toBe('form')
      expect(result).toEqual({ action: 'accept', content: { ok: true } })
    },
  },
  {
    title: 'a request for an undeclared capability is rejected, without calling a handler',
    async holds(cell) {
      let asked = 0
      const onElicit = (): ElicitResult => ({ action: 'accept', content: { ok: asked++ > 0 } })
      const onSample = (): CreateMessageResult => ({ ...sampled, model: `${asked++}` })
      const refuses = async (options: ConnectOptions, questions: [Question, number][]): Promise<void> => {
        const { ask, client } = await questionedClient(cell, options)
        for (const [question, code] of questions) {
          const { result, error, failure } = await ask(question)
          expect(result).toBeUndefined()
          if (cell.stateless) expect(failure).toBeInstanceOf(Error)
          else expect(error).toMatchObject({ code })
        }
        await client.close()
      }
      const unknown: [Question, number][] = [
        [roots, -32601],
        [sample, -32601],
      ]
      if (cell.version >= '2025-06-18') unknown.push([form, -32601])
      await refuses({}, unknown)
      if (cell.version >= '2025-11-25') {
        const withTools = { ...sample, params: { ...prompt, tools: [] } }
        await refuses({ onElicit, onSample }, [
          [urlQuestion('https://example.com'), -32602],
          [withTools, -32602],
        ])
        await refuses({ onElicit, elicitation: { url: true } }, [[form, -32602]])
      }
      expect(asked).toBe(0)
    },
  },
  {
    title: 'a client that fails to answer sends an error without the reason',
    async holds(cell) {
      const failing: ConnectOptions = {
        onRoots: () => {
          throw new Error('secret')
        },
      }
      const { ask, received } = await questionedClient(cell, failing)
      const { result, error, failure } = await ask(roots)
      expect(result).toBeUndefined()
      if (cell.stateless) expect(failure).toBeInstanceOf(Error)
      else expect(error).toMatchObject({ code: -32603 })
      expect(JSON.stringify(received)).not.toContain('secret')
    },
  },
  {
    title: 'a refusal by the user has its own error code',
    async holds(cell) {
      const { ask } = await questionedClient(cell, {
        onSample: () => {
          throw new RpcError(-1, 'The person refused')
        },
      })
      const { result, error, failure } = await ask(sample)
      expect(result).toBeUndefined()
      expect(cell.stateless ? failure : error).toMatchObject({ code: -1, message: 'The person refused' })
    },
  },
  {
    title: 'a client sends no values that violate the form',
    ...revisionsOf('elicitation/create'),
    async holds(cell) {
      const contents = [{ ok: 'yes' }, {}, { ok: true }]
      const { ask } = await questionedClient(cell, {
        onElicit: () => ({ action: 'accept', content: contents.shift() ?? {} }),
      })
      for (const _ of [1, 2]) expect((await ask(form)).result).toBeUndefined()
      expect((await ask(form)).result).toEqual({ action: 'accept', content: { ok: true } })
    },
  },
  {
    title: 'a server rejects an answer that does not match its question',
    async holds(cell) {
      cell.faulty('its answers break the rules')
      const answers: [string, JsonObject][] = [
        ['sample', { role: 'assistant', content: 'Paris' }],
        ['roots', { roots: [{ uri: 'https://example.com' }] }],
        ['roots', { roots: 'all' }],
      ]
      if (cell.version >= '2025-06-18') {
        answers.push(['form', { action: 'accept', content: { ok: 'yes' } }], ['form', { action: 'perhaps' }])
      }
      let next: JsonObject = {}
      const raw = await cell.raw(cell.stateless ? undefined : { onRequest: () => ({ result: next }) })
      for (const [name, result] of answers) {
        next = result
        const first = await raw.send('tools/call', { name })
        if (!cell.stateless) {
          expect(textOf(part(first, 'result'))).toContain('The client did not answer')
          continue
        }
        const { inputRequests, requestState } = part(first, 'result')
        const [key = ''] = Object.keys(part(inputRequests))
        const retry = { name, requestState, inputResponses: { [key]: result } }
        expect(await raw.send('tools/call', retry)).toMatchObject({ error: { code: -32602 } })
      }
    },
  },
  {
    title: 'a root is a file URI, and a client leaves out others',
    async holds(cell) {
      const received = ['file:///home/ada', 'https://example.com/home']
      const { ask } = await questionedClient(cell, { onRoots: () => [{ uri: received.shift() ?? '' }] })
      expect((await ask(roots)).result).toEqual({ roots: [{ uri: 'file:///home/ada' }] })
      expect((await ask(roots)).result).toBeUndefined()
    },
  },
  {
    title: 'a server is notified of changed roots',
    ...sessions,
    async holds(cell) {
      const { client, received } = await cell.connectToScript({}, { onRoots: [{ uri: 'file:///home/ada' }] })
      await client.rootsChanged()
      await client.ping()
      expect(received.filter((one) => at(one, 'method') === 'notifications/roots/list_changed')).toHaveLength(
        1,
      )
    },
  },
  {
    title:
      'sampling messages have the results of all tool uses in one message with nothing else, or are rejected',
    since: '2025-11-25',
    async holds(cell) {
      const raw = await cell.raw()
      for (const conversation of ['unanswered', 'late', 'mixed']) {
        expect(await raw.call('sampleTools', { conversation })).toContain('failed unexpectedly')
        expect(raw.asked).toEqual([])
      }
      const use = { type: 'tool_use', id: 'use', name: 'weather', input: {} }
      const used = { type: 'tool_result', toolUseId: 'use', content: [] }
      const text = { type: 'text', text: 'Q' }
      let asked = 0
      const { ask } = await questionedClient(cell, {
        sampling: { tools: true },
        onSample: () => ({ ...sampled, model: `${asked++}` }),
      })
      for (const messages of [
        [{ role: 'assistant', content: [use] }],
        [
          { role: 'assistant', content: [use] },
          { role: 'user', content: text },
        ],
        [
          { role: 'assistant', content: [use] },
          { role: 'user', content: [used, text] },
        ],
      ]) {
        const { result, error, failure } = await ask({
          ...sample,
          params: { messages, maxTokens: 5, tools: [] },
        })
        expect(result).toBeUndefined()
        expect(cell.stateless ? failure : error).toMatchObject({ code: -32602 })
      }
      expect(asked).toBe(0)
    },
  },
  {
    title: 'a server with endless input requests is stopped',
    since: '2025-06-18',
    async holds(cell) {
      let asked = 0
      const { client, transcript } = await cell.connect({
        onElicit: () => {
          asked++
          return { action: 'accept', content: { ok: true } }
        },
      })
      const call = client.call('endless')
      if (cell.stateless) await expect(call).rejects.toMatchObject({ code: 'TOO_MANY_ROUNDS' })
      else await expect(call).resolves.toMatchObject({ isError: true })
      expect(asked).toBeLessThan(100)
      expect(notifications(transcript, 'client', 'notifications/cancelled')).toEqual([])
    },
  },
]

/** What connects a client, and what it then declares. */
function declarations({ version, stateless }: MatrixCell): [ConnectOptions, JsonObject][] {
  const roots = stateless ? {} : { listChanged: true }
  const cases: [ConnectOptions, JsonObject][] = [
    [{}, {}],
    [everyHandler, { roots, sampling: {}, elicitation: { form: {} } }],
  ]
  if (version >= '2025-11-25') {
    const more = { elicitation: { form: true, url: true }, sampling: { tools: true } }
    const declared = { roots, elicitation: { form: {}, url: {} }, sampling: { tools: {} } }
    cases.push([{ ...everyHandler, ...more }, declared])
  }
  return cases
}
