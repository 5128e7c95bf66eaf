import { type AnyTool, defineServer, RpcError, reply, type Server, ToolError, tool } from '@jackfield/sdk'
import { memoryTaskStore, type TaskEvent, type TasksOptions, tasks } from '@jackfield/sdk/extensions/tasks'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isObject } from '../../../../../test/setup/json.ts'
import { able, gate, idIn, modern, type Raw, type RawOptions, reached, tasksId, textIn } from './support.ts'

const open: Raw[] = []
afterEach(async () => {
  for (const raw of open.splice(0)) await raw.close()
})

interface Made {
  server: Server
  peer(options?: RawOptions): Raw
}

function make(
  tools: Record<string, AnyTool>,
  options: TasksOptions = {},
  more: { onError?: (error: unknown) => void } = {},
): Made {
  const server = defineServer({
    name: 'worker',
    version: '1',
    tools,
    extensions: [tasks({ pollIntervalMs: 20, ...options })],
    onError: () => {},
    ...more,
  })
  return {
    server,
    peer(options) {
      const raw = modern(server, options)
      open.push(raw)
      return raw
    },
  }
}

const echo = tool({
  task: 'optional',
  input: z.object({ text: z.string() }),
  run: ({ text }) => text,
})
const forever = tool({
  task: 'optional',
  run: (_args, ctx) => new Promise<string>((_, reject) => ctx.signal.addEventListener('abort', reject)),
})

const bare = { extensions: {} }
const isoDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('a call that becomes a task', () => {
  it('is declared as an extension, not as the earlier capability', async () => {
    const discovered = await make({ echo }).peer().ask('server/discover')
    expect(discovered['capabilities']).toMatchObject({ extensions: { [tasksId]: {} } })
    expect(discovered['capabilities']).not.toHaveProperty('tasks')
    const { tools } = await make({ echo }).peer().ask('tools/list')
    expect(JSON.stringify(tools)).not.toContain('taskSupport')
  })

  it('is answered at once with only the task, flat', async () => {
    const peer = make({ forever }, { ttlMs: 5000 }).peer()
    const created = await peer.ask('tools/call', { name: 'forever' })
    expect(created).toEqual({
      resultType: 'task',
      taskId: expect.any(String),
      status: 'working',
      createdAt: expect.stringMatching(isoDate),
      lastUpdatedAt: expect.stringMatching(isoDate),
      ttlMs: 5000,
      pollIntervalMs: 20,
      _meta: expect.anything(),
    })
    expect(await peer.ask('tasks/get', { taskId: created['taskId'] })).toMatchObject({
      resultType: 'complete',
      status: 'working',
    })
  })

  it('is stored before the response', async () => {
    const store = memoryTaskStore()
    const stored = gate()
    const peer = make(
      { forever },
      {
        store: {
          ...store,
          async add(row, room) {
            await stored.opened
            return store.add(row, room)
          },
        },
      },
    ).peer()
    let answered = false
    const creating = peer.ask('tools/call', { name: 'forever' }).then((created) => {
      answered = true
      return created
    })
    await peer.ask('tools/list')
    expect(answered).toBe(false)
    stored.open()
    const taskId = idIn(await creating)
    expect(await store.get(taskId)).toBeDefined()
  })

  it('runs as a call for a client without the extension', async () => {
    const peer = make({ echo }).peer({ capabilities: bare })
    const result = await peer.ask('tools/call', { name: 'echo', arguments: { text: 'hi' }, task: { ttl: 1 } })
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'hi' }] })
  })

  it('is decided by each request, not by what an earlier one declared', async () => {
    const { server } = make({ echo })
    const [can, cannot] = [modern(server), modern(server, { capabilities: bare })]
    open.push(can, cannot)
    const call = { name: 'echo', arguments: { text: 'hi' } }
    expect(await can.ask('tools/call', call)).toMatchObject({ resultType: 'task' })
    expect(await cannot.ask('tools/call', call)).toMatchObject({ resultType: 'complete' })
  })

  it('is rejected if the tool only runs as a task and the client does not support tasks', async () => {
    const must = tool({ task: 'required', run: () => 'done' })
    const error = await make({ must })
      .peer({ capabilities: { ...bare, tasks: {} } })
      .send('tools/call', { name: 'must' })
    expect(error['error']).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [tasksId]: {} } } },
    })
  })

  it('ignores a "task" param', async () => {
    const plain = tool({ run: () => 'at once' })
    const result = await make({ plain })
      .peer()
      .ask('tools/call', { name: 'plain', task: { ttl: 1000 } })
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'at once' }] })
  })

  it.each(['tasks/result', 'tasks/list'])('has no %s any more', async (method) => {
    const peer = make({ echo }).peer()
    const taskId = idIn(await peer.ask('tools/call', { name: 'echo', arguments: { text: 'hi' } }))
    expect((await peer.send(method, { taskId }))['error']).toMatchObject({ code: -32601 })
  })
})

