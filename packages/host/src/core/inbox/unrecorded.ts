import type { InboxRow, InboxTable } from '../../log/store/inbox-tables.ts'
import { reasonOf } from '../../shared/text.ts'

/** Interval in milliseconds of the attempts to record. */
const retryMs = 500

/** An answer that takes effect only once it is recorded. */
interface PendingAnswer {
  answer: unknown
  by: string
}

/**
 * Changes of this program's questions that the store could not record: settled questions, which are final anyway, and answers
 * that take effect once recorded. Both are retried until the store can be written.
 */
export class UnrecordedAnswers {
  readonly #table: Pick<InboxTable, 'answer' | 'withdraw'>
  readonly #retryAnswer: (id: string, pending: PendingAnswer) => void
  readonly #settled = new Map<string, InboxRow>()
  readonly #pending = new Map<string, PendingAnswer>()
  #retrying: NodeJS.Timeout | undefined

  /** `again`: submits a pending answer again, which adds it here if it still cannot be recorded. */
  constructor(
    table: Pick<InboxTable, 'answer' | 'withdraw'>,
    retryAnswer: (id: string, pending: PendingAnswer) => void,
  ) {
    this.#table = table
    this.#retryAnswer = retryAnswer
  }

  /** The current state of a row, which the store may not have. */
  current(row: InboxRow): InboxRow {
    const settled = this.#settled.get(row.id)
    return settled !== undefined && row.state === 'open' ? settled : row
  }

  /** Adds a question that was answered or withdrawn. */
  addSettled(row: InboxRow): void {
    this.#settled.set(row.id, row)
    this.#start()
  }

  /** Adds an answer that takes effect once it is recorded; true if it is the first one to its question. */
  addPending(id: string, pending: PendingAnswer): boolean {
    const isFirst = !this.#pending.has(id)
    this.#pending.set(id, pending)
    this.#start()
    return isFirst
  }

  /** Removes the pending answer to a question that has ended. */
  removePending(id: string): void {
    this.#pending.delete(id)
  }

  /** Tries to record everything. */
  retry(): void {
    for (const [id, { state, answer, sealed, reason = '' }] of this.#settled) {
      try {
        if (state === 'withdrawn') this.#table.withdraw(id, reason)
        else if (answer !== undefined)
          this.#table.answer(id, { ...answer, ...(sealed !== undefined && { sealed }) })
        this.#settled.delete(id)
      } catch {
        return
      }
    }
    for (const [id, pending] of [...this.#pending]) {
      try {
        this.#retryAnswer(id, pending)
      } catch (error) {
        this.#pending.delete(id)
        process.emitWarning(`An answer could not be recorded: ${reasonOf(error)}`)
      }
    }
    if (this.#settled.size + this.#pending.size === 0) this.#stop()
  }

  /** Tries to record everything for the last time. */
  end(): void {
    this.#pending.clear()
    this.retry()
    this.#stop()
  }

  #start(): void {
    this.#retrying ??= setInterval(() => this.retry(), retryMs)
    this.#retrying.unref()
  }

  #stop(): void {
    clearInterval(this.#retrying)
    this.#retrying = undefined
  }
}
