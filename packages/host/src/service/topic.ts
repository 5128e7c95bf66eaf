import { randomUUID } from 'node:crypto'
import { applyChanges, type Change, difference } from './view.ts'

/** Changes kept for a subscriber that reconnects. */
const maxStoredChanges = 1_000
/** Characters of these changes as JSON. */
const maxStoredCharacters = 1_048_576
/** Milliseconds for which a topic without subscribers stays active. */
const idleMs = 30_000

/** A position in the changes of a topic: `epoch` changes when the numbering restarts. */
export interface Position {
  /** Identifies one numbering: after another epoch the subscriber gets all rows again. */
  readonly epoch: string
  /** The number of the last change. */
  readonly seq: number
}

/** Updates for a subscriber: first the rows or the missed changes, then each further change. */
export type TopicUpdate =
  | (Position & { readonly rows: readonly (readonly [string, unknown])[] })
  | (Position & { readonly changes: readonly Change<unknown>[] })

/** The source of a topic's rows. */
export interface TopicSource<Row> {
  /** The current rows. */
  rows(): Iterable<readonly [string, Row]>
  /**
   * Starts watching: `push` adds changes, `refresh` soon compares the rows with those of `rows()`. Returns a function that stops.
   */
  follow(topic: { push(changes: readonly Change<Row>[]): void; refresh(): void }): () => void
}

/** Rows that change, with numbered changes, for any number of subscribers. */
export class Topic {
  readonly #source: TopicSource<unknown>
  readonly #subscribers = new Set<(update: TopicUpdate) => void>()
  readonly #rows = new Map<string, unknown>()
  #epoch = ''
  #seq = 0
  #changes: { seq: number; changes: readonly Change<unknown>[]; characters: number }[] = []
  #characters = 0
  #stopSource: (() => void) | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #isRefreshScheduled = false

  constructor(source: TopicSource<unknown>) {
    this.#source = source
  }

  /** `have`: the subscriber's last position. `update` is called at once, and with each change until the returned function is. */
  subscribe(update: (update: TopicUpdate) => void, have?: Position): () => void {
    clearTimeout(this.#idleTimer)
    if (this.#stopSource === undefined) this.#begin()
    update(this.#updateSince(have))
    this.#subscribers.add(update)
    return () => {
      if (!this.#subscribers.delete(update) || this.#subscribers.size > 0) return
      this.#idleTimer = setTimeout(() => this.close(), idleMs).unref()
    }
  }

  /** Stops watching. A later subscriber gets all rows again. */
  close(): void {
    clearTimeout(this.#idleTimer)
    this.#stopSource?.()
    this.#stopSource = undefined
    this.#rows.clear()
    this.#changes = []
    this.#characters = 0
  }

  #begin(): void {
    this.#epoch = randomUUID()
    this.#seq = 0
    for (const [key, row] of this.#source.rows()) this.#rows.set(key, row)
    this.#stopSource = this.#source.follow({
      push: (changes) => this.#push(changes),
      refresh: () => this.#refreshSoon(),
    })
  }

  #updateSince(have: Position | undefined): TopicUpdate {
    const position = { epoch: this.#epoch, seq: this.#seq }
    const firstSeq = this.#changes[0]?.seq ?? this.#seq + 1
    if (have?.epoch === this.#epoch && have.seq <= this.#seq && have.seq >= firstSeq - 1) {
      const missed = this.#changes.filter(({ seq }) => seq > have.seq)
      return { ...position, changes: missed.flatMap(({ changes }) => changes) }
    }
    return { ...position, rows: [...this.#rows] }
  }

  #push(changes: readonly Change<unknown>[]): void {
    if (changes.length === 0 || this.#stopSource === undefined) return
    applyChanges(this.#rows, changes)
    this.#seq += 1
    const characters = JSON.stringify(changes).length
    this.#changes.push({ seq: this.#seq, changes, characters })
    this.#characters += characters
    while (this.#changes.length > maxStoredChanges || this.#characters > maxStoredCharacters)
      this.#characters -= this.#changes.shift()?.characters ?? 0
    for (const update of [...this.#subscribers]) update({ epoch: this.#epoch, seq: this.#seq, changes })
  }

  #refreshSoon(): void {
    if (this.#isRefreshScheduled) return
    this.#isRefreshScheduled = true
    setImmediate(() => {
      this.#isRefreshScheduled = false
      if (this.#stopSource === undefined) return
      this.#push(difference(this.#rows, new Map(this.#source.rows())))
    })
  }
}
