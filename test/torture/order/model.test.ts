import { tool } from '@jackfield/sdk'
import fc from 'fast-check'
import { expect, onTestFinished, vi } from 'vitest'
import { campaign } from '../campaign.ts'
import { Shop, type ShopConnection, stock } from './shop.ts'

const base = ['ask', 'echo', 'hold']
const names = ['apples', 'bread', 'coffee'] as const
const seats = ['1A', '2B', undefined] as const

/** What a client and its server should be like. */
interface Model {
  readonly place: ShopConnection
  tools: Set<string>
  /** Calls that go on, by key, and what each waits for. */
  open: Map<string, 'hold' | 'ask'>
  /** How each call ended, by key. */
  ended: Map<string, string>
  /** Handlers that were aborted. */
  stopped: Set<string>
  watching: boolean
  /** Whether a list that the client kept was changed without a notification. */
  mayBeStale: boolean
  /** Changes the subscription should have been notified of. */
  received: number
  next: number
}

interface Command extends fc.AsyncCommand<Model, Shop> {}

/** One kind of thing to do: when it can be done, what it does to both, and how it reads in a failure. */
function command(
  name: string,
  can: (model: Model) => boolean,
  act: (model: Model, shop: Shop) => Promise<void> | void,
): Command {
  return {
    check: can,
    run: async (model, shop) => {
      const acted = act(model, shop)
      if (acted !== undefined) await shop.during(acted)
      await shop.quiet()
      compare(model, shop)
    },
    toString: () => name,
  }
}

function compare(model: Model, shop: Shop): void {
  const ends = [...shop.calls].map(([key, { ends }]) => [key, ends])
  const should = [...shop.calls.keys()].map((key) => {
    const end = model.ended.get(key)
    return [key, end === undefined ? [] : [end]]
  })
  expect(ends, 'how calls ended').toEqual(should)
  const stopped = [...shop.held].flatMap(([key, { signal }]) => (signal.aborted ? [key] : []))
  expect(stopped, 'cancelled handlers').toEqual([...shop.held.keys()].filter((key) => model.stopped.has(key)))
  expect(shop.received.length, 'received changes').toBe(model.received)
  expect(shop.failures, 'failures of the server').toEqual([])
}

/** Whether changes of lists reach the client as they happen. */
const receivesChanges = ({ place, watching }: Model): boolean => watching || place.revision === '2025-11-25'

/** The open call at a place in their order, as chance has it. */
function someOpen(model: Model, nth: number, kind?: 'hold' | 'ask'): string | undefined {
  const keys = [...model.open].flatMap(([key, what]) => (kind === undefined || what === kind ? [key] : []))
  return keys[nth % Math.max(1, keys.length)]
}

function endAll(model: Model): void {
  for (const [key, kind] of model.open) {
    model.ended.set(key, 'CONNECTION_CLOSED')
    if (kind === 'hold') model.stopped.add(key)
  }
  model.open.clear()
  model.watching = false
  model.mayBeStale = false
}

const list = fc.constant(
  command(
    'list',
    () => true,
    async (model, shop) => {
      const tools = await shop.client.tools({ cache: model.mayBeStale ? 'refresh' : 'use' })
      model.mayBeStale = false
      expect(tools.map(({ name }) => name).sort()).toEqual([...model.tools].sort())
    },
  ),
)

const change = fc.constantFrom(...names).map((name) =>
  command(
    `add or remove ${name}`,
    () => true,
    (model, shop) => {
      if (model.tools.delete(name)) shop.server.remove({ tools: [name] })
      else {
        model.tools.add(name)
        shop.server.add({ tools: { [name]: tool({ run: () => name }) } })
      }
      if (model.watching) model.received++
      if (!receivesChanges(model)) model.mayBeStale = true
    },
  ),
)

const update = fc.constant(
  command(
    'update the stock',
    () => true,
    (model, shop) => {
      shop.server.resourceUpdated(stock)
      if (model.watching) model.received++
    },
  ),
)

const call = fc.constant(
  command(
    'call',
    () => true,
    async (model, shop) => {
      const key = `k${model.next++}`
      const { content } = await shop.client.call('echo', { key })
      expect(content).toEqual([{ type: 'text', text: key }])
    },
  ),
)

const begin = fc.constantFrom('hold', 'ask').map((kind) =>
  command(
    `begin to ${kind}`,
    () => true,
    async (model, shop) => {
      const key = `k${model.next++}`
      model.open.set(key, kind)
      shop.begin(kind, key)
      await shop.until(() => (kind === 'hold' ? shop.held : shop.asked).has(key))
    },
  ),
)

