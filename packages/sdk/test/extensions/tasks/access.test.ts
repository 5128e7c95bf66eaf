import { defineServer, rateLimit, type Server, tool } from '@jackfield/sdk'
import { memoryTaskStore, type TasksOptions, tasks } from '@jackfield/sdk/extensions/tasks'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { faultyPeer } from '../../../../../test/setup/faulty-peer.ts'
import { isObject } from '../../../../../test/setup/json.ts'
import { anonymousCaller } from '../../../src/request/exchange.ts'
import { caller, idIn, modern, type Raw, type RawOptions, reached, session, textIn } from './support.ts'

const open: Raw[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const raw of open.splice(0)) await raw.close()
})

function make(options: TasksOptions = {}): Server {
  const waiting = tool({
    task: 'optional',
    run: (_args, ctx) =>
      new Promise<string>((resolve) => ctx.signal.addEventListener('abort', () => resolve('stopped'))),
  })
  return defineServer({
    name: 'guarded',
    version: '1',
    tools: {
      waiting,
      secret: tool({ task: 'optional', scopes: ['secrets'], run: () => 'the secret' }),
      large: tool({ task: 'optional', run: () => 'x'.repeat(20_000) }),
      hoard: tool({
        task: 'optional',
        async run(_args, ctx) {
          await ctx.step('fetch', () => 'x'.repeat(20_000))
          return 'done'
        },
      }),
      who: tool({
        task: 'optional',
        run: (_args, { peer }) => JSON.stringify([peer.principal, peer.clientId, peer.claims]),
      }),
    },
    extensions: [tasks({ pollIntervalMs: 20, ...options })],
    onError: () => {},
  })
}

function as(server: Server, options: RawOptions): Raw {
  const raw = modern(server, options)
  open.push(raw)
  return raw
}

async function inSession(server: Server, options: RawOptions) {
  const raw = await session(server, options)
  open.push(raw)
  return raw
}

const call = { name: 'waiting' }

describe('a task belongs to the caller who created it', () => {
  const strangers: [string, RawOptions['caller']][] = [
    ['another principal', caller('eve')],
    ['an anonymous caller', anonymousCaller],
    ['whoever owns the process', undefined],
  ]

  it.each(strangers)('and does not exist for %s', async (_who, stranger) => {
    const server = make()
    const ada = as(server, { caller: caller('ada') })
    const other = as(server, stranger === undefined ? {} : { caller: stranger })
    const taskId = idIn(await ada.ask('tools/call', call))
    const unknown = (await other.send('tasks/get', { taskId: 'nonexistent' }))['error']
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      expect((await other.send(method, { taskId, inputResponses: {} }))['error']).toEqual(unknown)
    }
    expect(await ada.ask('tasks/get', { taskId })).toMatchObject({ status: 'working' })
  })

  it.each(strangers)('and is not accessible for %s in a session either', async (_who, stranger) => {
    const server = make()
    const ada = await inSession(server, { caller: caller('ada') })
    const other = await inSession(server, stranger === undefined ? {} : { caller: stranger })
    const taskId = idIn(await ada.ask('tools/call', { ...call, task: {} }))
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect((await other.send(method, { taskId }))['error']).toMatchObject({ code: -32602 })
    }
    expect(await ada.ask('tasks/get', { taskId })).toMatchObject({ status: 'working' })
  })

  it('and lists show each caller their own', async () => {
    const server = make()
    const ada = await inSession(server, { caller: caller('ada') })
    const bob = await inSession(server, { caller: caller('bob') })
    const mine = idIn(await ada.ask('tools/call', { ...call, task: {} }))
    const theirs = idIn(await bob.ask('tools/call', { ...call, task: {} }))
    expect((await ada.ask('tasks/list'))['tasks']).toMatchObject([{ taskId: mine }])
    expect((await bob.ask('tasks/list'))['tasks']).toMatchObject([{ taskId: theirs }])
  })

  it('and is not listed without identified callers', async () => {
    const server = make()
    const anyone = await inSession(server, { caller: anonymousCaller })
    expect(anyone.initializeResult['capabilities']).toMatchObject({ tasks: { cancel: {} } })
    expect(JSON.stringify(anyone.initializeResult['capabilities'])).not.toContain('"list":')
    expect((await anyone.send('tasks/list'))['error']).toMatchObject({ code: -32601 })
    const taskId = idIn(await anyone.ask('tools/call', { ...call, task: {} }))
    expect(await anyone.ask('tasks/get', { taskId })).toMatchObject({ status: 'working' })
  })

  it('and its result is for callers who may still use the tool', async () => {
    const server = make()
    const may = as(server, { caller: caller('ada', ['secrets']) })
    const mayNot = as(server, { caller: caller('ada') })
    const taskId = idIn(await may.ask('tools/call', { name: 'secret' }))
    expect(textIn((await reached(may, taskId, 'completed'))['result'])).toBe('the secret')
    const refused = await mayNot.send('tasks/get', { taskId })
    expect(refused['error']).toMatchObject({ code: -32600 })
    expect(JSON.stringify(refused)).not.toContain('the secret')
  })

  it('and its handler gets its caller', async () => {
    const ada = as(make(), {
      caller: { ...caller('ada'), clientId: 'desk', claims: { team: 'red' } },
    })
    const task = await reached(ada, idIn(await ada.ask('tools/call', { name: 'who' })), 'completed')
    expect(textIn(task['result'])).toBe('["ada","desk",{"team":"red"}]')
  })
})

