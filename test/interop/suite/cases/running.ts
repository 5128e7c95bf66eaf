import { expect, vi } from 'vitest'
import type { Bench } from '../bench.ts'
import type { Offer } from '../offer.ts'
import type { ReceivedProgress } from '../test-client.ts'
import { type Case, calling, does, failureOf, given, textOf } from './case.ts'

let keys = 0
const soon = { timeout: 5000, interval: 20 }

/** What happens while a tool runs: progress, log messages, stopping, overtaking. */
export function runningCases(offer: Offer): Case[] {
  return [
    ...given(offer.progress, progressCases),
    ...given(offer.log, logCases),
    ...given(offer.wait, waitCases),
    ...given(offer.slow, ({ tool }) => [
      does('gets a quick response during a slow call', async (bench) => {
        const client = await bench.able()
        const order: string[] = []
        await Promise.all(
          [100, 0].map(async (ms) => {
            order.push(textOf(await client.call(tool, { ms, text: `after ${ms}` })))
          }),
        )
        expect(order).toEqual(['after 0', 'after 100'])
      }),
    ]),
  ]
}

function progressCases({ tool, args, message }: NonNullable<Offer['progress']>): Case[] {
  const reports = (steps: number, tag: string, { revision }: Bench): ReceivedProgress[] =>
    Array.from({ length: steps }, (_, at) => ({
      progress: at + 1,
      total: steps,
      ...(message && revision >= '2025-03-26' && { message: message(tag, at + 1) }),
    }))
  const listen = async (bench: Bench, steps: number, tag: string): Promise<void> => {
    const received: ReceivedProgress[] = []
    const client = await bench.able()
    await client.call(tool, args(steps, tag), { onProgress: (report) => received.push(report) })
    const all = reports(steps, tag, bench)
    expect(received).toMatchObject(bench.kind.dropsLateProgress ? all.slice(0, received.length) : all)
  }
  return [
    does('gets progress, in order', (bench) => listen(bench, 3, 'one')),
    does('separates the progress of concurrent calls', async (bench) => {
      await Promise.all([2, 4, 3].map((steps) => listen(bench, steps, `of ${steps}`)))
    }),
    does('gets no progress that it did not request', async (bench) => {
      expect(await (await bench.able()).call(tool, args(2, 'quiet'))).toMatchObject({ content: [{}] })
    }),
  ]
}

function logCases({ call, entries, filters }: NonNullable<Offer['log']>): Case[] {
  const levels = ['debug', 'info', 'warning', 'error'] as const
  return [
    ...levels.slice(0, filters ? levels.length : 1).map((level, at) =>
      does(`receives log messages from ${level} upwards`, async (bench) => {
        const client = await bench.mute()
        await client.logLevel(level)
        await calling(client, call)
        const wanted = entries.filter((entry) => levels.slice(at).some((name) => name === entry.level))
        await vi.waitFor(() => expect(client.notifications.logs).toHaveLength(wanted.length), {
          timeout: 5000,
        })
        expect(client.notifications.logs).toMatchObject(wanted)
      }),
    ),
    does('gets no log messages of another connection', async (bench) => {
      const [loud, still] = await Promise.all([bench.mute(), bench.able()])
      await loud.logLevel('debug')
      await still.logLevel('debug')
      await calling(loud, call)
      await vi.waitFor(() => expect(loud.notifications.logs).toHaveLength(entries.length), { timeout: 5000 })
      await still.tools()
      expect(still.notifications.logs).toEqual([])
    }),
  ]
}

function waitCases({ tool, stateTool, stops }: NonNullable<Offer['wait']>): Case[] {
  const known = stops ? ['and the tool is stopped'] : []
  const stopping = (how: string, options: () => { end: () => void; with: object }, kind: string): Case =>
    does([how, ...known].join(', '), async (bench) => {
      const client = await bench.able()
      const key = `key ${keys++}`
      const state = async (): Promise<string> => textOf(await client.call(stateTool, { key }))
      const { end, with: bounds } = options()
      const failed = failureOf(bench, client.call(tool, { key }, bounds))
      await vi.waitFor(async () => expect(await state()).not.toBe('unknown'), soon)
      end()
      expect(await failed).toMatchObject({ kind })
      if (stops)
        await vi.waitFor(async () => expect(await state()).toBe('stopped'), { timeout: 5000, interval: 20 })
      expect(await client.tools()).not.toEqual([])
    })
  return [
    stopping(
      'gives a call up',
      () => {
        const controller = new AbortController()
        return { end: () => controller.abort(), with: { signal: controller.signal } }
      },
      'cancelled',
    ),
    stopping('runs out of time', () => ({ end: () => {}, with: { timeoutMs: 200 } }), 'timeout'),
    does('cancels one of two calls, and the other continues', async (bench) => {
      const client = await bench.able()
      const keep = `key ${keys++}`
      const drop = `key ${keys++}`
      const [finished, dropped] = [new AbortController(), new AbortController()]
      const one = failureOf(bench, client.call(tool, { key: keep }, { signal: finished.signal }))
      const other = failureOf(bench, client.call(tool, { key: drop }, { signal: dropped.signal }))
      for (const key of [keep, drop]) {
        await vi.waitFor(
          async () => expect(textOf(await client.call(stateTool, { key }))).toBe('started'),
          soon,
        )
      }
      dropped.abort()
      expect((await other).kind).toBe('cancelled')
      expect(textOf(await client.call(stateTool, { key: keep }))).toBe('started')
      finished.abort()
      expect((await one).kind).toBe('cancelled')
    }),
  ]
}
