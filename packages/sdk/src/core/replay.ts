import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { readJson } from '../jsonrpc/reread.ts'
import type { Question, QuestionMethod, Questions } from '../protocol/asking.ts'
import { forPeer } from './askable.ts'
import type { Backplane } from './backplane.ts'
import { canonical, digest } from './canonical.ts'
import type { Asking, Carried, Exchange, InputRequired, Outcome, Round } from './exchange.ts'
import { emptyJournal, type Journal } from './journal.ts'
import { BaseRound, copyOf, idempotencyKey, occurrence, runStep } from './live.ts'
import { answerTo } from './questions.ts'
import type { Sealer } from './seal.ts'
import { createStateKeeper, type StateKeeper } from './state.ts'

export interface ReplayOptions {
  sealer: Sealer
  /** Remembers which states were used, and keeps the large ones. */
  backplane: Backplane
  /** Who the state is meant for: state sealed for another audience does not open. */
  audience: string
  /** Milliseconds a state stays good. Default 30 minutes. */
  ttlMs?: number
  /**
   * Uses answers to questions that were never put, when their key is one the author chose. Default false: a client
   * could otherwise answer a question nobody saw.
   */
  acceptUnasked?: boolean
  /**
   * Accepts states of processes whose used states the backplane does not know. Default false: an answer could count once in each
   * process.
   */
  acceptUnknown?: boolean
  /** Called whenever a state is sealed. */
  onSealed?: () => void
  /** Hears why a state was refused; the peer is told nothing but that it is not valid. */
  onRefused?: (reason: string) => void
  /** Hears why the backplane failed; the peer is only told that it did. */
  onFailed?: (error: unknown) => void
}

/**
 * Asks by ending the round: the client retries with the answers, and the handler runs again from the top with
 * everything answered so far, on whichever node serves the retry.
 */
export function replay(options: ReplayOptions): Asking {
  const keeper = createStateKeeper(options)
  return {
    begin: (exchange) => new ReplayRound(exchange, keeper, emptyJournal(), {}),
    resume: async (exchange) => {
      const { requestState, inputResponses } = exchange.params
      const answers = isObject(inputResponses) ? inputResponses : {}
      if (requestState === undefined) {
        return new ReplayRound(
          exchange,
          keeper,
          emptyJournal(),
          options.acceptUnasked === true ? answers : {},
        )
      }
      const journal = await keeper.open(exchange, requestState)
      for (const [key, question] of Object.entries(journal.required)) {
        if (Object.hasOwn(answers, key)) answerTo(question, answers[key], key)
      }
      return new ReplayRound(exchange, keeper, journal, answers)
    },
  }
}

/**
 * One run of a handler from what its request remembers.
 * @param given the answers of this run, by the keys the journal asked under
 */
export function replayRound(
  exchange: Exchange,
  keeper: StateKeeper,
  journal: Journal,
  given: Readonly<Record<string, unknown>>,
): Round {
  return new ReplayRound(exchange, keeper, journal, given)
}

class ReplayRound extends BaseRound implements Round {
  readonly carried: Carried
  readonly #keeper: StateKeeper
  readonly #journal: Journal
  readonly #given: Readonly<Record<string, unknown>>
  /** Answers of this retry by the identity of the question they answer. */
  readonly #fresh = new Map<string, { key: string; answer: unknown }>()
  readonly #occurrences = new Map<string, number>()
  readonly #steps = new Map<string, number>()
  readonly #unread: Set<string>
  readonly #asked = new Map<string, { question: Question; identity: string }>()
  /** Keys in the order in which their questions were put, which is not the one in which their digests are ready. */
  readonly #order: string[] = []
  readonly #askedBefore: ReadonlyMap<string, string>
  readonly #drifts: Map<string, number>
  #busy = 0
  #closing = false
  #leaving = false