describe('limits of tasks', () => {
  it('apply to one principal, including finished ones', async () => {
    const server = make({ maxTasksPerPrincipal: 2 })
    const [ada, bob] = [as(server, { caller: caller('ada') }), as(server, { caller: caller('bob') })]
    const first = idIn(await ada.ask('tools/call', call))
    await ada.ask('tools/call', call)
    await ada.ask('tasks/cancel', { taskId: first })
    expect((await ada.send('tools/call', call))['error']).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/too many/),
    })
    expect(await bob.ask('tools/call', call)).toMatchObject({ resultType: 'task' })
  })

  it('apply to one network address without authentication, and each task is accessible from any', async () => {
    const server = make({ maxTasksPerPrincipal: 1 })
    const from = (address: string): Raw =>
      as(server, { caller: { ...caller(null), quotaKey: `address ${address}` } })
    const [first, second] = [from('203.0.113.7'), from('198.51.100.9')]
    const taskId = idIn(await first.ask('tools/call', call))
    expect((await first.send('tools/call', call))['error']).toMatchObject({ code: -32603 })
    expect(await second.ask('tools/call', call)).toMatchObject({ resultType: 'task' })
    expect(await second.ask('tasks/get', { taskId })).toMatchObject({ taskId, status: 'working' })
  })

  it('apply in total', async () => {
    const server = make({ maxTasks: 1 })
    await as(server, { caller: caller('ada') }).ask('tools/call', call)
    const refused = await as(server, { caller: caller('bob') }).send('tools/call', call)
    expect(refused['error']).toMatchObject({ code: -32603 })
  })

  it('apply to the bytes of arguments, of steps and of a result', async () => {
    const peer = as(make({ maxTaskBytes: 10_000 }), {})
    const much = { ...call, arguments: { text: 'x'.repeat(10_000) } }
    expect((await peer.send('tools/call', much))['error']).toMatchObject({ code: -32602 })
    const large = await reached(peer, idIn(await peer.ask('tools/call', { name: 'large' })), 'completed')
    expect(large['result']).toMatchObject({ isError: true })
    expect(textIn(large['result'])).toContain('10000 bytes')
    const hoard = await reached(peer, idIn(await peer.ask('tools/call', { name: 'hoard' })), 'failed')
    expect(hoard['error']).toMatchObject({ code: -32603 })
  })

  it('apply to time: then the task is deleted and its handler stopped', async () => {
    vi.useFakeTimers()
    const stopped = vi.fn()
    const server = defineServer({
      name: 'timed',
      version: '1',
      tools: {
        waiting: tool({
          task: 'optional',
          run: (_args, ctx) => new Promise<string>(() => ctx.signal.addEventListener('abort', stopped)),
        }),
      },
      extensions: [tasks({ ttlMs: 30_000, leaseMs: 3000 })],
    })
    const peer = as(server, {})
    const asked = async (method: string, params: object) => {
      const response = peer.send(method, { ...params })
      await vi.advanceTimersByTimeAsync(0)
      return response
    }
    const { result } = await asked('tools/call', call)
    const taskId = idIn(isObject(result) ? result : {})
    await vi.advanceTimersByTimeAsync(29_000)
    expect((await asked('tasks/get', { taskId }))['result']).toMatchObject({ ttlMs: 30_000 })
    expect(stopped).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(3000)
    expect((await asked('tasks/get', { taskId }))['error']).toMatchObject({ code: -32602 })
    expect(stopped).toHaveBeenCalledOnce()
  })

  it('apply to polls, with a middleware', async () => {
    const server = defineServer({
      name: 'busy',
      version: '1',
      use: [rateLimit({ perMinute: 1, burst: 3, methods: ['tasks/get', 'tasks/result'] })],
      extensions: [tasks()],
    })
    const guessing = as(server, { caller: caller('eve') })
    const codes: unknown[] = []
    for (let guess = 0; guess < 5; guess++) {
      const { error } = await guessing.send('tasks/get', { taskId: `guess-${guess}` })
      codes.push(isObject(error) && error['code'])
    }
    expect(codes).toEqual([-32602, -32602, -32602, -32600, -32600])
  })

  it('bound the lifetime that a client of 2025-11-25 requests', async () => {
    faultyPeer('times that are none')
    const peer = await inSession(make({ ttlMs: 1000, maxTtlMs: 5000 }), {})
    const ttlOf = async (task: object) => {
      const created = await peer.ask('tools/call', { ...call, task })
      return (await peer.ask('tasks/get', { taskId: idIn(created) }))['ttl']
    }
    expect(await ttlOf({})).toBe(1000)
    expect(await ttlOf({ ttl: 4000 })).toBe(4000)
    expect(await ttlOf({ ttl: 1_000_000 })).toBe(5000)
    for (const ttl of [0, -1, 1.5, 'long', null]) {
      expect((await peer.send('tools/call', { ...call, task: { ttl } }))['error']).toMatchObject({
        code: -32602,
      })
    }
  })

  it('a deleted task leaves no data of requests and responses', async () => {
    const store = memoryTaskStore()
    const server = make({ store })
    const peer = as(server, {})
    const taskId = idIn(
      await peer.ask('tools/call', { ...call, arguments: {}, _meta: { 'example.com/note': 'private' } }),
    )
    expect((await store.get(taskId))?.body).toContain('private')
    await peer.ask('tasks/cancel', { taskId })
    expect((await store.get(taskId))?.body).not.toContain('private')
  })
})
