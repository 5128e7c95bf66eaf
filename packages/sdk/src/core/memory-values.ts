import { McpError } from '../jsonrpc/error.ts'
import { shown } from '../jsonrpc/shown.ts'

/** What is kept under a key. */
export interface Kept {
  readonly value: string
  /** When it counts no longer, by the clock that nobody sets. */
  readonly expires: number
  readonly owner: string | undefined
}

/** How much there is. */
interface Amount {
  count: number
  chars: number
}

const nothing: Readonly<Amount> = { count: 0, chars: 0 }
const owners = 5
const betweenClearingsMs = 1_000

/** Values that expire, bounded in number and characters, both in all and for each owner. */
export class MemoryValues {
  readonly #most: Readonly<Amount>
  readonly #share: Readonly<Amount>
  readonly #kept = new Map<string, Kept>()
  readonly #total: Amount = { count: 0, chars: 0 }
  readonly #owned = new Map<string, Amount>()
  #nextClearing = 0

  constructor(count: number, chars: number) {
    this.#most = { count, chars }
    this.#share = { count: Math.ceil(count / owners), chars: Math.ceil(chars / owners) }
  }

  get(key: string, now: number): string | undefined {
    const kept = this.#kept.get(key)
    return kept !== undefined && kept.expires > now ? kept.value : undefined
  }

  ownerOf(key: string): string | undefined {
    return this.#kept.get(key)?.owner
  }

  /** @throws McpError 'LIMIT' where it does not fit; what stands there then stays */
  set(key: string, kept: Kept, now: number): void {
    const before = this.#kept.get(key)
    if (before !== undefined) this.delete(key)
    const why = this.#lacking(kept) === undefined ? undefined : this.#lackingStill(kept, now)
    if (why === undefined) {
      this.#put(key, kept)
      return
    }
    if (before !== undefined) this.#put(key, before)
    throw new McpError(
      'LIMIT',
      `${why}. More is taken when some of it expires, or where the limit is higher.`,
    )
  }

  delete(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#kept.delete(key)
    this.#count(kept, -1)
  }

  /** Forgets what expired. */
  sweep(now: number): void {
    for (const [key, { expires }] of this.#kept) if (expires <= now) this.delete(key)
  }

  #put(key: string, kept: Kept): void {
    this.#kept.set(key, kept)
    this.#count(kept, 1)
  }

  #count({ value, owner }: Kept, sign: 1 | -1): void {
    add(this.#total, value, sign)
    if (owner === undefined) return
    const owned = this.#owned.get(owner) ?? { count: 0, chars: 0 }
    add(owned, value, sign)
    if (owned.count === 0) this.#owned.delete(owner)
    else this.#owned.set(owner, owned)
  }

  /** Looks once more where something expired, which takes its time when there is much. */
  #lackingStill(kept: Kept, now: number): string | undefined {
    if (now < this.#nextClearing) return this.#lacking(kept)
    this.#nextClearing = now + betweenClearingsMs
    this.sweep(now)
    return this.#lacking(kept)
  }

  #lacking({ value, owner }: Kept): string | undefined {
    const full = reached(this.#total, this.#most, value)
    if (full !== undefined) return `This process remembers as much as it may (${full})`
    if (owner === undefined) return undefined
    const share = reached(this.#owned.get(owner) ?? nothing, this.#share, value)
    return (
      share && `This process remembers as much for "${shown(owner)}" as for one client (a fifth of ${share})`
    )
  }
}

function add(amount: Amount, value: string, sign: 1 | -1): void {
  amount.count += sign
  amount.chars += sign * value.length
}

/** The name of the limit that one more value would go beyond. */
function reached(amount: Readonly<Amount>, most: Readonly<Amount>, value: string): string | undefined {
  if (amount.count >= most.count) return 'limits.remembered'
  return amount.chars + value.length > most.chars ? 'limits.rememberedChars' : undefined
}
