import { type AnyTool, defineServer, type JsonObject, type Server, tool } from '@jackfield/sdk'
import {
  memoryTaskStore,
  retryLater,
  serveTasks,
  type TaskStore,
  type Tasks,
  type TasksOptions,
  tasks,
} from '@jackfield/sdk/extensions/tasks'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { gate, idIn, keysIn, modern, type Raw, reached, session, textIn } from './support.ts'

const hour = 3_600_000
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

/** A store that several servers of this process share, as processes share a durable one. */
function sharedStore(more: Partial<TaskStore> = {}): TaskStore {
  return { ...memoryTaskStore(), durable: true, ...more }
}

interface Made {
  readonly server: Server
  readonly extension: Tasks
  readonly peer: Raw
  readonly errors: unknown[]
}

/** One process with the tasks of a store. Nothing happens by its timers, unless it is given shorter ones. */
function make(tools: Record<string, AnyTool>, options: TasksOptions): Made {
  const errors: unknown[] = []
  const extension = tasks({ pollIntervalMs: hour, leaseMs: hour, ...options })
  const server = defineServer({
    name: 'worker',
    version: '1',
    tools,
    extensions: [extension],
    onError: (error) => errors.push(error),
  })
  const peer = modern(server)
  cleanups.push(
    () => extension.close(),
    () => peer.close(),
  )
  return { server, extension, peer, errors }
}

const echo = tool({ task: 'required', run: () => 'done' })
const result = (task: JsonObject): string => textIn(task['result'])

describe('a server without its own workers', () => {
  it('has its tasks run by a worker at once, with their results at once', async () => {
    const store = sharedStore()
    const release = gate()
    let runs = 0
    const build = tool({
      task: 'required',
      async run() {
        runs++
        await release.opened
        return 'built'
      },
    })
    const front = make({ build }, { store, work: false })
    const waiting = await session(front.server)
    cleanups.push(() => waiting.close())
    const taskId = idIn(await waiting.ask('tools/call', { name: 'build', task: {} }))
    expect(await waiting.ask('tasks/get', { taskId })).toMatchObject({ status: 'working' })
    expect(runs).toBe(0)
    // A worker that starts later polls at once, and another one is notified of new tasks.
    make({ build }, { store })
    await expect.poll(() => runs).toBe(1)
    const other = idIn(await front.peer.ask('tools/call', { name: 'build' }))
    await expect.poll(() => runs).toBe(2)
    const last = waiting.ask('tasks/result', { taskId })
    release.open()
    expect(textIn(await last)).toBe('built')
    expect(result(await reached(front.peer, other, 'completed'))).toBe('built')
    expect(runs).toBe(2)
  })

  it('forwards answers to them', async () => {
    const store = sharedStore()
    const ask = tool({
      task: 'required',
      run: async (_args, ctx) =>
        (await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })).action,
    })
    const front = make({ ask }, { store, work: false })
    make({ ask }, { store })
    const taskId = idIn(await front.peer.ask('tools/call', { name: 'ask' }))
    const [key = ''] = keysIn(await reached(front.peer, taskId, 'input_required'))
    await front.peer.ask('tasks/update', { taskId, inputResponses: { [key]: { action: 'decline' } } })
    expect(result(await reached(front.peer, taskId, 'completed'))).toBe('decline')
  })

  it('is found by a polling worker, if the store does not notify', async () => {
    const { changed: _, ...silent } = sharedStore()
    const front = make({ echo }, { store: silent, work: false })
    make({ echo }, { store: silent, pollIntervalMs: 5 })
    const taskId = idIn(await front.peer.ask('tools/call', { name: 'echo' }))
    expect(result(await reached(front.peer, taskId, 'completed'))).toBe('done')
  })

  it('needs a shared store', () => {
    expect(() => tasks({ work: false })).toThrow(/need a store that other processes share/)
    expect(() => tasks({ runner: { start: () => {} } })).toThrow(/need a store that other processes share/)
  })

  it('stops the handler of a task that it cancels, at once', async () => {
    const store = sharedStore()
    const stopped = gate()
    const forever = tool({
      task: 'required',
      run: (_args, ctx) =>
        new Promise<string>((_, reject) =>
          ctx.signal.addEventListener('abort', () => {
            stopped.open()
            reject(ctx.signal.reason)
          }),
        ),
    })
    const front = make({ forever }, { store, work: false })
    make({ forever }, { store })
    const taskId = idIn(await front.peer.ask('tools/call', { name: 'forever' }))
    await expect.poll(async () => (await store.get(taskId))?.holder).not.toBe('')
    await front.peer.ask('tasks/cancel', { taskId })
    await stopped.opened
    expect(await front.peer.ask('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' })
  })
})

