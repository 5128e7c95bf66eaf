import type { AnswerOptions, Client } from '@jackfield/sdk/client'
import type { ServerAnswers } from './answers.ts'

const words = {
  onElicit: 'questions of servers (elicitation)',
  onSample: 'requests for a model (sampling)',
  onRoots: 'requests for folders (roots)',
} as const
const kinds = ['onElicit', 'onSample', 'onRoots'] as const

/**
 * What one server is told that can be answered. A server of 2026-07-28 hears it with every request; a session is told
 * once, so a face that comes later is told of to the person instead.
 */
export class Advertised {
  readonly #answers: ServerAnswers
  readonly #warn: (message: string) => void
  #told: AnswerOptions = {}

  constructor(answers: ServerAnswers, warn: (message: string) => void) {
    this.#answers = answers
    this.#warn = warn
  }

  /** What to tell in a connection that is made now. */
  tell(): AnswerOptions {
    this.#told = this.#answers.now()
    return this.#told
  }

  /** What answers the questions of parked calls. */
  parked(): AnswerOptions {
    return this.#answers.parked()
  }

  /** Puts the visits that a failed request wants first. */
  visitFirst: ServerAnswers['visitFirst'] = (...failed) => this.#answers.visitFirst(...failed)

  /** The faces are others now. */
  changed(client: Client | undefined): void {
    if (client === undefined) return
    const now = this.#answers.now()
    // A session keeps what it was told; its handlers look for the faces of the moment by themselves.
    client.setAnswers(now)
    if (client.server.era === 'stateless') return
    const added = kinds.filter((kind) => now[kind] !== undefined && this.#told[kind] === undefined)
    if (added.length === 0) return
    const missing = added.map((kind) => words[kind]).join(', ')
    this.#warn(
      `The server was told at its start that nobody answers ${missing}. Somebody does now; reconnect it to tell it so.`,
    )
  }
}
