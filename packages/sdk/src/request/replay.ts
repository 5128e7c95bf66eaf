import { internalError, type RpcError } from '../jsonrpc/error.ts'
import { readJson } from '../jsonrpc/exact-json.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Question, QuestionMethod, Questions } from '../protocol/server-requests.ts'
import { canonical, digest } from './encoding.ts'
import type { Carried, Exchange, HandlerRun, InputRequired, InputStrategy, Outcome } from './exchange.ts'
import { answerTo } from './input-responses.ts'
import { forPeer } from './input-support.ts'
import { copyOf } from './json-value.ts'
import { BaseHandlerRun, idempotencyKey, occurrence, runStep } from './live-run.ts'
import {
  createStateCodec,
  emptyJournal,
  type Journal,
  type StateCodec,
  type StateCodecOptions,
} from './state.ts'

interface ReplayOptions extends StateCodecOptions {
  /**
   * Accepts responses to questions that were never sent, if the handler chose their key. Default false: a client could
   * otherwise claim an answer that no user gave.
   */
  acceptUnasked?: boolean
}

/**
 * Requests input by ending the run (2026-07-28, multi round-trip requests): the client retries with the responses, and the
 * handler runs again from its start with all responses so far, on any node.
 */
export function replay(options: ReplayOptions): InputStrategy {
  const stateCodec = createStateCodec(options)
  return {
    begin: (exchange) => new ReplayHandlerRun(exchange, stateCodec, emptyJournal(), {}),
    resume: async (exchange) => {
      const { requestState, inputResponses } = exchange.params
      const answers = isObject(inputResponses) ? inputResponses : {}
      if (requestState === undefined) {
        const accepted = options.acceptUnasked === true ? answers : {}
        return new ReplayHandlerRun(exchange, stateCodec, emptyJournal(), accepted)
      }
      const journal = await stateCodec.open(exchange, requestState)
      for (const [key, question] of Object.entries(journal.required)) {
        if (Object.hasOwn(answers, key)) answerTo(question, answers[key], key)
      }
      return new ReplayHandlerRun(exchange, stateCodec, journal, answers)
    },
  }
}

/** One run of a handler, with the journal of the runs before. */
export class ReplayHandlerRun extends BaseHandlerRun implements HandlerRun {
  readonly carried: Carried
  readonly #stateCodec: StateCodec
  readonly #journal: Journal
  readonly #given: Readonly<Record<string, unknown>>
  /** Answers of this retry by the identity of the question they answer. */
  readonly #fresh = new Map<string, { key: string; answer: unknown }>()
  readonly #occurrences = new Map<string, number>()
  readonly #steps = new Map<string, number>()
  readonly #unread: Set<string>
  readonly #asked = new Map<string, { question: Question; identity: string }>()
  /** Keys in the order of their questions, which is not the order in which their digests are ready. */
  readonly #order: string[] = []
  readonly #askedBefore: ReadonlyMap<string, string>
  readonly #drifts: Map<string, number>
  #busy = 0
  #closing = false
  #continuesAsTask = false

