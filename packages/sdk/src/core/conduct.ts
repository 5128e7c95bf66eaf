import { readable } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { type Carried, type Exchange, InputRequired, type Outcome, type Round } from './exchange.ts'
import { limits } from './limits.ts'

/** A handler's way to its round: opened at the first question, so that a handler that never asks pays nothing. */
export interface RoundHandle {
  get(): Round
  /** The round if it was opened. */
  readonly opened: Round | undefined
  /** What the explicit form carried over to this run. */
  readonly carried: Carried
}

const nothingCarried: Carried = { state: undefined, answers: {} }

/**
 * Runs a handler under its exchange's way of asking until there is an outcome. The handler's return races the end
 * of its round: where a question parks or cannot be put, the round ends first and the handler is left behind.
 * @param finish makes the complete result from what the handler returned
 * @param over called when there is an outcome, or none can be had
 */
export async function conduct<T>(
  exchange: Exchange,
  run: (round: RoundHandle) => T | InputRequired | Promise<T | InputRequired>,
  finish: (value: T) => JsonObject | Promise<JsonObject>,
  over?: () => void,
): Promise<Outcome> {
  const { params, asking } = exchange
  const carries = params['requestState'] !== undefined || params['inputResponses'] !== undefined
  try {
    let round = carries ? await asking.resume(exchange) : undefined
    let carried = round?.carried ?? nothingCarried
    for (let runs = 0; runs < limits.questions; runs++) {
      const handle = new Handle(exchange, round, carried)
      const attempted = attempt(handle, run)
      const end = attempted instanceof Promise ? await attempted : attempted
      if (end instanceof Ended) return end.outcome
      if (!(end.returned instanceof InputRequired)) {
        const result = finish(end.returned)
        return { type: 'complete', result: result instanceof Promise ? await result : result }
      }
      const next = await Promise.race([handle.get().require(end.returned), handle.get().ended])
      if ('type' in next) return next
      carried = next
      round = handle.opened
    }
  } catch (error) {
    throw readable(error)
  } finally {
    over?.()
  }
  throw new Error(`A handler asked for input ${limits.questions} times without finishing`)
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

class Handle implements RoundHandle {
  readonly #exchange: Exchange
  #round: Round | undefined
  onOpen: ((round: Round) => void) | undefined
  readonly carried: Carried

  constructor(exchange: Exchange, round: Round | undefined, carried: Carried) {
    this.#exchange = exchange
    this.#round = round
    this.carried = carried
  }

  get opened(): Round | undefined {
    return this.#round
  }

  get(): Round {
    if (this.#round === undefined) {
      this.#round = this.#exchange.asking.begin(this.#exchange)
      this.onOpen?.(this.#round)
    }
    return this.#round
  }
}

function attempt<T>(
  handle: Handle,
  run: (round: RoundHandle) => T | InputRequired | Promise<T | InputRequired>,
): Returned<T> | Promise<Ended | Returned<T>> {
  const returned = run(handle)
  if (!(returned instanceof Promise)) return { returned }
  return new Promise((resolve, reject) => {
    const follow = (round: Round): void => {
      round.ended.then((outcome) => resolve(new Ended(outcome)), reject)
    }
    if (handle.opened === undefined) handle.onOpen = follow
    else follow(handle.opened)
    returned.then((value) => resolve({ returned: value }), reject)
  })
}
