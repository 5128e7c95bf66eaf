import type { JsonObject } from '@jackfield/sdk'
import { expect } from 'vitest'
import { questionsIn } from '../questioned-client.ts'
import { type Rule, stateless } from '../rule.ts'
import { resultsOf } from '../scripted-server.ts'
import { at, part, results } from '../transcript.ts'

const question = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Sure?',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
  },
}
const yes = { action: 'accept', content: { ok: true } }
const no = { action: 'decline' }

/** How a server without sessions asks: by its results, which a client answers when it tries again. */
export const roundRules: readonly Rule[] = [
  {
    title: 'only calls, reads and prompts may require input: elicitation, sampling or roots',
    ...stateless,
    async holds(cell) {
      const recorded = await cell.everything()
      const asking = recorded.filter(
        ({ message }) => at(message, 'result', 'resultType') === 'input_required',
      )
      expect(asking.length).toBeGreaterThan(4)
      for (const { answers } of asking) {
        expect(['tools/call', 'resources/read', 'prompts/get']).toContain(answers?.['method'])
      }
      for (const { method } of questionsIn(recorded)) {
        expect(['elicitation/create', 'sampling/createMessage', 'roots/list']).toContain(method)
      }
      const raw = await cell.raw()
      for (const [method, params] of [
        ['resources/read', { uri: 'rules://guarded' }],
        ['prompts/get', { name: 'guarded' }],
      ] as const) {
        const first = await raw.ask(method, params)
        expect(first).toMatchObject({ resultType: 'input_required', inputRequests: {} })
        const { requestState, inputRequests } = first
        const [key = ''] = Object.keys(part(inputRequests))
        const retry = { ...params, requestState, inputResponses: { [key]: no } }
        expect(JSON.stringify(await raw.ask(method, retry))).toContain('decline')
      }
    },
  },
  {
    title: 'a round has questions or state, and each question has its own key',
    ...stateless,
    async holds(cell) {
      const asking = results(await cell.everything(), 'server').filter(
        ({ resultType }) => resultType === 'input_required',
      )
      for (const { inputRequests, requestState } of asking) {
        expect(Object.keys(part(inputRequests)).length > 0 || requestState !== undefined).toBe(true)
      }
      const raw = await cell.raw()
      const two = await raw.ask('tools/call', { name: 'two' })
      expect(Object.values(part(two, 'inputRequests')).map((one) => at(one, 'params', 'message'))).toEqual([
        'First?',
        'Second?',
      ])
      const carried = await raw.ask('tools/call', { name: 'carried' })
      expect(carried).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
      expect(Object.keys(part(carried, 'inputRequests'))).toEqual([])
      expect(await raw.call('carried', {}, {})).toBe('')
      const { requestState } = carried
      expect(await raw.ask('tools/call', { name: 'carried', requestState })).toMatchObject({
        resultType: 'complete',
        content: [{ text: 'carried' }],
      })
    },
  },
  {
    title: 'state that was changed, or belongs to another request, is rejected, without revealing why',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw()
      const call = { name: 'visit', arguments: { id: 'one' } }
      const { requestState, inputRequests } = await raw.ask('tools/call', call)
      const state = String(requestState)
      expect(Buffer.from(state.split('.').at(-1) ?? '', 'base64url').toString('latin1')).not.toContain(
        'example',
      )
      const [key = ''] = Object.keys(part(inputRequests))
      const inputResponses = { [key]: no }
      const refusals = new Set<string>()
      for (const place of [0, Math.floor(state.length / 2), state.length - 4]) {
        const other = state[place] === 'A' ? 'B' : 'A'
        const changed = `${state.slice(0, place)}${other}${state.slice(place + 1)}`
        const { error } = await raw.send('tools/call', { ...call, requestState: changed, inputResponses })
        refusals.add(JSON.stringify(error))
      }
      for (const params of [
        { name: 'form', requestState },
        { name: 'visit', arguments: { id: 'other' }, requestState },
        { ...call, requestState: 'made up' },
      ]) {
        const { error } = await raw.send('tools/call', { ...params, inputResponses })
        refusals.add(JSON.stringify(error))
      }
      expect([...refusals]).toHaveLength(1)
      const [refusal = ''] = refusals
      expect(JSON.parse(refusal)).toMatchObject({ code: -32602 })
      const answered = await raw.ask('tools/call', { ...call, requestState, inputResponses })
      expect(answered).toMatchObject({ content: [{ text: 'decline' }] })
    },
  },
  {
    title: 'state is good once',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw()
      const { requestState, inputRequests } = await raw.ask('tools/call', { name: 'form' })
      const [key = ''] = Object.keys(part(inputRequests))
      const retry = { name: 'form', requestState, inputResponses: { [key]: no } }
      expect(await raw.ask('tools/call', retry)).toMatchObject({ content: [{ text: 'decline' }] })
      expect(await raw.send('tools/call', retry)).toMatchObject({ error: { code: -32602 } })
    },
  },
  {
    title: 'missing answers are requested again, and unknown ones are ignored',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw()
      const asked: string[] = []
      let answer = await raw.ask('tools/call', { name: 'two' })
      for (let round = 0; round < 4 && answer['resultType'] === 'input_required'; round++) {
        const { requestState, inputRequests } = answer
        const open = Object.entries(part(inputRequests))
        asked.push(...open.map(([, one]) => String(at(one, 'params', 'message'))))
        const [[key = '']] = open.length === 0 ? [[]] : open
        const content = { ok: true, unasked: 'x' }
        const inputResponses = { [key]: { action: 'accept', content }, unasked: yes }
        answer = await raw.ask('tools/call', { name: 'two', requestState, inputResponses })
      }
      expect(asked).toEqual(['First?', 'Second?', 'Second?', 'Third?'])
      expect(answer).toMatchObject({ content: [{ text: 'accept accept accept 1' }] })
    },
  },
  {
    title: 'a client answers every question and then retries with a new id and the unchanged state',
    ...stateless,
    async holds(cell) {
      const { called } = resultsOf(cell.version)
      const requestState = ' opaque "\\ é \u2028 {"not":"read"} = '
      const taken: { id: unknown; params: JsonObject }[] = []
      const { client } = await cell.connectToScript(
        {
          methods: {
            'tools/call': ({ id, params }) => {
              if (params['name'] === 'beside') {
                expect(params).not.toHaveProperty('requestState')
                expect(params).not.toHaveProperty('inputResponses')
                return called('beside')
              }
              taken.push({ id, params })
              if (taken.length === 1) {
                return {
                  resultType: 'input_required',
                  requestState,
                  inputRequests: { a: question, b: question },
                }
              }
              if (taken.length === 2) return { resultType: 'input_required', inputRequests: { c: question } }
              if (taken.length === 3) return { resultType: 'input_required', requestState: 'alone' }
              return called('done')
            },
          },
        },
        {
          onElicit: async () => {
            await client.call('beside')
            return { action: 'decline' }
          },
        },
      )
      await client.call('asks', { n: 1 })
      expect(new Set(taken.map(({ id }) => id)).size).toBe(4)
      expect(taken.map(({ params }) => [params['requestState'], params['inputResponses']])).toEqual([
        [undefined, undefined],
        [requestState, { a: no, b: no }],
        [undefined, { c: no }],
        ['alone', undefined],
      ])
      for (const { params } of taken) expect(params).toMatchObject({ name: 'asks', arguments: { n: 1 } })
    },
  },
  {
    title: 'a result without a type is complete, and one of an undeclared type is rejected',
    ...stateless,
    async holds(cell) {
      cell.faulty('its results say no type, or an unknown one')
      const { client } = await cell.connectToScript({
        methods: {
          'tools/call': ({ params }) => {
            const content = [{ type: 'text', text: 'typeless' }]
            return params['name'] === 'typeless' ? { content } : { resultType: 'example/odd', content }
          },
        },
      })
      await expect(client.call('typeless')).resolves.toMatchObject({ content: [{ text: 'typeless' }] })
      await expect(client.call('odd')).rejects.toMatchObject({
        code: 'PROTOCOL',
        message: expect.stringContaining('example/odd'),
      })
    },
  },
]