  /** @param given the answers of this run, by the keys the journal asked under */
  constructor(
    exchange: Exchange,
    stateCodec: StateCodec,
    journal: Journal,
    given: Readonly<Record<string, unknown>>,
  ) {
    super(exchange)
    this.#stateCodec = stateCodec
    this.#journal = journal
    this.#given = given
    this.#askedBefore = new Map(Object.entries(journal.asked))
    this.#drifts = new Map(Object.entries(journal.drifts))
    for (const [key, identity] of this.#askedBefore) {
      if (Object.hasOwn(given, key)) this.#fresh.set(identity, { key, answer: given[key] })
    }
    this.#unread = new Set([
      ...Object.keys(journal.answers),
      ...this.#fresh.keys(),
      ...Object.keys(journal.steps).map((name) => `step ${name}`),
    ])
    this.carried = { state: copyOf(journal.state), answers: copyOf(this.#carriedAnswers()) }
  }

  get replaying(): boolean {
    return this.#unread.size > 0
  }

  ask<M extends QuestionMethod>(
    asked: Extract<Question, { method: M }>,
    key?: string,
  ): Promise<Questions[M]['answer']> {
    const question = forPeer(this.exchange.peer, asked)
    const name = this.keys.next(question.method, key)
    this.#order.push(name)
    return new Promise((resolve, reject) => {
      if (this.isOver || this.refused(question, reject)) return
      this.#startWork(async () => {
        const identity = await this.#identify(question)
        const answer = this.#answerOf(question, identity, name, key !== undefined)
        if (answer === undefined) {
          this.#ask(question, identity, name)
          return
        }
        this.#journal.answers[identity] = answer
        resolve(copyOf(answer))
      })
    })
  }

  step<T>(name: string, work: (idempotencyKey: string) => T | Promise<T>): Promise<T> {
    const place = occurrence(this.#steps, name)
    const done = this.#journal.steps[place]
    if (done !== undefined) {
      this.#unread.delete(`step ${place}`)
      // The type of the step's earlier result.
      return Promise.resolve(copyOf(done.value) as T)
    }
    this.#busy++
    return runStep(name, work, idempotencyKey(this.#journal.flow, place))
      .then(async (text) => {
        this.#journal.steps[place] = text === undefined ? {} : { value: readJson(text) }
        await this.#stateCodec.save?.(this.exchange, this.#journal)
        return text === undefined ? undefined : readJson(text)
      })
      .finally(() => this.#endWork())
  }

  continueAsTask(): Promise<void> {
    if (this.exchange.takeOver === undefined) return Promise.resolve()
    this.#startWork(async () => {
      this.#continuesAsTask = true
    })
    return new Promise(() => {})
  }

  async require(needed: InputRequired): Promise<Outcome> {
    const requests = Object.entries(needed.requests).map(([key, question]): [string, Question] => [
      key,
      forPeer(this.exchange.peer, question),
    ])
    if (requests.length === 0 && needed.state === undefined) {
      throw new TypeError('inputRequired needs at least one request, or a state')
    }
    for (const [key, question] of requests) {
      if (this.refused(question, (error) => this.fail(error))) return this.ended
      this.#asked.set(key, { question, identity: await this.#identify(question) })
    }
    this.#journal.state = needed.state
    this.#journal.carries = true
    this.#journal.required = Object.fromEntries(requests)
    return this.#outcome()
  }

  protected cannotAsk(error: RpcError): void {
    this.fail(error)
  }

  async #identify(question: Question): Promise<string> {
    const text = canonical({ method: question.method, params: question.params })
    const place = occurrence(this.#occurrences, text)
    return digest(place)
  }

  /** The validated response to a question, or undefined if there is none yet. */
  #answerOf<M extends QuestionMethod>(
    question: Extract<Question, { method: M }>,
    identity: string,
    name: string,
    named: boolean,
  ): Questions[M]['answer'] | undefined {
    this.#unread.delete(identity)
    const known = this.#journal.answers[identity]
    if (known !== undefined) return answerTo(question, known, name)
    const fresh = this.#fresh.get(identity)
    if (fresh !== undefined) return answerTo(question, fresh.answer, fresh.key)
    const isUnasked = this.#journal.round === 0 && named && Object.hasOwn(this.#given, name)
    return isUnasked ? answerTo(question, this.#given[name], name) : undefined
  }

  #ask(question: Question, identity: string, name: string): void {
    const before = this.#askedBefore.get(name)
    if (before !== undefined && before !== identity && Object.hasOwn(this.#given, name)) {
      const drifts = (this.#drifts.get(name) ?? 0) + 1
      if (drifts >= 2) {
        this.fail(
          new TypeError(
            `The question "${name}" differs in every run of its handler, so no response can match it. ` +
              'Take what varies (a time, a random value, live data) from ctx.step.',
          ),
        )
        return
      }
      this.#drifts.set(name, drifts)
    }
    this.#asked.set(name, { question, identity })
  }

  #startWork(work: () => Promise<void>): void {
    this.#busy++
    work()
      .catch((error) => this.fail(error))
      .finally(() => this.#endWork())
  }

  /** Ends the run when its handler only waits for responses: all questions of this turn are recorded, all steps are done. */
  #endWork(): void {
    this.#busy--
    if (this.#busy > 0 || this.#closing) return
    this.#closing = true
    setTimeout(() => {
      this.#closing = false
      if (this.#busy > 0 || this.isOver || (this.#asked.size === 0 && !this.#continuesAsTask)) return
      const closed = this.#asked.size > 0 ? this.#outcome() : this.#taskOutcome()
      closed.then(
        (outcome) => this.end(outcome),
        (error) => this.fail(error),
      )
    }, 0)
  }

  async #taskOutcome(): Promise<Outcome> {
    const { takeOver } = this.exchange
    if (takeOver === undefined) throw new TypeError('This request cannot continue as a task')
    return takeOver({ ...this.#journal, asked: {}, required: {}, answers: this.#answers() })
  }

  /** Every answer so far, read by this run or not. */
  #answers(): Journal['answers'] {
    const answers = { ...this.#journal.answers }
    for (const [identity, { answer }] of this.#fresh) answers[identity] ??= answer
    return answers
  }

  async #outcome(): Promise<Outcome> {
    const { questions } = this.exchange.limits
    if (Object.keys(this.#journal.answers).length + this.#asked.size > questions) {
      throw internalError(`A handler asked more than ${questions} questions in one request`)
    }
    const place = new Map(this.#order.map((key, at) => [key, at]))
    const asked = [...this.#asked].sort(([a], [b]) => (place.get(a) ?? 0) - (place.get(b) ?? 0))
    const state = await this.#stateCodec.seal(this.exchange, {
      ...this.#journal,
      round: this.#journal.round + 1,
      asked: Object.fromEntries(asked.map(([key, { identity }]) => [key, identity])),
      answers: this.#answers(),
      drifts: Object.fromEntries(this.#drifts),
    })
    const requests = Object.fromEntries(asked.map(([key, { question }]) => [key, question]))
    return { type: 'input_required', requests, state }
  }

  #carriedAnswers(): Record<string, unknown> {
    if (!this.#journal.carries) return {}
    const fresh = Array.from(this.#fresh.values(), ({ key, answer }): [string, unknown] => [key, answer])
    // An older response to a key of the last round was to another question.
    const older = Object.entries(this.#journal.carried).filter(([key]) => !this.#askedBefore.has(key))
    this.#journal.carried = Object.fromEntries([...older, ...fresh])
    return this.#journal.carried
  }
}
