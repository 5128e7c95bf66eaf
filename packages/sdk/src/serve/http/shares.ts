import { TransientMap } from '../../jsonrpc/transient.ts'

/**
 * How much of something each principal holds at once. Callers who are nobody in particular are many or one, who can
 * tell, so for them only the whole is bounded.
 */
export class Shares {
  readonly #most: number
  readonly #held = new TransientMap<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Takes one more, and gives whether there was room for it. */
  take(principal: string | null): boolean {
    if (principal === null) return true
    const held = this.#held.get(principal) ?? 0
    if (held >= this.#most) return false
    this.#held.set(principal, held + 1)
    return true
  }

  /** Gives back one that was taken. */
  give(principal: string | null): void {
    if (principal === null) return
    const held = this.#held.get(principal) ?? 0
    if (held > 1) this.#held.set(principal, held - 1)
    else this.#held.delete(principal)
  }
}