  constructor(
    exchange: Exchange,
    keeper: StateKeeper,
    journal: Journal,
    given: Readonly<Record<string, unknown>>,
  ) {
    super(exchange)
    this.#keeper = keeper
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

  put<M extends QuestionMethod>(
    asked: Extract<Question, { method: M }>,
    key?: string,
  ): Promise<Questions[M]['answer']> {
    const question = forPeer(this.exchange.peer, asked)
    const name = this.keys.next(question.method, key)
    this.#order.push(name)
    return new Promise((resolve) => {
      if (this.over || this.refused(question)) return
      this.#working(async () => {
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
      // What was remembered is what the same step gave before.
      return Promise.resolve(copyOf(done.value) as T)
    }
    this.#busy++
    return runStep(name, work, idempotencyKey(this.#journal.flow, place))
      .then(async (text) => {
        this.#journal.steps[place] = text === undefined ? {} : { value: readJson(text) }
        await this.#keeper.keep?.(this.exchange, this.#journal)
        return text === undefined ? undefined : readJson(text)
      })
      .finally(() => this.#rest())
  }

  leave(): Promise<void> {
    if (this.exchange.takeOver === undefined) return Promise.resolve()
    this.#working(async () => {
      this.#leaving = true
    })
    return new Promise(() => {})
  }

  async require(needed: InputRequired): Promise<Outcome> {
    const requests = Object.entries(needed.requests).map(([key, question]): [string, Question] => [
      key,
      forPeer(this.exchange.peer, question),
    ])
    if (requests.length === 0 && needed.state === undefined) {
      throw new TypeError('inputRequired needs at least one question, or state to carry')
    }
    for (const [key, question] of requests) {
      if (this.refused(question)) return this.ended
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

  /** The checked answer to a question, or undefined when there is none yet. */
  #answerOf<M extends QuestionMethod>(
    question: Extract<Question, { method: M }>,
    identity: string,
    name: string,
    named: boolean,
  ): Questions[M]['answer'] | undefined {
    this.#unread.delete(identity)
    const known = this.#journal.answers[identity]
    if (known !== undefined) return answerTo(question, known, name)
    const fresh = this.#fresh.get(identity) ?? this.#unasked(name, named)
    if (fresh === undefined) return undefined
    return answerTo(question, fresh.answer, fresh.key)
  }

  #unasked(name: string, named: boolean): { key: string; answer: unknown } | undefined {
    const neverAsked = this.#journal.round === 0
    return neverAsked && named && Object.hasOwn(this.#given, name)
      ? { key: name, answer: this.#given[name] }
      : undefined
  }

  #ask(question: Question, identity: string, name: string): void {
    const before = this.#askedBefore.get(name)
    if (before !== undefined && before !== identity && Object.hasOwn(this.#given, name)) {
      const drifts = (this.#drifts.get(name) ?? 0) + 1
      if (drifts >= 2) {
        this.fail(
          new TypeError(
            `The question "${name}" reads differently every time its handler runs, so no answer can fit it. ` +
              'Take what varies (a time, a random value, live data) from ctx.step.',
          ),
        )
        return
      }
      this.#drifts.set(name, drifts)
    }
    this.#asked.set(name, { question, identity })
  }

  #working(work: () => Promise<void>): void {
    this.#busy++
    work()
      .catch((error) => this.fail(error))
      .finally(() => this.#rest())
  }

  /** Closes the round once nothing moves any more: every question of this turn is in, every running step is done. */
  #rest(): void {
    this.#busy--
    if (this.#busy > 0 || this.#closing) return
    this.#closing = true
    setTimeout(() => {
      this.#closing = false
      if (this.#busy > 0 || this.over || (this.#asked.size === 0 && !this.#leaving)) return
      const closed = this.#asked.size > 0 ? this.#outcome() : this.#takenOver()
      closed.then(
        (outcome) => this.end(outcome),
        (error) => this.fail(error),
      )
    }, 0)
  }

  async #takenOver(): Promise<Outcome> {
    const { takeOver } = this.exchange
    if (takeOver === undefined) throw new TypeError('Nobody takes this request over')
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
      throw new RpcError(
        ErrorCode.InternalError,
        `A handler asked more than ${questions} questions in one request`,
      )
    }
    const place = new Map(this.#order.map((key, at) => [key, at]))
    const asked = [...this.#asked].sort(([a], [b]) => (place.get(a) ?? 0) - (place.get(b) ?? 0))
    const state = await this.#keeper.seal(this.exchange, {
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
    // What was asked under a key last has no answer yet where this retry brings none: an older one was to something else.
    const older = Object.entries(this.#journal.carried).filter(([key]) => !this.#askedBefore.has(key))
    this.#journal.carried = Object.fromEntries([...older, ...fresh])
    return this.#journal.carried
  }
}
