import type { JsonObject } from '@jackfield/sdk'
import type { ConnectOptions } from '@jackfield/sdk/client'
import { expect } from 'vitest'
import { type Question, questionedClient } from '../questioned-client.ts'
import type { Rule } from '../rule.ts'

const acceptingUrls: ConnectOptions = { elicitation: { url: true }, onElicit: () => ({ action: 'accept' }) }

/** A URL elicitation. */
export const urlQuestion = (url: string): Question => ({
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Go', url, elicitationId: 'v' },
})

/** URL elicitations and their completion. */
export const urlElicitationRules: readonly Rule[] = [
  {
    title: 'a URL elicitation has a web URL, on both sides',
    since: '2025-11-25',
    async holds(cell) {
      const raw = await cell.raw()
      for (const url of ['not a url', '/relative', '']) {
        expect(await raw.call('visit', { url })).toContain('failed unexpectedly')
        expect(raw.asked).toEqual([])
      }
      const { ask } = await questionedClient(cell, acceptingUrls)
      for (const url of ['javascript:alert(1)', 'file:///etc/passwd']) {
        expect((await ask(urlQuestion(url))).result).toBeUndefined()
      }
      expect((await ask(urlQuestion('https://example.com/in'))).result).toEqual({ action: 'accept' })
    },
  },
  {
    title: 'the completion of a URL elicitation has its id, and is sent only to the session that was asked',
    since: '2025-11-25',
    until: '2025-11-25',
    async holds(cell) {
      const complete = 'notifications/elicitation/complete'
      const id = `URL elicitation over ${cell.transport}`
      const asked = await cell.raw({ onRequest: () => ({ result: { action: 'accept' } }) })
      const other = await cell.raw()
      expect(await asked.call('visit', { id })).toBe('accept')
      expect(asked.asked).toMatchObject([{ params: { elicitationId: id } }])
      // Where each client has a process of its own, only its own can be notified.
      await asked.call('finish', { id })
      await asked.call('finish', { id: 'unknown' })
      await asked.until(() => asked.notifications(complete).length > 0)
      await asked.settle()
      await other.settle()
      expect(asked.notifications(complete)).toMatchObject([{ params: { elicitationId: id } }])
      expect(other.notifications(complete)).toEqual([])
    },
  },
  {
    title: 'the completion of an unknown or completed URL elicitation is ignored',
    since: '2025-11-25',
    until: '2025-11-25',
    async holds(cell) {
      const over: string[] = []
      const { params } = urlQuestion('https://example.com/in')
      const notify = (send: (message: JsonObject) => void, elicitationId: string): void =>
        send({ method: 'notifications/elicitation/complete', params: { elicitationId } })
      const { client } = await cell.connectToScript(
        {
          methods: {
            'tools/call': ({ send }) => {
              for (const id of ['v', 'unknown']) notify(send, id)
              send({ id: 'question', method: 'elicitation/create', params })
              for (const id of ['v', 'v', 'unknown']) notify(send, id)
              return { content: [] }
            },
          },
        },
        {
          elicitation: { url: true },
          onElicit: () => ({ action: 'accept' }),
          onElicitationComplete: (id) => over.push(id),
        },
      )
      await client.call('any')
      await client.ping()
      expect(over).toEqual(['v'])
    },
  },
  {
    title: 'required URL elicitations are reported by their own error with the URLs, and nowhere else',
    since: '2025-11-25',
    until: '2025-11-25',
    async holds(cell) {
      const raw = await cell.raw({ capabilities: {} })
      expect(await raw.send('tools/call', { name: 'needsVisit' })).toMatchObject({
        error: { code: -32042, data: { elicitations: [{ mode: 'url', elicitationId: 'first' }] } },
      })
      for (const name of ['visit', 'form', 'fail']) {
        expect(await raw.send('tools/call', { name, arguments: {} })).not.toMatchObject({
          error: { code: -32042 },
        })
      }
      const { client } = await cell.connect()
      await expect(client.call('needsVisit')).rejects.toMatchObject({ code: -32042 })
    },
  },
]