describe('a polled task', () => {
  it('has the exact result of its call', async () => {
    const full = tool({
      task: 'optional',
      output: z.object({ n: z.number() }),
      run: () => reply({ content: 'one', structured: { n: 1 }, meta: { 'example.com/note': 'kept' } }),
    })
    const { server } = make({ full })
    const [as, at] = [modern(server), modern(server, { capabilities: bare })]
    open.push(as, at)
    const direct = await at.ask('tools/call', { name: 'full' })
    const taskId = idIn(await as.ask('tools/call', { name: 'full' }))
    const task = await reached(as, taskId, 'completed')
    expect(task['result']).toEqual(direct)
    expect(JSON.stringify(task)).not.toContain('related-task')
    expect(task).not.toHaveProperty('error')
  })

  it('completes with a tool’s own failure', async () => {
    const fails = tool({
      task: 'optional',
      run() {
        throw new ToolError('out of paper')
      },
    })
    const peer = make({ fails }).peer()
    const task = await reached(peer, idIn(await peer.ask('tools/call', { name: 'fails' })), 'completed')
    expect(task['result']).toMatchObject({ isError: true, content: [{ text: 'out of paper' }] })
  })

  it('fails with a protocol error, with its code and message', async () => {
    const breaks = tool({
      task: 'optional',
      run() {
        throw new RpcError(-32011, 'no such ledger', { ledger: 7 })
      },
    })
    const peer = make({ breaks }).peer()
    const task = await reached(peer, idIn(await peer.ask('tools/call', { name: 'breaks' })), 'failed')
    expect(task).toMatchObject({
      error: { code: -32011, message: 'no such ledger', data: { ledger: 7 } },
      statusMessage: 'no such ledger',
    })
    expect(task).not.toHaveProperty('result')
  })

  it('hides the server’s internal failure', async () => {
    const errors: unknown[] = []
    const peer = make(
      { echo },
      {},
      {
        onError: (error) => errors.push(error),
      },
    ).peer()
    const taskId = idIn(await peer.ask('tools/call', { name: 'echo', arguments: { text: 7 } }))
    expect(textIn((await reached(peer, taskId, 'completed'))['result'])).toContain('Invalid arguments')
    const secret = tool({
      task: 'optional',
      run() {
        throw new Error('password=1234')
      },
    })
    const other = make({ secret }, {}, { onError: (error) => errors.push(error) }).peer()
    const task = await reached(other, idIn(await other.ask('tools/call', { name: 'secret' })), 'completed')
    expect(JSON.stringify(task)).not.toContain('1234')
    expect(String(errors[0])).toContain('password=1234')
  })

  it('has the latest progress as its message', async () => {
    const done = gate()
    const slow = tool({
      task: 'optional',
      async run(_args, ctx) {
        ctx.progress(1, 3, 'Reading')
        ctx.progress(2, 3, 'Writing')
        await done.opened
        return 'done'
      },
    })
    const peer = make({ slow }).peer()
    const taskId = idIn(await peer.ask('tools/call', { name: 'slow' }))
    await expect
      .poll(async () => (await peer.ask('tasks/get', { taskId }))['statusMessage'], { timeout: 5000 })
      .toBe('Writing')
    done.open()
    const task = await reached(peer, taskId, 'completed')
    expect(task).not.toHaveProperty('statusMessage')
    expect(peer.received.filter(({ method }) => method === 'notifications/progress')).toEqual([])
  })

  it.each([
    ['an id that never was', 'nonexistent'],
    ['no id', undefined],
    ['an id that is none', 7],
    ['an id without end', 'x'.repeat(5000)],
  ])('is unknown with %s', async (_what, taskId) => {
    const peer = make({ echo }).peer()
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { error } = await peer.send(method, { taskId, inputResponses: {} })
      expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/task/i) })
    }
  })

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    'is not accessible to a client without the extension: %s',
    async (method) => {
      const { server } = make({ forever })
      const [can, cannot] = [modern(server), modern(server, { capabilities: bare })]
      open.push(can, cannot)
      const taskId = idIn(await can.ask('tools/call', { name: 'forever' }))
      const { error } = await cannot.send(method, { taskId, inputResponses: {} })
      expect(error).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { extensions: { [tasksId]: {} } } },
      })
      expect(await can.ask('tasks/get', { taskId })).toMatchObject({ status: 'working' })
    },
  )
})

