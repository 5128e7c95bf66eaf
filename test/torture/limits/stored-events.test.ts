import { limits } from '@jackfield/sdk'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Answer, session, webAdapter } from '../../../packages/sdk/test/serve/http-support.ts'
import { type Tool, testServer, until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const watchdogMs = 60_000

/** Says as many things as it is asked for, of so many characters each. */
const speak: Tool = async ({ times, chars }, exchange) => {
  for (let progress = 1; progress <= Number(times); progress++) {
    const params = { progressToken: 'p', progress, message: 'x'.repeat(Number(chars)) }
    exchange.notify({ method: 'notifications/progress', params })
  }
  return 'answer'
}

type Session = Awaited<ReturnType<typeof session>>

/** A call whose response is read to its end. */
async function received(own: Session, id: string | number, times: number, chars: number): Promise<Answer> {
  const params = { name: 'speak', arguments: { times, chars }, _meta: { progressToken: 'p' } }
  const answer = await own.post({ jsonrpc: '2.0', id, method: 'tools/call', params })
  await until(() => answer.over(), watchdogMs)
  return answer
}

campaign(
  {
    id: 'stored-events',
    chapter: 'Bytes and limits',
    claim:
      'Stored events of disconnected clients are limited in total; the longest idle sessions lose theirs first, and are notified',
    trial: 'session with a stream that its client may want again',
    trials: { change: 100, long: 2_000 },
  },
  async ({ trials, seed, measured }) => {
    const random = new Random(seed)
    const storedEventChars = 1_000_000
    const mounted = await webAdapter(testServer({ speak }), {
      limits: { storedEventChars, storedEvents: 10 * trials, sessions: trials + 1 },
    })
    onTestFinished(() => mounted.close())
    const all: { own: Session; first: string | undefined; chars: number }[] = []
    const used = await session(mounted)
    const oldest = await received(used, 'oldest', 3, 10)
    for (let trial = 0; trial < trials; trial++) {
      if (trial % 5 === 0) await received(used, trial, 1, 10)
      const own = await session(mounted)
      const answer = await received(own, 1, random.between(1, 9), random.between(1, 20_000))
      const chars = answer.events.reduce((sum, { data }) => sum + data.length, 0)
      all.push({ own, first: answer.events[0]?.id, chars })
    }
    let [stored, keptChars, isLost] = [0, 0, false]
    for (const [nth, { own, first, chars }] of all.toReversed().entries()) {
      const again = await own.get({ 'last-event-id': first })
      const where = `session ${trials - nth} of ${trials}`
      if (again.status === 200) {
        await until(() => again.over(), watchdogMs)
        expect(isLost, `${where} is newer than one that was lost`).toBe(false)
        expect(
          again.events.reduce((sum, { data }) => sum + data.length, 0),
          where,
        ).toBe(chars)
        stored++
        keptChars += chars
      } else {
        expect(again.status, where).toBe(400)
        expect(await again.text(), where).toContain('not stored, or not any more')
        isLost = true
      }
    }
    expect(isLost).toBe(true)
    const stillThere = await used.get({ 'last-event-id': oldest.events[0]?.id })
    expect(stillThere.status, 'the oldest events of a session that speaks again and again').toBe(200)
    expect(stored).toBeGreaterThan(1)
    expect(keptChars).toBeLessThanOrEqual(storedEventChars)
    expect(keptChars).toBeGreaterThan(storedEventChars / 2)
    measured('sessions that could go on', stored, 'sessions')
    measured('stored in all, of 1,000,000 characters', keptChars, 'characters')
  },
)

const position = (id: string | undefined): number => Number(id?.split('_').at(-1))

test('an event id is used once, also after stored events expired or were dropped', async () => {
  const mounted = await webAdapter(testServer({ speak }), {
    limits: { storedEventChars: 10_000 },
  })
  onTestFinished(() => mounted.close())
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const one = await session(mounted)
  const other = await session(mounted)
  const before = await received(one, 1, 5, 10)
  vi.setSystemTime(Date.now() + limits.storedEventsMs + 1)
  const expired = await received(one, 2, 5, 10)
  await received(other, 1, 5, 5_000)
  const gone = await received(one, 3, 5, 10)
  const places = [before, expired, gone].flatMap(({ events }) => events.map(({ id }) => position(id)))
  expect(places).toEqual([...places].sort((a, b) => a - b))
  expect(new Set(places).size).toBe(places.length)
  for (const { events } of [before, expired]) {
    expect((await one.get({ 'last-event-id': events[0]?.id })).status).toBe(400)
  }
  const again = await one.get({ 'last-event-id': gone.events[0]?.id })
  await until(() => again.over(), watchdogMs)
  expect(again.events).toEqual(gone.events.slice(1))
})
