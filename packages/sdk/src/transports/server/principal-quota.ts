import { RotatingMap } from '../../jsonrpc/rotating-map.ts'

/** Limits how much of something each principal has at once. Unauthenticated callers (`null`) are not limited by it. */
export class PrincipalQuota {
  readonly #most: number
  readonly #held = new RotatingMap<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Takes one more; false where there is no room for it. */
  take(principal: string | null): boolean {
    if (principal === null) return true
    const held = this.#held.get(principal) ?? 0
    if (held >= this.#most) return false
    this.#held.set(principal, held + 1)
    return true
  }

  give(principal: string | null): void {
    if (principal === null) return
    const held = this.#held.get(principal) ?? 0
    if (held > 1) this.#held.set(principal, held - 1)
    else this.#held.delete(principal)
  }
}
