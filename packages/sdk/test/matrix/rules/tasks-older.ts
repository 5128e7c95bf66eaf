import type { JsonObject } from '@jackfield/sdk'
import { tasksClient } from '@jackfield/sdk/client/tasks'
import { tasksExtension } from '@jackfield/sdk/extensions/tasks'
import { expect } from 'vitest'
import { questionedClient } from '../questioned-client.ts'
import { everyCapability } from '../raw-client.ts'
import type { MatrixCell, Rule } from '../rule.ts'
import { cancelsByRequest, reached, related, relatedIn, taskIn } from '../tasks.ts'
import { at, part, requests } from '../transcript.ts'

const older = { since: '2025-11-25', until: '2025-11-25' } as const
const isoDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const progress = 'notifications/progress'
const yes = { action: 'accept', content: { ok: true } }

/** The tasks of 2025-11-25, as a server keeps them. */
export const olderTaskRules: readonly Rule[] = [
  {
    title: 'tasks are declared when a session starts, and by each tool that supports them',
    ...older,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      expect(raw.initializeResult['capabilities']).toMatchObject({
        tasks: {
          cancel: {},
          requests: { tools: { call: {} } },
          ...(isOwnerKnown(cell) && { list: {} }),
        },
      })
      const { tools } = await raw.ask('tools/list')
      const support = new Map(
        (Array.isArray(tools) ? tools : []).map((tool) => [
          at(tool, 'name'),
          at(tool, 'execution', 'taskSupport'),
        ]),
      )
      expect([support.get('optional'), support.get('required')]).toEqual(['optional', 'required'])
      expect([undefined, 'forbidden']).toContain(support.get('plain'))
    },
  },
  {
    title: 'a server without tasks ignores the request for one',
    ...older,
    async holds(cell) {
      const raw = await cell.raw()
      expect(raw.initializeResult['capabilities']).not.toHaveProperty('tasks')
      const call = { name: 'echo', arguments: { text: 'at once' }, task: { ttl: 1000 } }
      expect(await raw.ask('tools/call', call)).toMatchObject({ content: [{ text: 'at once' }] })
    },
  },
  {
    title: 'a task starts only at the request of its client, working, and is returned at once',
    ...older,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const gate = `made over ${cell.transport}`
      const created = await raw.ask('tools/call', {
        name: 'waits',
        arguments: { gate },
        task: { ttl: 60_000 },
      })
      expect(created).toEqual({
        task: {
          taskId: expect.any(String),
          status: 'working',
          createdAt: expect.stringMatching(isoDate),
          lastUpdatedAt: expect.stringMatching(isoDate),
          ttl: 60_000,
          pollInterval: 20,
        },
      })
      const taskId = taskIn(created)
      expect(await raw.ask('tasks/get', { taskId })).toMatchObject({
        ...part(created, 'task'),
        status: 'working',
      })
      await raw.ask('tasks/cancel', { taskId })
      const bounded = await raw.ask('tools/call', { name: 'optional', task: { ttl: 10_000_000 } })
      expect(at(bounded, 'task', 'ttl')).toBe(7_200_000)
      const capabilities = { ...everyCapability(cell.version), extensions: { [tasksExtension]: {} } }
      const later = await cell.raw({ capabilities }, 'tasks')
      expect(await later.ask('tools/call', { name: 'optional' })).toMatchObject({
        content: [{ text: 'optional' }],
      })
    },
  },
  {
    title: 'a tool is called as a task if it declares that, and rejects the undeclared way',
    ...older,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      for (const params of [{ name: 'required' }, { name: 'plain', task: {} }]) {
        expect(await raw.send('tools/call', params)).toMatchObject({
          error: { code: -32601, message: expect.stringContaining('task') },
        })
      }
    },
  },
  {
    title: 'the result of a task is exactly that of its request, related to the task, and awaited',
    ...older,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const gate = `waited for over ${cell.transport}`
      const taskId = taskIn(await raw.ask('tools/call', { name: 'waits', arguments: { gate }, task: {} }))
      const waiting = await raw.begin('tasks/result', { taskId }, { meta: related('another') })
      await raw.ask('tasks/get', { taskId })
      expect(raw.received.filter(({ message }) => message['id'] === waiting)).toEqual([])
      await raw.call('open', { gate })
      const answer = await raw.answer(waiting)
      expect(answer['result']).toEqual({
        content: [{ type: 'text', text: 'waited' }],
        _meta: related(taskId),
      })
      expect(await raw.ask('tasks/result', { taskId })).toEqual(answer['result'])
      const look = await raw.ask('tasks/get', { taskId })
      expect(look).toMatchObject({ status: 'completed' })
      expect(JSON.stringify(look)).not.toContain('related-task')
    },
  },
  {
    title: 'a task whose request failed has failed, with a message and its error',
    ...older,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const fails = taskIn(await raw.ask('tools/call', { name: 'fails', task: {} }))
      expect(await reached(cell, raw, fails, 'failed')).toHaveProperty('statusMessage')
      expect(await raw.ask('tasks/result', { taskId: fails })).toMatchObject({
        isError: true,
        content: [{ text: 'out of paper' }],
        _meta: related(fails),
      })
      const breaks = taskIn(await raw.ask('tools/call', { name: 'breaks', task: {} }))
      const failed = await reached(cell, raw, breaks, 'failed')
      expect(failed).toMatchObject({ statusMessage: 'no such ledger' })
      expect(await raw.send('tasks/result', { taskId: breaks })).toMatchObject({
        error: { code: 77, message: 'no such ledger', data: { ledger: 7 } },
      })
    },
  },
  {
    title:
      'a task with a question shows it by its status, asks on the request for its result, and continues with the answer',
    ...older,
    async holds(cell) {
      const raw = await cell.raw({}, 'tasks')
      const how = { meta: { progressToken: 'mine' } }
      const taskId = taskIn(await raw.ask('tools/call', { name: 'asks', task: {} }, how))
      await reached(cell, raw, taskId, 'input_required')
      expect(raw.asked).toEqual([])
      const waiting = await raw.begin('tasks/result', { taskId })
      await raw.until(() => raw.asked.length === 2)
      expect(await raw.ask('tasks/get', { taskId })).toMatchObject({ status: 'input_required' })
      for (const { id } of raw.asked.slice())
        await raw.post({ id, result: { ...yes, _meta: related(taskId) } })
      await raw.until(() => raw.asked.length === 3)
      await raw.post({ id: raw.asked[2]?.['id'], result: { ...yes, _meta: related(taskId) } })
      expect(part(await raw.answer(waiting), 'result')).toMatchObject({
        content: [{ text: 'accept accept accept' }],
        _meta: related(taskId),
      })
      for (const question of raw.asked) expect(relatedIn(question)).toBe(taskId)
      const received = raw.notifications('notifications/tasks/status')
      for (const one of received) expect(at(one, 'params', '_meta')).toBeUndefined()
      for (const one of raw.notifications(progress)) {
        expect(one).toMatchObject({ params: { progressToken: 'mine', _meta: related(taskId) } })
      }
      expect(await raw.ask('tasks/get', { taskId })).toMatchObject({ status: 'completed' })
    },
  },
  {
    title: 'progress of a task has the token of its call, and ends with the task',
    ...older,
    async holds(cell) {
      const raw = await cell.raw({}, 'tasks')
      const gate = `started over ${cell.transport}`
      const begin = async (name: string): Promise<string> => {
        const call = { name: 'waits', arguments: { gate: name }, task: {} }
        return taskIn(await raw.ask('tools/call', call, { meta: { progressToken: name } }))
      }
      const received = (): unknown[] =>
        raw.notifications(progress).map((one) => at(one, 'params', 'progress'))
      const taskId = await begin(gate)
      const waiting = await raw.begin('tasks/result', { taskId })
      await raw.ask('tasks/get', { taskId })
      await raw.call('open', { gate })
      await raw.answer(waiting)
      expect(received().at(-1)).toBe(2)
      for (const one of raw.notifications(progress)) {
        expect(one).toMatchObject({ params: { progressToken: gate, _meta: related(taskId) } })
      }
      raw.forget()
      const over = await begin(`${gate}, cancelled`)
      const late = await raw.begin('tasks/result', { taskId: over })
      await raw.ask('tasks/cancel', { taskId: over })
      await raw.answer(late)
      raw.forget()
      await raw.call('open', { gate: `${gate}, cancelled` })
      await raw.settle()
      expect(received()).toEqual([])
    },
  },
  {
    title: 'tasks are listed page by page for their owner, and not at all if callers are not identified',
    ...older,
    async holds(cell) {
      const raw = await cell.raw({}, 'tasks')
      const ids: string[] = []
      for (let n = 0; n < 120; n++)
        ids.push(taskIn(await raw.ask('tools/call', { name: 'optional', task: {} })))
      for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{32}$/)
      expect(new Set(ids).size).toBe(ids.length)
      if (!isOwnerKnown(cell)) {
        expect(await raw.send('tasks/list')).toMatchObject({ error: { code: -32601 } })
        return
      }
      const listed: unknown[] = []
      let cursor: unknown
      let pages = 0
      do {
        const page = await raw.ask('tasks/list', cursor === undefined ? {} : { cursor })
        if (Array.isArray(page['tasks'])) listed.push(...page['tasks'])
        cursor = page['nextCursor']
        pages++
      } while (cursor !== undefined)
      expect(pages).toBeGreaterThan(1)
      const found = listed.map((task) => at(task, 'taskId'))
      expect(ids.filter((id) => !found.includes(id))).toEqual([])
      for (const task of listed) {
        expect([at(task, 'createdAt'), at(task, 'lastUpdatedAt')]).toEqual([
          expect.stringMatching(isoDate),
          expect.stringMatching(isoDate),
        ])
      }
      expect(JSON.stringify(listed)).not.toContain('related-task')
      expect(await raw.send('tasks/list', { cursor: 'made up' })).toMatchObject({ error: { code: -32602 } })
    },
  },
  {
    title: 'a task is cancelled before the response, once, and stays cancelled even if its work completes',
    ...older,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      const gate = `cancelled over ${cell.transport}`
      const id = await raw.begin('tools/call', { name: 'waits', arguments: { gate }, task: {} })
      const taskId = taskIn(part(await raw.answer(id), 'result'))
      await raw.notify('notifications/cancelled', { requestId: id })
      expect(await raw.ask('tasks/get', { taskId })).toMatchObject({ status: 'working' })
      const before = Number(await raw.call('aborted'))
      expect(await raw.ask('tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' })
      expect(Number(await raw.call('aborted'))).toBe(before + 1)
      await raw.call('open', { gate })
      expect(await raw.send('tasks/cancel', { taskId })).toMatchObject({
        error: { code: -32602, message: expect.stringContaining('already cancelled') },
      })
      expect(await raw.ask('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' })
    },
  },
  {
    title: 'a task that does not exist is unknown to every method',
    ...older,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
        expect(await raw.send(method, { taskId: 'nonexistent' })).toMatchObject({
          error: { code: -32602, message: expect.stringMatching(/task/i) },
        })
      }
    },
  },
  {
    title:
      'a client requests a task only if server and tool support it, follows it, and cancels it with its own request',
    ...older,
    async holds(cell) {
      const asked: string[] = []
      const extension = tasksClient()
      const options = {
        extensions: [extension],
        onElicit: ({ message }: { message: string }) => {
          asked.push(message)
          return { action: 'decline' as const }
        },
      }
      const { client, transcript } = await cell.connect(options, 'tasks')
      await client.call('optional')
      await extension.start(client, 'plain')
      await extension.start(client, 'optional', {}, { ttlMs: 5000 })
      expect(await client.call('required')).toMatchObject({ content: [{ text: 'required' }] })
      expect(requestedTtls(transcript)).toEqual([
        ['optional', undefined],
        ['plain', undefined],
        ['optional', { ttl: 5000 }],
        ['required', {}],
      ])
      transcript.clear()
      expect(await client.call('asks')).toMatchObject({ content: [{ text: 'decline decline decline' }] })
      expect(asked.sort()).toEqual(['One?', 'Three?', 'Two?'])
      const methods = requests(transcript, 'client').map(({ method }) => method)
      expect(methods.indexOf('tasks/get')).toBeLessThan(methods.indexOf('tasks/result'))
      const answers = [...transcript].filter(({ message }) => at(message, 'result', 'action') === 'decline')
      expect(answers).toHaveLength(3)
      for (const { message } of answers) {
        expect(at(message, 'result', '_meta')).toEqual(related(taskIn({ taskId: relatedTo(message) })))
      }
      await cancelsByRequest(client, transcript)
      const none = await cell.connect(options)
      await extension.start(none.client, 'echo', { text: 'x' })
      expect(requestedTtls(none.transcript)).toEqual([['echo', undefined]])
    },
  },
  {
    title: 'a client without tasks answers at once, whatever the server requests',
    ...older,
    async holds(cell) {
      const requestedSchema = { type: 'object', properties: {} }
      const params: JsonObject = { message: 'Sure?', requestedSchema, task: { ttl: 1000 } }
      const { ask, received } = await questionedClient(cell, {
        extensions: [tasksClient()],
        onElicit: () => ({ action: 'decline' }),
      })
      const { result } = await ask({ method: 'elicitation/create', params })
      expect(result).toEqual({ action: 'decline' })
      expect(at(received[0], 'params', 'capabilities', 'tasks')).toBeUndefined()
    },
  },
  {
    title: 'a client polls a task no more often than its server requests, to its end',
    since: '2025-11-25',
    async holds(cell) {
      const pollMs = 60
      const looked: number[] = []
      const { client } = await connectToSlowTask(cell, pollMs, (message) => {
        if (at(message, 'method') === 'tasks/get') looked.push(performance.now())
      })
      expect(await client.call('slow')).toMatchObject({ content: [{ text: 'done' }] })
      expect(looked).toHaveLength(3)
      // Timers count whole milliseconds.
      for (const [n, when] of looked.slice(1).entries())
        expect(when - (looked[n] ?? 0)).toBeGreaterThan(pollMs - 2)
    },
  },
]

