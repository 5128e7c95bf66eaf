import { expect } from 'vitest'
import { isObject } from '../../../../../test/setup/json.ts'
import { type Rule, sessions, stateless } from '../rule.ts'
import { resultsOf } from '../scripted-server.ts'
import { at, idOf, notifications, requests } from '../transcript.ts'

const cancelled = 'notifications/cancelled'

/** What is given up, and the clocks that give it up. */
export const cancellingRules: readonly Rule[] = [
  {
    title: 'a cancelled request is stopped, and nothing more is sent for it',
    async holds(cell) {
      const raw = await cell.raw()
      const id = await raw.begin('tools/call', { name: 'stubborn' }, { meta: { progressToken: 'stubborn' } })
      await raw.until(() => raw.notifications('notifications/progress').length === 1)
      await raw.cancel(id)
      const { length: before } = JSON.parse(await raw.call('reasons'))
      expect(before).toBeGreaterThan(0)
      await raw.settle()
      expect(raw.received.filter(({ message }) => message['id'] === id)).toEqual([])
      expect(raw.notifications('notifications/progress')).toHaveLength(1)
    },
  },
  {
    title: 'the handler gets the reason of the cancellation, if the transport supports one',
    async holds(cell) {
      const raw = await cell.raw()
      const id = await raw.begin('tools/call', { name: 'hang' }, { meta: { progressToken: 'hang' } })
      await raw.until(() => raw.notifications('notifications/progress').length === 1)
      const why = `the person pressed stop on ${cell.transport}`
      await raw.cancel(id, why)
      // A closed stream gives no reason.
      if (!(cell.stateless && cell.streams)) expect(await raw.call('reasons')).toContain(why)
    },
  },
  {
    title: 'an invalid cancellation is ignored',
    async holds(cell) {
      cell.faulty('it cancels what cannot be cancelled')
      const raw = await cell.raw()
      const ended = await raw.begin('tools/call', { name: 'echo', arguments: { text: 'x' } })
      await raw.answer(ended)
      for (const requestId of ['never sent', ended, null, [], undefined]) {
        await raw.notify(cancelled, { requestId })
      }
      await raw.settle()
      expect(raw.received.filter(({ message }) => !('method' in message))).toHaveLength(2)
      expect(await raw.call('echo', { text: 'still here' })).toBe('still here')

      const { client, received } = await cell.connectToScript({
        methods: {
          'tools/call': ({ id, send }) => {
            for (const requestId of ['never sent', 4711, ...(cell.stateless ? [id] : [])]) {
              send({ method: cancelled, params: { requestId } })
            }
            return resultsOf(cell.version).called('all the same')
          },
        },
      })
      expect(await client.call('any')).toMatchObject({ content: [{ text: 'all the same' }] })
      await client.ping()
      expect(received.filter((one) => !isObject(one) || !('method' in one))).toEqual([])
    },
  },
  {
    title: 'cancellations that race with their responses have no effect',
    async holds(cell) {
      const raw = await cell.raw()
      const racing = Array.from({ length: 10 }, async (_, at) => {
        const id = `race ${at}`
        const begun = raw.begin('tools/call', { name: 'echo', arguments: { text: id } }, { id })
        if (at % 2 === 0) await begun
        await raw.cancel(id)
        await begun
      })
      await Promise.all(racing)
      await raw.settle()
      const answers = raw.received.filter(({ message }) => String(message['id']).startsWith('race'))
      for (const { message } of answers) expect(message).toMatchObject({ result: { content: [{}] } })
      expect(new Set(answers.map(({ message }) => message['id'])).size).toBe(answers.length)
      expect(await raw.call('echo', { text: 'race 0' }, { id: 'race again' })).toBe('race 0')
    },
  },
  {
    title: 'a client cancels only pending requests, in the way of its transport',
    async holds(cell) {
      const { client, transcript } = await cell.connect()
      const late = new AbortController()
      await client.call('echo', { text: 'x' }, { signal: late.signal })
      late.abort()
      const stop = new AbortController()
      const call = client.call('hang', {}, { signal: stop.signal, onProgress: () => stop.abort() })
      await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
      await client.ping()
      const [hanging] = requests(transcript, 'client', 'tools/call').filter(
        (one) => at(one, 'params', 'name') === 'hang',
      )
      const received = notifications(transcript, 'client', cancelled).map((one) =>
        at(one, 'params', 'requestId'),
      )
      expect(received).toEqual(cell.stateless && cell.streams ? [] : [hanging?.['id']])
    },
  },
  {
    title: 'a request has its own timeout, and is cancelled when it expires',
    async holds(cell) {
      const { client, transcript } = await cell.connect()
      const { length: before } = JSON.parse(await textOf(client.call('reasons')))
      await expect(client.call('hang', {}, { timeoutMs: 20 })).rejects.toMatchObject({ code: 'TIMEOUT' })
      await expect
        .poll(async () => JSON.parse(await textOf(client.call('reasons'))).length, { timeout: 5_000 })
        .toBeGreaterThan(before)
      expect(notifications(transcript, 'client', cancelled)).toHaveLength(
        cell.stateless && cell.streams ? 0 : 1,
      )
    },
  },
  {
    title: 'progress extends a timeout, up to a maximum',
    async holds(cell) {
      const { client } = await cell.connect()
      let received = 0
      // A busy machine may need longer for the first word.
      for (let maxTotalMs = 60; received === 0 && maxTotalMs < 10_000; maxTotalMs *= 2) {
        const call = client.call('tick', {}, { timeoutMs: 10_000, maxTotalMs, onProgress: () => received++ })
        await expect(call).rejects.toMatchObject({
          code: 'TIMEOUT',
          message: expect.stringContaining(`${maxTotalMs}`),
        })
      }
      expect(received).toBeGreaterThan(0)
    },
  },
  {
    title: 'a late response is ignored',
    async holds(cell) {
      const { called } = resultsOf(cell.version)
      const given: (string | number)[] = []
      const stop = new AbortController()
      const { client } = await cell.connectToScript({
        methods: {
          'tools/call': ({ id, params, send }) => {
            if (params['name'] === 'slow') {
              given.push(id)
              stop.abort()
              return undefined
            }
            for (const late of given) send({ id: late, result: called('too late') })
            return called('in time')
          },
        },
      })
      await expect(client.call('slow', {}, { signal: stop.signal })).rejects.toMatchObject({
        code: 'CANCELLED',
      })
      expect(await client.call('quick')).toMatchObject({ content: [{ text: 'in time' }] })
      expect(given).toHaveLength(1)
    },
  },
  {
    title: 'a server cancels its question when the request that asks is cancelled, and ignores a late answer',
    ...sessions,
    async holds(cell) {
      const raw = await cell.raw()
      const id = await raw.begin('tools/call', { name: 'sample' })
      await raw.until(() => raw.asked.length === 1)
      await raw.cancel(id)
      await raw.until(() => raw.notifications(cancelled).length === 1)
      const [question = {}] = raw.asked
      expect(raw.notifications(cancelled)).toMatchObject([{ params: { requestId: question['id'] } }])
      const result = { role: 'assistant', model: 'tiny', content: { type: 'text', text: 'Paris' } }
      await raw.post({ id: question['id'], result })
      await raw.settle()
      expect(raw.received.filter(({ message }) => message['id'] === id && !('method' in message))).toEqual([])
      expect(raw.notifications(cancelled)).toHaveLength(1)
    },
  },
  {
    title: 'a client does not answer a cancelled question, and its handler gets the reason',
    ...sessions,
    async holds(cell) {
      const { called } = resultsOf(cell.version)
      let reason: unknown
      let cancelQuestion = (): void => {}
      const { client, received } = await cell.connectToScript(
        {
          methods: {
            'tools/call': ({ id, send }) => {
              const messages = [{ role: 'user', content: { type: 'text', text: 'Q' } }]
              send({ id: 'question', method: 'sampling/createMessage', params: { messages, maxTokens: 5 } })
              cancelQuestion = () => {
                send({ method: cancelled, params: { requestId: 'question', reason: 'never mind' } })
                send({ id, result: called('done') })
              }
              return undefined
            },
          },
        },
        {
          onSample: (_question, { signal }) => {
            cancelQuestion()
            return new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                reason = signal.reason
                reject(signal.reason)
              })
            })
          },
        },
      )
      await client.call('any')
      await client.ping()
      expect(String(reason)).toContain('never mind')
      expect(received.filter((one) => at(one, 'id') === 'question')).toEqual([])
    },
  },
  {
    title: 'a server without sessions cancels only a subscription that it ends, and sends its result',
    ...stateless,
    async holds(cell) {
      const recorded = await cell.everything()
      expect(notifications(recorded, 'server', cancelled)).toEqual([])
      const { raw, end } = await cell.dedicated()
      const filter = { toolsListChanged: true }
      const id = await raw.begin('subscriptions/listen', { notifications: filter })
      await raw.until(() => raw.received.length === 1)
      await end()
      const answer = await raw.answer(id)
      expect(answer).toMatchObject({ result: { resultType: 'complete' } })
      const received = raw.notifications(cancelled)
      // Over HTTP the end of its stream has the same meaning.
      if (cell.streams) expect(received).toEqual([])
      else expect(received).toMatchObject([{ params: { requestId: idOf(answer) } }])
    },
  },
]

async function textOf(call: Promise<{ content: readonly object[] }>): Promise<string> {
  const [block] = (await call).content
  return String(at(block, 'text'))
}