describe('the signal of a handler', () => {
  it("is not aborted by its own task's end", async () => {
    const store = sharedStore()
    const signals: AbortSignal[] = []
    const keep = tool({
      task: 'required',
      async run(_args, ctx) {
        signals.push(ctx.signal)
        await ctx.step('one', () => 1)
        await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
        return 'done'
      },
    })
    const front = make({ keep }, { store, work: false })
    make({ keep }, { store })
    const taskId = idIn(await front.peer.ask('tools/call', { name: 'keep' }))
    const [key = ''] = keysIn(await reached(front.peer, taskId, 'input_required'))
    await front.peer.ask('tasks/update', { taskId, inputResponses: { [key]: { action: 'decline' } } })
    expect(result(await reached(front.peer, taskId, 'completed'))).toBe('done')
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
  })
})

describe('a worker process', () => {
  it('runs tasks until it is closed, and finishes those that run', async () => {
    const store = sharedStore()
    const [begun, release] = [gate(), gate()]
    const build = tool({
      task: 'required',
      async run() {
        begun.open()
        await release.opened
        return 'built'
      },
    })
    const front = make({ build }, { store: { ...store, close: () => {} }, work: false })
    const { server } = make({ build }, { store: { ...store, close: () => {} } })
    const worker = serveTasks(server)
    const taskId = idIn(await front.peer.ask('tools/call', { name: 'build' }))
    await begun.opened
    const closing = worker.close()
    const other = idIn(await front.peer.ask('tools/call', { name: 'build' }))
    release.open()
    await closing
    expect(result(await reached(front.peer, taskId, 'completed'))).toBe('built')
    expect((await store.get(other))?.holder).toBe('')
  })

  it('releases what is not finished in time', async () => {
    const store = sharedStore()
    const begun = gate()
    const forever = tool({
      task: 'required',
      run: (_args, ctx) => {
        begun.open()
        return new Promise<string>((_, reject) => ctx.signal.addEventListener('abort', reject))
      },
    })
    const { server, peer } = make({ forever }, { store })
    const worker = serveTasks(server)
    const taskId = idIn(await peer.ask('tools/call', { name: 'forever' }))
    await begun.opened
    await worker.close({ graceMs: 1 })
    expect(await store.get(taskId)).toMatchObject({ running: true, holder: '' })
  })

  it('is rejected for a server without tasks', () => {
    const plain = defineServer({ name: 'plain', version: '1' })
    const inMemory = defineServer({ name: 'memory', version: '1', extensions: [tasks()] })
    const { server: front } = make({ echo }, { store: sharedStore(), work: false })
    for (const server of [plain, inMemory, front]) {
      expect(() => serveTasks(server)).toThrow(/serveTasks\(\) needs a server with tasks/)
    }
  })
})

describe('a process at its limit of tasks', () => {
  it('queues others until one ends', async () => {
    const gates = [gate(), gate(), gate()]
    const begun: number[] = []
    const nth = tool({
      task: 'required',
      input: z.object({ n: z.number() }),
      async run({ n }) {
        begun.push(n)
        await gates[n]?.opened
        return `${n}`
      },
    })
    const { peer } = make({ nth }, { maxRunning: 1 })
    const ids: string[] = []
    for (const n of [0, 1, 2]) {
      ids.push(idIn(await peer.ask('tools/call', { name: 'nth', arguments: { n } })))
    }
    for (const n of [0, 1, 2]) {
      await expect.poll(() => begun).toEqual([0, 1, 2].slice(0, n + 1))
      gates[n]?.open()
      expect(result(await reached(peer, ids[n] ?? '', 'completed'))).toBe(`${n}`)
    }
  })

  it('leaves them to another process with capacity', async () => {
    const store = sharedStore()
    const release = gate()
    const places: string[] = []
    const at = (place: string) =>
      tool({
        task: 'required',
        async run() {
          places.push(place)
          await release.opened
          return place
        },
      })
    const here = make({ build: at('here') }, { store, maxRunning: 1 })
    make({ build: at('there') }, { store, maxRunning: 1 })
    await here.peer.ask('tools/call', { name: 'build' })
    await here.peer.ask('tools/call', { name: 'build' })
    await expect.poll(() => places.toSorted()).toEqual(['here', 'there'])
    release.open()
  })
})

