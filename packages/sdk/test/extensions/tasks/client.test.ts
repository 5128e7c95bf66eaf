import {
  type CallToolResult,
  defineServer,
  type JsonRpcMessage,
  McpError,
  type ProtocolVersion,
  RpcError,
  type Server,
  ToolError,
  tool,
} from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { type TasksClient, tasksClient } from '@jackfield/sdk/client/tasks'
import { type TasksOptions, tasks } from '@jackfield/sdk/extensions/tasks'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { child } from '../../client/support/child.ts'
import { gate, textIn } from './support.ts'

const open: Client[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const client of open.splice(0)) await client.close()
})

const ok = z.object({ ok: z.boolean() })

function serverWith(options: TasksOptions = {}): {
  readonly server: Server
  readonly aborted: Promise<void>
} {
  const aborted = gate()
  const server = defineServer({
    name: 'worker',
    version: '1',
    tools: {
      add: tool({
        task: 'optional',
        input: z.object({ a: z.number(), b: z.number() }),
        output: z.object({ sum: z.number() }),
        run: ({ a, b }) => ({ sum: a + b }),
      }),
      must: tool({ task: 'required', run: () => 'as a task' }),
      plain: tool({ run: () => 'at once' }),
      fails: tool({
        task: 'optional',
        run() {
          throw new ToolError('out of paper')
        },
      }),
      breaks: tool({
        task: 'required',
        run() {
          throw new RpcError(-32011, 'no such ledger', { ledger: 7 })
        },
      }),
      ask: tool({
        task: 'required',
        async run(_args, ctx) {
          const both = await Promise.all([
            ctx.elicit({ key: 'one', message: 'One?', schema: ok }),
            ctx.elicit({ key: 'two', message: 'Two?', schema: ok }),
          ])
          const last = await ctx.elicit({ key: 'three', message: 'Three?', schema: ok })
          return [...both, last].map(({ action }) => action).join()
        },
      }),
      forever: tool({
        task: 'required',
        run: (_args, ctx) =>
          new Promise<string>((_, reject) =>
            ctx.signal.addEventListener('abort', () => {
              aborted.open()
              reject(new Error('stopped'))
            }),
          ),
      }),
    },
    extensions: [tasks({ pollIntervalMs: 50, ...options })],
    onError: () => {},
  })
  return { server, aborted: aborted.opened }
}

interface Connected {
  readonly client: Client
  readonly tasks: TasksClient
  /** Methods sent, in order. */
  readonly sent: string[]
  readonly messages: JsonRpcMessage[]
}

async function connected(
  server: Server,
  revision: ProtocolVersion,
  options: ConnectOptions = {},
): Promise<Connected> {
  const extension = tasksClient()
  const sent: string[] = []
  const messages: JsonRpcMessage[] = []
  const client = await connect(server, {
    revisions: [revision],
    extensions: [extension],
    onMessage(direction, message) {
      messages.push(message)
      if (direction === 'sent' && 'method' in message) sent.push(message.method)
    },
    ...options,
  })
  open.push(client)
  return { client, tasks: extension, sent, messages }
}

const count = (all: readonly string[], wanted: string): number => all.filter((one) => one === wanted).length

