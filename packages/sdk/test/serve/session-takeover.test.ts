import { type Backplane, defineServer, type JsonObject, tool } from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { type Answer, type Mounted, nodeAdapter, session } from './http-support.ts'
import { accept, messages, revision, watchdog } from './shared-sessions-support.ts'

const interrupted = { error: { code: -32603, data: { interrupted: true } } }

/** What handlers did, on any node. */
class Ledger {
  readonly runs: string[] = []
  readonly keys: string[] = []
  readonly #waiting = new Map<string, () => void>()

  /** Resolves when the test lets the handler on a node continue. */
  wait(node: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(node, resolve))
  }

  async continue(node: string): Promise<void> {
    await vi.waitFor(() => expect(this.#waiting.has(node)).toBe(true), watchdog)
    this.#waiting.get(node)?.()
    this.#waiting.delete(node)
  }
}

interface TestNode extends Mounted {
  readonly name: string
}

const yes = z.object({ ok: z.boolean() })

function shop(node: string, ledger: Ledger) {
  const waits = (signal: AbortSignal): Promise<void> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const book = async (ctx: Parameters<Parameters<typeof tool>[0]['run']>[1]): Promise<string> => {
    ledger.runs.push(node)
    const reservation = await ctx.step('hold', (key) => {
      ledger.keys.push(key)
      return { seat: `12A from ${node}` }
    })
    ctx.progress(1)
    const first = await ctx.elicit({ message: 'Book?', schema: yes })
    const second = await ctx.elicit({ message: 'Pay?', schema: yes })
    return `${reservation.seat}: ${first.action}, ${second.action}, on ${node}`
  }
  return defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: {
      book: tool({ run: (_args, ctx) => book(ctx) }),
      once: tool({ takeover: 'never', run: (_args, ctx) => book(ctx) }),
      report: tool({
        annotations: { readOnlyHint: true },
        run: async (_args, ctx) => {
          ledger.runs.push(node)
          ctx.progress(ledger.runs.length)
          if (ledger.runs.length < 2) await waits(ctx.signal)
          return `report of ${node}`
        },
      }),
      pay: tool({
        run: async (_args, ctx) => {
          ledger.runs.push(node)
          ctx.progress(ledger.runs.length)
          await waits(ctx.signal)
          return 'paid'
        },
      }),
      asks: tool({
        takeover: 'always',
        run: async (_args, ctx) => {
          ledger.runs.push(node)
          ctx.progress(1)
          const { action } = await ctx.elicit({ message: 'Book?', schema: yes })
          return `${action} on ${node}`
        },
      }),
      pack: tool({
        takeover: 'always',
        run: async (_args, ctx) => {
          ledger.runs.push(node)
          for (let step = 1; step <= 2; step++) {
            ctx.progress(step)
            await ledger.wait(node)
          }
          return `packed on ${node}`
        },
      }),
      poison: tool({
        takeover: 'always',
        run: async (_args, ctx) => {
          ledger.runs.push(node)
          ctx.log('info', 'begun')
          await waits(ctx.signal)
          return 'never'
        },
      }),
    },
    onError: () => {},
  })
}