describe('a cancelled task', () => {
  it('stops its handler, is acknowledged with an empty result, and stays cancelled even if its work completed', async () => {
    const [stopped, finish] = [gate(), gate()]
    const finished = gate()
    const stubborn = tool({
      task: 'optional',
      async run(_args, ctx) {
        ctx.signal.addEventListener('abort', stopped.open)
        await finish.opened
        queueMicrotask(finished.open)
        return 'done all the same'
      },
    })
    const peer = make({ stubborn }).peer()
    const taskId = idIn(await peer.ask('tools/call', { name: 'stubborn' }))
    const { _meta, ...ack } = await peer.ask('tasks/cancel', { taskId })
    expect(ack).toEqual({ resultType: 'complete' })
    await stopped.opened
    finish.open()
    await finished.opened
    await peer.ask('tools/list')
    const task = await peer.ask('tasks/get', { taskId })
    expect(task).toMatchObject({ status: 'cancelled' })
    expect(task).not.toHaveProperty('result')
  })

  it('stays cancelled when cancelled in another process', async () => {
    const store = memoryTaskStore()
    const [begun, finish, finished] = [gate(), gate(), gate()]
    const slow = tool({
      task: 'optional',
      async run() {
        begun.open()
        await finish.opened
        queueMicrotask(finished.open)
        return 'done all the same'
      },
    })
    const [here, elsewhere] = [make({ slow }, { store }).peer(), make({ slow }, { store }).peer()]
    const taskId = idIn(await here.ask('tools/call', { name: 'slow' }))
    await begun.opened
    await elsewhere.ask('tasks/cancel', { taskId })
    finish.open()
    await finished.opened
    await here.ask('tools/list')
    expect(await here.ask('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' })
  })

  it('is acknowledged again when it had ended, without a change', async () => {
    const peer = make({ echo }).peer()
    const taskId = idIn(await peer.ask('tools/call', { name: 'echo', arguments: { text: 'hi' } }))
    const before = await reached(peer, taskId, 'completed')
    expect(await peer.ask('tasks/cancel', { taskId })).toMatchObject({ resultType: 'complete' })
    expect(await peer.ask('tasks/get', { taskId })).toEqual(before)
  })

  it('is not the effect of a cancellation notification', async () => {
    const peer = make({ forever }).peer()
    const opened = peer.open('tools/call', { name: 'forever' })
    const created = await opened.response
    const taskId = idIn(isObject(created['result']) ? created['result'] : {})
    peer.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: opened.id } })
    await peer.ask('tools/list')
    expect(await peer.ask('tasks/get', { taskId })).toMatchObject({ status: 'working' })
  })
})

describe('the task log', () => {
  it('gets every task and its requester', async () => {
    const events: TaskEvent[] = []
    const peer = make({ echo }, { onEvent: (event) => events.push(event) }).peer()
    const taskId = idIn(await peer.ask('tools/call', { name: 'echo', arguments: { text: 'hi' } }))
    await reached(peer, taskId, 'completed')
    await peer.send('tasks/get', { taskId: 'guess' })
    expect(events.map(({ type, status }) => [type, status])).toEqual(
      expect.arrayContaining([
        ['created', 'working'],
        ['changed', 'completed'],
        ['read', 'completed'],
        ['refused', undefined],
      ]),
    )
    expect(events[0]).toMatchObject({ taskId, principal: null })
  })

  it('gives every task a unique unguessable id', async () => {
    const peer = make({ echo }, { maxTasksPerPrincipal: 50 }).peer()
    const ids = await Promise.all(
      Array.from({ length: 50 }, async () =>
        idIn(await peer.ask('tools/call', { name: 'echo', arguments: { text: 'hi' } })),
      ),
    )
    expect(new Set(ids).size).toBe(50)
    // 24 random bytes in base64url.
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{32}$/)
  })

  it('has tasks only when they are requested', () => {
    expect(able.extensions).toEqual({ [tasksId]: {} })
    expect(() => tasks({ ttlMs: 0 })).toThrow(/ttlMs/)
    expect(() => tasks({ ttlMs: 10, maxTtlMs: 5 })).toThrow(/maxTtlMs/)
    const shared = tasks()
    defineServer({ name: 'one', version: '1', extensions: [shared] })
    expect(() => defineServer({ name: 'two', version: '1', extensions: [shared] })).toThrow(
      /already attached/,
    )
  })
})
