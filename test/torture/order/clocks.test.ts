import { McpError } from '@jackfield/sdk'
import { type CallOptions, connect } from '@jackfield/sdk/client'
import { expect, vi } from 'vitest'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { scriptedChannel } from './scripted-server.ts'

const hourMs = 3_600_000

/** What the server of one call does, and when. No event coincides with a timeout. */
interface Plan {
  readonly options: Pick<CallOptions, 'timeoutMs' | 'maxTotalMs'>
  readonly signs: readonly { readonly atMs: number; readonly progress: number }[]
  readonly answerMs: number
  /** When the wall clock is set, and how far from where it was. */
  readonly jumps: readonly { readonly atMs: number; readonly byMs: number }[]
}

/** How a call ends, and when. */
interface End {
  readonly how: string
  readonly atMs: number
}

function planned(random: Random): Plan {
  const isDefault = random.fraction() < 0.1
  const idleMs = isDefault ? 60_000 : 4 * random.between(25, 5_000) + 2
  const totalMs = isDefault ? hourMs : 4 * random.between(25, 50_000) + 2
  const signs: { atMs: number; progress: number }[] = []
  let at = 1
  let progress = 0
  const patient = random.fraction()
  while (at < totalMs && signs.length < 150) {
    at += 4 * Math.ceil((random.fraction() * idleMs * (0.9 + patient / 5)) / 4)
    progress += random.fraction() < 0.9 ? random.fraction() + 0.001 : 0
    signs.push({ atMs: at, progress })
  }
  const answers = random.fraction() < 0.5
  return {
    options: isDefault ? {} : { timeoutMs: idleMs, maxTotalMs: totalMs },
    signs,
    answerMs: answers ? 4 * random.between(0, Math.ceil(totalMs / 2)) + 1 : Number.POSITIVE_INFINITY,
    jumps: Array.from({ length: random.between(0, 5) }, () => ({
      atMs: 4 * random.between(0, Math.ceil(totalMs / 4)) + 3,
      byMs: random.between(-hourMs, hourMs),
    })),
  }
}

/** The end by the rules: silence too long, too long in all, or the answer, whatever comes first. */
function ruled({ options, signs, answerMs }: Plan): End {
  const { timeoutMs = 60_000, maxTotalMs = hourMs } = options
  let last = 0
  let most = Number.NEGATIVE_INFINITY
  for (const { atMs, progress } of signs) {
    if (atMs > Math.min(last + timeoutMs, maxTotalMs)) break
    if (progress > most) last = atMs
    most = Math.max(most, progress)
  }
  const clockMs = Math.min(last + timeoutMs, maxTotalMs)
  if (answerMs < clockMs) return { how: 'answered', atMs: answerMs }
  return { how: `TIMEOUT ${last + timeoutMs < maxTotalMs ? timeoutMs : maxTotalMs}`, atMs: clockMs }
}

async function tried(plan: Plan, revision: '2025-11-25' | '2026-07-28'): Promise<End> {
  const server = scriptedChannel(revision)
  const client = await connect(server.link, { revisions: [revision] })
  const start = performance.now()
  let end: End = { how: 'it never ended', atMs: 0 }
  const over = (how: string): void => {
    end = { how, atMs: performance.now() - start }
  }
  client.call('work', {}, plan.options).then(
    () => over('answered'),
    (error) =>
      over(
        error instanceof McpError
          ? `${error.code} ${error.details['timeoutMs']}`
          : `not so: ${String(error)}`,
      ),
  )
  await vi.advanceTimersByTimeAsync(0)
  const [call] = server.calls
  if (call?.token === undefined)
    throw new Error('The call asks for no progress, so nothing can keep it alive')
  for (const { atMs, progress } of plan.signs) setTimeout(() => server.progress(call, progress), atMs)
  for (const { atMs, byMs } of plan.jumps) setTimeout(() => vi.setSystemTime(Date.now() + byMs), atMs)
  if (plan.answerMs < Number.POSITIVE_INFINITY) setTimeout(() => server.answer(call), plan.answerMs)
  await vi.advanceTimersByTimeAsync((plan.options.maxTotalMs ?? hourMs) + 1_000)
  await client.close()
  vi.clearAllTimers()
  return end
}

campaign(
  {
    id: 'call-clocks',
    chapter: 'Order of events',
    claim:
      'A call ends with its response, its idle timeout or its total timeout, to the millisecond, whatever the wall clock does',
    trial: 'call with progress and clock changes at random times',
    trials: { test: 100, change: 300, long: 100_000 },
  },
  async ({ trials, seed, measured }) => {
    const random = new Random(seed)
    const endless = { signs: [], answerMs: Number.POSITIVE_INFINITY, jumps: [], options: {} }
    const everyMinute = Array.from({ length: 100 }, (_, nth) => ({ atMs: nth * 59_000 + 1, progress: nth }))
    const ends = new Map<string, number>()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
    try {
      expect(await tried(endless, '2026-07-28')).toEqual({ how: 'TIMEOUT 60000', atMs: 60_000 })
      expect(await tried({ ...endless, signs: everyMinute }, '2026-07-28')).toEqual({
        how: `TIMEOUT ${hourMs}`,
        atMs: hourMs,
      })
      for (let trial = 0; trial < trials; trial++) {
        const plan = planned(random)
        const actual = await tried(plan, trial % 2 === 0 ? '2025-11-25' : '2026-07-28')
        expect(actual, `trial ${trial}: ${JSON.stringify(plan)}`).toEqual(ruled(plan))
        const { timeoutMs = 60_000 } = plan.options
        const kind =
          actual.how === 'answered'
            ? 'answer'
            : actual.how.endsWith(` ${timeoutMs}`)
              ? 'silence'
              : 'time in all'
        ends.set(kind, (ends.get(kind) ?? 0) + 1)
      }
    } finally {
      vi.useRealTimers()
    }
    for (const [kind, count] of ends) measured(`ended by ${kind}`, count, '')
  },
)
