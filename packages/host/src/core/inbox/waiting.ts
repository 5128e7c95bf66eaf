import { McpError } from '@jackfield/sdk'
import type { InboxRow } from '../../log/store/inbox-tables.ts'
import type { Surface } from '../../types/index.ts'
import { canShow, showQuestion } from './show.ts'

/** A face, for as long as it is attached. */
export interface Attachment {
  readonly surface: Surface
  /** Aborted when the face is taken away. */
  readonly gone: AbortSignal
}

export interface WaitingOptions {
  readonly row: InboxRow
  readonly signal: AbortSignal
  /** Tries to make an answer of a face the one that counts. Throws where it is no answer. */
  answer(answer: unknown, by: string): void
  /** The person left it for later: no face shows it any more. */
  later(): void
  /** No face can show the question any more; the last one's reason. */
  failed(error: unknown): void
}

/** One question on the faces of this program. */
export class Waiting {
  readonly #options: WaitingOptions
  readonly #over = new AbortController()
  readonly #showing = new Set<Attachment>()
  /** A face left the question in the inbox or was taken away, so that no other face's failure ends it. */
  #left = false

  constructor(options: WaitingOptions) {
    this.#options = options
  }

  get row(): InboxRow {
    return this.#options.row
  }

  /** Shows the question on one more face; false where that one cannot. */
  show(attachment: Attachment): boolean {
    const { row, signal, answer, failed } = this.#options
    const { surface, gone } = attachment
    if (!canShow(surface, row.question)) return false
    this.#showing.add(attachment)
    const until = AbortSignal.any([signal, gone, this.#over.signal])
    Promise.resolve()
      .then(() => showQuestion(surface, row.question, until))
      .then((given) => {
        if (until.aborted) return
        if (given !== undefined) return answer(given, surface.name)
        this.#left = true
        this.#showing.delete(attachment)
        if (this.#showing.size === 0) this.#options.later()
      })
      .catch((error: unknown) => {
        if (until.aborted) return
        this.#showing.delete(attachment)
        if (this.#showing.size === 0 && !this.#left) failed(error)
      })
    return true
  }

  /** A face was taken away: the question stays. */
  hide(attachment: Attachment): void {
    if (this.#showing.delete(attachment)) this.#left = true
  }

  /** Withdraws the question from every surface, with the reason. */
  end(reason: string): void {
    this.#over.abort(new McpError('CANCELLED', reason))
  }
}
