import type { Backplane } from '../request/backplane.ts'
import { type ContractRule, eventually, requireDefined, requireEqual } from './contract.ts'

const hour = 3_600_000

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
      const kept = (await Promise.all(positions.map((one = '') => three[0].read('log', one)))).filter(Boolean)
      const all = kept.toSorted((a, b) => Number(b?.length) - Number(a?.length))[0] ?? []
      requireEqual([kept.length, all.length], [99, 100], 'entries kept')
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
    rule('brings messages to all subscribers of their topic, in order, and to no others', async (a, b, c) => {
      const heard: Record<'first' | 'second' | 'left' | 'other', string[]> = {
        first: [],
        second: [],
        left: [],
        other: [],
      }
      await b.subscribe('topic', (message) => heard.first.push(message))
      await c.subscribe('topic', (message) => heard.second.push(message))
      const leave = await c.subscribe('topic', (message) => heard.left.push(message))
      await c.subscribe('another', (message) => heard.other.push(message))
      leave()
      leave()
      const messages = Array.from({ length: 200 }, (_, at) => `message ${at % 50} ü\u0000`)
      // One that is much longer than the others keeps its place.
      messages[100] = 'long ü'.repeat(10_000)
      for (const message of messages.slice(0, 150)) await a.publish('topic', message)
      await Promise.all(messages.slice(150).map((message) => a.publish('topic', message)))
      await a.publish('another', 'last')
      await eventually(() =>
        requireEqual([heard.other, heard.first.length, heard.second.length], [['last'], 200, 200], 'heard'),
      )
      requireEqual(heard, { first: messages, second: messages, left: [], other: ['last'] }, 'the messages')
    }),
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
    rule('hears a topic again that was left a moment ago', async (plane) => {
      for (let round = 0; round < 10; round++) {
        const heard: string[] = []
        const leave = await plane.subscribe('topic', (message) => heard.push(`old ${message}`))
        leave()
        const again = await plane.subscribe('topic', (message) => heard.push(message))
        await plane.publish('topic', 'hello')
        await eventually(() => requireEqual(heard, ['hello'], 'heard'))
        again()
      }
    }),
  ]
}
