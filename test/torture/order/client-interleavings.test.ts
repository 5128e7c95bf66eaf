import { McpError, type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { type Client, connect } from '@jackfield/sdk/client'
import { expect, vi } from 'vitest'
import { ClientConnection } from '../../../packages/sdk/src/client/client-connection.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { rehearsed } from './rehearsal.ts'
import { everySchedule, type Step, settled, someSchedules, steps, wholeUpTo } from './schedules.ts'
import { type Arrived, type ScriptedServer, scriptedChannel, scriptedHttp } from './scripted-server.ts'

const idleMs = 1_000

/** One call: what its caller saw, and what should have come of it. */
interface Made {
  readonly stop: AbortController
  /** How it ended, each time it did. */
  readonly ends: string[]
  arrived: Arrived | undefined
  expected: string | undefined
  /** Progress received after the end. */
  late: number
  /** Whether a response arrived after it was cancelled, as one may that crossed the notification. */
  crossed: boolean
}

/** A client and a scripted server that run one schedule, with the expected outcome. */
class Run {
  readonly #client: Client
  readonly #server: ScriptedServer
  readonly #overHttp: boolean
  readonly #warnings: readonly string[]
  readonly #made: Made[] = []
  #up = true
  #lastProgress = 0
  /** How often the client should have something to say about an answer. */
  #odd = 0

  constructor(client: Client, server: ScriptedServer, overHttp: boolean, warnings: readonly string[]) {
    this.#warnings = warnings
    this.#client = client
    this.#server = server
    this.#overHttp = overHttp
  }

  async step(step: Step): Promise<void> {
    switch (step) {
      case 'request':
        return this.#request()
      case 'progress':
        this.#progress()
        break
      case 'cancel':
        this.#cancel()
        break
      case 'response':
        this.#respond()
        break
      case 'disconnect':
        this.#disconnect()
        break
      case 'timeout':
        await vi.advanceTimersByTimeAsync(idleMs + 1)
        for (const one of this.#open()) one.expected = 'TIMEOUT'
    }
    await settled()
  }

  /** Ends what is open, and returns the outcome and the expected one. */
  async finish(): Promise<{ actual: unknown; should: unknown }> {
    const left = this.#open()
    await this.#client.close()
    for (const one of left) one.expected = 'CONNECTION_CLOSED'
    await settled()
    const sent = this.#made.filter(({ arrived }) => arrived !== undefined)
    const takenBack = sent.filter(({ expected }) => expected === 'CANCELLED' || expected === 'TIMEOUT')
    const closes = this.#overHttp && this.#client.server.era === 'stateless'
    const hungUp = closes ? sent.filter(({ expected }) => expected === 'CONNECTION_CLOSED') : []
    return {
      actual: {
        ends: this.#made.map(({ ends }) => ends),
        late: this.#made.map(({ late }) => late),
        takenBack: [...this.#server.cancelled].sort(),
        stray: this.#server.stray,
        calls: this.#server.calls.length,
        warnings: this.#warnings.length,
      },
      should: {
        ends: this.#made.map(({ expected }) => [expected]),
        late: this.#made.map(() => 0),
        takenBack: [...takenBack, ...hungUp].map(({ arrived }) => arrived?.id).sort(),
        stray: [],
        calls: sent.length,
        warnings: this.#odd,
      },
    }
  }

  async #request(): Promise<void> {
    const stop = new AbortController()
    const one: Made = { stop, ends: [], arrived: undefined, expected: undefined, late: 0, crossed: false }
    this.#made.push(one)
    const onProgress = (): void => {
      if (one.ends.length > 0) one.late++
    }
    this.#client.call('work', {}, { signal: stop.signal, timeoutMs: idleMs, onProgress }).then(
      () => one.ends.push('answered'),
      (error) => one.ends.push(error instanceof McpError ? error.code : String(error)),
    )
    const before = this.#server.calls.length
    await settled()
    if (this.#up) one.arrived = this.#server.calls[before]
    else one.expected = 'CONNECTION_CLOSED'
  }

  #progress(): void {
    const [first] = this.#made
    if (first?.arrived !== undefined) this.#server.progress(first.arrived, ++this.#lastProgress)
  }

  /** Cancels the oldest pending call; with none, the last one, which has ended. */
  #cancel(): void {
    const one = this.#open()[0] ?? this.#made.at(-1)
    if (one === undefined) return
    one.expected ??= 'CANCELLED'
    one.stop.abort()
  }

  /** Answers the last call, again and late as the schedule has it. */
  #respond(): void {
    const one = this.#made.at(-1)
    if (one?.arrived === undefined) return
    if (this.#up) this.#expectAnswer(one)
    this.#server.answer(one.arrived)
  }

  /** A response that crossed the cancellation of its call is allowed; any other without a pending call is not. */
  #expectAnswer(one: Made): void {
    const givenUp = one.expected === 'CANCELLED' || one.expected === 'TIMEOUT'
    if (givenUp && !one.crossed) one.crossed = true
    else if (one.expected !== undefined && !this.#overHttp) this.#odd++
    one.expected ??= 'answered'
  }

  #disconnect(): void {
    const one = this.#open()[0]
    if (this.#overHttp) {
      if (one?.arrived === undefined) return
      one.expected = 'OUTCOME_UNKNOWN'
      this.#server.hangUp(one.arrived)
      return
    }
    for (const each of this.#open()) each.expected = 'OUTCOME_UNKNOWN'
    this.#up = false
    this.#server.hangUp(undefined)
  }

  #open(): Made[] {
    return this.#made.filter(({ expected }) => expected === undefined)
  }
}

