import { McpError } from '../jsonrpc/error.ts'
import type { ClientCapabilities } from '../protocol/capabilities.ts'
import { Answers } from './answers.ts'
import type { AnswerOptions, ConnectOptions } from './types.ts'
import { Visits } from './visits.ts'

/** What a client can answer at the moment, and what its session was told. */
export class AnswerBook {
  readonly visits: Visits = new Visits()
  readonly #options: ConnectOptions
  #now: Answers
  #session: Answers

  constructor(options: ConnectOptions) {
    this.#options = options
    this.#now = new Answers(options, this.visits)
    this.#session = this.#now
  }

  /** What the next request declares, and what its questions are answered with. */
  get now(): Answers {
    return this.#now
  }

  /** What `initialize` declared: a session cannot be told anything else later. */
  get session(): Answers {
    return this.#session
  }

  /** What to declare now. A session is held to it from here on. */
  declare(era: 'session' | 'stateless'): ClientCapabilities {
    if (era === 'session') this.#session = this.#now
    return this.#now.capabilities(era)
  }

  /** Takes the place of everything that could be answered. */
  set(answers: AnswerOptions): void {
    this.#now = this.apart(answers)
  }

  /** The same client with other answers. */
  apart(answers: AnswerOptions): Answers {
    if (this.#options.relay !== undefined) {
      throw new McpError(
        'INVALID',
        'A client that hands questions over ("relay") has no answers of its own to set',
      )
    }
    const { onElicit, onSample, onRoots, elicitation, sampling, ...rest } = this.#options
    return new Answers({ ...rest, ...answers }, this.visits)
  }
}
