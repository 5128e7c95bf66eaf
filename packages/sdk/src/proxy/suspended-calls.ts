import type { ProgressReport, Relay } from '../client/types.ts'
import { internalError, McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import type { InputRequests, Question } from '../protocol/server-requests.ts'
import type { Exchange } from '../request/exchange.ts'
import { QuestionKeys } from '../request/input-responses.ts'
import type { ProgressAndLogs } from '../server/handler-context.ts'
import { unref } from '../transports/server/options.ts'
import type { LogMessage, UpstreamRequest } from './upstream-pool.ts'

interface OpenQuestion {
  readonly question: Question
  settle(answer: JsonObject): void
}

type Settled<T> = { readonly result: T } | { readonly error: unknown }

/**
 * A call that stays open between an `input_required` result and the client's retry. It results in `T`; while a request of the
 * client waits for it, the listener `L` receives its progress.
 */
export class SuspendedCall<T, L = undefined> {
  /** Identifies the call in sealed state. */
  readonly id: string = crypto.randomUUID()
  /** The caller; null without authentication. */
  readonly principal: string | null
  readonly #stop = new AbortController()
  readonly #keys = new QuestionKeys()
  readonly #open = new Map<string, OpenQuestion>()
  #running: Promise<void> | undefined
  #settled: Settled<T> | undefined
  #listener: L | undefined
  #onQuestion: () => void = () => {}

  constructor(principal: string | null) {
    this.principal = principal
  }

  /** Starts the work; later calls have no effect. */
  begin(run: () => Promise<T>): void {
    this.#running ??= run().then(
      (result) => {
        this.#settled = { result }
      },
      (error: unknown) => {
        this.#settled = { error }
      },
    )
  }

  /** Aborted when the call is cancelled. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** The current listener; undefined between two rounds. */
  get listener(): L | undefined {
    return this.#listener
  }

  /** Asks the client. Rejects with an RpcError when `signal` is aborted or the call is cancelled. */
  ask(question: Question, signal: AbortSignal): Promise<JsonObject> {
    const withdrawn = AbortSignal.any([signal, this.signal])
    return new Promise((resolve, reject) => {
      const key = this.#keys.next(question.method, undefined)
      const withdraw = (): void => {
        this.#open.delete(key)
        reject(internalError('The input request was withdrawn'))
      }
      if (withdrawn.aborted) return withdraw()
      withdrawn.addEventListener('abort', withdraw, { once: true })
      const settle = (answer: JsonObject): void => {
        this.#open.delete(key)
        resolve(answer)
      }
      this.#open.set(key, { question, settle })
      this.#onQuestion()
    })
  }

  /** Settles the open questions that have an answer. */
  answer(answers: Readonly<Record<string, unknown>>): void {
    for (const [key, { settle }] of [...this.#open]) {
      const answer = Object.hasOwn(answers, key) ? answers[key] : undefined
      if (isObject(answer)) settle(answer)
    }
  }

  /**
   * Waits for the result or for questions. Until then `listener` receives progress and `signal` cancels the call.
   * @throws the error of the call
   */
  async next(signal: AbortSignal, listener: L): Promise<{ result: T } | { asked: InputRequests }> {
    const abort = (): void => this.cancel(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    this.#listener = listener
    try {
      while (this.#settled === undefined) {
        await Promise.race([this.#running, this.#nextQuestion()])
        if (this.#settled !== undefined) break
        // Questions asked in the same turn are sent together.
        await new Promise((resolve) => setTimeout(resolve, 0))
        if (this.#open.size > 0 && this.#settled === undefined) {
          const asked = Array.from(this.#open, ([key, { question }]) => [key, question] as const)
          return { asked: Object.fromEntries(asked) }
        }
      }
      if ('error' in this.#settled) throw this.#settled.error
      return this.#settled
    } finally {
      signal.removeEventListener('abort', abort)
      this.#listener = undefined
    }
  }

  /** Cancels the call with its questions. */
  cancel(reason: unknown): void {
    this.#stop.abort(reason)
  }

  #nextQuestion(): Promise<void> {
    if (this.#open.size > 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onQuestion = resolve
    })
  }
}

/** Limits of suspended calls. */
export interface SuspendedCallBounds {
  /** Suspended calls in this process. Default 256. */
  readonly suspended: number
  /** Suspended calls per principal. Default 32. */
  readonly suspendedPerPrincipal: number
  /** Milliseconds until a suspended call is cancelled. Default 10 minutes. */
  readonly suspendedMs: number
}

type Suspendable = Pick<SuspendedCall<unknown>, 'id' | 'principal' | 'cancel'>

/** The calls of this process that wait for their client's retry. */
export class SuspendedCalls<C extends Suspendable> {
  readonly #bounds: SuspendedCallBounds
  readonly #calls = new Map<string, { readonly call: C; timer: ReturnType<typeof setTimeout> }>()

  constructor(bounds: SuspendedCallBounds) {
    this.#bounds = bounds
  }

  /**
   * Suspends a call until `resume` or its timeout.
   * @throws RpcError when a limit is reached; the call is then cancelled
   */
  suspend(call: C): void {
    const { suspended, suspendedPerPrincipal, suspendedMs } = this.#bounds
    const own = [...this.#calls.values()].filter((other) => other.call.principal === call.principal)
    if (this.#calls.size >= suspended || own.length >= suspendedPerPrincipal) {
      call.cancel(new McpError('LIMIT', 'Too many calls wait for input'))
      throw internalError('Too many calls wait for input on this server: respond to some, or try again later')
    }
    const timer = setTimeout(() => {
      this.#calls.delete(call.id)
      call.cancel(new McpError('TIMEOUT', `No response to the input request within ${suspendedMs} ms`))
    }, suspendedMs)
    this.#calls.set(call.id, { call, timer: unref(timer) })
  }

  /** Removes and returns the suspended call with this id, if it belongs to the principal. */
  resume(id: unknown, principal: string | null): C | undefined {
    const entry = typeof id === 'string' ? this.#calls.get(id) : undefined
    if (entry === undefined || entry.call.principal !== principal) return undefined
    clearTimeout(entry.timer)
    this.#calls.delete(entry.call.id)
    return entry.call
  }

  /** Cancels all suspended calls. */
  close(): void {
    for (const { call, timer } of this.#calls.values()) {
      clearTimeout(timer)
      call.cancel(new McpError('CONNECTION_CLOSED', 'The server that suspended the call was closed'))
    }
    this.#calls.clear()
  }
}

/** An upstream request that stays open between the rounds of its client. Progress is dropped between rounds. */
export class SuspendedUpstreamCall
  extends SuspendedCall<JsonObject, ProgressAndLogs>
  implements UpstreamRequest
{
  readonly relay: Relay
  readonly logLevel: LoggingLevel | undefined

  constructor({ peer }: Exchange, relay: Relay, run: (request: UpstreamRequest) => Promise<JsonObject>) {
    super(peer.principal)
    this.relay = relay
    this.logLevel = peer.logLevel
    this.begin(() => run(this))
  }

  progress(report: ProgressReport): void {
    this.listener?.progress(report)
  }

  log({ level, data, logger }: LogMessage): void {
    this.listener?.log(level, data, logger)
  }
}
