import { excerpt, McpError } from '../jsonrpc/error.ts'
import { limits } from './limits.ts'

/**
 * What state shared between exchanges stands on: keys with expiry and compare-and-set, a trimmed append log, and
 * publish and subscribe. In memory by default; many nodes share one over Redis. Every method rejects where the shared
 * store cannot be reached, in bounded time; keys, values and messages are well-formed text.
 */
export interface Backplane {
  /**
   * Names the process that alone knows what is stored, and forgets it at its end. Absent where other processes share what is stored
   * or it outlives its process, so that an answer to a question counts once whichever process takes it.
   */
  readonly instance?: string
  get(key: string): Promise<string | undefined>
  /**
   * Stores a value for so many milliseconds. `owner` is the principal it is kept for, if any, for a store that bounds
   * what each may fill. Rejects where no more fits; nothing that still counts is ever dropped to make room.
   */
  set(key: string, value: string, ttlMs: number, owner?: string): Promise<void>
  /** Stores only where nothing stands; true when it did. Likewise. */
  add(key: string, value: string, ttlMs: number, owner?: string): Promise<boolean>
  /** Replaces `expected` by `value`; false when something else stands there. */
  swap(key: string, expected: string, value: string, ttlMs: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Appends to a log, keeps its newest `keep` entries, and gives the entry's position, counted from 1. */
  append(log: string, entry: string, keep: number, ttlMs: number): Promise<number>
  /** Entries after a position, oldest first; undefined when that position was trimmed away or never was. */
  after(log: string, position: number): Promise<{ position: number; entry: string }[] | undefined>
  publish(topic: string, message: string): Promise<void>
  /**
   * Calls `listener` for every message until the returned function is called. `lost` is called where messages may have
   * been missed, as soon as the topic is heard again; where none can be missed, never.
   */
  subscribe(topic: string, listener: (message: string) => void, lost?: () => void): Promise<() => void>
}

interface Log {
  readonly entries: { position: number; entry: string }[]
  last: number
  expires: number
  chars: number
}

/** Logs that expire, bounded in all: where one more entry finds no room, those logs go that nobody appended to for longest. */
export class MemoryLogs {
  readonly #mostChars: number
  /** In the order of their newest entries. */
  readonly #logs = new Map<string, Log>()
  #chars = 0

  constructor(mostChars: number) {
    this.#mostChars = mostChars
  }

  append(name: string, entry: string, keep: number, expires: number, now: number): number {
    const log = this.#live(name, now) ?? { entries: [], last: 0, expires, chars: 0 }
    this.#logs.delete(name)
    this.#logs.set(name, log)
    log.last++
    log.expires = expires
    log.entries.push({ position: log.last, entry })
    this.#grow(log, entry.length)
    const tooMany = log.entries.length - keep
    if (tooMany > 0) {
      for (const { entry } of log.entries.splice(0, tooMany)) this.#grow(log, -entry.length)
    }
    for (const [other, unused] of this.#logs) {
      if (this.#chars <= this.#mostChars || unused === log) break
      this.delete(other)
    }
    return log.last
  }

  after(name: string, position: number, now: number): { position: number; entry: string }[] | undefined {
    const log = this.#logs.get(name)
    if (log === undefined || log.expires <= now) return undefined
    const oldest = log.last - log.entries.length
    if (position < oldest || position > log.last) return undefined
    return log.entries.slice(position - oldest)
  }

  delete(name: string): void {
    const log = this.#logs.get(name)
    if (log === undefined) return
    this.#logs.delete(name)
    this.#chars -= log.chars
  }

  /** Forgets what expired. */
  sweep(now: number): void {
    for (const name of [...this.#logs.keys()]) this.#live(name, now)
  }

  /** A log that has not expired; one that has is forgotten. */
  #live(name: string, now: number): Log | undefined {
    const log = this.#logs.get(name)
    if (log === undefined || log.expires > now) return log
    this.delete(name)
    return undefined
  }

  #grow(log: Log, chars: number): void {
    log.chars += chars
    this.#chars += chars
  }
}

/** What is kept under a key. */
export interface StoredValue {
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
  readonly #kept = new Map<string, StoredValue>()
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
  set(key: string, kept: StoredValue, now: number): void {
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

  #put(key: string, kept: StoredValue): void {
    this.#kept.set(key, kept)
    this.#count(kept, 1)
  }

