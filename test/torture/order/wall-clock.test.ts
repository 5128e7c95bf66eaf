import { defineServer, tool } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { afterEach, expect, test, vi } from 'vitest'
import { session, webAdapter } from '../../../packages/sdk/test/serve/http-support.ts'
import { echo, testServer } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const minuteMs = 60_000
const dayMs = 86_400_000
/** Minutes that an unused session is kept, and how much later it may be requested. */
const [keptFor, lateBy] = [30, 1]

afterEach(() => {
  vi.useRealTimers()
})

/** Sets the wall clock to another time; how long something took stays as it is. */
function setClock(random: Random): void {
  vi.setSystemTime(Date.now() + random.between(-dayMs, dayMs))
}

campaign(
  {
    id: 'idle-clocks',
    chapter: 'Order of events',
    claim:
      'An unused session ends after half an hour, by default, and not before, whatever the wall clock does',
    trial: 'session left alone for up to an hour, with changes of the clock at random times',
    trials: { change: 60, long: 10_000 },
  },
  async ({ trials, seed, measured }) => {
    const random = new Random(seed)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
    const mounted = await webAdapter(testServer({ echo }))
    let stored = 0
    for (let trial = 0; trial < trials; trial++) {
      const one = await session(mounted)
      let idleMs = 0
      const disconnect = random.pick([
        () => random.between(1, keptFor * minuteMs - 1),
        () => random.between((keptFor + lateBy) * minuteMs, 2 * keptFor * minuteMs),
      ] as const)()
      while (idleMs < disconnect) {
        const part = Math.min(disconnect - idleMs, random.between(1, 10 * minuteMs))
        await vi.advanceTimersByTimeAsync(part)
        idleMs += part
        if (random.fraction() < 0.5) setClock(random)
      }
      const { status } = await one.call(1, 'echo')
      const isDue = disconnect < keptFor * minuteMs
      expect(status, `trial ${trial}: left alone for ${disconnect} ms`).toBe(isDue ? 200 : 404)
      if (isDue) stored++
    }
    measured('of them kept', stored, 'sessions')
    await mounted.close()
  },
)

test('log messages of a call continue when the wall clock is set back', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  const received: unknown[] = []
  const burst = 100
  const server = defineServer({
    name: 'chatty',
    version: '1.0.0',
    tools: {
      chat: tool({
        run: async (_, ctx) => {
          for (let sent = 0; sent < burst; sent++) ctx.log('info', sent)
          vi.setSystemTime(Date.now() - dayMs)
          await new Promise((resolve) => setTimeout(resolve, 2_000))
          ctx.log('info', 'the last')
          return 'done'
        },
      }),
    },
  })
  const client = await connect(server, { onLog: ({ data }) => received.push(data) })
  const called = client.call('chat', {}, { logLevel: 'info' })
  await vi.advanceTimersByTimeAsync(3_000)
  await called
  expect(received).toHaveLength(burst + 1)
  expect(received.at(-1)).toBe('the last')
  await client.close()
})
