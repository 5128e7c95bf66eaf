import type { ProgressReport, Relay } from '../client/types.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import type { InputRequests, Question } from '../protocol/server-requests.ts'
import type { Exchange } from '../request/exchange.ts'
import { Keys } from '../request/input-responses.ts'
import type { ProgressAndLogs } from '../server/handler-context.ts'
import { unref } from '../transports/server/options.ts'
import type { LogMessage, UpstreamRequest } from './upstream-pool.ts'

interface Open {
  readonly question: Question
  settle(answer: JsonObject): void
}

type Over<T> = { readonly result: T } | { readonly error: unknown }

/**
 * A request that goes on while its client, who is asked by the end of a round, comes and goes. It gives a `T`; while
 * the client is there, an `L` hears of it.
 */
export class SuspendedCall<T, L = undefined> {
  /** Finds it again, in a sealed state. */
  readonly id: string = crypto.randomUUID()
  /** Whose it is; null where nobody authenticated. */
  readonly principal: string | null
  readonly #stop = new AbortController()
  readonly #keys = new Keys()
  readonly #open = new Map<string, Open>()
  #over: Promise<void> | undefined
  #ended: Over<T> | undefined
  #listener: L | undefined
  #asked: () => void = () => {}

  constructor(principal: string | null) {
    this.principal = principal
  }

  /** Begins the work, once. */
  begin(run: () => Promise<T>): void {
    this.#over ??= run().then(
      (result) => {
        this.#ended = { result }
      },
      (error: unknown) => {
        this.#ended = { error }
      },
    )
  }

  /** Aborted when nobody waits for it any more. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Who hears of it now; undefined between two rounds. */
  get listener(): L | undefined {
    return this.#listener
  }

  /** Puts a question to its client. Rejects with an RpcError where the answer is no longer wanted. */
  ask(question: Question, signal: AbortSignal): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const key = this.#keys.next(question.method, undefined)
      const forget = (): void => {
        this.#open.delete(key)
        signal.removeEventListener('abort', withdraw)
        this.signal.removeEventListener('abort', withdraw)
      }
      const withdraw = (): void => {
        forget()
        reject(new RpcError(ErrorCode.InternalError, 'Nobody waits for this answer any more'))
      }
      if (signal.aborted || this.signal.aborted) return withdraw()
      signal.addEventListener('abort', withdraw, { once: true })
      this.signal.addEventListener('abort', withdraw, { once: true })
      const settle = (answer: JsonObject): void => {
        forget()
        resolve(answer)
      }
      this.#open.set(key, { question, settle })
      this.#asked()
    })
  }

  /** Answers what is still open of the questions that were put. */
  answer(answers: Readonly<Record<string, unknown>>): void {
    for (const [key, { settle }] of [...this.#open]) {
      const answer = Object.hasOwn(answers, key) ? answers[key] : undefined
      if (isObject(answer)) settle(answer)
    }
  }

  /**
   * Waits until it is over or asks something; until then `listener` hears of it and `signal` can cancel it.
   * @throws what it failed with
   */
  async next(signal: AbortSignal, listener: L): Promise<{ result: T } | { asked: InputRequests }> {
    const abort = (): void => this.cancel(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    this.#listener = listener
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
      this.#listener = undefined
    }
  }

  /** Ends it, with its questions. */
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

/** How much may wait, and how long. */
export interface SuspendedCallBounds {
  /** Calls that wait for an answer in this process. */
  readonly held: number
  /** Calls of one principal among them. */
  readonly heldOfOne: number
  /** Milliseconds each waits. */
  readonly heldMs: number
}

type Held = Pick<SuspendedCall<unknown>, 'id' | 'principal' | 'cancel'>

/** The calls of this process that wait for their client to come back with answers. */
export class SuspendedCalls<C extends Held> {
  readonly #bounds: SuspendedCallBounds
  readonly #waiting = new Map<string, { readonly call: C; timer: ReturnType<typeof setTimeout> }>()

  constructor(bounds: SuspendedCallBounds) {
    this.#bounds = bounds
  }

  /** Calls that wait. */
  get size(): number {
    return this.#waiting.size
  }

  /**
   * Keeps a call until its client comes back, or for so long.
   * @throws RpcError where there is no room; the call is cancelled then
   */
  keep(call: C): void {
    const { held, heldOfOne, heldMs } = this.#bounds
    const own = [...this.#waiting.values()].filter((other) => other.call.principal === call.principal)
    if (this.#waiting.size >= held || own.length >= heldOfOne) {
      call.cancel(new McpError('LIMIT', 'Too many calls wait for an answer'))
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
  take(id: unknown, principal: string | null): C | undefined {
    const waiting = typeof id === 'string' ? this.#waiting.get(id) : undefined
    if (waiting === undefined || waiting.call.principal !== principal) return undefined
    clearTimeout(waiting.timer)
    this.#waiting.delete(waiting.call.id)
    return waiting.call
  }

  /** Cancels all that wait. */
  close(): void {
    for (const { call, timer } of this.#waiting.values()) {
      clearTimeout(timer)
      call.cancel(new McpError('CONNECTION_CLOSED', 'What held the call was closed'))
    }
    this.#waiting.clear()
  }
}

/** A request that stays open upstream between the rounds of its client; meanwhile nobody hears its progress. */
export class SuspendedUpstreamCall
  extends SuspendedCall<JsonObject, ProgressAndLogs>
  implements UpstreamRequest
{
  readonly relay: Relay
  readonly logLevel: LoggingLevel | undefined

  constructor({ peer }: Exchange, relay: Relay, run: (passage: UpstreamRequest) => Promise<JsonObject>) {
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
