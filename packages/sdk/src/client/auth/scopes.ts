import type { Wanted } from './challenge.ts'
import type { Target } from './discover.ts'
import { refused } from './network.ts'

const maxChars = 4_096
const offline = 'offline_access'

/** Scopes for one authorization request; none means that the parameter is left out. */
export function scopesFor(
  status: number,
  wanted: Wanted,
  target: Target,
  chosen: readonly string[] | undefined,
  before: readonly string[],
  lasting: boolean,
): string[] {
  const first = chosen ?? wanted.scopes ?? target.scopes ?? []
  const scopes = new Set([...before, ...(status === 403 ? (wanted.scopes ?? []) : first)])
  // Alone it would take the place of the scopes a server gives who asks for none.
  const lasts = target.metadata.scopes_supported?.includes(offline) === true
  if (lasting && lasts && scopes.size > 0) scopes.add(offline)
  const all = [...scopes]
  if (all.join(' ').length > maxChars) throw refused('The server wants more scopes than can be asked for')
  return all
}

const forgetMs = 600_000
const maxRemembered = 100

/** Remembers which scopes were asked for in vain, so that nobody is asked for the same again and again. */
export class Refusals {
  readonly #at = new Map<string, number>()

  add(key: string): void {
    this.#at.delete(key)
    this.#at.set(key, performance.now())
    const [oldest] = this.#at.keys()
    if (this.#at.size > maxRemembered && oldest !== undefined) this.#at.delete(oldest)
  }

  has(key: string): boolean {
    const at = this.#at.get(key)
    return at !== undefined && performance.now() - at < forgetMs
  }
}
