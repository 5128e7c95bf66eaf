import {
  defineServer,
  type JsonObject,
  type ProtocolVersion,
  RpcError,
  ToolError,
  tool,
} from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isObject } from '../../../../../test/setup/json.ts'
import { anonymousCaller } from '../../../src/request/exchange.ts'
import { checkDefinition, checkWire } from '../../schema/wire.ts'
import {
  able,
  gate,
  idIn,
  modern,
  type Raw,
  type RawOptions,
  reached,
  session,
  tasksId,
  textIn,
} from './support.ts'

const open: Raw[] = []
afterEach(async () => {
  for (const raw of open.splice(0)) await raw.close()
})

let ran = 0
const server = defineServer({
  name: 'older',
  version: '1',
  tools: {
    plain: tool({ run: () => 'plain' }),
    optional: tool({ task: 'optional', run: () => `run ${++ran}` }),
    required: tool({ task: 'required', run: () => 'required' }),
    failing: tool({
      task: 'optional',
      run() {
        throw new ToolError('out of paper')
      },
    }),
    breaking: tool({
      task: 'optional',
      run() {
        throw new RpcError(-32011, 'no such ledger', { ledger: 7 })
      },
    }),
    asking: tool({
      task: 'optional',
      async run(_args, ctx) {
        ctx.progress(1, 2, 'Asking')
        const first = await ctx.elicit({ message: 'First?', schema: z.object({ ok: z.boolean() }) })
        ctx.progress(2, 2, 'Asked')
        return first.action === 'accept' ? `first ${first.content.ok}` : first.action
      },
    }),
    forever: tool({
      task: 'optional',
      run: (_args, ctx) => new Promise<string>((_, reject) => ctx.signal.addEventListener('abort', reject)),
    }),
  },
  extensions: [tasks({ pollIntervalMs: 20 })],
  onError: () => {},
})

async function peerOf(options: RawOptions & { version?: ProtocolVersion } = {}) {
  const raw = await session(server, options)
  open.push(raw)
  return raw
}

const begin = async (peer: Raw, name: string, more: JsonObject = {}): Promise<string> =>
  idIn(await peer.ask('tools/call', { name, task: {}, ...more }))

/** What is wrong, under the official schema, with what the server sent in answer to these methods, by id. */
function faults(peer: Raw, methods: Record<number, string>): string[] {
  return peer.received.flatMap((message) => {
    const { id } = message
    const method = typeof id === 'number' && !('method' in message) ? methods[id] : undefined
    return checkWire('2025-11-25', 'server', message, method)
  })
}

const isoDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const related = (taskId: string): object => ({ 'io.modelcontextprotocol/related-task': { taskId } })

