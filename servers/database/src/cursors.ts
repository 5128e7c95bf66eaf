import { randomBytes } from 'node:crypto'
import { EngineError, type OpenResult } from './engine.ts'

/** An open result that waits for its next page. */
interface Waiting {
  database: string
  owner: string
  result: OpenResult
  timer: ReturnType<typeof setTimeout>
}

/**
 * Results that are kept open between pages. A cursor is random and valid once, for the client that received it: the next page
 * has a new one. It works the same on every revision, since it is an argument and not a state of the session.
 */
export class Cursors {
  readonly #waiting = new Map<string, Waiting>()
  readonly #max: number
  readonly #idleMs: number

  /** @param max results at once; one owner may have a quarter of them */
  constructor(max: number, idleMs: number) {
    this.#max = max
    this.#idleMs = idleMs
  }

  /** Adds a result and returns its cursor. Of too many, the one that waited longest is closed. */
  add(database: string, owner: string, result: OpenResult): string {
    this.#closeFirst((one) => one.owner === owner, Math.max(1, Math.floor(this.#max / 4)))
    this.#closeFirst(() => true, this.#max)
    const cursor = randomBytes(24).toString('base64url')
    const timer = setTimeout(() => this.#close(cursor), this.#idleMs)
    timer.unref()
    this.#waiting.set(cursor, { database, owner, result, timer })
    return cursor
  }

  /** The result of a cursor, which is then invalid. @throws EngineError for an unknown cursor, or one of another client */
  claim(cursor: string, owner: string): { database: string; result: OpenResult } {
    const found = this.#waiting.get(cursor)
    if (found === undefined || found.owner !== owner) {
      throw new EngineError(
        `This cursor is not valid. A cursor works once, for ${this.#idleMs / 1000} s, and fewer if many results are open. Run the query again.`,
      )
    }
    this.#waiting.delete(cursor)
    clearTimeout(found.timer)
    return found
  }

  /** Closes the result of a database that waited longest, so that its connection can be used. */
  evict(database: string): void {
    this.#closeFirst((one) => one.database === database, 1)
  }

  close(): void {
    for (const cursor of this.#waiting.keys()) this.#close(cursor)
  }

  /** Closes the first of those that match if there are `most` or more. */
  #closeFirst(matches: (one: Waiting) => boolean, most: number): void {
    const found = [...this.#waiting].filter(([, one]) => matches(one))
    const [first] = found
    if (first !== undefined && found.length >= most) this.#close(first[0])
  }

  #close(cursor: string): void {
    const found = this.#waiting.get(cursor)
    this.#waiting.delete(cursor)
    clearTimeout(found?.timer)
    found?.result.close()
  }
}
