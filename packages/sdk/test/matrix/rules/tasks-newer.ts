import { type JsonObject, MetaKey } from '@jackfield/sdk'
import type { ConnectOptions } from '@jackfield/sdk/client'
import { tasksClient } from '@jackfield/sdk/client/tasks'
import { tasksExtension } from '@jackfield/sdk/extensions/tasks'
import { expect } from 'vitest'
import { type Rule, stateless } from '../rule.ts'
import { able, cancelsByRequest, keysIn, reached, taskIn } from '../tasks.ts'
import { at, part, requests } from '../transcript.ts'

const yes = { action: 'accept', content: { ok: true } }
const no = { action: 'decline' }

/** The tasks extension of 2026-07-28. */
export const newerTaskRules: readonly Rule[] = [
  {
    title:
      'a call becomes a task only if its request declares the extension, and then returns the task at once',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const gate = `made over ${cell.transport}`
      const created = await raw.ask('tools/call', { name: 'waits', arguments: { gate } }, able(cell))
      expect(created).toMatchObject({
        resultType: 'task',
        taskId: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/),
        status: 'working',
        createdAt: expect.any(String),
        lastUpdatedAt: expect.any(String),
        ttlMs: 3_600_000,
        pollIntervalMs: 20,
      })
      const taskId = taskIn(created)
      const look = await raw.ask('tasks/get', { taskId }, able(cell))
      expect(look).toMatchObject({ resultType: 'complete', taskId, status: 'working' })
      await raw.call('open', { gate })
      expect(await reached(cell, raw, taskId, 'completed')).toMatchObject({
        result: { resultType: 'complete', content: [{ text: 'waited' }] },
      })
      for (const [method, params] of [
        ['tools/list', {}],
        ['tools/call', { name: 'plain' }],
      ] as const) {
        expect(await raw.ask(method, params, able(cell))).toMatchObject({ resultType: 'complete' })
      }
      const another = await raw.ask('tools/call', { name: 'optional' }, able(cell))
      expect(taskIn(another)).not.toBe(taskId)
      expect(await raw.ask('tools/call', { name: 'optional' })).toMatchObject({ resultType: 'complete' })
      const missing = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } }
      expect(await raw.send('tools/call', { name: 'required' })).toMatchObject({
        error: { code: -32021, data: missing },
      })
    },
  },
  {
    title: 'a task has every open question under its own key, and accepts answers by updates',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const taskId = taskIn(await raw.ask('tools/call', { name: 'asks' }, able(cell)))
      const update = (inputResponses: JsonObject) =>
        raw.send('tasks/update', { taskId, inputResponses }, able(cell))
      const keys = new Set(keysIn(await reached(cell, raw, taskId, 'input_required')))
      expect(keys.size).toBe(2)
      const [one = '', two = ''] = keys
      expect(await update({ [one]: { action: 'perhaps' } })).toMatchObject({ error: { code: -32602 } })
      expect(keysIn(await reached(cell, raw, taskId, 'input_required'))).toEqual([one, two])
      const { result } = await update({ [one]: yes, unasked: yes })
      const { _meta, ...acknowledged } = part(result)
      expect(acknowledged).toEqual({ resultType: 'complete' })
      expect(keysIn(await reached(cell, raw, taskId, 'input_required'))).toEqual([two])
      await update({ [one]: no, [two]: no })
      let last = await reached(cell, raw, taskId, 'input_required')
      while (keysIn(last).includes(two)) last = await reached(cell, raw, taskId, 'input_required')
      const [three = ''] = keysIn(last)
      expect(keys.has(three)).toBe(false)
      await update({ [three]: no })
      const ended = await reached(cell, raw, taskId, 'completed')
      expect(ended).toMatchObject({ result: { content: [{ text: 'accept decline decline' }] } })

      const repeating = taskIn(await raw.ask('tools/call', { name: 'repeats' }, able(cell)))
      const used: string[] = []
      for (let round = 0; round < 2; round++) {
        const [key = ''] = keysIn(await reached(cell, raw, repeating, 'input_required'))
        used.push(key)
        const answer = { taskId: repeating, inputResponses: { [key]: no } }
        await raw.ask('tasks/update', answer, able(cell))
      }
      expect(new Set(used).size).toBe(2)
    },
  },
  {
    title: 'a failed tool completes its task, and a protocol error fails it with a message',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const fails = taskIn(await raw.ask('tools/call', { name: 'fails' }, able(cell)))
      expect(await reached(cell, raw, fails, 'completed')).toMatchObject({
        result: { isError: true, content: [{ text: 'out of paper' }] },
      })
      const breaks = taskIn(await raw.ask('tools/call', { name: 'breaks' }, able(cell)))
      const failed = await reached(cell, raw, breaks, 'failed')
      expect(failed).toMatchObject({
        statusMessage: 'no such ledger',
        error: { code: 77, message: 'no such ledger', data: { ledger: 7 } },
      })
      expect(failed).not.toHaveProperty('result')
    },
  },
  {
    title: 'cancelling a task is acknowledged with an empty result, stops it, and needs its own request',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const gate = `cancelled over ${cell.transport}`
      const id = await raw.begin('tools/call', { name: 'waits', arguments: { gate } }, able(cell))
      const taskId = taskIn(part(await raw.answer(id), 'result'))
      await raw.notify('notifications/cancelled', { requestId: id })
      expect(await raw.ask('tasks/get', { taskId }, able(cell))).toMatchObject({ status: 'working' })
      const before = Number(await raw.call('aborted'))
      const { _meta, ...acknowledged } = await raw.ask('tasks/cancel', { taskId }, able(cell))
      expect(acknowledged).toEqual({ resultType: 'complete' })
      expect(Number(await raw.call('aborted'))).toBe(before + 1)
      await raw.call('open', { gate })
      await raw.settle()
      const look = await raw.ask('tasks/get', { taskId }, able(cell))
      expect(look).toMatchObject({ status: 'cancelled' })
      expect(look).not.toHaveProperty('result')
    },
  },
  {
    title: 'an unknown task is -32602, and a request about tasks that does not declare them is -32021',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const params = { taskId: 'nonexistent', inputResponses: {} }
        const unknown = { error: { code: -32602, message: expect.stringMatching(/task/i) } }
        expect(await raw.send(method, params, able(cell))).toMatchObject(unknown)
        const missing = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } }
        expect(await raw.send(method, params)).toMatchObject({ error: { code: -32021, data: missing } })
      }
    },
  },
  {
    title: 'questions before the task starts are asked with retries',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const asked = await raw.ask('tools/call', { name: 'asksFirst' }, able(cell))
      expect(asked).toMatchObject({ resultType: 'input_required' })
      const { requestState, inputRequests } = asked
      const [key = ''] = Object.keys(part(inputRequests))
      const retry = { name: 'asksFirst', requestState, inputResponses: { [key]: no } }
      const created = await raw.ask('tools/call', retry, able(cell))
      expect(created).toMatchObject({ resultType: 'task' })
      expect(await reached(cell, raw, taskIn(created), 'completed')).toMatchObject({
        result: { content: [{ text: 'decline' }] },
      })
    },
  },
  {
    title:
      'a subscriber of a task has declared the extension, and gets its states, but no progress and no log messages',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const gate = `notified over ${cell.transport}`
      const call = { name: 'waits', arguments: { gate } }
      const meta = { progressToken: gate, [MetaKey.logLevel]: 'debug' }
      const taskId = taskIn(await raw.ask('tools/call', call, { ...able(cell), meta }))
      const notifications = { taskIds: [taskId] }
      expect(await raw.send('subscriptions/listen', { notifications })).toMatchObject({
        error: { code: -32021 },
      })
      const id = await raw.begin('subscriptions/listen', { notifications }, { ...able(cell), meta })
      const statuses = (): unknown[] =>
        raw.notifications('notifications/tasks').map((one) => at(one, 'params', 'status'))
      await raw.until(() => statuses().length > 0)
      await raw.call('open', { gate })
      await raw.until(() => statuses().includes('completed'))
      await raw.settle()
      expect(new Set(statuses())).toEqual(new Set(['working', 'completed']))
      for (const one of raw.notifications('notifications/tasks')) {
        expect(at(one, 'params', '_meta', MetaKey.subscriptionId)).toBe(id)
      }
      expect(raw.notifications('notifications/progress')).toEqual([])
      expect(raw.notifications('notifications/message')).toEqual([])
      await raw.cancel(id)
    },
  },
  {
    title: 'no method, param or capability of the tasks of 2025-11-25 exists',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const { capabilities } = await raw.ask('server/discover')
      expect(capabilities).not.toHaveProperty('tasks')
      for (const method of ['tasks/list', 'tasks/result']) {
        expect(await raw.send(method, { taskId: 'any' }, able(cell))).toMatchObject({
          error: { code: -32601 },
        })
      }
      const call = { name: 'optional', task: {} }
      expect(await raw.ask('tools/call', call)).toMatchObject({ resultType: 'complete' })
      const { tools } = await raw.ask('tools/list', {}, able(cell))
      expect(JSON.stringify(tools)).not.toContain('taskSupport')
    },
  },
  {
    title: 'a client polls its task to the end, and answers its questions by updates, each once',
    ...stateless,
    async holds(cell) {
      const asked: string[] = []
      const { client, transcript } = await cell.connect(
        speaking(({ message }) => asked.push(message)),
        'tasks',
      )
      expect(await client.call('plain')).toMatchObject({ content: [{ text: 'at once' }] })
      expect(await client.call('asks')).toMatchObject({ content: [{ text: 'decline decline decline' }] })
      expect(asked.sort()).toEqual(['One?', 'Three?', 'Two?'])
      expect(requests(transcript, 'client', 'tasks/get').length).toBeGreaterThan(2)
      expect(requests(transcript, 'client', 'tasks/update').length).toBeGreaterThan(1)
      for (const request of requests(transcript, 'client')) {
        expect(at(request, 'params', '_meta', MetaKey.clientCapabilities, 'extensions')).toEqual({
          [tasksExtension]: {},
        })
        expect(request['params']).not.toHaveProperty('task')
      }
      await expect(client.call('breaks')).rejects.toMatchObject({ code: 77, data: { ledger: 7 } })
      await cancelsByRequest(client, transcript)
    },
  },
  {
    title: 'a client rejects a task as the result of anything but a tool call, and validates its questions',
    ...stateless,
    async holds(cell) {
      const now = '2026-01-01T00:00:00Z'
      const task = { taskId: 'x', createdAt: now, lastUpdatedAt: now, ttlMs: 60_000, pollIntervalMs: 1 }
      const params = { mode: 'url', message: 'Go', url: 'https://example.com' }
      let asked = 0
      const { client } = await cell.connectToScript(
        {
          capabilities: { tools: {}, extensions: { [tasksExtension]: {} } },
          methods: {
            'tools/list': () => ({ resultType: 'task', status: 'working', ...task }),
            'tools/call': () => ({ resultType: 'task', status: 'working', ...task }),
            'tasks/get': () => ({
              resultType: 'complete',
              status: 'input_required',
              inputRequests: { visit: { method: 'elicitation/create', params } },
              ...task,
            }),
            'tasks/cancel': () => ({ resultType: 'complete' }),
          },
        },
        speaking(() => asked++),
      )
      await expect(client.tools()).rejects.toMatchObject({ code: 'PROTOCOL' })
      await expect(client.call('any')).rejects.toMatchObject({ code: -32602 })
      expect(asked).toBe(0)
    },
  },
]

/** A client with the tasks extension that declines every form. */
function speaking(onAsked: (question: { message: string }) => void): ConnectOptions {
  return {
    extensions: [tasksClient()],
    onElicit: (question) => {
      onAsked(question)
      return { action: 'decline' }
    },
  }
}