const release = fc.nat(9).map((nth) =>
  command(
    `release ${nth}`,
    (model) => someOpen(model, nth, 'hold') !== undefined,
    async (model, shop) => {
      const key = someOpen(model, nth, 'hold') ?? ''
      model.open.delete(key)
      model.ended.set(key, `held ${key}`)
      shop.held.get(key)?.release()
      await shop.until(() => shop.calls.get(key)?.ends.length === 1)
    },
  ),
)

const answer = fc.tuple(fc.nat(9), fc.constantFrom(...seats)).map(([nth, seat]) =>
  command(
    `answer ${nth} with ${seat}`,
    (model) => someOpen(model, nth, 'ask') !== undefined,
    async (model, shop) => {
      const key = someOpen(model, nth, 'ask') ?? ''
      model.open.delete(key)
      model.ended.set(key, seat ?? 'decline')
      shop.asked.get(key)?.answer(seat)
      await shop.until(() => shop.calls.get(key)?.ends.length === 1)
    },
  ),
)

const cancel = fc.nat(9).map((nth) =>
  command(
    `cancel ${nth}`,
    (model) => model.open.size > 0,
    async (model, shop) => {
      const key = someOpen(model, nth) ?? ''
      if (model.open.get(key) === 'hold') model.stopped.add(key)
      model.open.delete(key)
      model.ended.set(key, 'CANCELLED')
      shop.calls.get(key)?.stop.abort()
      await shop.quiet()
      expect(shop.asked.get(key)?.signal.aborted ?? true, 'the question was taken back').toBe(true)
      // An answer, or a result, that comes too late changes nothing.
      shop.asked.get(key)?.answer('1A')
      shop.held.get(key)?.release()
    },
  ),
)

const watch = fc.constant(
  command(
    'watch or stop watching',
    () => true,
    async (model, shop) => {
      model.watching = !model.watching
      if (!model.watching) return shop.watch?.close()
      shop.watch = await shop.client.watch(
        { toolsListChanged: true, resourceSubscriptions: [stock] },
        (change) => shop.received.push(change),
      )
    },
  ),
)

const reconnect = fc.constant(
  command(
    'connect anew',
    () => true,
    async (model, shop) => {
      endAll(model)
      await shop.connect()
    },
  ),
)

/** A session that began on the node before is lost; nothing else is. */
const restart = fc.constant(
  command(
    'restart the node',
    ({ place, open, watching }) => place.overHttp && open.size === 0 && !watching,
    async (_, shop) => {
      await shop.restart()
      await shop.client.ping()
    },
  ),
)

const commands = [
  list,
  list,
  list,
  change,
  change,
  update,
  call,
  begin,
  begin,
  release,
  answer,
  cancel,
  watch,
  reconnect,
  restart,
]

/** Has everything loaded that is loaded when it is first needed, which takes time by another clock. */
async function warm(place: ShopConnection): Promise<void> {
  const shop = new Shop(place)
  await shop.connect()
  shop.begin('ask', 'k')
  await vi.waitUntil(() => shop.asked.has('k'), 10_000)
  shop.asked.get('k')?.answer('1A')
  await vi.waitUntil(() => shop.calls.get('k')?.ends.length === 1, 10_000)
  await shop.close()
}

const places: ShopConnection[] = (['2025-11-25', '2026-07-28'] as const).flatMap((revision) =>
  [false, true].map((overHttp) => ({ revision, overHttp })),
)

campaign(
  {
    id: 'client-and-server-model',
    chapter: 'Order of events',
    claim:
      'Client and server behave as a model of calls, questions, cancellations, changes, subscriptions, reconnects and restarts predicts',
    trial: 'run of up to 30 random commands, or 50 with --long',
    trials: { test: 70, change: 200, long: 100_000 },
    longMinutes: 120,
  },
  async ({ trials, long, seed }) => {
    const unhandled: unknown[] = []
    const receive = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', receive)
    onTestFinished(() => void process.off('unhandledRejection', receive))
    await Promise.all(places.map(warm))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      for (const place of places) {
        await fc.assert(
          fc.asyncProperty(
            fc.commands(commands, { maxCommands: long ? 50 : 30, size: 'max' }),
            async (all) => {
              const shop = new Shop(place)
              await shop.during(shop.connect())
              const model: Model = {
                place,
                tools: new Set(base),
                open: new Map(),
                ended: new Map(),
                stopped: new Set(),
                watching: false,
                mayBeStale: false,
                received: 0,
                next: 0,
              }
              try {
                await fc.asyncModelRun(() => ({ model, real: shop }), all)
                endAll(model)
              } finally {
                await shop.during(shop.close())
                await shop.quiet()
              }
              compare(model, shop)
            },
          ),
          { numRuns: Math.ceil(trials / places.length), seed },
        )
        vi.clearAllTimers()
      }
    } finally {
      vi.useRealTimers()
    }
    expect(unhandled).toEqual([])
  },
)
