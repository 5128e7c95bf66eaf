import { readableError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { type Carried, type Exchange, type HandlerRun, InputRequired, type Outcome } from './exchange.ts'

/** A handler's way to its round: opened at the first question, so that a handler that never asks pays nothing. */
export interface LazyHandlerRun {
  get(): HandlerRun
  /** The round if it was opened. */
  readonly opened: HandlerRun | undefined
  /** What the explicit form carried over to this run. */
  readonly carried: Carried
}

const nothingCarried: Carried = { state: undefined, answers: {} }

/**
 * Runs a handler under its exchange's way of asking until there is an outcome, which is given at once where nothing had to
 * be waited for. The handler's return races the end of its round: where a question parks or cannot be put, the round ends
 * first and the handler is left behind.
 * @param finish makes the complete result from what the handler returned
 * @param over called when there is an outcome, or none can be had
 */
export function runToOutcome<T>(
  exchange: Exchange,
  run: (round: LazyHandlerRun) => T | InputRequired | Promise<T | InputRequired>,
  finish: (value: T) => JsonObject | Promise<JsonObject>,
  over: () => void = () => {},
): Outcome | Promise<Outcome> {
  const { params, inputStrategy: asking } = exchange
  const conducted = new RunToOutcome(exchange, run, finish)
  const fail = (error: unknown): never => {
    over()
    throw readableError(error)
  }
  try {
    const outcome =
      params['requestState'] === undefined && params['inputResponses'] === undefined
        ? conducted.run(undefined, nothingCarried, 1)
        : asking.resume(exchange).then((round) => conducted.run(round, round.carried, 1))
    if (outcome instanceof Promise) {
      return outcome.then((settled) => {
        over()
        return settled
      }, fail)
    }
    over()
    return outcome
  } catch (error) {
    return fail(error)
  }
}

/** A handler on its way to an outcome, over as many runs as it needs. */
class RunToOutcome<T> {
  readonly #exchange: Exchange
  readonly #run: (round: LazyHandlerRun) => T | InputRequired | Promise<T | InputRequired>
  readonly #finish: (value: T) => JsonObject | Promise<JsonObject>

  constructor(
    exchange: Exchange,
    run: (round: LazyHandlerRun) => T | InputRequired | Promise<T | InputRequired>,
    finish: (value: T) => JsonObject | Promise<JsonObject>,
  ) {
    this.#exchange = exchange
    this.#run = run
    this.#finish = finish
  }

  /** @param nth which run this is, from 1 */
  run(round: HandlerRun | undefined, carried: Carried, nth: number): Outcome | Promise<Outcome> {
    const handle = new Handle(this.#exchange, round, carried)
    const end = attempt(handle, this.#run)
    return end instanceof Promise
      ? end.then((later) => this.#ended(later, handle, nth))
      : this.#ended(end, handle, nth)
  }

  #ended(end: Ended | Returned<T>, handle: Handle, nth: number): Outcome | Promise<Outcome> {
    if (end instanceof Ended) return end.outcome
    if (end.returned instanceof InputRequired) return this.#again(end.returned, handle, nth)
    const result = this.#finish(end.returned)
    return result instanceof Promise ? result.then(complete) : complete(result)
  }

  async #again(needed: InputRequired, handle: Handle, nth: number): Promise<Outcome> {
    const next = await Promise.race([handle.get().require(needed), handle.get().ended])
    if ('type' in next) return next
    const { questions } = this.#exchange.limits
    if (nth < questions) return this.run(handle.opened, next, nth + 1)
    throw new Error(`A handler asked for input ${questions} times without finishing`)
  }
}

function complete(result: JsonObject): Outcome {
  return { type: 'complete', result }
}

class Ended {
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    this.outcome = outcome
  }
}

interface Returned<T> {
  readonly returned: T | InputRequired
}

class Handle implements LazyHandlerRun {
  readonly #exchange: Exchange
  #round: HandlerRun | undefined
  onOpen: ((round: HandlerRun) => void) | undefined
  readonly carried: Carried

  constructor(exchange: Exchange, round: HandlerRun | undefined, carried: Carried) {
    this.#exchange = exchange
    this.#round = round
    this.carried = carried
  }

  get opened(): HandlerRun | undefined {
    return this.#round
  }

  get(): HandlerRun {
    if (this.#round === undefined) {
      this.#round = this.#exchange.inputStrategy.begin(this.#exchange)
      this.onOpen?.(this.#round)
    }
    return this.#round
  }
}

function attempt<T>(
  handle: Handle,
  run: (round: LazyHandlerRun) => T | InputRequired | Promise<T | InputRequired>,
): Returned<T> | Promise<Ended | Returned<T>> {
  const returned = run(handle)
  if (!(returned instanceof Promise)) return { returned }
  return new Promise((resolve, reject) => {
    const follow = (round: HandlerRun): void => {
      round.ended.then((outcome) => resolve(new Ended(outcome)), reject)
    }
    if (handle.opened === undefined) handle.onOpen = follow
    else follow(handle.opened)
    returned.then((value) => resolve({ returned: value }), reject)
  })
}
