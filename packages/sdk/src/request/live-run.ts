import { ErrorCode, internalError, McpError, RpcError } from '../jsonrpc/error.ts'
import { readJson } from '../jsonrpc/exact-json.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ClientCapabilities } from '../protocol/definitions.ts'
import type { Question, QuestionMethod, Questions } from '../protocol/server-requests.ts'
import { toolRounds } from '../protocol/server-requests.ts'
import type { Carried, Exchange, HandlerRun, InputRequired, InputStrategy, Outcome } from './exchange.ts'
import { answerTo, faultOfQuestion, QuestionKeys } from './input-responses.ts'
import { forPeer, missingFor } from './input-support.ts'
import { copyOf, describeFault, faultInJson } from './json-value.ts'

/** Sends one request to the client and resolves with its result. */
export type LiveRequest = (
  method: QuestionMethod,
  params: JsonObject,
  options: { signal: AbortSignal },
) => Promise<unknown>

/** The stored steps of a request whose handler another node may run again. */
export interface StepMemory {
  /** The prefix of the idempotency keys. */
  readonly flow: string
  /** Whether the handler still repeats steps of an earlier run. */
  readonly isReplaying: boolean
  /** The result of a step of an earlier run, by its name with a number (`occurrence`). */
  step(key: string): { readonly value?: unknown } | undefined
  /** Stores the result of a step. */
  save(key: string, result: { readonly value?: unknown }): Promise<void>
}

/** Sends requests for input on the connection while the handler waits. */
export function liveInput(request: LiveRequest, memory?: StepMemory): InputStrategy {
  const begin = (exchange: Exchange): HandlerRun => new LiveHandlerRun(exchange, request, memory)
  return { begin, resume: async (exchange) => begin(exchange), relay: request }
}

/** Supports no input: the first question ends the request. */
export const noInput: InputStrategy = liveInput(() =>
  Promise.reject(new McpError('CANNOT_ASK', 'this connection does not carry requests from the server')),
)

/** Supports no input, whatever the client declared: the first question ends the request with this reason. */
export function cannotAsk(reason: string): InputStrategy {
  const begin = (exchange: Exchange): HandlerRun => new UnaskableHandlerRun(exchange, reason)
  const relay: LiveRequest = (method) => Promise.reject(new McpError('CANNOT_ASK', `${method}: ${reason}`))
  return { begin, resume: async (exchange) => begin(exchange), relay }
}

/** The parts of a handler run that every input strategy shares: question keys, early end, and the `parked` signal. */
export abstract class BaseHandlerRun {
  readonly ended: Promise<Outcome>
  protected readonly exchange: Exchange
  protected readonly keys: QuestionKeys = new QuestionKeys()
  #resolve: (outcome: Outcome) => void = () => {}
  #reject: (error: unknown) => void = () => {}
  #over = false
  #parked: AbortController | undefined

  constructor(exchange: Exchange) {
    this.exchange = exchange
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.ended.catch(() => {})
  }

