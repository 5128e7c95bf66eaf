import { randomBytes } from 'node:crypto'
import { EngineError, type OpenResult } from './engine.ts'

/** An open result that waits for its next page. */
interface OpenCursor {
  database: string
  owner: string
  result: OpenResult
  timer: ReturnType<typeof setTimeout>
}

/**
 * Results that are kept open between pages. A cursor is random and valid once, for the client that received it: the next page
 * has a new one. It works on every revision, because it is an argument and not session state.
 */
export class Cursors {
  readonly #cursors = new Map<string, OpenCursor>()
  readonly #maxCursors: number
  readonly #idleMs: number

  /** @param max results at once; one owner may have a quarter of them */
  constructor(max: number, idleMs: number) {
    this.#maxCursors = max
    this.#idleMs = idleMs
  }

  /** Adds a result and returns its cursor. At the limit, the oldest cursor is closed. */
  add(database: string, owner: string, result: OpenResult): string {
    this.#closeOldest((one) => one.owner === owner, Math.max(1, Math.floor(this.#maxCursors / 4)))
    this.#closeOldest(() => true, this.#maxCursors)
    const cursor = randomBytes(24).toString('base64url')
    const timer = setTimeout(() => this.#close(cursor), this.#idleMs)
    timer.unref()
    this.#cursors.set(cursor, { database, owner, result, timer })
    return cursor
  }

  /** The result of a cursor, which is then invalid. @throws EngineError for an unknown cursor, or one of another client */
  claim(cursor: string, owner: string): { database: string; result: OpenResult } {
    const found = this.#cursors.get(cursor)
    if (found === undefined || found.owner !== owner) {
      throw new EngineError(
        `This cursor is not valid. A cursor works once, for ${this.#idleMs / 1000} s, and fewer if many results are open. Run the query again.`,
      )
    }
    this.#cursors.delete(cursor)
    clearTimeout(found.timer)
    return found
  }

  /** Closes the oldest cursor of a database, so that its connection can be used. */
  evict(database: string): void {
    this.#closeOldest((one) => one.database === database, 1)
  }

  close(): void {
    for (const cursor of this.#cursors.keys()) this.#close(cursor)
  }

  /** Closes the oldest matching cursor if there are `max` or more. */
  #closeOldest(matches: (one: OpenCursor) => boolean, max: number): void {
    const found = [...this.#cursors].filter(([, one]) => matches(one))
    const [first] = found
    if (first !== undefined && found.length >= max) this.#close(first[0])
  }

  #close(cursor: string): void {
    const found = this.#cursors.get(cursor)
    this.#cursors.delete(cursor)
    clearTimeout(found?.timer)
    found?.result.close()
  }
}