/** Runs a schedule with a new client, and compares the outcome with the expected one. */
async function tryOne(schedule: Step[], revision: ProtocolVersion, overHttp: boolean): Promise<void> {
  const server = overHttp ? scriptedHttp(revision) : scriptedChannel(revision)
  const starts = vi.spyOn(ClientConnection.prototype, 'start')
  const warnings: string[] = []
  const client = await connect(server.link, {
    revisions: [revision],
    onWarning: (text) => warnings.push(text),
  })
  const wire = starts.mock.contexts.at(-1)
  starts.mockRestore()
  const run = new Run(client, server, overHttp, warnings)
  for (const step of schedule) await run.step(step)
  const { actual, should } = await run.finish()
  const where = `${schedule.join(' ')} on ${revision} over ${overHttp ? 'HTTP' : 'a channel'}`
  expect(actual, where).toEqual(should)
  expect(
    wire instanceof ClientConnection ? wire.requestsThatMayAsk : 'no wire',
    `${where}: requests kept`,
  ).toEqual([])
  if (!overHttp) expect(vi.getTimerCount(), `${where}: timers kept`).toBe(0)
}

campaign(
  {
    id: 'client-interleavings',
    chapter: 'Order of events',
    claim:
      'In any order of requests, progress, cancellations, responses, disconnects and timeouts, each call of a client ends once, with the right outcome',
    trial: 'order of up to seven events on one revision',
    trials: { test: 40, change: 200, long: 20_000 },
    longMinutes: 120,
  },
  async ({ trials, long, seed, setTrials }) => {
    const random = new Random(seed)
    let count = 0
    await rehearsed(async () => {
      for (const revision of protocolVersions) {
        for (const overHttp of revision === '2024-11-05' ? [false] : [false, true]) {
          const whole = everySchedule(overHttp && !long ? 4 : wholeUpTo(revision, long), steps)
          for (const schedule of whole) {
            await tryOne(schedule, revision, overHttp)
            count++
          }
          for (const schedule of someSchedules(trials / 2, 7, random, steps)) {
            await tryOne(schedule, revision, overHttp)
            count++
          }
          vi.clearAllTimers()
        }
      }
    })
    setTrials(count)
  },
)