/** Nodes over one backplane, and a client whose requests each go to the node that is named. */
async function cluster(count = 3, keysOf: (node: string) => string[] = () => ['k'.repeat(32)]) {
  const memory = memoryBackplane()
  const stored: string[] = []
  /** How often the record of a call cannot be replaced, which messages are lost, and what is not stored. */
  const outage = { writes: 0, answers: false, answered: false, events: false, questions: false, refused: 0 }
  /** What a failover of the store does: it loses events, and the messages about them. */
  const failover = { loses: false, lost: 0, reconnected: new Set<() => void>() }
  const backplane: Backplane = {
    ...memory,
    spansProcesses: true,
    publish: async (topic, message) => {
      if (outage.answers && message.includes('"response"')) return
      if (outage.answered && message.includes('"answered"')) return
      if (!failover.loses || !message.includes('"stored"')) await memory.publish(topic, message)
    },
    subscribe: (topic, listener, missed) => {
      if (missed !== undefined) failover.reconnected.add(missed)
      return memory.subscribe(topic, listener, missed)
    },
    append: async (...event) => {
      await appending.before(event[0], event[1])
      if (outage.events) {
        outage.refused++
        throw new Error('The store is not there')
      }
      if (!failover.loses) return memory.append(...event)
      failover.lost++
      return '1000'
    },
    add: async (key, ...rest) => {
      if (outage.questions && key.startsWith('question:')) throw new Error('The store is not there')
      return memory.add(key, ...rest)
    },
    set: async (key, value, ...rest) => {
      if (outage.questions && key.startsWith('question:')) throw new Error('The store is not there')
      stored.push(`${key} ${value}`)
      return memory.set(key, value, ...rest)
    },
    swap: async (key, expected, value, ttlMs) => {
      if (key.startsWith('requests:') && outage.writes > 0) {
        outage.writes -= 1
        throw new Error('The store is not there')
      }
      stored.push(`${key} ${value}`)
      return memory.swap(key, expected, value, ttlMs)
    },
  }
  const appending: { before: (log: string, entry: string) => Promise<void> } = { before: async () => {} }
  const ledger = new Ledger()
  const start = async (name: string): Promise<TestNode> => {
    const mounted = await nodeAdapter(shop(name, ledger), { backplane, keys: keysOf(name) })
    onTestFinished(() => mounted.close())
    return { ...mounted, name }
  }
  const nodes = await Promise.all(Array.from({ length: count }, (_, at) => start('abcdef'[at] ?? '')))
  const [a, b, c] = nodes
  if (a === undefined || b === undefined || c === undefined) throw new Error('three nodes')
  const begun = await session(a, revision, {}, { elicitation: { form: {} } })
  const headers = { 'mcp-session-id': begun.id, 'mcp-protocol-version': revision }
  const on = (node: Mounted) => ({
    post: (body: JsonObject) => node.send({ body, headers }),
    call: (id: number, name: string) =>
      node.send({
        body: {
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name, arguments: { note: 'private' }, _meta: { progressToken: 'p' } },
        },
        headers,
      }),
    get: (last: string | undefined) =>
      node.send({ method: 'GET', headers: { ...headers, 'last-event-id': last } }),
  })
  return { a, b, c, nodes, on, ledger, stored, outage, failover, appending, backplane, id: begun.id }
}

/** A promise that the test resolves. */
function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
const text = (text: string): JsonObject => ({ result: { content: [{ text }] } })
const idOf = (message: JsonObject | undefined): unknown => message?.['id']
const last = (answer: Answer): string | undefined => answer.events.findLast(({ id }) => id)?.id

it('a call that waits for a response runs on another node, without repeating a finished step or a question', async () => {
  const { a, b, c, on, ledger } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, question] = await messages(call, 2)
  await a.close()
  await call.text()
  expect(call.messages()).toHaveLength(2)
  const resumed = await on(b).get(last(call))
  await vi.waitFor(() => expect(ledger.runs).toEqual(['a', 'b']), watchdog)
  expect((await on(c).post(accept(idOf(question)))).status).toBe(202)
  const [second] = await messages(resumed, 1)
  expect(second).toMatchObject({ method: 'elicitation/create', params: { message: 'Pay?' } })
  expect((await on(b).post(accept(idOf(second), 'decline'))).status).toBe(202)
  await resumed.text()
  expect(resumed.messages().slice(1)).toMatchObject([{ id: 1, ...text('12A from a: accept, decline, on b') }])
  expect(ledger.runs).toEqual(['a', 'b'])
  expect(ledger.keys).toHaveLength(1)
})

it('an answer that arrives while no node runs the call is used when one does', async () => {
  const { a, b, c, on } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, first] = await messages(call, 2)
  await on(b).post(accept(idOf(first)))
  const [, , second] = await messages(call, 3)
  await a.close()
  expect((await on(c).post(accept(idOf(second)))).status).toBe(202)
  const resumed = await on(b).get(last(call))
  await resumed.text()
  expect(resumed.messages()).toMatchObject([{ id: 1, ...text('12A from a: accept, accept, on b') }])
})

