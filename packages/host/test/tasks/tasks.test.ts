import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { defineServer, type Server, tool } from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { programFile } from '../../../../test/setup/program-file.ts'
import { createConversation, type LateResult } from '../../src/models/agent/index.ts'
import { HostService } from '../../src/service/service.ts'
import type { HostOptions, HostTask } from '../../src/types/index.ts'
import { scriptedModel, textReply, uses } from '../agent/host.ts'
import { folder, started, textOf, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const taskHost = programFile(new URL('../fixtures/task-host.ts', import.meta.url))
const rules = [{ id: 'all', verdict: 'allow' as const }]

/** A server over HTTP that outlives hosts. `open` ends the work of its tool `work`; `ends` is how each run ended. */
async function taskServer(): Promise<{ url: string; open: () => void; ends: string[] }> {
  const ends: string[] = []
  const gate = Promise.withResolvers<void>()
  const server: Server = defineServer({
    name: 'works',
    version: '1.0.0',
    extensions: [tasks({ pollIntervalMs: 50 })],
    tools: {
      work: tool({
        task: 'required',
        input: z.object({ what: z.string() }),
        async run({ what }, ctx) {
          ctx.progress(1, 2, 'half')
          const aborted = new Promise<void>((resolve) =>
            ctx.signal.addEventListener('abort', () => resolve()),
          )
          await Promise.race([gate.promise, aborted])
          ends.push(ctx.signal.aborted ? 'aborted' : 'finished')
          return `${what} is done`
        },
      }),
      asks: tool({
        task: 'required',
        async run(_args, ctx) {
          const { action } = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
          return action
        },
      }),
      fails: tool({
        task: 'required',
        run: () => {
          throw new Error('out of paper')
        },
      }),
      quick: tool({ run: () => 'at once' }),
    },
    onError: () => {},
  })
  const listener = await serveHttp(server, { keys: ['k'.repeat(32)] }).listen({ port: 0 })
  onTestFinished(() => listener.close())
  return { url: listener.url, open: () => gate.resolve(), ends }
}

const tasksSeen = (host: Watched): HostTask[] =>
  host.events.flatMap((event) => (event.type === 'task' ? [event.task] : []))

describe.each(['2026-07-28', '2025-11-25'] as const)(
  'a call that its server runs as a task (%s)',
  (revision) => {
    const hostAt = (url: string, options: Partial<HostOptions> = {}): Promise<Watched> =>
      started({ servers: { s: { url } }, rules, connect: { revisions: [revision] }, ...options })

    test('is a row with its state and progress until it ends', async () => {
      const { url, open } = await taskServer()
      const host = await hostAt(url)
      const done = host.call('s__work', { what: 'it' }, { caller: 'chat', conversation: 'c' })
      await until(() => host.tasks.list()[0]?.progress !== undefined, 'progress')
      const [task] = host.tasks.list()
      expect(task).toMatchObject({
        server: 's',
        tool: 'work',
        arguments: { what: 'it' },
        caller: 'chat',
        conversation: 'c',
        status: 'working',
        progress: { progress: 1, total: 2, message: 'half' },
        followed: true,
      })
      const result = host.tasks.result(task?.id ?? '')
      open()
      expect(textOf(await done)).toBe('it is done')
      expect((await result).result).toEqual((await done).result)
      expect(host.tasks.list()).toMatchObject([{ status: 'completed', followed: false }])
      expect(host.activity({ kind: 'call' })).toMatchObject([{ outcome: 'ok' }])
    })

    test('is cancelled at its server with the call, and by its id', async () => {
      const { url, ends } = await taskServer()
      const host = await hostAt(url)
      const stop = new AbortController()
      const one = host.call('s__work', { what: 'one' }, { caller: 'chat', signal: stop.signal })
      await until(() => host.tasks.list().length === 1, 'the task')
      stop.abort(new Error('enough'))
      expect((await one).error?.code).toBe('CANCELLED')
      await until(() => ends.length === 1, 'the end at the server')
      const other = host.call('s__work', { what: 'two' }, { caller: 'chat' })
      await until(() => host.tasks.list().length === 2, 'the other task')
      await host.tasks.cancel(host.tasks.list()[1]?.id ?? '')
      expect((await other).error?.code).toBe('CANCELLED')
      await until(() => ends.length === 2, 'the end of the other')
      expect(ends).toEqual(['aborted', 'aborted'])
      expect(host.tasks.list().map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
      await expect(host.tasks.cancel('77')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    })

    test('asks the user, who sees its call', async () => {
      const { url } = await taskServer()
      const surface = person({ elicitation: () => ({ action: 'accept', content: { ok: true } }) })
      const host = await hostAt(url, { surface })
      expect(textOf(await host.call('s__asks', {}, { caller: 'chat' }))).toBe('accept')
      expect(surface.asked).toMatchObject([{ kind: 'elicitation', cause: { server: 's', tool: 'asks' } }])
      expect(tasksSeen(host).map(({ status }) => status)).toContain('input_required')
    })

    test('reports its failure, and does not affect other calls', async () => {
      const { url } = await taskServer()
      const host = await hostAt(url)
      const failed = await host.call('s__fails', {}, { caller: 'chat' })
      expect(failed.result.isError).toBe(true)
      expect(textOf(await host.call('s__quick', {}, { caller: 'chat' }))).toBe('at once')
      expect(host.tasks.list()).toHaveLength(1)
    })
  },
)

describe('a task', () => {
  test('outlives the host: the next one on the store continues it', async () => {
    const { url, open, ends } = await taskServer()
    const store = join(folder(), 'store.db')
    const first = await started({ servers: { s: { url } }, rules, store })
    const call = first.call('s__work', { what: 'it' }, { caller: 'chat', conversation: 'c' })
    await until(() => first.tasks.list().length === 1, 'the task')
    await first.close()
    expect(await call).toMatchObject({ suspended: true, result: { isError: true } })
    expect(ends).toEqual([])

    const second = await started({ servers: { s: { url } }, rules, store })
    await until(() => second.tasks.list()[0]?.followed === true, 'the task to be continued')
    const [task] = second.tasks.list()
    const result = second.tasks.result(task?.id ?? '')
    open()
    expect((await result).result.content).toEqual([{ type: 'text', text: 'it is done' }])
    expect(second.tasks.list()).toMatchObject([{ status: 'completed', conversation: 'c' }])
    const rows = second.activity({ kind: 'call' })
    expect(rows.map(({ outcome }) => outcome)).toEqual(['suspended', 'ok'])
    expect(rows[1]?.cause).toBe(rows[0]?.id)
  })

  test('of a conversation that outlives the host returns its result to the conversation', async () => {
    const { url, open } = await taskServer()
    const options = { version: '1', servers: { s: { url } }, rules, store: join(folder(), 'store.db') }
    const first = new HostService({
      ...options,
      models: [scriptedModel(uses('I start.', ['s__work', { what: 'it' }]))],
    })
    await first.start()
    const id = first.conversations.open({})
    const turn = first.conversations.get(id).say({ text: 'Do it' }, 'test')
    await until(() => first.host.tasks.list().length === 1, 'the task')
    await first.close()
    await turn?.catch(() => {})

    const model = scriptedModel(textReply('Good.'))
    const second = new HostService({ ...options, models: [model] })
    onTestFinished(() => second.close())
    await second.start()
    await until(() => second.host.tasks.list()[0]?.followed === true, 'the task to be continued')
    open()
    const entries = (): string => JSON.stringify(second.host.conversations.entries(id))
    await until(() => entries().includes('it is done'), 'the result in the conversation')
    await second.conversations.get(id).say({ text: 'And?' }, 'test')
    expect(JSON.stringify(model.requests[0]?.messages)).toMatch(
      /s__work whose result was not there yet is over.*it is done/,
    )
  })

  test('of a killed program is listed, and continued by one host only', async () => {
    const { url, open, ends } = await taskServer()
    const store = join(folder(), 'store.db')
    const options = { servers: { s: { url } }, rules, store }
    const first = spawn(process.execPath, [taskHost, url, store], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(first, 'exit')
    await once(first.stdout, 'data')
    first.kill('SIGKILL')
    await ended
    const [second, third] = await Promise.all([started(options), started(options)])
    const followers = () => [second, third].filter((host) => tasksSeen(host).some(({ followed }) => followed))
    await until(() => followers().length === 1, 'the task to be continued')
    expect([second, third].map((host) => host.tasks.list()[0]?.followed)).toEqual([true, true])
    open()
    await until(() => second.tasks.list().every(({ status }) => status === 'completed'), 'the end')
    await until(() => third.tasks.list().every(({ status }) => status === 'completed'), 'the end')
    expect(followers()).toHaveLength(1)
    expect(ends).toEqual(['finished'])
  })

  test('of a replaced server is lost, with the reason', async () => {
    const { url } = await taskServer()
    const store = join(folder(), 'store.db')
    const first = await started({ servers: { s: { url } }, rules, store })
    const call = first.call('s__work', { what: 'it' }, { caller: 'chat' })
    await until(() => first.tasks.list().length === 1, 'the task')
    await first.close()
    await call
    const other = await taskServer()
    const second = await started({ servers: { s: { url: other.url } }, rules, store })
    await until(() => second.tasks.list()[0]?.status === 'lost', 'the loss')
    expect(second.tasks.list()[0]?.message).toMatch(/not the server that began the task/)
  })

  test('that takes long does not block a conversation, which gets its result later', async () => {
    const { url, open } = await taskServer()
    const host = await started({ servers: { s: { url } }, rules })
    const model = scriptedModel(
      uses('I start.', ['s__work', { what: 'it' }]),
      textReply('Meanwhile …'),
      textReply('Good.'),
    )
    const late: LateResult[] = []
    const conversation = createConversation({
      host,
      model,
      taskPatienceMs: 0,
      onLate: (result) => late.push(result),
    })
    const events: string[] = []
    const turn = await conversation.say('Do it', { onToolCall: ({ type }) => events.push(type) })
    expect(turn).toMatchObject({ text: 'Meanwhile …', stopReason: 'endTurn' })
    expect(events).toEqual(['start', 'task'])
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toMatch(/task in the background/)
    open()
    await until(() => late.length === 1, 'the result')
    await conversation.say('And?')
    expect(JSON.stringify(model.requests[2]?.messages)).toMatch(
      /s__work whose result was not there yet is over.*it is done/,
    )
  })
})