/** A port of this machine is open to all its users, and does not distinguish them. */
function isOwnerKnown({ transport }: MatrixCell): boolean {
  return transport !== 'tcp'
}

function requestedTtls(recorded: Parameters<typeof requests>[0]): unknown[] {
  return requests(recorded, 'client', 'tools/call').map(({ params }) => [
    at(params, 'name'),
    at(params, 'task'),
  ])
}

function relatedTo(message: unknown): unknown {
  return at(message, 'result', '_meta', 'io.modelcontextprotocol/related-task', 'taskId')
}

/** A scripted server whose task has ended at the third poll. */
function connectToSlowTask(cell: MatrixCell, pollMs: number, onSent: (message: unknown) => void) {
  const now = '2026-01-01T00:00:00Z'
  const task = { taskId: 'slow', createdAt: now, lastUpdatedAt: now }
  const newer = { ...task, ttlMs: 60_000, pollIntervalMs: pollMs }
  const taken = { ...task, ttl: 60_000, pollInterval: pollMs }
  const result = { content: [{ type: 'text', text: 'done' }] }
  const tools = [{ name: 'slow', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }]
  let looks = 0
  const look = (): { status: string } => ({ status: ++looks < 3 ? 'working' : 'completed' })
  const inResult = (shown: { status: string }): JsonObject =>
    shown.status === 'completed' ? { result: { resultType: 'complete', ...result } } : {}
  const newerMethods = {
    'tools/call': () => ({ resultType: 'task', ...newer, status: 'working' }),
    'tasks/get': () => {
      const shown = look()
      return { resultType: 'complete', ...newer, ...shown, ...inResult(shown) }
    },
  }
  const olderMethods = {
    'tools/list': () => ({ tools }),
    'tools/call': () => ({ task: { ...taken, status: 'working' } }),
    'tasks/get': () => ({ ...taken, ...look() }),
    'tasks/result': () => ({ ...result, _meta: related('slow') }),
  }
  return cell.connectToScript(
    {
      capabilities: cell.stateless
        ? { tools: {}, extensions: { [tasksExtension]: {} } }
        : { tools: {}, tasks: { requests: { tools: { call: {} } } } },
      methods: cell.stateless ? newerMethods : olderMethods,
    },
    {
      extensions: [tasksClient()],
      onMessage: (direction, message) => {
        if (direction === 'sent') onSent(message)
      },
    },
  )
}
