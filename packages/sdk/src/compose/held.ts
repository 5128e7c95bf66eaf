import type { ProgressReport, Relay } from '../client/types.ts'
import type { Exchange } from '../core/exchange.ts'
import { Keys } from '../core/questions.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { InputRequests, Question } from '../protocol/asking.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import { unref } from '../serve/timers.ts'
import type { Notices } from '../server/notices.ts'
import type { LogMessage, Passage } from './seat.ts'

interface Open {
  readonly question: Question
  settle(answer: JsonObject): void
}

type Over = { readonly result: JsonObject } | { readonly error: unknown }

/**
 * A request that stays open upstream while its client, who is asked by the end of a round, comes and goes. Between two
 * rounds nobody hears its progress.
 */
export class HeldCall implements Passage {
  readonly id: string = crypto.randomUUID()
  readonly principal: string | null
  readonly relay: Relay
  readonly logLevel: LoggingLevel | undefined
  readonly #stop = new AbortController()
  readonly #keys = new Keys()
  readonly #open = new Map<string, Open>()
  readonly #over: Promise<Over>
  #ended: Over | undefined
  #notices: Notices | undefined
  #asked: () => void = () => {}

  constructor({ peer }: Exchange, relay: Relay, run: (passage: Passage) => Promise<JsonObject>) {
    this.principal = peer.principal
    this.relay = relay
    this.logLevel = peer.logLevel
    this.#over = run(this)
      .then(
        (result): Over => ({ result }),
        (error): Over => ({ error }),
      )
      .then((over) => {
        this.#ended = over
        return over
      })
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  ask(question: Question, signal: AbortSignal): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const key = this.#keys.next(question.method, undefined)
      const withdraw = (): void => {
        this.#open.delete(key)
        reject(new RpcError(ErrorCode.InternalError, 'Nobody waits for this answer any more'))
      }
      if (signal.aborted || this.signal.aborted) return withdraw()
      signal.addEventListener('abort', withdraw, { once: true })
      this.signal.addEventListener('abort', withdraw, { once: true })
      this.#open.set(key, { question, settle: resolve })
      this.#asked()
    })
  }

  progress(report: ProgressReport): void {
    this.#notices?.progress(report)
  }

  log({ level, data, logger }: LogMessage): void {
    this.#notices?.log(level, data, logger)
  }

  /** Answers what is still open of the questions that were put. */
  answer(answers: Readonly<Record<string, unknown>>): void {
    for (const [key, { settle }] of [...this.#open]) {
      const answer = Object.hasOwn(answers, key) ? answers[key] : undefined
      if (!isObject(answer)) continue
      this.#open.delete(key)
      settle(answer)
    }
  }

  /**
   * Waits until it is over or asks something; while it does, the exchange hears its notices and can cancel it.
   * @throws what it failed with
   */
  async next(
    exchange: Exchange,
    notices: Notices,
  ): Promise<{ result: JsonObject } | { asked: InputRequests }> {
    const { signal } = exchange
    const abort = (): void => this.cancel(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    this.#notices = notices
    try {
      while (this.#ended === undefined) {
        await Promise.race([this.#over, this.#question()])
        // Questions put at once travel at once.
        await new Promise((resolve) => setTimeout(resolve, 0))
        if (this.#open.size > 0 && this.#ended === undefined) return { asked: this.#questions() }
      }
      if ('error' in this.#ended) throw this.#ended.error
      return this.#ended
    } finally {
      signal.removeEventListener('abort', abort)
      this.#notices = undefined
    }
  }

  cancel(reason: unknown): void {
    this.#stop.abort(reason)
  }

  #question(): Promise<void> {
    if (this.#open.size > 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#asked = resolve
    })
  }

  #questions(): InputRequests {
    return Object.fromEntries(Array.from(this.#open, ([key, { question }]) => [key, question]))
  }
}

export interface HeldBounds {
  /** Calls that wait for an answer on this node. */
  readonly held: number
  /** Calls of one principal among them. */
  readonly heldOfOne: number
  /** Milliseconds each waits. */
  readonly heldMs: number
}

/** The calls on this node that wait for their client to come back with answers. */
export class HeldCalls {
  readonly #bounds: HeldBounds
  readonly #waiting = new Map<string, { readonly call: HeldCall; timer: ReturnType<typeof setTimeout> }>()

  constructor(bounds: HeldBounds) {
    this.#bounds = bounds
  }

  get size(): number {
    return this.#waiting.size
  }

  /**
   * Keeps a call until its client comes back, or for so long.
   * @throws RpcError where there is no room
   */
  keep(call: HeldCall): void {
    const { held, heldOfOne, heldMs } = this.#bounds
    const own = [...this.#waiting.values()].filter((other) => other.call.principal === call.principal)
    if (this.#waiting.size >= held || own.length >= heldOfOne) {
      throw new RpcError(
        ErrorCode.InternalError,
        'Too many calls wait for an answer here: answer some, or try again later',
      )
    }
    const timer = setTimeout(() => {
      this.#waiting.delete(call.id)
      call.cancel(new McpError('TIMEOUT', `Nobody answered within ${heldMs} ms`))
    }, heldMs)
    this.#waiting.set(call.id, { call, timer: unref(timer) })
  }

  /** The call that waits under an id for this principal, which from then on waits no more. */
  take(id: string, principal: string | null): HeldCall | undefined {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined || waiting.call.principal !== principal) return undefined
    clearTimeout(waiting.timer)
    this.#waiting.delete(id)
    return waiting.call
  }

  close(): void {
    for (const { call, timer } of this.#waiting.values()) {
      clearTimeout(timer)
      call.cancel(new McpError('CONNECTION_CLOSED', 'The proxy was closed'))
    }
    this.#waiting.clear()
  }
}
