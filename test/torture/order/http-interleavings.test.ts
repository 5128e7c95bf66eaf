import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { expect, vi } from 'vitest'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { calm, type HttpCall, HttpCaller } from './http-caller.ts'
import { pausedServer } from './paused-server.ts'
import { rehearsed } from './rehearsal.ts'
import { everySchedule, someSchedules, steps } from './schedules.ts'

const overHttp = [...steps, 'resume'] as const
type Step = (typeof overHttp)[number]
const dayMs = 86_400_000

/** A call, and its expected outcome. */
interface Taken {
  readonly call: HttpCall
  state: 'open' | 'cancelled' | 'answered'
  /** The progress of its handler while the call was pending. */
  readonly progress: number[]
}

/** An HTTP server that runs one schedule, with the expected outcome. */
class Run {
  readonly #hand = pausedServer()
  // No order of pauses is long enough to end the session for want of use.
  readonly #handler = serveHttp(this.#hand.server, { limits: { sessionIdleMs: dayMs }, onWarning: () => {} })
  readonly #caller: HttpCaller
  readonly #stateless: boolean
  readonly #taken: Taken[] = []
  readonly #refused: HttpCall[] = []
  #released = 0
  #lastProgress = 0

  constructor(revision: ProtocolVersion) {
    this.#stateless = revision === '2026-07-28'
    this.#caller = new HttpCaller(this.#handler, revision)
  }

  async begin(): Promise<void> {
    await this.#caller.initialize()
    await calm()
  }

  async step(step: Step): Promise<void> {
    switch (step) {
      case 'request':
        this.#request()
        break
      case 'progress':
        this.#progress()
        break
      case 'cancel':
        // Without a session, a notification has no connection to a call: there, closing the stream cancels.
        if (!this.#stateless) this.#cancel(this.#taken.find(({ state }) => state === 'open'))
        await this.#caller.cancel()
        break
      case 'response':
        this.#release()
        break
      case 'disconnect':
        this.#disconnect()
        break
      case 'resume':
        this.#resume(this.#taken.at(-1))
        break
      case 'timeout':
        await vi.advanceTimersByTimeAsync(600_000)
    }
    await calm()
  }

  async finish(): Promise<{ actual: unknown; should: unknown }> {
    while (this.#released < this.#taken.length) {
      this.#release()
      await calm()
    }
    for (const taken of this.#taken) if (taken.call.open.size === 0) this.#resume(taken)
    await calm()
    for (const { context } of this.#hand.runs) context.progress(++this.#lastProgress)
    await vi.advanceTimersByTimeAsync(600_000)
    await calm()
    const open = this.#taken.reduce((sum, { call }) => sum + call.open.size, 0)
    await this.#handler.close()
    await calm()
    return {
      actual: {
        answers: this.#taken.map(({ call }) => call.answers),
        progress: this.#taken.map(({ call }) => call.progress),
        refused: this.#refused.map(({ answers }) => answers),
        stray: [...this.#taken.map(({ call }) => call), ...this.#refused].flatMap(({ stray }) => stray),
        aborted: this.#hand.runs.map(({ context }) => context.signal.aborted),
        open,
        failures: [...this.#hand.failures, ...this.#caller.failures],
        timers: vi.getTimerCount(),
      },
      should: {
        answers: this.#taken.map((taken, nth) => (this.#isReceived(taken) ? [String(nth)] : [])),
        progress: this.#taken.map(({ call, progress }) =>
          canResume(call) ? progress : call.progress.filter(isIn(progress)),
        ),
        refused: this.#refused.map(() => ['-32600']),
        stray: [],
        aborted: this.#taken.map(({ state }) => state === 'cancelled'),
        open: 0,
        failures: [],
        timers: 0,
      },
    }
  }

  /** Whether the response to a call must have arrived: it was not cancelled, and its client could receive it. */
  #isReceived({ call, state }: Taken): boolean {
    return state === 'answered' && canResume(call)
  }

  #request(): void {
    const call = this.#caller.call(`p${this.#taken.length}`)
    const isFree = this.#stateless || !this.#taken.some(({ state }) => state === 'open')
    if (isFree) this.#taken.push({ call, state: 'open', progress: [] })
    else this.#refused.push(call)
  }

  #progress(): void {
    const last = this.#taken.at(-1)
    this.#hand.runs.at(-1)?.context.progress(++this.#lastProgress)
    if (last?.state === 'open') last.progress.push(this.#lastProgress)
  }

  /** Releases the oldest pending run, cancelled or not. */
  #release(): void {
    const taken = this.#taken[this.#released]
    if (taken === undefined) return
    if (taken.state === 'open') taken.state = 'answered'
    this.#hand.runs[this.#released]?.release()
    this.#released++
  }

  #cancel(taken: Taken | undefined): void {
    if (taken?.state === 'open') taken.state = 'cancelled'
  }

  #disconnect(): void {
    const last = this.#taken.findLast(({ call }) => call.open.size > 0)
    if (last === undefined) return
    if (this.#stateless) this.#cancel(last)
    last.call.drop()
  }

  #resume(taken: Taken | undefined): void {
    if (taken !== undefined && !this.#stateless) this.#caller.resume(taken.call)
  }
}

/** Whether a client can receive every message of a call: its connection never broke, or it can resume. */
function canResume({ wasDropped, lastId }: HttpCall): boolean {
  return !wasDropped || lastId !== undefined
}

function isIn(values: readonly number[]): (value: number, nth: number) => boolean {
  return (value, nth) => values[nth] === value
}

/** How long the orders are that are all tried: on the newest revision of each era longest. */
function wholeUpTo(revision: ProtocolVersion, long: boolean): number {
  const newest = revision >= '2025-11-25'
  return (newest ? 4 : 3) + (long ? 2 : 0)
}

campaign(
  {
    id: 'http-interleavings',
    chapter: 'Order of events',
    claim:
      'Over HTTP, in any order of requests, progress, cancellations, disconnects, resumptions, responses and pauses, each request is answered at most once, and exactly once for a client that can resume',
    trial: 'order of up to seven events on one revision',
    trials: { test: 20, change: 60, long: 3_000 },
    longMinutes: 120,
  },
  async ({ trials, long, seed, setTrials }) => {
    const random = new Random(seed)
    let count = 0
    await rehearsed(async () => {
      for (const revision of protocolVersions) {
        const all = everySchedule(wholeUpTo(revision, long), overHttp)
        const some = someSchedules(trials, 7, random, overHttp)
        for (const schedules of [all, some]) {
          for (const schedule of schedules) {
            const run = new Run(revision)
            await run.begin()
            for (const step of schedule) await run.step(step)
            const { actual, should } = await run.finish()
            expect(actual, `${schedule.join(' ')} on ${revision}`).toEqual(should)
            count++
          }
        }
      }
    }, true)
    setTrials(count)
  },
)
