import { type JsonRpcMessage, type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { expect, vi } from 'vitest'
import { DuplexConnection } from '../../../packages/sdk/src/transports/server/duplex-connection.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { textIn } from './http-caller.ts'
import { callParams, pausedServer } from './paused-server.ts'
import { rehearsed } from './rehearsal.ts'
import { everySchedule, type Step, settled, someSchedules, steps, wholeUpTo } from './schedules.ts'

/** Every call has the same id, so that whatever is meant for one that is over would hit the next. */
const id = 1
/** Milliseconds that loading what a session needs may take, by the clock of the machine. */
const loadingMs = 20_000

type State = 'open' | 'cancelled' | 'cut' | 'answered'

/** A server on a channel, taken through one schedule, beside what should come of it. */
class Run {
  readonly #hand = pausedServer()
  readonly #stateless: boolean
  readonly #states: State[] = []
  readonly #released = new Set<number>()
  /** What came for the calls, and what should have: numbers of runs, or codes of errors. */
  readonly #received: (string | number)[] = []
  readonly #should: (string | number)[] = []
  readonly #stray: string[] = []
  readonly #connection = new DuplexConnection(this.#hand.server, (message) => this.#receive(message))
  #up = true
  #lastProgress = 0
  #isGreeted = false

  constructor(revision: ProtocolVersion) {
    this.#stateless = revision === '2026-07-28'
    if (this.#stateless) return
    const clientInfo = { name: 'hand', version: '1' }
    const params = { protocolVersion: revision, capabilities: {}, clientInfo }
    this.#connection.receive({ jsonrpc: '2.0', id: 'hello', method: 'initialize', params })
    this.#connection.receive({ jsonrpc: '2.0', method: 'notifications/initialized' })
  }

  /** Settles when the server knows who calls: what it needs for that may have to be loaded first. */
  async begin(): Promise<void> {
    const isReady = (): boolean => this.#stateless || this.#isGreeted
    for (const end = Date.now() + loadingMs; !isReady() && Date.now() < end; ) await settled()
    expect(isReady(), 'initialize is answered').toBe(true)
    await settled()
  }

  async step(step: Step): Promise<void> {
    switch (step) {
      case 'request':
        this.#request()
        break
      case 'progress':
        this.#hand.runs.at(-1)?.context.progress(++this.#lastProgress)
        break
      case 'cancel':
        if (this.#up) this.#end('cancelled')
        this.#connection.receive({
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: id },
        })
        break
      case 'response':
        this.#release()
        break
      case 'disconnect':
        this.#end('cut')
        this.#up = false
        this.#connection.close()
        break
      case 'timeout':
        await vi.advanceTimersByTimeAsync(600_000)
    }
    await settled()
  }

  async finish(): Promise<{ actual: unknown; should: unknown }> {
    const all = this.#states.length
    for (let left = this.#released.size; left < all; left++) this.#release()
    await settled()
    const last = this.#received.length
    for (const { context } of this.#hand.runs) context.progress(++this.#lastProgress)
    await vi.advanceTimersByTimeAsync(600_000)
    await settled()
    return {
      actual: {
        answers: this.#received,
        stray: this.#stray,
        aborted: this.#hand.runs.map(({ context }) => context.signal.aborted),
        running: this.#connection.running,
        failures: this.#hand.failures,
        timers: vi.getTimerCount(),
      },
      should: {
        answers: this.#should.slice(0, last),
        stray: [],
        aborted: this.#states.map((state) => state === 'cancelled' || state === 'cut'),
        running: 0,
        failures: [],
        timers: 0,
      },
    }
  }

  #request(): void {
    const isFree = !this.#states.includes('open')
    if (this.#up && isFree) this.#states.push('open')
    else if (this.#up) this.#should.push(-32600)
    const params = callParams(`p${this.#states.length - 1}`, this.#stateless)
    this.#connection.receive({ jsonrpc: '2.0', id, method: 'tools/call', params })
  }

  /** Releases the oldest pending run, cancelled or not. */
  #release(): void {
    const oldest = this.#released.size
    const state = this.#states[oldest]
    if (state === undefined) return
    this.#released.add(oldest)
    if (state === 'open') {
      this.#states[oldest] = 'answered'
      this.#should.push(String(oldest))
    }
    this.#hand.runs[oldest]?.release()
  }

  #end(how: State): void {
    const open = this.#states.indexOf('open')
    if (open >= 0) this.#states[open] = how
  }

  #receive(message: JsonRpcMessage): void {
    if ('method' in message) {
      const token = message.params?.['progressToken']
      const state = typeof token === 'string' ? this.#states[Number(token.slice(1))] : undefined
      if (!this.#up || state !== 'open') this.#stray.push(JSON.stringify(message))
    } else if (message.id === 'hello') this.#isGreeted = true
    else if (!this.#up) this.#stray.push(JSON.stringify(message))
    else this.#received.push('error' in message ? message.error.code : textIn(message.result['content']))
  }
}

campaign(
  {
    id: 'server-interleavings',
    chapter: 'Order of events',
    claim:
      'In any order of requests, progress, cancellations, responses, disconnects and pauses, a server answers each request at most once, and sends nothing afterwards',
    trial: 'order of up to seven events on one revision',
    trials: { test: 70, change: 200, long: 20_000 },
    longMinutes: 120,
  },
  async ({ trials, long, seed, setTrials }) => {
    const random = new Random(seed)
    let count = 0
    await rehearsed(async () => {
      for (const revision of protocolVersions) {
        const some = someSchedules(trials, 7, random, steps)
        for (const schedules of [everySchedule(wholeUpTo(revision, long), steps), some]) {
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
    })
    setTrials(count)
  },
)
