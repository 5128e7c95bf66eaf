import { ErrorCode, RpcError, readableError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { type Carried, type Exchange, type HandlerRun, InputRequired, type Outcome } from './exchange.ts'

/** A handler run that begins with the first question or step: most handlers have none. */
export interface LazyHandlerRun {
  /** Begins the handler run unless it was begun. */
  get(): HandlerRun
  /** The handler run if it was begun. */
  readonly opened: HandlerRun | undefined
  /** State and answers of the explicit form (`inputRequired`) from the run before. */
  readonly carried: Carried
  /** Ends the run with an error, whatever the handler still returns. */
  fail(error: unknown): void
}

const nothingCarried: Carried = { state: undefined, answers: {} }

/**
 * Runs a handler, as often as its input strategy needs, until there is an outcome. The handler's return races
 * `HandlerRun.ended`: where a question ends the run, what the handler still returns is ignored.
 * @param finish makes the complete result from what the handler returned
 */
export async function runToOutcome<T>(
  exchange: Exchange,
  run: (handlerRun: LazyHandlerRun) => T | InputRequired | Promise<T | InputRequired>,
  finish: (value: T) => JsonObject | Promise<JsonObject>,
): Promise<Outcome> {
  const { params, inputStrategy, limits } = exchange
  try {
    const isRetry = params['requestState'] !== undefined || params['inputResponses'] !== undefined
    let handlerRun = isRetry ? await inputStrategy.resume(exchange) : undefined
    let carried = handlerRun?.carried ?? nothingCarried
    for (let count = 1; ; count++) {
      // A handler that waits for the signal's `abort` event would wait forever.
      if (exchange.signal.aborted) throw notRun()
      const lazy = new HandlerRunOnDemand(exchange, handlerRun, carried)
      const returned = run(lazy)
      // A handler that is not asynchronous, and did not ask, has nothing to race.
      const end = lazy.isUsed || isThenable(returned) ? await lazy.race(returned) : returned
      if (end instanceof EndedEarly) return end.outcome
      if (!(end instanceof InputRequired)) {
        const result = finish(end)
        return { type: 'complete', result: result instanceof Promise ? await result : result }
      }
      handlerRun = lazy.get()
      const next = await Promise.race([handlerRun.require(end), handlerRun.ended])
      if ('type' in next) return next
      if (count >= limits.questions) {
        throw new Error(`A handler asked for input ${limits.questions} times without finishing`)
      }
      carried = next
    }
  } catch (error) {
    throw readableError(error)
  }
}

function notRun(): RpcError {
  return new RpcError(ErrorCode.InternalError, 'The request was cancelled before its handler ran')
}

/** The handler run ended before its handler returned. */
class EndedEarly {
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    this.outcome = outcome
  }
}

class HandlerRunOnDemand implements LazyHandlerRun {
  readonly carried: Carried
  opened: HandlerRun | undefined
  /** Whether the run was begun or failed. */
  isUsed: boolean
  readonly #exchange: Exchange
  #failure: { readonly error: unknown } | undefined
  #settle: { resolve(end: EndedEarly): void; reject(error: unknown): void } | undefined

  constructor(exchange: Exchange, handlerRun: HandlerRun | undefined, carried: Carried) {
    this.#exchange = exchange
    this.opened = handlerRun
    this.isUsed = handlerRun !== undefined
    this.carried = carried
  }

  get(): HandlerRun {
    if (this.opened === undefined) {
      this.isUsed = true
      this.opened = this.#exchange.inputStrategy.begin(this.#exchange)
      this.#follow()
    }
    return this.opened
  }

  fail(error: unknown): void {
    this.isUsed = true
    this.#failure ??= { error }
    this.#settle?.reject(error)
  }

  /** Waits until the handler returns, or the handler run ends. */
  race<T>(returned: T | Promise<T>): Promise<T | EndedEarly> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      if (this.#failure !== undefined) reject(this.#failure.error)
      this.#follow()
      Promise.resolve(returned).then(resolve, reject)
    })
  }

  #follow(): void {
    const settle = this.#settle
    if (settle === undefined) return
    this.opened?.ended.then((outcome) => settle.resolve(new EndedEarly(outcome)), settle.reject)
  }
}

function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
