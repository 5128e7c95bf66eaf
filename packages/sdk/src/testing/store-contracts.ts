import type { NewTask, TaskChange, TaskRow, TaskStore } from '../extensions/tasks/store.ts'
import type { Backplane } from '../request/backplane.ts'
import { canonical, randomText } from '../request/encoding.ts'

const hour = 3_600_000
const capacity = { owner: 100, all: 100 }

/** One rule of a contract. `run` rejects if an implementation breaks it. */
export interface ContractRule {
  /** The rule in one sentence, for the name of a test. */
  readonly name: string
  /** Tests the rule on a new, empty store. */
  run(): Promise<void>
}

/**
 * The rules that every `Backplane` has to follow, to run as tests of your test runner:
 * `for (const { name, run } of backplaneContract(open)) it(name, run)`.
 * @param open opens a number of connections to one new, empty store. Every rule calls it once; close what it opened after the
 *   rule.
 */
export function backplaneContract(open: (connections: number) => Promise<Backplane[]>): ContractRule[] {
  const rule = (
    name: string,
    run: (...planes: [Backplane, Backplane, Backplane]) => Promise<void>,
  ): ContractRule => ({
    name,
    run: async () => {
      const [a, b, c] = await open(3)
      await run(requireDefined(a, 'open'), requireDefined(b, 'open'), requireDefined(c, 'open'))
    },
  })

  return [
    rule('keeps values for their time', async (plane) => {
      await plane.set('short', 'a', 40)
      await plane.set('long', 'ä\u0000\n😀', hour)
      requireEqual(await plane.add('short-added', 'b', 40), true, 'add')
      const short = await plane.append('short-log', 'c', 10, 40)
      await eventually(async () => {
        requireEqual(await plane.get('short'), undefined, 'a value after its time')
        requireEqual(await plane.get('short-added'), undefined, 'an added value after its time')
        requireEqual(await plane.read('short-log', short), undefined, 'a log after its time')
      })
      requireEqual(await plane.get('long'), 'ä\u0000\n😀', 'a value')
      requireEqual(await plane.add('short', 'again', hour), true, 'add after the time of the value before')
      const again = await plane.append('short-log', 'again', 10, hour)
      requireEqual(again !== short, true, 'whether a log that expired uses other positions')
      requireEqual(await plane.read('short-log', again), [{ position: again, entry: 'again' }], 'read')
      requireEqual(await plane.read('short-log', short), undefined, 'read from a position that expired')
    }),
    rule('keeps long keys apart, and long values whole', async (plane) => {
      const long = 'k'.repeat(5000)
      const value = 'v😀'.repeat(100_000)
      await plane.set(`${long}1`, value, hour)
      await plane.set(`${long}2`, 'other', hour)
      requireEqual((await plane.get(`${long}1`)) === value, true, 'whether the value is the same')
      requireEqual(await plane.get(`${long}2`), 'other', 'the other value')
      await plane.delete(`${long}1`)
      requireEqual(await plane.get(`${long}1`), undefined, 'a deleted value')
      requireEqual(await plane.get(`${long}2`), 'other', 'the value that was not deleted')
    }),
    rule('returns its own value to each of many reads at once', async (plane, other) => {
      const keys = Array.from({ length: 250 }, (_, at) => `key ${at}`)
      const values = keys.map((key, at) => (at % 3 === 0 ? undefined : `${key} ä\u0000`))
      await Promise.all(keys.map((key, at) => plane.set(key, values[at] ?? '', values[at] ? hour : 0)))
      const read = await Promise.all([...keys, 'k'.repeat(5000), ...keys].map((key) => other.get(key)))
      requireEqual(read, [...values, undefined, ...values], 'the values')
    }),
    rule('lets exactly one of many win an add, and one a swap, over three connections', async (...three) => {
      for (let race = 0; race < 30; race++) {
        const racers = [...three, ...three, ...three]
        const added = await Promise.all(racers.map((each, at) => each.add(`add-${race}`, String(at), hour)))
        requireEqual(added.filter(Boolean).length, 1, 'adds that won')
        const winner = String(added.indexOf(true))
        requireEqual(await three[0].get(`add-${race}`), winner, 'the value')
        const swapped = await Promise.all(
          racers.map((each, at) => each.swap(`add-${race}`, winner, `new ${at}`, hour)),
        )
        requireEqual(swapped.filter(Boolean).length, 1, 'swaps that won')
        requireEqual(await three[0].get(`add-${race}`), `new ${swapped.indexOf(true)}`, 'the swapped value')
      }
    }),
    rule('gives every entry of a log a position of its own, whoever appends', async (...three) => {
      const positions = await Promise.all(
        Array.from({ length: 300 }, async (_, at) => three[at % 3]?.append('log', `entry ${at}`, 100, hour)),
      )
      requireEqual(new Set(positions).size, 300, 'different positions')
      for (const position of positions) {
        if (!/^[\d-]{1,40}$/.test(position ?? '')) throw new Error(`The position ${position} is not allowed`)
      }
      const newest = await three[2].append('log', 'newest', 100, hour)
      const reads = (await Promise.all(positions.map((one = '') => three[0].read('log', one)))).filter(
        Boolean,
      )
      const all = reads.toSorted((a, b) => Number(b?.length) - Number(a?.length))[0] ?? []
      requireEqual([reads.length, all.length], [99, 100], 'entries kept')
      requireEqual(all.at(-1), { position: newest, entry: 'newest' }, 'the newest entry')
      for (const { position, entry } of all.slice(0, -1)) {
        requireEqual(entry, `entry ${positions.indexOf(position)}`, 'an entry')
      }
      requireEqual(await three[1].read('log', newest), [{ position: newest, entry: 'newest' }], 'read')
      for (const unknown of ['0', '-', '', '1', '1-1', `${newest}0`, 'x', '9'.repeat(40)]) {
        requireEqual(await three[1].read('log', unknown), undefined, `read from ${unknown}`)
      }
    }),
    rule(
      'starts a log anew for its only writer where the newest entry is not the last one of that writer',
      async (plane) => {
        const first = await plane.append('log', 'first', 10, hour)
        const second = await plane.append('log', 'second', 10, hour, first)
        requireEqual((await plane.read('log', first, second))?.length, 2, 'entries')
        requireEqual(await plane.read('log', first, '7'), undefined, 'read up to an unknown position')
        const third = await plane.append('log', 'third', 10, hour, first)
        requireEqual(await plane.read('log', first), undefined, 'read from the first')
        requireEqual(await plane.read('log', second), undefined, 'read from the second')
        requireEqual(await plane.read('log', third), [{ position: third, entry: 'third' }], 'read')
        requireEqual(new Set([first, second, third]).size, 3, 'positions')
      },
    ),
    rule(
      'delivers messages to all subscribers of their topic, in order, and to no others',
      async (a, b, c) => {
        const received: Record<'first' | 'second' | 'left' | 'other', string[]> = {
          first: [],
          second: [],
          left: [],
          other: [],
        }
        await b.subscribe('topic', (message) => received.first.push(message))
        await c.subscribe('topic', (message) => received.second.push(message))
        const unsubscribe = await c.subscribe('topic', (message) => received.left.push(message))
        await c.subscribe('another', (message) => received.other.push(message))
        unsubscribe()
        unsubscribe()
        const messages = Array.from({ length: 200 }, (_, at) => `message ${at % 50} ü\u0000`)
        // A much longer message must arrive in its order too.
        messages[100] = 'long ü'.repeat(10_000)
        for (const message of messages.slice(0, 150)) await a.publish('topic', message)
        await Promise.all(messages.slice(150).map((message) => a.publish('topic', message)))
        await a.publish('another', 'last')
        await eventually(() =>
          requireEqual(
            [received.other, received.first.length, received.second.length],
            [['last'], 200, 200],
            'received',
          ),
        )
        requireEqual(
          received,
          { first: messages, second: messages, left: [], other: ['last'] },
          'the messages',
        )
      },
    ),
    rule(
      'gives out no more tokens than a bucket has, over three connections, if it can count',
      async (...three) => {
        const [plane] = three
        if (plane.spend === undefined) return
        const slow = { refillMs: hour, capacity: 5 }
        const waits = await Promise.all(
          Array.from({ length: 30 }, async (_, at) => three[at % 3]?.spend?.('slow', 1, slow)),
        )
        requireEqual(waits.filter((wait) => wait === 0).length, 5, 'tokens')
        for (const wait of waits) {
          const isOne = wait === 0 || (wait !== undefined && wait > hour - 60_000 && wait <= hour)
          if (!isOne) throw new Error(`A wait of ${wait} ms for a token an hour`)
        }
        requireEqual(await plane.spend('other', 5, slow), 0, 'another bucket')
        requireEqual((await plane.spend('other', 2, slow)) > hour, true, 'whether two tokens take longer')
        const fast = { refillMs: 20, capacity: 1 }
        requireEqual(await plane.spend('fast', 1, fast), 0, 'a token')
        await eventually(async () =>
          requireEqual(await plane.spend?.('fast', 1, fast), 0, 'a refilled token'),
        )
      },
    ),
    rule(
      'delivers messages of a topic that is subscribed to again right after its last subscriber left',
      async (plane) => {
        for (let round = 0; round < 10; round++) {
          const received: string[] = []
          const unsubscribe = await plane.subscribe('topic', (message) => received.push(`old ${message}`))
          unsubscribe()
          const again = await plane.subscribe('topic', (message) => received.push(message))
          await plane.publish('topic', 'hello')
          await eventually(() => requireEqual(received, ['hello'], 'received'))
          again()
        }
      },
    ),
  ]
}