describe('a handler that requests a later run', () => {
  const trying = (attempts: () => number, steps: string[], delayMs = 1) =>
    tool({
      task: 'optional',
      async run(_args, ctx) {
        await ctx.step('prepare', () => steps.push('prepare'))
        if (attempts() > 0) throw retryLater(delayMs, 'The oven is cold')
        return 'baked'
      },
    })

  it('runs again, without its finished steps', async () => {
    const steps: string[] = []
    let attempts = 3
    const bake = trying(() => attempts--, steps)
    const { peer } = make({ bake }, {})
    const taskId = idIn(await peer.ask('tools/call', { name: 'bake' }))
    expect(result(await reached(peer, taskId, 'completed'))).toBe('baked')
    expect(steps).toEqual(['prepare'])
    expect(attempts).toBe(-1)
  })

  it('fails after the limit of repeats', async () => {
    let attempts = 0
    const bake = trying(() => ++attempts, [])
    const { peer } = make({ bake }, { retry: { most: 2 } })
    const taskId = idIn(await peer.ask('tools/call', { name: 'bake' }))
    const { error } = await reached(peer, taskId, 'failed')
    expect(error).toMatchObject({
      code: -32603,
      message: 'The task was repeated 2 times without success. The oven is cold. Try again in 1 ms',
    })
    expect(attempts).toBe(3)
  })

  it('runs in another process if its own ends', async () => {
    const store = sharedStore()
    let attempts = 1
    const bake = trying(() => attempts--, [], hour)
    const keep = { ...store, close: () => {} }
    const first = make({ bake }, { store: keep })
    const taskId = idIn(await first.peer.ask('tools/call', { name: 'bake' }))
    await expect.poll(async () => (await store.get(taskId))?.holder).toBe('')
    await first.extension.close()
    const second = make({ bake }, { store: keep })
    const row = await store.get(taskId)
    if (row === undefined) throw new Error('no task')
    // Its time has come.
    await store.replace({ ...row, version: row.version + 1, holdMs: 0 })
    expect(result(await reached(second.peer, taskId, 'completed'))).toBe('baked')
  })

  it('is an error for a client that made a call, with the time to wait', async () => {
    const bake = trying(() => 1, [])
    const { server } = make({ bake }, {})
    const peer = modern(server, { capabilities: {} })
    cleanups.push(() => peer.close())
    expect((await peer.send('tools/call', { name: 'bake' }))['error']).toMatchObject({
      code: -32603,
      message: 'The oven is cold. Try again in 1 ms',
      data: { retryAfterMs: 1 },
    })
  })

  it('returns a delay that can be awaited', () => {
    for (const delay of [-1, Number.NaN, 86_400_001, Number.POSITIVE_INFINITY]) {
      expect(() => retryLater(delay)).toThrow(/must be a number of milliseconds from 0 to 86400000/)
    }
  })
})

describe('a task whose process died', () => {
  it('does not store a step of its earlier run once the same process claimed it again', async () => {
    const store = sharedStore()
    const begun = gate()
    const laid = gate()
    const replied = gate()
    let isHeld = false
    const claim: TaskStore['claim'] = async (...given) => {
      const rows = await store.claim(...given)
      if (isHeld) await replied.opened
      return rows
    }
    const ledger: string[] = []
    const build = tool({
      task: 'required',
      async run(_args, ctx) {
        const step = ctx.step('lay', async () => {
          ledger.push('lay')
          begun.open()
          await laid.opened
        })
        await step.catch((error: unknown) => {
          ledger.push('refused')
          throw error
        })
        ledger.push('finished')
        return 'built'
      },
    })
    const { peer, extension } = make({ build }, { store: { ...store, claim } })
    const taskId = idIn(await peer.ask('tools/call', { name: 'build' }))
    await begun.opened
    // Another process took the task, and gave it up.
    const row = await store.get(taskId)
    if (row === undefined) throw new Error('no task')
    await store.replace({ ...row, version: row.version + 1, holder: '', holdMs: 0 })
    isHeld = true
    const again = extension.run(taskId)
    await expect.poll(async () => (await store.get(taskId))?.version).toBe(row.version + 2)
    laid.open()
    await expect.poll(() => ledger).toHaveLength(2)
    replied.open()
    await again
    expect(result(await reached(peer, taskId, 'completed'))).toBe('built')
    expect(ledger).toEqual(['lay', 'refused', 'lay', 'finished'])
  })

  it('is taken over after a delay', async () => {
    const store = sharedStore()
    const front = make({ echo }, { store, work: false })
    const taskId = idIn(await front.peer.ask('tools/call', { name: 'echo' }))
    await store.claim('dead', 0, { id: taskId })
    const released: number[] = []
    store.changed?.((change) => {
      if (change?.running === true && change.holder === '') released.push(change.delayMs)
    })
    const events: string[] = []
    const onEvent = ({ type }: { type: string }): void => void events.push(type)
    make({ echo }, { store, retry: { firstMs: 30 }, onEvent })
    expect(result(await reached(front.peer, taskId, 'completed'))).toBe('done')
    expect(released.map((delayMs) => delayMs > 0)).toEqual([true])
    expect(events).toEqual(['taken over', 'changed'])
  })
})

