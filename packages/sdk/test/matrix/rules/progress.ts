import { expect } from 'vitest'
import type { Rule } from '../rule.ts'
import { resultsOf } from '../scripted-server.ts'
import { at, requests } from '../transcript.ts'

const progress = 'notifications/progress'
const log = 'notifications/message'

/** Progress, and the notifications about one request. */
export const progressRules: readonly Rule[] = [
  {
    title:
      'progress has the token of its request, a string or an integer, only increases, and ends with the response',
    async holds(cell) {
      const raw = await cell.raw()
      for (const progressToken of ['a text', 4711]) {
        await raw.call('work', {}, { meta: { progressToken } })
        const received = raw
          .notifications(progress)
          .filter((one) => at(one, 'params', 'progressToken') === progressToken)
        expect(received.map((one) => at(one, 'params', 'progress'))).toEqual([1, 3, 4])
      }
      raw.forget()
      const id = await raw.begin('tools/call', { name: 'work' }, { meta: { progressToken: 'last' } })
      await raw.answer(id)
      await raw.settle()
      const order = raw.received.map(({ message }) => message['id'] ?? message['method'])
      expect(order.lastIndexOf(progress)).toBeLessThan(order.indexOf(id))
      expect(raw.notifications(progress)).toHaveLength(3)
    },
  },
  {
    title: 'without a token there is no progress',
    async holds(cell) {
      const raw = await cell.raw()
      await raw.call('work')
      await raw.settle()
      expect(raw.notifications(progress)).toEqual([])
    },
  },
  {
    title: 'no two requests of a client have one progress token',
    async holds(cell) {
      const tokens = requests(await cell.everything(), 'client').flatMap(
        (one) => at(one, 'params', '_meta', 'progressToken') ?? [],
      )
      expect(tokens.length).toBeGreaterThan(20)
      expect(new Set(tokens).size).toBe(tokens.length)
      for (const token of tokens) expect(typeof token === 'string' || Number.isInteger(token)).toBe(true)
    },
  },
  {
    title: 'progress that has an unknown token, does not increase or is late is ignored',
    async holds(cell) {
      const seen: number[] = []
      let last: unknown
      const { client } = await cell.connectToScript({
        methods: {
          'tools/call': ({ params, send }) => {
            const notify = (progressToken: unknown, at: number): void =>
              send({ method: progress, params: { progressToken, progress: at } })
            if (last !== undefined) notify(last, 9)
            const token = at(params, '_meta', 'progressToken')
            last = token
            notify(token, 1)
            notify('of nobody', 5)
            notify(token, 3)
            notify(token, 2)
            notify(token, 3)
            return resultsOf(cell.version).called('done')
          },
        },
      })
      await client.call('any', {}, { onProgress: (report) => seen.push(report.progress) })
      await client.call('any')
      expect(seen).toEqual([1, 3])
    },
  },
  {
    title: 'frequent progress is throttled, and its last value is sent',
    async holds(cell) {
      const raw = await cell.raw()
      await raw.call('flood', {}, { meta: { progressToken: 'flood' } })
      const received = raw.notifications(progress).map((one) => at(one, 'params', 'progress'))
      expect(received.length).toBeLessThan(200)
      expect(received.at(-1)).toBe(1000)
    },
  },
  {
    title: 'frequent log messages are cut with a notice, and values that JSON cannot represent become text',
    async holds(cell) {
      const raw = await cell.raw()
      const level = { 'io.modelcontextprotocol/logLevel': 'info' }
      await raw.call('flood', {}, { meta: level })
      const received = raw.notifications(log)
      expect(received.length).toBeGreaterThan(10)
      expect(received.length).toBeLessThan(200)
      expect(at(received.at(-1), 'params', 'data')).toMatch(/\d+ log messages were left out/)
      raw.forget()
      await raw.call('unprintable', {}, { meta: level })
      expect(raw.notifications(log)).toMatchObject([{ params: { level: 'error', data: '[object Object]' } }])
    },
  },
]