/** A task held by `one` for an hour. */
function heldTask(more: Partial<NewTask> = {}): NewTask {
  return { id: randomText(24), owner: 'ada', ttlMs: hour, holder: 'one', holdMs: hour, body: '{}', ...more }
}

/** A task that any process may claim. */
function free(more: Partial<NewTask> = {}): NewTask {
  return heldTask({ holder: '', holdMs: 0, ...more })
}

/**
 * The rules that every `TaskStore` has to follow, to run as tests of your test runner:
 * `for (const { name, run } of taskStoreContract(open)) it(name, run)`.
 * @param open opens a number of connections to one new, empty store. Every rule calls it once and closes what it got.
 */
export function taskStoreContract(open: (connections: number) => Promise<TaskStore[]>): ContractRule[] {
  const rule = (
    name: string,
    run: (...stores: TaskStore[]) => Promise<void>,
    connections = 1,
  ): ContractRule => ({
    name,
    run: async () => {
      const stores = await open(connections)
      try {
        await run(...stores)
      } finally {
        for (const store of new Set(stores)) await store.close?.()
      }
    },
  })
  const add = async (store: TaskStore, task: NewTask): Promise<TaskRow> =>
    requireDefined(await store.add(task, capacity), 'add')

  return [
    rule('returns what was added, and nothing for other ids', async (store) => {
      const body = JSON.stringify({ text: 'ä\u0000\n😀', long: 'x'.repeat(100_000) })
      const row = await add(store, heldTask({ body }))
      requireEqual(await store.get(row.id), row, 'get')
      requireEqual(
        { ...row, id: '', createdAt: 0 },
        {
          id: '',
          version: 1,
          owner: 'ada',
          createdAt: 0,
          expiresAt: row.createdAt + hour,
          running: true,
          holder: 'one',
          heldUntil: row.createdAt + hour,
          body,
        },
        'the row',
      )
      for (const other of ['', 'x', `${row.id}x`, randomText(24)]) {
        requireEqual(await store.get(other), undefined, `get ${JSON.stringify(other)}`)
      }
    }),
    rule('keeps the id that it was given as the end of the id', async (store) => {
      const task = heldTask()
      const { id } = await add(store, task)
      requireEqual(id.endsWith(task.id) && id.length <= task.id.length + 32, true, id)
    }),
    rule('adds no id twice', async (store) => {
      const task = heldTask({ body: '"first"' })
      const { id } = await add(store, task)
      requireEqual(await store.add({ ...task, body: '"second"' }, capacity), undefined, 'the second one')
      requireEqual((await store.get(id))?.body, '"first"', 'the body')
    }),
    rule('limits the tasks of one owner, and of all', async (store) => {
      const few = { owner: 2, all: 3 }
      const added: boolean[] = []
      for (const owner of ['ada', 'ada', 'ada', 'bob', 'eve']) {
        added.push((await store.add(heldTask({ owner }), few)) !== undefined)
      }
      requireEqual(added, [true, true, false, true, false], 'added')
    }),
    rule(
      'adds no more tasks of one owner than allowed over several connections',
      async (...stores) => {
        const few = { owner: 5, all: 100 }
        const added = await Promise.all(
          Array.from({ length: 30 }, (_, at) => stores[at % stores.length]?.add(heldTask(), few)),
        )
        requireEqual(added.filter((row) => row !== undefined).length, 5, 'tasks added')
      },
      3,
    ),
    rule('replaces a version by the next one only', async (store) => {
      const { id } = await add(store, heldTask())
      const next = { id, running: true, holder: 'one' }
      requireEqual(await store.replace({ ...next, version: 2, body: 'second' }), true, 'the next one')
      requireEqual(await store.replace({ ...next, version: 2, body: 'late' }), false, 'the same one')
      requireEqual(await store.replace({ ...next, version: 4, body: 'early' }), false, 'a later one')
      requireEqual(await store.replace({ ...next, id: 'x', version: 2, body: '' }), false, 'an unknown task')
      requireEqual((await store.get(id))?.body, 'second', 'the body')
    }),
    rule(
      'lets one of many replace a version',
      async (...stores) => {
        const { id } = await add(requireDefined(stores[0], 'store'), heldTask())
        for (let version = 2; version < 12; version++) {
          const replaced = await Promise.all(
            Array.from({ length: 9 }, (_, at) =>
              stores[at % 3]?.replace({
                id,
                version,
                running: true,
                holder: 'one',
                body: `${version} ${at}`,
              }),
            ),
          )
          requireEqual(replaced.filter(Boolean).length, 1, 'replaced')
          requireEqual((await stores[0]?.get(id))?.body, `${version} ${replaced.indexOf(true)}`, 'the body')
        }
      },
      3,
    ),
    rule('keeps or changes the time of the hold with a replacement', async (store) => {
      const { id, heldUntil, createdAt } = await add(store, heldTask({ holdMs: 2 * hour }))
      await store.replace({ id, version: 2, running: true, holder: 'one', body: '' })
      requireEqual((await store.get(id))?.heldUntil, heldUntil, 'heldUntil')
      await store.replace({ id, version: 3, running: true, holder: '', holdMs: 8 * hour, body: '' })
      const row = requireDefined(await store.get(id), 'get')
      requireEqual(row.holder, '', 'holder')
      requireEqual(row.heldUntil >= createdAt + 8 * hour, true, 'heldUntil')
    }),
    rule('lists the tasks of one owner by age, a page at a time', async (store) => {
      const rows: TaskRow[] = []
      for (let count = 0; count < 5; count++) rows.push(await add(store, heldTask()))
      await add(store, heldTask({ owner: 'bob' }))
      const expected = rows
        .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
        .map(({ id }) => id)
      const page = await store.list('ada', undefined, 3)
      const rest = await store.list('ada', page.at(-1), 3)
      requireEqual(
        [...page, ...rest].map(({ id }) => id),
        expected,
        'the ids',
      )
      requireEqual(
        page[0],
        rows.find(({ id }) => id === expected[0]),
        'a row',
      )
      requireEqual(await store.list('ada', rest.at(-1), 3), [], 'the end')
      requireEqual(await store.list('eve', undefined, 3), [], 'another owner')
    }),
    rule('gives a task to another holder when its lease is over, and to one only', async (store) => {
      const { id } = await add(store, heldTask({ holdMs: 1 }))
      await add(store, heldTask())
      const [claimed] = await eventually(async () => {
        const all = await store.claim('two', hour, { limit: 10 })
        requireEqual(all.length, 1, 'claimed')
        return all
      })
      requireEqual(
        [claimed?.id, claimed?.version, claimed?.holder, claimed?.previousHolder, claimed?.running],
        [id, 2, 'two', 'one', true],
        'the task',
      )
      requireEqual(
        claimed && { ...claimed, previousHolder: undefined },
        await store.get(id),
        'the stored task',
      )
      requireEqual(await store.claim('three', hour, { limit: 10 }), [], 'claimed again')
      requireEqual(
        await store.replace({ id, version: 2, running: true, holder: 'one', body: '' }),
        false,
        'a replacement by the first holder',
      )
    }),
    rule('gives a task without a holder when it is due', async (store) => {
      const now = await add(store, free())
      const later = await add(store, free({ holdMs: hour }))
      const soon = await add(store, free({ holdMs: 20 }))
      const claimed = new Map<string, string>()
      await eventually(async () => {
        for (const task of await store.claim('one', hour, { limit: 10 }))
          claimed.set(task.id, task.previousHolder)
        requireEqual(claimed.size, 2, 'claimed')
      })
      requireEqual([claimed.get(now.id), claimed.get(soon.id)], ['', ''], 'the previous holders')
      requireEqual(await store.claim('two', hour, { id: later.id }), [], 'one that is not due')
    }),
    rule('gives a named task, and only that', async (store) => {
      const [one, two] = [await add(store, free()), await add(store, free())]
      requireEqual(
        (await store.claim('one', hour, { id: two.id })).map(({ id }) => id),
        [two.id],
        'claimed',
      )
      requireEqual(await store.claim('two', hour, { id: two.id }), [], 'claimed again')
      requireEqual(await store.claim('two', hour, { id: 'x' }), [], 'an unknown one')
      requireEqual((await store.get(one.id))?.holder, '', 'the other one')
    }),
    rule('gives tasks that are overdue, and those that wait longest first', async (store) => {
      const rows: TaskRow[] = []
      for (let count = 0; count < 3; count++) rows.push(await add(store, free({ holdMs: count * 20 })))
      requireEqual(await store.claim('one', hour, { limit: 10, overdueMs: hour }), [], 'overdue by an hour')
      const claimed: string[] = []
      await eventually(async () => {
        for (const { id } of await store.claim('one', hour, { limit: 1, overdueMs: 5 })) claimed.push(id)
        requireEqual(claimed.length, 3, 'claimed')
      })
      requireEqual(claimed.toSorted(), rows.map(({ id }) => id).toSorted(), 'the tasks')
    }),
    rule('gives no task that does not run', async (store) => {
      const { id } = await add(store, heldTask({ holdMs: 0 }))
      await store.replace({ id, version: 2, running: false, holder: 'one', holdMs: 0, body: '' })
      requireEqual(await store.claim('two', hour, { limit: 10 }), [], 'claimed')
      requireEqual(await store.claim('two', hour, { id }), [], 'claimed by id')
      requireEqual(await store.renew('one', [id], hour), [], 'renewed')
      await store.replace({ id, version: 3, running: true, holder: '', holdMs: 0, body: '' })
      requireEqual((await store.claim('two', hour, { limit: 10 })).length, 1, 'claimed when it runs again')
    }),
    rule(
      'gives every task to one of many that claim',
      async (...stores) => {
        const first = requireDefined(stores[0], 'store')
        const rows = await Promise.all(Array.from({ length: 60 }, () => add(first, free())))
        const takers = Array.from({ length: 9 }, async (_, at) => {
          const ids: string[] = []
          for (;;) {
            const claimed = await stores[at % 3]?.claim(`taker ${at}`, hour, { limit: 3 })
            if (claimed === undefined || claimed.length === 0) return ids
            requireEqual(claimed.length <= 3, true, 'the limit')
            ids.push(...claimed.map(({ id }) => id))
          }
        })
        const ids = (await Promise.all(takers)).flat()
        // A claim skips tasks that another one has locked, so it may find none.
        const left = await first.claim('last', hour, { limit: 100 })
        ids.push(...left.map(({ id }) => id))
        requireEqual(ids.toSorted(), rows.map(({ id }) => id).toSorted(), 'the ids')
      },
      3,
    ),
    rule('renews the leases of the tasks that a holder still has', async (store) => {
      const [own, ended, other] = [
        await add(store, heldTask({ holdMs: 1 })),
        await add(store, heldTask({ holdMs: 1 })),
        await add(store, heldTask({ holdMs: 1, holder: 'two' })),
      ]
      await store.replace({ id: ended.id, version: 2, running: false, holder: 'one', body: '' })
      const ids = [own.id, ended.id, other.id, 'x']
      requireEqual(await store.renew('one', ids, hour), [own.id], 'renewed')
      requireEqual(await store.renew('one', [], hour), [], 'none renewed')
      requireEqual((await store.get(own.id))?.version, 1, 'the version')
      await eventually(async () => {
        const claimed = await store.claim('three', hour, { limit: 10 })
        requireEqual(
          claimed.map(({ id }) => id),
          [other.id],
          'claimed',
        )
      })
      await store.renew('one', [own.id], 0)
      await eventually(async () =>
        requireEqual((await store.claim('three', hour, { limit: 10 })).length, 1, 'claimed after the lease'),
      )
    }),
    rule('does not return a task that has expired', async (store) => {
      const few = { owner: 1, all: 1 }
      const row = requireDefined(await store.add(free({ ttlMs: 300 }), few), 'add')
      requireEqual(await store.add(free(), few), undefined, 'a second one')
      const { id } = row
      await eventually(async () => requireEqual(await store.get(id), undefined, 'get'))
      requireEqual(await store.replace({ ...row, version: 2 }), false, 'replace')
      requireEqual(await store.list('ada', undefined, 10), [], 'list')
      requireEqual(await store.renew('', [id], hour), [], 'renew')
      requireEqual(await store.claim('two', hour, { limit: 10 }), [], 'claim')
      requireEqual(await store.claim('two', hour, { id }), [], 'claim by id')
      await store.expire()
      requireDefined(await store.add(free(), few), 'add when it has expired')
      requireEqual(await store.add(free(), few), undefined, 'one more')
    }),
    rule('makes room for new tasks when others have expired', async (store) => {
      const few = { owner: 2, all: 2 }
      for (let count = 0; count < 2; count++) requireDefined(await store.add(free({ ttlMs: 1 }), few), 'add')
      await eventually(async () => requireDefined(await store.add(free(), few), 'add'))
    }),
    rule(
      'notifies every connection of changes, if it can',
      async (one, two) => {
        if (one?.changed === undefined || two?.changed === undefined) return
        const received: [TaskChange[], TaskChange[]] = [[], []]
        const end = one.changed((change) => change && received[0].push(change))
        two.changed((change) => change && received[1].push(change))
        // A store may begin to listen in the background.
        await eventually(async () => {
          await add(one, free({ owner: 'eve' }))
          requireEqual(received[0].length > 0 && received[1].length > 0, true, 'notified')
        })
        const { id } = await add(one, free())
        await two.claim('worker', hour, { id })
        await one.replace({ id, version: 3, running: false, holder: 'worker', body: '' })
        const expected = [
          { id, version: 1, running: true, holder: '', delayMs: 0 },
          { id, version: 2, running: true, holder: 'worker' },
          { id, version: 3, running: false, holder: 'worker' },
        ]
        for (const all of received) {
          await eventually(() => {
            const changes = all.filter((change) => change.id === id).toSorted((a, b) => a.version - b.version)
            requireEqual(
              changes.map(({ delayMs, ...change }) =>
                change.holder === '' ? { ...change, delayMs } : change,
              ),
              expected,
              'the changes',
            )
          })
        }
        end()
        const { id: last } = await add(one, free())
        await eventually(() => requireEqual(received[1].at(-1)?.id, last, 'the last change'))
        requireEqual(received[0].at(-1)?.id, id, 'the last change before the end')
      },
      2,
    ),
  ]
}

/** @throws Error naming both values, unless they are equal as JSON */
function requireEqual(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [canonical(plain(actual)), canonical(plain(expected))]
  if (a !== b) throw new Error(`${what}: expected ${b}, found ${a}`)
}

/** @throws Error unless the value is defined */
function requireDefined<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what}: expected a value, found none`)
  return value
}

/** Repeats a check until it succeeds; its last error after 30 s. */
async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  const end = performance.now() + 30_000
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

/** The value as JSON represents it, with null for undefined. */
function plain(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value))
}