  get parked(): AbortSignal {
    this.#parked ??= new AbortController()
    if (this.#over) this.#parked.abort()
    return this.#parked.signal
  }

  protected get isOver(): boolean {
    return this.#over
  }

  protected end(outcome: Outcome): void {
    if (this.#over) return
    this.#over = true
    this.#resolve(outcome)
    this.#parked?.abort()
  }

  protected fail(error: unknown): void {
    if (this.#over) return
    this.#over = true
    this.#reject(error)
    this.#parked?.abort()
  }

  /**
   * Whether a question must not be sent, because the client lacks a capability or it is invalid. The run is then ended; without
   * roots, `reject` is called instead.
   */
  protected refused(question: Question, reject: (error: RpcError) => void): boolean {
    const missing = missingFor(this.exchange.peer, question)
    if (missing !== undefined) {
      this.unanswered(
        question,
        new RpcError(
          ErrorCode.MissingRequiredClientCapability,
          `This request needs a client capability that was not declared: ${nameOf(missing)}. A client declares it with its handler for ${question.method}`,
          { requiredCapabilities: missing },
        ),
        reject,
      )
      return true
    }
    const fault = faultOfQuestion(question)
    if (fault !== undefined) {
      this.fail(new TypeError(`A handler sent an invalid ${question.method} request: ${fault}`))
      return true
    }
    const { samplingToolRounds } = this.exchange.limits
    if (question.method === 'sampling/createMessage' && toolRounds(question.params) > samplingToolRounds) {
      this.fail(
        new McpError(
          'TOO_MANY_ROUNDS',
          `A handler let the model use tools more than ${samplingToolRounds} times in a row: request a response without ` +
            "tools (toolChoice: { mode: 'none' }) before that, or start a new conversation with the results so far",
        ),
      )
      return true
    }
    return false
  }

  /**
   * Ends the run, or rejects a request for roots, which a handler may catch to continue without them. The handler of a
   * cancelled request must not continue.
   */
  protected unanswered(question: Question, error: RpcError, reject: (error: RpcError) => void): void {
    if (question.method === 'roots/list' && !this.exchange.signal.aborted) reject(error)
    else this.cannotAsk(error)
  }

  protected abstract cannotAsk(error: RpcError): void
}

class LiveHandlerRun extends BaseHandlerRun implements HandlerRun {
  carried: Carried = { state: undefined, answers: {} }
  readonly #request: LiveRequest
  readonly #memory: StepMemory | undefined
  readonly #flow: string
  readonly #steps = new Map<string, number>()
  #asked = 0

  constructor(exchange: Exchange, request: LiveRequest, memory?: StepMemory) {
    super(exchange)
    this.#request = request
    this.#memory = memory
    this.#flow = memory?.flow ?? crypto.randomUUID()
  }

  get replaying(): boolean {
    return this.#memory?.isReplaying ?? false
  }

  ask<M extends QuestionMethod>(
    asked: Extract<Question, { method: M }>,
    key?: string,
  ): Promise<Questions[M]['answer']> {
    const question = forPeer(this.exchange.peer, asked)
    const name = this.keys.next(question.method, key)
    return new Promise((resolve, reject) => {
      if (this.isOver || this.refused(question, reject)) return
      const { questions } = this.exchange.limits
      if (++this.#asked > questions) {
        this.fail(
          new McpError('TOO_MANY_ROUNDS', `A handler asked more than ${questions} questions in one request`),
        )
        return
      }
      const { peer, signal } = this.exchange
      const answered = async (): Promise<Questions[M]['answer']> => {
        const given = await this.#request(question.method, peer.revision.question(question), { signal })
        return answerTo(question, given, name)
      }
      answered().then(resolve, (error) => this.unanswered(question, failureOf(question, error), reject))
    })
  }

  step<T>(name: string, work: (idempotencyKey: string) => T | Promise<T>): Promise<T> {
    const place = occurrence(this.#steps, name)
    const memory = this.#memory
    const done = memory?.step(place)
    // The type of the step's earlier result.
    if (done !== undefined) return Promise.resolve(copyOf(done.value) as T)
    return runStep(name, work, idempotencyKey(this.#flow, place)).then(async (text) => {
      const value = text === undefined ? undefined : readJson(text)
      await memory?.save(place, text === undefined ? {} : { value: copyOf(value) })
      return value
    })
  }

  async continueAsTask(): Promise<void> {}

  async require(needed: InputRequired): Promise<Outcome | Carried> {
    const asked = Object.entries(needed.requests).map(
      async ([key, question]): Promise<[string, unknown]> => [key, await this.ask(question, key)],
    )
    try {
      const answers = { ...this.carried.answers, ...Object.fromEntries(await Promise.all(asked)) }
      this.carried = { state: needed.state, answers }
      return this.carried
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      this.cannotAsk(error)
      return this.ended
    }
  }

  protected cannotAsk(error: RpcError): void {
    if (this.exchange.method !== 'tools/call') {
      this.fail(error)
      return
    }
    this.end({
      type: 'complete',
      result: { content: [{ type: 'text', text: error.message }], isError: true },
    })
  }
}

class UnaskableHandlerRun extends LiveHandlerRun {
  readonly #reason: string

  constructor(exchange: Exchange, reason: string) {
    super(exchange, () => Promise.reject(new McpError('CANNOT_ASK', reason)))
    this.#reason = reason
  }

  protected override refused(question: Question, reject: (error: RpcError) => void): boolean {
    const error = internalError(`The server cannot send ${question.method}: ${this.#reason}`)
    this.unanswered(question, error, reject)
    return true
  }
}

function failureOf(question: Question, error: unknown): RpcError {
  const reason =
    error instanceof RpcError || error instanceof McpError ? error.message : 'the connection failed'
  const failure = internalError(`The client did not answer ${question.method}: ${reason}`)
  failure.cause = error
  return failure
}

/** The name of a step or question with its number among equal names: the second `charge` is `2:charge`. */
export function occurrence(counts: Map<string, number>, name: string): string {
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return `${count}:${name}`
}

/** The idempotency key of a step: the same for every run of one request. */
export function idempotencyKey(flow: string, step: string): string {
  return `${flow}/${step}`
}

/**
 * Runs a step and returns its result as JSON text, so that a later run of the handler gets the same; undefined for no result.
 * @throws TypeError for a result that JSON would lose or change
 */
export async function runStep(
  name: string,
  work: (idempotencyKey: string) => unknown,
  key: string,
): Promise<string | undefined> {
  if (typeof work !== 'function') {
    throw new TypeError('ctx.step takes a name, and the function whose result it stores')
  }
  const value = await work(key)
  if (value === undefined) return undefined
  const fault = faultInJson(value, 'exact')
  if (fault === undefined) return JSON.stringify(value)
  throw new TypeError(
    `The step "${name}" returned a value that JSON cannot represent, so a later run would get another one: ` +
      `${describeFault(fault, 'its result')}. Return plain JSON from it, such as a date as text, and nothing for undefined`,
  )
}

/** Capabilities as a text, such as `elicitation.url`. */
function nameOf(capabilities: ClientCapabilities): string {
  const names = Object.entries(capabilities).map(([name, parts]) => [name, ...Object.keys(parts)].join('.'))
  return names.join(', ')
}