it('an answer is accepted once a run on another node would have it, also after an outage of the store', async () => {
  const { a, b, on, outage } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, first] = await messages(call, 2)
  outage.writes = 2
  expect((await on(a).post(accept(idOf(first)))).status).toBe(202)
  expect(outage.writes).toBe(0)
  await a.close()
  const resumed = await on(b).get(last(call))
  const [second] = await messages(resumed, 1)
  expect(second).toMatchObject({ method: 'elicitation/create', params: { message: 'Pay?' } })
})

it('an answer of another session gets its response at once, and has no effect', async () => {
  const { a, on } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, first] = await messages(call, 2)
  const other = await session(a, revision, {}, { elicitation: { form: {} } })
  const headers = { 'mcp-session-id': other.id, 'mcp-protocol-version': revision }
  expect((await a.send({ body: accept(idOf(first), 'cancel'), headers })).status).toBe(202)
  await on(a).post(accept(idOf(first)))
  const [, , second] = await messages(call, 3)
  await on(a).post(accept(idOf(second), 'decline'))
  await call.text()
  expect(call.messages().at(-1)).toMatchObject(text('12A from a: accept, decline, on a'))
})

it('a question that the store lost is answered after the call was taken over', async () => {
  const { a, b, c, on, ledger, backplane, id, outage } = await cluster()
  outage.answers = true
  const call = await on(a).call(1, 'asks')
  const [, first] = await messages(call, 2)
  await backplane.delete(`question:${id}:${idOf(first)}`)
  await a.close()
  const resumed = await on(b).get(last(call))
  await vi.waitFor(() => expect(ledger.runs).toEqual(['a', 'b']), watchdog)
  await on(c).post(accept(idOf(first)))
  await resumed.text()
  expect(resumed.messages().at(-1)).toMatchObject({ id: 1, ...text('accept on b') })
})

it('a question that was sent while events could not be stored is sent again with the same id', async () => {
  const { a, b, c, on, ledger, outage } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, first] = await messages(call, 2)
  outage.events = true
  await on(a).post(accept(idOf(first)))
  const [, , second] = await messages(call, 3)
  outage.events = false
  await a.close()
  const resumed = await on(b).get(last(call))
  const [again] = await messages(resumed, 1)
  expect(again).toEqual(second)
  expect((await on(c).post(accept(idOf(second), 'decline'))).status).toBe(202)
  await resumed.text()
  expect(resumed.messages().slice(1)).toMatchObject([{ id: 1, ...text('12A from a: accept, decline, on b') }])
  expect(ledger.runs).toEqual(['a', 'b'])
})

it('a question that was sent while events could not be stored is not sent again once it has an answer', async () => {
  const { a, b, c, on, outage } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, first] = await messages(call, 2)
  outage.events = true
  await on(a).post(accept(idOf(first)))
  const [, , second] = await messages(call, 3)
  outage.events = false
  await a.close()
  await on(c).post(accept(idOf(second), 'decline'))
  const resumed = await on(b).get(last(call))
  await resumed.text()
  expect(resumed.messages()).toMatchObject([{ id: 1, ...text('12A from a: accept, decline, on b') }])
})

it('a question that its node asked while another one took the call over is sent again with the same id', async () => {
  const { a, b, c, on, ledger, appending, backplane } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, first] = await messages(call, 2)
  const [node = ''] = String(idOf(first)).split('-')
  const asked: string[] = []
  appending.before = async (log, entry) => {
    if (log.endsWith(node)) asked.push(entry)
    else if (asked.length === 0) {
      // The other node has read the events of the stream, and not taken the call yet.
      await on(a).post(accept(idOf(first)))
      await vi.waitFor(() => expect(asked).toHaveLength(1), watchdog)
    }
  }
  await backplane.set(`lease:shop:${node}`, 'closed', 60_000)
  const resumed = await on(b).get(last(call))
  const [second] = await messages(resumed, 1)
  expect(second).toMatchObject({ params: { message: 'Pay?' } })
  expect(asked[0]).toContain(idOf(second))
  await on(c).post(accept(idOf(second), 'decline'))
  await resumed.text()
  expect(resumed.messages().slice(1)).toMatchObject([{ id: 1, ...text('12A from a: accept, decline, on b') }])
  expect(ledger.runs).toEqual(['a', 'b'])
})