describe.each(['2025-11-25', '2026-07-28'] as const)('a client with tasks, on %s', (revision) => {
  it('gets the result of a call, as a task or not', async () => {
    const { client, sent } = await connected(serverWith().server, revision)
    expect(textIn(await client.call('plain'))).toBe('at once')
    expect((await client.call('add', { a: 1, b: 2 })).structuredContent).toEqual({ sum: 3 })
    expect(textIn(await client.call('must'))).toBe('as a task')
    expect(sent).toContain('tasks/get')
  })

  it('gets a tool’s failure as a result and a protocol error as an error', async () => {
    const { client } = await connected(serverWith().server, revision)
    expect(await client.call('fails')).toMatchObject({ isError: true, content: [{ text: 'out of paper' }] })
    await expect(client.call('breaks')).rejects.toMatchObject({
      name: 'RpcError',
      code: -32011,
      message: 'no such ledger',
      data: { ledger: 7 },
    })
  })

  it('answers questions of a task, each once', async () => {
    const onElicit = vi.fn(() => ({ action: 'accept' as const, content: { ok: true } }))
    const { client } = await connected(serverWith().server, revision, { onElicit })
    expect(textIn(await client.call('ask'))).toBe('accept,accept,accept')
    expect(onElicit).toHaveBeenCalledTimes(3)
  })

  it('lets a user take any time', async () => {
    const { client } = await connected(serverWith().server, revision, {
      onElicit: async ({ message }) => {
        if (message === 'Three?') await new Promise((resolve) => setTimeout(resolve, 900))
        return { action: 'decline' }
      },
    })
    expect(textIn(await client.call('ask', {}, { timeoutMs: 700 }))).toBe('decline,decline,decline')
  })

  it('waits while there is progress, up to its limit', async () => {
    const { server, aborted } = serverWith()
    const { client } = await connected(server, revision)
    const call = client.call('forever', {}, { timeoutMs: 500, maxTotalMs: 1200 })
    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining('1200') })
    await aborted
  })

  it('cancels the task when its caller aborts', async () => {
    const { server, aborted } = serverWith()
    const { client, sent } = await connected(server, revision)
    const stop = new AbortController()
    const call = client.call('forever', {}, { signal: stop.signal })
    await expect.poll(() => sent.includes('tasks/get'), { timeout: 5000 }).toBe(true)
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    await aborted
    expect(sent.slice(sent.indexOf('tasks/cancel'))).toEqual(['tasks/cancel'])
    expect(sent).not.toContain('notifications/cancelled')
  })

  it('returns a task handle for state, result and cancellation', async () => {
    const { server, aborted } = serverWith()
    const { client, tasks } = await connected(server, revision)
    const started = await tasks.start(client, 'forever')
    if (!('task' in started)) throw new Error('no task')
    const { task } = started
    expect(await task.state()).toMatchObject({ taskId: task.id, status: 'working', pollIntervalMs: 50 })
    await expect(task.result({ maxTotalMs: 120 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(await task.state()).toMatchObject({ status: 'working' })
    await task.cancel()
    await aborted
    await expect(task.result()).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('returns the result if the server created no task', async () => {
    const { client, tasks } = await connected(serverWith().server, revision)
    expect(await tasks.start(client, 'plain')).toMatchObject({ result: { content: [{ text: 'at once' }] } })
  })

  it('resumes a task by its id, on another connection', async () => {
    const { server } = serverWith()
    const first = await connected(server, revision, { onElicit: () => ({ action: 'cancel' }) })
    const started = await first.tasks.start(first.client, 'ask')
    if (!('task' in started)) throw new Error('no task')
    await first.client.close()
    const second = await connected(server, revision, { onElicit: () => ({ action: 'decline' }) })
    const task = second.tasks.resume(second.client, started.task.id)
    expect(textIn(await task.result())).toBe('decline,decline,decline')
  })

  it('validates the result of a task with the tool’s schema', async () => {
    const { server } = serverWith()
    const { client, tasks } = await connected(server, revision)
    await client.tools()
    const started = await tasks.start(client, 'add', { a: 1, b: 2 })
    if (!('task' in started)) throw new Error('no task')
    const result: CallToolResult = await started.task.result()
    expect(result.structuredContent).toEqual({ sum: 3 })
  })

  it('reports an unknown task, or a client without tasks', async () => {
    const { client, tasks } = await connected(serverWith().server, revision)
    await expect(tasks.resume(client, 'nonexistent').result()).rejects.toMatchObject({ code: -32602 })
    const mute = await connect(serverWith().server, { revisions: [revision] })
    open.push(mute)
    expect(() => tasks.resume(mute, 'x')).toThrow(McpError)
  })

  it('polls no more often than the server requests', async () => {
    const { client, sent } = await connected(serverWith({ pollIntervalMs: 200 }).server, revision)
    const call = client.call('forever', {}, { maxTotalMs: 1000 })
    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(count(sent, 'tasks/get')).toBeLessThanOrEqual(5)
  })
})

describe('a client with tasks, on 2026-07-28', () => {
  it('sends no "task" param, and declares the extension on every request', async () => {
    const { client, messages } = await connected(serverWith().server, '2026-07-28')
    await client.call('must')
    expect(JSON.stringify(messages)).not.toContain('"task":{')
    const requests = messages.filter((message) => 'method' in message && 'id' in message)
    expect(requests.length).toBeGreaterThan(2)
    for (const request of requests) {
      expect(JSON.stringify(request)).toContain('"extensions":{"io.modelcontextprotocol/tasks":{}}')
    }
  })

  it('can answer a question itself', async () => {
    const { client, tasks } = await connected(serverWith().server, '2026-07-28', {
      onElicit: () => ({ action: 'cancel' }),
    })
    const started = await tasks.start(client, 'ask')
    if (!('task' in started)) throw new Error('no task')
    const { task } = started
    await expect.poll(async () => (await task.state()).status, { timeout: 5000 }).toBe('input_required')
    expect(Object.keys((await task.state()).inputRequests ?? {})).toEqual(['one', 'two'])
    await task.update({ one: { action: 'decline' }, two: { action: 'decline' } })
    expect(textIn(await task.result())).toBe('decline,decline,cancel')
  })

  it('validates a task’s questions like any other', async () => {
    const task = { taskId: 'x', createdAt: '', lastUpdatedAt: '', ttlMs: null, pollIntervalMs: 50 }
    const urlRequest = {
      method: 'elicitation/create',
      params: { mode: 'url', message: 'Go', url: 'https://a.b' },
    }
    const sly = child(`each((message) => {
      if (message.method === 'server/discover') modern(message)
      if (message.method === 'tools/call')
        send({ id: message.id, result: { resultType: 'task', status: 'working', ...${JSON.stringify(task)} } })
      if (message.method === 'tasks/get')
        send({ id: message.id, result: { resultType: 'complete', status: 'input_required',
          inputRequests: { visit: ${JSON.stringify(urlRequest)} }, ...${JSON.stringify(task)} } })
    })`)
    const onElicit = vi.fn(() => ({ action: 'accept' as const }))
    const client = await connect(sly, { extensions: [tasksClient()], onElicit })
    open.push(client)
    await expect(client.call('any')).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('does not support URL elicitation'),
    })
    expect(onElicit).not.toHaveBeenCalled()
  })

  it('stops a task with endless questions, and cancels it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const task = { taskId: 'x', createdAt: '', lastUpdatedAt: '', ttlMs: null, pollIntervalMs: 50 }
    let asked = 0
    const greedy = defineServer({
      name: 'greedy',
      version: '1',
      tools: { any: tool({ run: () => 'never' }) },
      extensions: [tasks()],
      use: [
        async (exchange, next) => {
          switch (exchange.method) {
            case 'tools/call':
              return { type: 'extension', resultType: 'task', result: { ...task, status: 'working' } }
            case 'tasks/get': {
              const params = { message: 'And?', requestedSchema: { type: 'object', properties: {} } }
              const inputRequests = { [`q${++asked}`]: { method: 'elicitation/create', params } }
              return { type: 'complete', result: { ...task, status: 'input_required', inputRequests } }
            }
            case 'tasks/update':
              return { type: 'complete', result: {} }
            default:
              return next(exchange)
          }
        },
      ],
    })
    const onElicit = vi.fn(() => ({ action: 'accept' as const, content: {} }))
    const { client, sent } = await connected(greedy, '2026-07-28', { onElicit })
    let ended: unknown
    client.call('any').catch((error) => {
      ended = error
    })
    for (let n = 0; n < 200 && ended === undefined; n++) {
      await vi.advanceTimersByTimeAsync(50)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(ended).toMatchObject({ code: 'TOO_MANY_ROUNDS' })
    expect(onElicit).toHaveBeenCalledTimes(64)
    expect(sent).toContain('tasks/cancel')
  })

  it('cancels a task whose question its handler refuses', async () => {
    const { client, sent } = await connected(serverWith().server, '2026-07-28', {
      onElicit: () => {
        throw new RpcError(-1, 'not now')
      },
    })
    await expect(client.call('ask')).rejects.toMatchObject({ code: -1 })
    expect(sent).toContain('tasks/cancel')
  })

  it('rejects a task as the result of anything but a tool call', async () => {
    const task = { taskId: 'x', status: 'working', createdAt: '', lastUpdatedAt: '', ttlMs: null }
    const wrong = defineServer({
      name: 'wrong',
      version: '1',
      tools: { plain: tool({ run: () => 'at once' }) },
      use: [
        async (exchange, next) =>
          exchange.method === 'tools/list'
            ? { type: 'extension', resultType: 'task', result: task }
            : next(exchange),
      ],
    })
    const { client } = await connected(wrong, '2026-07-28')
    await expect(client.tools()).rejects.toMatchObject({ code: 'PROTOCOL' })
  })
})

describe('a client with tasks, on 2025-11-25', () => {
  it('requests a task only if server and tool declare support', async () => {
    const { client, tasks, messages } = await connected(serverWith().server, '2025-11-25')
    const callsOf = (name: string): JsonRpcMessage[] =>
      messages.filter((message) => 'params' in message && message.params?.['name'] === name)
    await client.call('add', { a: 1, b: 2 })
    await client.call('must')
    await tasks.start(client, 'plain')
    await tasks.start(client, 'add', { a: 1, b: 2 }, { ttlMs: 5000 })
    expect(callsOf('add').map((message) => 'params' in message && message.params?.['task'])).toEqual([
      undefined,
      { ttl: 5000 },
    ])
    expect(callsOf('must')).toMatchObject([{ params: { task: {} } }])
    expect(JSON.stringify(callsOf('plain'))).not.toContain('"task"')

    const none = defineServer({
      name: 'none',
      version: '1',
      tools: { must: tool({ task: 'optional', run: () => 'no tasks here' }) },
    })
    const other = await connected(none, '2025-11-25')
    expect(await other.tasks.start(other.client, 'must')).toHaveProperty('result')
    expect(JSON.stringify(other.messages)).not.toContain('"task"')
  })

  it('declares no tasks of its own, and answers at once whatever the server requests', async () => {
    const wishing = child(`each((message) => {
      if (message.method === 'server/discover') send({ id: message.id, error: { code: -32601, message: 'no' } })
      if (message.method === 'initialize') { globalThis.tasks = message.params.capabilities.tasks; legacy(message) }
      if (message.method === 'tools/call') {
        globalThis.call = message.id
        send({ id: 'q', method: 'elicitation/create', params: { message: 'Sure?', task: { ttl: 1000 },
          requestedSchema: { type: 'object', properties: {} } } })
      }
      if (message.id === 'q') send({ id: call, result: text(JSON.stringify([tasks ?? null, message.result])) })
    })`)
    const client = await connect(wishing, {
      extensions: [tasksClient()],
      onElicit: () => ({ action: 'decline' }),
    })
    open.push(client)
    expect(textIn(await client.call('any'))).toBe('[null,{"action":"decline"}]')
  })

  it('sends the task of its responses', async () => {
    const { client, messages } = await connected(serverWith().server, '2025-11-25', {
      onElicit: () => ({ action: 'decline' }),
    })
    await client.call('ask')
    const answers = messages.filter(
      (message) => 'result' in message && message.result['action'] === 'decline',
    )
    expect(answers).toHaveLength(3)
    for (const answer of answers) {
      expect(answer).toMatchObject({
        result: { _meta: { 'io.modelcontextprotocol/related-task': { taskId: expect.any(String) } } },
      })
    }
  })

  it('requests the result early only if the task needs input', async () => {
    const { client, sent } = await connected(serverWith().server, '2025-11-25', {
      onElicit: () => ({ action: 'decline' }),
    })
    await client.call('must')
    expect(sent.indexOf('tasks/get')).toBeLessThan(sent.indexOf('tasks/result'))
    expect(count(sent, 'tasks/result')).toBe(1)
    await client.call('ask')
    expect(count(sent, 'tasks/result')).toBe(2)
  })
})