  #count({ value, owner }: StoredValue, sign: 1 | -1): void {
    add(this.#total, value, sign)
    if (owner === undefined) return
    const owned = this.#owned.get(owner) ?? { count: 0, chars: 0 }
    add(owned, value, sign)
    if (owned.count === 0) this.#owned.delete(owner)
    else this.#owned.set(owner, owned)
  }

  /** Looks once more where something expired, which takes its time when there is much. */
  #lackingStill(kept: StoredValue, now: number): string | undefined {
    if (now < this.#nextClearing) return this.#lacking(kept)
    this.#nextClearing = now + betweenClearingsMs
    this.sweep(now)
    return this.#lacking(kept)
  }

  #lacking({ value, owner }: StoredValue): string | undefined {
    const full = reached(this.#total, this.#most, value)
    if (full !== undefined) return `This process remembers as much as it may (${full})`
    if (owner === undefined) return undefined
    const share = reached(this.#owned.get(owner) ?? nothing, this.#share, value)
    return (
      share &&
      `This process remembers as much for "${excerpt(owner)}" as for one client (a fifth of ${share})`
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

const sweepEveryMs = 30_000

/** How much a backplane in memory keeps. */
export type MemoryBounds = Pick<
  { readonly [Name in keyof typeof limits]: number },
  'remembered' | 'rememberedChars' | 'storedEventChars'
>

/**
 * A backplane for one process. Expired entries are dropped when met, and swept every 30 s of use. A value
 * that does not fit is refused with McpError 'LIMIT'; for an entry, the logs go that nobody appended to for longest.
 */
export function memoryBackplane(bounds: MemoryBounds = limits): Backplane {
  const values = new MemoryValues(bounds.remembered, bounds.rememberedChars)
  const logs = new MemoryLogs(bounds.storedEventChars)
  const topics = new Map<string, Set<(message: string) => void>>()
  let nextSweep = 0
  let instance: string | undefined

  const sweep = (now: number): void => {
    if (now < nextSweep) return
    nextSweep = now + sweepEveryMs
    values.sweep(now)
    logs.sweep(now)
  }
  const live = (key: string): string | undefined => {
    const now = performance.now()
    sweep(now)
    return values.get(key, now)
  }

  return {
    // Made here, not above: workers have no randomness before the first request.
    get instance() {
      instance ??= crypto.randomUUID()
      return instance
    },
    get: async (key) => live(key),
    set: async (key, value, ttlMs, owner) => {
      const now = performance.now()
      sweep(now)
      values.set(key, { value, expires: now + ttlMs, owner }, now)
    },
    add: async (key, value, ttlMs, owner) => {
      if (live(key) !== undefined) return false
      const now = performance.now()
      values.set(key, { value, expires: now + ttlMs, owner }, now)
      return true
    },
    swap: async (key, expected, value, ttlMs) => {
      if (live(key) !== expected) return false
      const now = performance.now()
      values.set(key, { value, expires: now + ttlMs, owner: values.ownerOf(key) }, now)
      return true
    },
    delete: async (key) => {
      values.delete(key)
      logs.delete(key)
    },
    append: async (name, entry, keep, ttlMs) => {
      const now = performance.now()
      sweep(now)
      return logs.append(name, entry, keep, now + ttlMs, now)
    },
    after: async (name, position) => logs.after(name, position, performance.now()),
    publish: async (topic, message) => {
      for (const listener of topics.get(topic) ?? []) listener(message)
    },
    subscribe: async (topic, listener) => {
      const listeners = topics.get(topic) ?? new Set()
      listeners.add(listener)
      topics.set(topic, listeners)
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) topics.delete(topic)
      }
    },
  }
}