it('a question that could not be stored is stored when the store is back, so that its answer needs no message', async () => {
  const { a, b, on, outage, failover, backplane, id } = await cluster()
  outage.answered = true
  outage.questions = true
  const call = await on(a).call(1, 'asks')
  const [, question] = await messages(call, 2)
  const key = `question:${id}:${idOf(question)}`
  expect(await backplane.get(key)).toBeUndefined()
  outage.questions = false
  await vi.waitFor(async () => expect(await backplane.get(key)).toBeDefined(), watchdog)
  expect((await on(b).post(accept(idOf(question)))).status).toBe(202)
  for (const reconnected of failover.reconnected) reconnected()
  await call.text()
  expect(call.messages().at(-1)).toMatchObject({ id: 1, ...text('accept on a') })
  await vi.waitFor(async () => expect(await backplane.get(key)).toBeUndefined(), watchdog)
})

it('a stream goes on after its call was taken over while the earlier node still stores events of it', async () => {
  const { a, c, on, ledger, failover, backplane } = await cluster()
  const call = await on(a).call(1, 'pack')
  await messages(call, 1)
  const [node = ''] = last(call)?.split('-') ?? []
  const published = vi.spyOn(backplane, 'publish')
  const resumed = await on(c).get(last(call))
  await backplane.set(`lease:shop:${node}`, 'closed', 60_000)
  await vi.waitFor(() => {
    for (const reconnected of failover.reconnected) reconnected()
    expect(ledger.runs).toEqual(['a', 'c'])
  }, watchdog)
  await messages(resumed, 1)
  await ledger.continue('a')
  const announced = expect.stringMatching(`"stored".*"${node}"`)
  await vi.waitFor(
    () => expect(published.mock.calls).toContainEqual([expect.anything(), announced]),
    watchdog,
  )
  for (let step = 1; step <= 2; step++) await ledger.continue('c')
  await resumed.text()
  const progress = [1, 2].map((progress) => ({ params: { progress } }))
  expect(resumed.messages()).toMatchObject([...progress, { id: 1, ...text('packed on c') }])
})

it.each([
  ['a question', 'book'],
  ['its response', 'asks'],
])('a stream that another node sends ends where the store lost %s, and is not resumed', async (_, name) => {
  const { a, b, c, on, failover } = await cluster()
  const call = await on(a).call(1, name)
  const [, first] = await messages(call, 2)
  call.drop()
  const resumed = await on(b).get(last(call))
  failover.loses = true
  await on(c).post(accept(idOf(first)))
  await vi.waitFor(() => expect(failover.lost).toBe(1), watchdog)
  failover.loses = false
  for (const reconnected of failover.reconnected) reconnected()
  await resumed.text()
  expect(resumed.messages()).toEqual([])
  expect((await on(b).get(last(call))).status).toBe(400)
})

it('a stream is not resumed where the node that took its call over could not store an event of it', async () => {
  const { a, b, c, on, ledger, outage } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, first] = await messages(call, 2)
  await a.close()
  const resumed = await on(b).get(last(call))
  await vi.waitFor(() => expect(ledger.runs).toEqual(['a', 'b']), watchdog)
  outage.events = true
  await on(b).post(accept(idOf(first)))
  await vi.waitFor(() => expect(outage.refused).toBeGreaterThan(0), watchdog)
  outage.events = false
  await resumed.text()
  // The events of the first node are still stored.
  for (const node of [b, c]) expect((await on(node).get(last(call))).status).toBe(400)
})