describe('tasks of 2025-11-25', () => {
  it('are declared as a capability, and by each tool that supports them', async () => {
    const peer = await peerOf()
    expect(peer.initializeResult['capabilities']).toMatchObject({
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    })
    const { tools } = await peer.ask('tools/list')
    const support = (Array.isArray(tools) ? tools : []).map(({ name, execution }) => [
      name,
      execution?.taskSupport,
    ])
    expect(Object.fromEntries(support)).toMatchObject({ optional: 'optional', required: 'required' })
    expect(Object.fromEntries(support)['plain']).toBeUndefined()
    expect(faults(peer, { 1: 'initialize', 2: 'tools/list' })).toEqual([])
  })

  it('are unknown in every earlier revision', async () => {
    const peer = await peerOf({ version: '2025-06-18' })
    expect(peer.initializeResult['capabilities']).not.toHaveProperty('tasks')
    expect(JSON.stringify(await peer.ask('tools/list'))).not.toContain('taskSupport')
    const result = await peer.ask('tools/call', { name: 'optional', task: {} })
    expect(textIn(result)).toMatch(/^run/)
    for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel', 'tasks/update']) {
      expect((await peer.send(method, { taskId: 'x' }))['error']).toMatchObject({ code: -32601 })
    }
    expect((await peer.send('tools/call', { name: 'required' }))['error']).toMatchObject({ code: -32600 })
  })

  it('are ignored by a server without them', async () => {
    const plain = defineServer({
      name: 'plain',
      version: '1',
      tools: { optional: tool({ task: 'optional', run: () => 'at once' }) },
    })
    const peer = await session(plain)
    open.push(peer)
    expect(peer.initializeResult['capabilities']).not.toHaveProperty('tasks')
    expect(textIn(await peer.ask('tools/call', { name: 'optional', task: { ttl: 1000 } }))).toBe('at once')
  })

  it('start at the client’s request, working, and are the response', async () => {
    const peer = await peerOf()
    const created = await peer.ask('tools/call', { name: 'forever', task: { ttl: 60_000 } })
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
    expect(checkDefinition('2025-11-25', 'CreateTaskResult', created)).toEqual([])
    const look = await peer.ask('tasks/get', { taskId: idIn(created) })
    expect(look).toEqual(created['task'])
    expect(faults(peer, { 1: 'initialize', 3: 'tasks/get' })).toEqual([])
  })

  it('do not start on their own, nor by declaring the later extension', async () => {
    const peer = await peerOf({ capabilities: able })
    expect(textIn(await peer.ask('tools/call', { name: 'optional' }))).toMatch(/^run/)
  })

  it.each([
    ['required', undefined],
    ['plain', {}],
  ])('are rejected by a tool that declares otherwise: %s', async (name, task) => {
    const params = task === undefined ? { name } : { name, task }
    const { error } = await (await peerOf()).send('tools/call', params)
    expect(error).toMatchObject({ code: -32601, message: expect.stringMatching(/task/) })
  })

  it('return the exact result of the call, related to the task, repeatedly', async () => {
    const peer = await peerOf()
    const taskId = await begin(peer, 'optional')
    const result = await peer.ask('tasks/result', { taskId })
    expect(result).toEqual({ content: [{ type: 'text', text: `run ${ran}` }], _meta: related(taskId) })
    expect(await peer.ask('tasks/result', { taskId })).toEqual(result)
    expect(checkDefinition('2025-11-25', 'CallToolResult', result)).toEqual([])
    const look = await peer.ask('tasks/get', { taskId })
    expect(look).toMatchObject({ status: 'completed' })
    expect(JSON.stringify(look)).not.toContain('related-task')
  })

  it('fail with a failed tool, and return its result', async () => {
    const peer = await peerOf()
    const taskId = await begin(peer, 'failing')
    expect(await reached(peer, taskId, 'failed')).toHaveProperty('statusMessage')
    expect(await peer.ask('tasks/result', { taskId })).toMatchObject({
      isError: true,
      content: [{ text: 'out of paper' }],
      _meta: related(taskId),
    })
  })

  it('fail with a protocol error, and return that error', async () => {
    const peer = await peerOf()
    const taskId = await begin(peer, 'breaking')
    expect(await reached(peer, taskId, 'failed')).toMatchObject({ statusMessage: 'no such ledger' })
    expect((await peer.send('tasks/result', { taskId }))['error']).toEqual({
      code: -32011,
      message: 'no such ledger',
      data: { ledger: 7 },
    })
  })

  it('wait for their result on request', async () => {
    const peer = await peerOf()
    const taskId = await begin(peer, 'forever')
    let answered = false
    const waiting = peer.send('tasks/result', { taskId }).then((response) => {
      answered = true
      return response
    })
    await peer.ask('tasks/get', { taskId })
    expect(answered).toBe(false)
    await peer.ask('tasks/cancel', { taskId })
    expect((await waiting)['error']).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/cancelled/),
    })
  })

  it('ask while their result is requested, and name the task that asks', async () => {
    const asked: JsonObject[] = []
    const answer = gate()
    const peer = await peerOf({
      onRequest: (message) => {
        asked.push(message)
        answer.opened.then(() =>
          peer.post({
            jsonrpc: '2.0',
            id: message['id'],
            result: { action: 'accept', content: { ok: true } },
          }),
        )
        return undefined
      },
    })
    const taskId = await begin(peer, 'asking', { _meta: { progressToken: 'mine' } })
    const waiting = peer.ask('tasks/result', { taskId, _meta: related('another') })
    await reached(peer, taskId, 'input_required')
    await expect.poll(() => asked.length, { timeout: 5000 }).toBe(1)
    const again = peer.ask('tasks/result', { taskId })
    answer.open()
    expect(textIn(await waiting)).toBe('first true')
    expect(textIn(await again)).toBe('first true')
    expect(asked).toMatchObject([{ method: 'elicitation/create', params: { _meta: related(taskId) } }])
    expect(await peer.ask('tasks/get', { taskId })).toMatchObject({ status: 'completed' })

    const notices = peer.received.filter((message) => 'method' in message && !('id' in message))
    const notified = notices.filter(({ method }) => method === 'notifications/tasks/status')
    expect(notified.map(({ params }) => isObject(params) && params['status'])).toContain('input_required')
    expect(JSON.stringify(notified)).not.toContain('related-task')
    const progress = notices.filter(({ method }) => method === 'notifications/progress')
    expect(progress.at(-1)).toMatchObject({
      params: { progressToken: 'mine', progress: 2, _meta: related(taskId) },
    })
    expect(faults(peer, { 1: 'initialize' })).toEqual([])
  })

  it('report progress with the token of their call, until they end', async () => {
    const [listening, late] = [gate(), gate()]
    const notified = gate()
    const noisy = defineServer({
      name: 'noisy',
      version: '1',
      tools: {
        noisy: tool({
          task: 'optional',
          async run(_args, ctx) {
            await listening.opened
            ctx.progress(1, 3, 'Early')
            await late.opened
            ctx.progress(2, 3, 'Late')
            notified.open()
            return 'done'
          },
        }),
      },
      extensions: [tasks()],
    })
    const peer = await session(noisy)
    open.push(peer)
    const progress = (): JsonObject[] =>
      peer.received.filter(({ method }) => method === 'notifications/progress')
    const taskId = await begin(peer, 'noisy', { _meta: { progressToken: 'mine' } })
    const waiting = peer.send('tasks/result', { taskId })
    await peer.ask('tasks/get', { taskId })
    listening.open()
    await expect.poll(() => progress().length, { timeout: 5000 }).toBe(1)
    expect(progress()).toMatchObject([
      { params: { progressToken: 'mine', progress: 1, _meta: related(taskId) } },
    ])
    const again = peer.send('tasks/result', { taskId })
    await peer.ask('tasks/cancel', { taskId })
    late.open()
    await notified.opened
    await Promise.all([waiting, again])
    await peer.ask('tasks/get', { taskId })
    expect(progress()).toHaveLength(1)
  })

  it('have only the allowed state transitions', async () => {
    const seen: string[] = []
    const watched = defineServer({
      name: 'watched',
      version: '1',
      tools: {
        asking: tool({
          task: 'optional',
          run: async (_args, ctx): Promise<string> =>
            (await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })).action,
        }),
      },
      extensions: [
        tasks({
          onEvent: ({ type, status }) => {
            if (type === 'created' || type === 'changed') seen.push(String(status))
          },
        }),
      ],
    })
    const peer = await session(watched, { onRequest: () => ({ result: { action: 'decline' } }) })
    open.push(peer)
    const taskId = await begin(peer, 'asking')
    await peer.ask('tasks/result', { taskId })
    await peer.send('tasks/cancel', { taskId })
    expect(await peer.ask('tasks/get', { taskId })).toMatchObject({ status: 'completed' })
    expect(seen).toEqual(['working', 'input_required', 'working', 'completed'])
  })

  it('fail when the client refuses to answer', async () => {
    const peer = await peerOf({ onRequest: () => ({ error: { code: -1, message: 'not now' } }) })
    const taskId = await begin(peer, 'asking')
    const result = await peer.ask('tasks/result', { taskId })
    expect(result).toMatchObject({ isError: true })
    expect(textIn(result)).toContain('not now')
    expect(await peer.ask('tasks/get', { taskId })).toMatchObject({ status: 'failed' })
  })

  it('keep their question for the next client that requests the result', async () => {
    const lost = await session(server)
    const taskId = await begin(lost, 'asking')
    await reached(lost, taskId, 'input_required')
    const waiting = lost.open('tasks/result', { taskId })
    await expect.poll(() => lost.received.some(({ method }) => method === 'elicitation/create')).toBe(true)
    lost.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: waiting.id } })
    await lost.close()
    const peer = await peerOf({
      onRequest: () => ({ result: { action: 'accept', content: { ok: false } } }),
    })
    expect(textIn(await peer.ask('tasks/result', { taskId }))).toBe('first false')
  })

  it('ask another waiting client when the one that was asked disconnected', async () => {
    const lost = await session(server)
    const taskId = await begin(lost, 'asking')
    const first = lost.open('tasks/result', { taskId })
    await expect.poll(() => lost.received.some(({ method }) => method === 'elicitation/create')).toBe(true)
    const peer = await peerOf({
      onRequest: () => ({ result: { action: 'accept', content: { ok: false } } }),
    })
    const waiting = peer.ask('tasks/result', { taskId })
    await reached(peer, taskId, 'input_required')
    lost.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: first.id } })
    await lost.close()
    expect(textIn(await waiting)).toBe('first false')
  })

  it('are cancelled before the response to the cancellation, once', async () => {
    const peer = await peerOf()
    const taskId = await begin(peer, 'forever')
    const cancelled = await peer.ask('tasks/cancel', { taskId })
    expect(cancelled).toMatchObject({ taskId, status: 'cancelled' })
    expect(checkDefinition('2025-11-25', 'CancelTaskResult', cancelled)).toEqual([])
    expect((await peer.send('tasks/cancel', { taskId }))['error']).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/already cancelled/),
    })
    expect(await peer.ask('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' })
  })

  it.each(['tasks/get', 'tasks/result', 'tasks/cancel'])(
    'are unknown with another id: %s',
    async (method) => {
      const peer = await peerOf()
      for (const taskId of ['nonexistent', 7, undefined]) {
        expect((await peer.send(method, { taskId }))['error']).toMatchObject({
          code: -32602,
          message: expect.stringMatching(/task/i),
        })
      }
    },
  )

  it('are listed page by page', async () => {
    const many = defineServer({
      name: 'many',
      version: '1',
      tools: { optional: tool({ task: 'optional', run: () => 'done' }) },
      extensions: [tasks({ maxTasksPerPrincipal: 150 })],
    })
    const peer = await session(many)
    open.push(peer)
    const ids = await Promise.all(Array.from({ length: 130 }, () => begin(peer, 'optional')))
    const first = await peer.ask('tasks/list')
    expect(first['nextCursor']).toEqual(expect.any(String))
    expect(checkDefinition('2025-11-25', 'ListTasksResult', first)).toEqual([])
    const second = await peer.ask('tasks/list', { cursor: first['nextCursor'] })
    expect(second).not.toHaveProperty('nextCursor')
    const listed = [first, second].flatMap(({ tasks }) => (Array.isArray(tasks) ? tasks : []))
    expect(listed.map(({ taskId }) => taskId).sort()).toEqual(ids.sort())
    expect(await peer.ask('tasks/list', { cursor: '' })).toEqual(first)
    for (const cursor of ['guess', 7]) {
      expect((await peer.send('tasks/list', { cursor }))['error']).toMatchObject({ code: -32602 })
    }
  })

  it('stay accessible to a client that moved on to 2026-07-28 but supports only these', async () => {
    const peer = await peerOf({ caller: anonymousCaller })
    const taskId = await begin(peer, 'forever')
    const later = modern(server, { caller: anonymousCaller, capabilities: { tasks: {} } })
    open.push(later)
    expect(await later.ask('tasks/get', { taskId })).toMatchObject({ status: 'working', ttlMs: 3_600_000 })
    const own = modern(server, { caller: anonymousCaller })
    open.push(own)
    const newer = idIn(await own.ask('tools/call', { name: 'forever' }))
    expect((await later.send('tasks/get', { taskId: newer }))['error']).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [tasksId]: {} } } },
    })
    expect(await later.ask('tasks/cancel', { taskId })).toMatchObject({ resultType: 'complete' })
  })
})
