import { McpError } from '@jackfield/sdk'
import type { InboxRow } from '../../log/store/inbox-tables.ts'
import type { Surface } from '../../types/index.ts'
import { canShow, showQuestion } from './show.ts'

/** An attached surface. */
export interface Attachment {
  readonly surface: Surface
  /** Aborted when the surface is detached. */
  readonly detached: AbortSignal
}

export interface WaitingOptions {
  readonly row: InboxRow
  readonly signal: AbortSignal
  /** Settles the question with an answer of a surface. Throws if the answer is not valid. */
  answer(answer: unknown, by: string): void
  /** The question was deferred: no surface shows it. */
  deferred(): void
  /** No surface can show the question; `error` is that of the last one. */
  failed(error: unknown): void
}

/** One question on the surfaces of this program. */
export class WaitingQuestion {
  readonly #options: WaitingOptions
  readonly #ended = new AbortController()
  readonly #showing = new Set<Attachment>()
  /** A surface deferred the question or was detached, so failures of other surfaces do not end it. */
  #wasDeferred = false

  constructor(options: WaitingOptions) {
    this.#options = options
  }

  get row(): InboxRow {
    return this.#options.row
  }

  /** Shows the question on one more surface; returns false if that surface cannot. */
  show(attachment: Attachment): boolean {
    const { row, signal, answer, failed } = this.#options
    const { surface, detached } = attachment
    if (!canShow(surface, row.question)) return false
    this.#showing.add(attachment)
    const until = AbortSignal.any([signal, detached, this.#ended.signal])
    Promise.resolve()
      .then(() => showQuestion(surface, row.question, until))
      .then((surfaceAnswer) => {
        if (until.aborted) return
        if (surfaceAnswer !== undefined) return answer(surfaceAnswer, surface.name)
        this.#wasDeferred = true
        this.#showing.delete(attachment)
        if (this.#showing.size === 0) this.#options.deferred()
      })
      .catch((error: unknown) => {
        if (until.aborted) return
        this.#showing.delete(attachment)
        if (this.#showing.size === 0 && !this.#wasDeferred) failed(error)
      })
    return true
  }

  /** A surface was detached: the question stays. */
  hide(attachment: Attachment): void {
    if (this.#showing.delete(attachment)) this.#wasDeferred = true
  }

  /** Withdraws the question from every surface, with the reason. */
  end(reason: string): void {
    this.#ended.abort(new McpError('CANCELLED', reason))
  }
}