it('a stream is resumed from any of its events on any node, with each later event once', async () => {
  const { a, b, c, on } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, first] = await messages(call, 2)
  await a.close()
  const onB = await on(b).get(last(call))
  await on(b).post(accept(idOf(first)))
  const [second] = await messages(onB, 1)
  onB.drop()
  const onC = await on(c).get(last(onB))
  await on(c).post(accept(idOf(second)))
  await onC.text()
  const response = { id: 1, ...text('12A from a: accept, accept, on b') }
  expect(onC.messages()).toMatchObject([response])
  const whole = [
    { method: 'notifications/progress' },
    { method: 'elicitation/create' },
    second ?? {},
    response,
  ]
  for (const node of [b, c]) {
    for (const [from, { id }] of [...call.events, ...onB.events].filter(({ id }) => id !== '').entries()) {
      const again = await on(node).get(id)
      await again.text()
      expect(again.messages()).toMatchObject(whole.slice(from))
    }
  }
})

it('a read-only tool runs again, whatever it did', async () => {
  const { a, b, on, ledger } = await cluster()
  const call = await on(a).call(1, 'report')
  await messages(call, 1)
  await a.close()
  await call.text()
  const resumed = await on(b).get(last(call))
  await resumed.text()
  expect(resumed.messages().at(-1)).toMatchObject({ id: 1, ...text('report of b') })
  expect(ledger.runs).toEqual(['a', 'b'])
})

it.each([
  ['runs', 'pay', 1],
  ['waits, of a tool that must not be taken over,', 'once', 2],
])('a call that %s ends with an error that marks it as interrupted', async (_, name, count) => {
  const { a, b, on, ledger } = await cluster()
  const call = await on(a).call(1, name)
  await messages(call, count)
  const before = last(call)
  await a.close()
  await call.text()
  expect(call.messages().at(-1)).toMatchObject({ id: 1, ...interrupted })
  const resumed = await on(b).get(before)
  await resumed.text()
  expect(resumed.messages()).toMatchObject([{ id: 1, ...interrupted }])
  expect(ledger.runs).toEqual(['a'])
})

it('a call is taken over from two nodes at most that stopped without draining', async () => {
  const { nodes, on, ledger, stored, failover, backplane } = await cluster(4)
  const [first, ...others] = nodes
  if (first === undefined) throw new Error('four nodes')
  const call = await on(first).call(1, 'poison')
  await messages(call, 1)
  const leases = new Set(
    stored.filter((entry) => entry.startsWith('lease:')).map((entry) => entry.split(' ')[0]),
  )
  /** To every node all others seem to have stopped. */
  const stop = async (): Promise<void> => {
    for (const lease of leases) await backplane.set(lease ?? '', 'closed', 60_000)
    for (const reconnected of failover.reconnected) reconnected()
  }
  let from = last(call)
  for (const [at, node] of others.entries()) {
    const resumed = await on(node).get(from)
    await vi.waitFor(async () => {
      await stop()
      expect(resumed.messages()).toHaveLength(1)
    }, watchdog)
    if (at === 2) expect(resumed.messages()).toMatchObject([{ id: 1, ...interrupted }])
    from = last(resumed) ?? from
  }
  expect(ledger.runs).toEqual(['a', 'b', 'c'])
})

it('a call that waits is continued after any number of nodes that drain', async () => {
  const { nodes, on, ledger } = await cluster(5)
  const [first, ...others] = nodes
  if (first === undefined) throw new Error('five nodes')
  const call = await on(first).call(1, 'book')
  const [, question] = await messages(call, 2)
  await first.handler.drain({ settleMs: 0, graceMs: 600_000 })
  for (const [at, node] of others.entries()) {
    const resumed = await on(node).get(last(call))
    await vi.waitFor(() => expect(ledger.runs).toHaveLength(at + 2), watchdog)
    if (node !== others.at(-1)) {
      await node.handler.drain({ settleMs: 0, graceMs: 600_000 })
      continue
    }
    await on(node).post(accept(idOf(question)))
    const [second] = await messages(resumed, 1)
    await on(node).post(accept(idOf(second)))
    await resumed.text()
    expect(resumed.messages().at(-1)).toMatchObject({ id: 1, ...text('12A from a: accept, accept, on e') })
  }
  expect(ledger.runs).toEqual(['a', 'b', 'c', 'd', 'e'])
})