describe('a task with a runner', () => {
  /** A queue that keeps what it was given, for the test to run. */
  function queue() {
    const jobs: [id: string, delayMs: number][] = []
    return { jobs, start: (id: string, delayMs: number) => void jobs.push([id, delayMs]) }
  }

  it('runs when the runner says, one round at a time', async () => {
    const store = sharedStore()
    const runner = queue()
    let runs = 0
    const steps: string[] = []
    const build = tool({
      task: 'required',
      async run(_args, ctx) {
        runs++
        await ctx.step('dig', () => steps.push('dig'))
        const { action } = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
        if (runs === 2) throw retryLater(500)
        return action
      },
    })
    const { peer, extension } = make({ build }, { store, runner })
    const taskId = idIn(await peer.ask('tools/call', { name: 'build' }))
    await expect.poll(() => runner.jobs).toEqual([[taskId, 0]])
    expect(runs).toBe(0)
    expect(await extension.run(taskId)).toEqual({ type: 'waiting' })
    expect(await extension.run(taskId)).toEqual({ type: 'waiting' })
    const [key = ''] = keysIn(await reached(peer, taskId, 'input_required'))
    await peer.ask('tasks/update', { taskId, inputResponses: { [key]: { action: 'decline' } } })
    await expect
      .poll(() => runner.jobs)
      .toEqual([
        [taskId, 0],
        [taskId, 0],
      ])
    const round = await extension.run(taskId)
    expect(round).toMatchObject({ type: 'later' })
    expect(round.type === 'later' && round.afterMs <= 500).toBe(true)
    await expect.poll(() => extension.run(taskId)).toEqual({ type: 'over' })
    expect(result(await reached(peer, taskId, 'completed'))).toBe('decline')
    expect([runs, steps]).toEqual([3, ['dig']])
    expect(await extension.run(taskId)).toEqual({ type: 'over' })
    expect(await extension.run('unknown')).toEqual({ type: 'over' })
    expect(runner.jobs).toHaveLength(2)
  })

  it('runs in one process, however often the runner starts it', async () => {
    const store = sharedStore()
    const runner = queue()
    const [begun, release] = [gate(), gate()]
    let runs = 0
    const build = tool({
      task: 'required',
      async run() {
        runs++
        begun.open()
        await release.opened
        return 'built'
      },
    })
    const [one, two] = [make({ build }, { store, runner }), make({ build }, { store, runner })]
    const taskId = idIn(await one.peer.ask('tools/call', { name: 'build' }))
    const running = one.extension.run(taskId)
    await begun.opened
    for (const { extension } of [one, two]) {
      expect(await extension.run(taskId)).toEqual({ type: 'later', afterMs: hour / 3 })
    }
    release.open()
    expect(await running).toEqual({ type: 'over' })
    expect(runs).toBe(1)
  })

  it('is started again if the runner lost it, or could not accept it', async () => {
    const store = sharedStore()
    const jobs: string[] = []
    let isAway = true
    const runner = {
      start: (id: string) => {
        if (isAway) throw new Error('no queue')
        jobs.push(id)
      },
    }
    const { peer, extension, errors } = make({ echo }, { store, runner, leaseMs: 15 })
    const taskId = idIn(await peer.ask('tools/call', { name: 'echo' }))
    await expect.poll(() => errors.length).toBeGreaterThan(1)
    isAway = false
    await expect.poll(() => jobs).toContain(taskId)
    await expect.poll(() => extension.run(taskId)).toEqual({ type: 'over' })
    expect(result(await reached(peer, taskId, 'completed'))).toBe('done')
  })

  it('waits before it runs again when its process died, and fails after too many times', async () => {
    const store = sharedStore()
    const runner = queue()
    const retry = { firstMs: 10, longestMs: 25 }
    const { peer, extension } = make({ echo }, { store, runner, retry, maxTakeovers: 3 })
    const taskId = idIn(await peer.ask('tools/call', { name: 'echo' }))
    const die = () => expect.poll(() => store.claim('dead', 0, { id: taskId })).toHaveLength(1)
    for (const afterMs of [10, 20, 25]) {
      await die()
      expect(await extension.run(taskId)).toEqual({ type: 'later', afterMs })
    }
    await die()
    expect(await extension.run(taskId)).toEqual({ type: 'over' })
    expect(await reached(peer, taskId, 'failed')).toMatchObject({
      error: { message: expect.stringMatching(/stopped 4 times/) },
    })
  })
})