it('a call that was taken over is cancelled from any node', async () => {
  const { a, b, c, on, ledger } = await cluster()
  const call = await on(a).call(1, 'poison')
  await messages(call, 1)
  await a.close()
  const resumed = await on(b).get(last(call))
  await messages(resumed, 1)
  await on(c).post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
  await resumed.text()
  expect(resumed.messages()).toHaveLength(1)
  const again = await on(c).get(last(call))
  await again.text()
  expect(ledger.runs).toEqual(['a', 'b'])
})

it('a node that drains releases waiting calls at once', async () => {
  const { a, b, on } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, question] = await messages(call, 2)
  await a.handler.drain({ settleMs: 0, graceMs: 600_000 })
  const resumed = await on(b).get(last(call))
  await on(b).post(accept(idOf(question)))
  const [second] = await messages(resumed, 1)
  expect(second).toMatchObject({ params: { message: 'Pay?' } })
})

it('a node that drains releases a call whose question is not stored yet once it is stored', async () => {
  const { a, b, on, ledger, appending } = await cluster()
  const storing = deferred()
  const stored = deferred()
  appending.before = async (_log, entry) => {
    if (!entry.includes('notifications/progress')) return
    storing.resolve()
    await stored.promise
  }
  const call = await on(a).call(1, 'book')
  await storing.promise
  const drained = a.handler.drain({ settleMs: 0, graceMs: 600_000 })
  // Runs after the timer of `settleMs`.
  await new Promise((resolve) => setTimeout(resolve))
  stored.resolve()
  await Promise.all([drained, call.text()])
  const [, question] = call.messages()
  expect(question).toMatchObject({ params: { message: 'Book?' } })
  const resumed = await on(b).get(last(call))
  await on(b).post(accept(idOf(question)))
  const [second] = await messages(resumed, 1)
  expect(second).toMatchObject({ params: { message: 'Pay?' } })
  expect(ledger.runs).toEqual(['a', 'b'])
})

it('a node that drains takes no call over', async () => {
  const { a, b, c, on, ledger } = await cluster()
  const call = await on(a).call(1, 'book')
  const [, question] = await messages(call, 2)
  const long = await on(b).call(2, 'pay')
  await messages(long, 1)
  b.handler.drain({ settleMs: 0, graceMs: 600_000 })
  await a.handler.drain({ settleMs: 0, graceMs: 600_000 })
  const onB = await on(b).get(last(call))
  await onB.text()
  expect(onB.messages()).toEqual([])
  expect(ledger.runs).toEqual(['a', 'b'])
  const resumed = await on(c).get(last(call))
  await on(c).post(accept(idOf(question)))
  await messages(resumed, 1)
  expect(ledger.runs).toEqual(['a', 'b', 'c'])
})

it('a call cannot be read in the backplane, and runs on no node with other keys', async () => {
  const { a, b, on, ledger, stored } = await cluster(3, (node) => [node.repeat(32)])
  const call = await on(a).call(1, 'poison')
  await messages(call, 1)
  await a.close()
  const resumed = await on(b).get(last(call))
  await resumed.text()
  expect(resumed.messages()).toMatchObject([{ id: 1, ...interrupted }])
  expect(ledger.runs).toEqual(['a'])
  const records = stored.filter((entry) => entry.startsWith('requests:'))
  expect(records.length).toBeGreaterThan(0)
  expect(records.filter((entry) => entry.includes('private'))).toEqual([])
})

it('a tool with another value of takeover is refused', () => {
  // @ts-expect-error not one of the three
  const tools = { t: tool({ takeover: 'now', run: () => '' }) }
  expect(() => defineServer({ name: 's', version: '1', tools })).toThrow(
    'Tool "t": "takeover" must be one of never, waiting, always',
  )
})
