import { excerpt, McpError } from '../jsonrpc/error.ts'
import { dropOldest } from '../jsonrpc/rotating-map.ts'
import { limits } from './limits.ts'

/** The refill rate and capacity of a token bucket. */
export interface TokenBucket {
  /** Milliseconds in which one token is refilled. */
  readonly refillMs: number
  /** Tokens in a full bucket. */
  readonly capacity: number
}

/**
 * Storage for state shared between exchanges: keys with expiry and compare-and-set, trimmed append logs, and publish and
 * subscribe. In memory by default; several nodes share one over Redis. Every method rejects in bounded time if the store
 * cannot be reached; keys, values and messages are well-formed text.
 */
export interface Backplane {
  /**
   * Identifies the process if the stored data is private to it and lost when it exits. Absent if the data is shared between
   * processes or persistent, so that a `requestState` is accepted once, whichever process receives it.
   */
  readonly instance?: string
  /**
   * Whether values, logs and messages reach other processes. Then `serveHttp` serves a session on any node. Default false: a
   * session stays in the process that began it.
   */
  readonly spansProcesses?: boolean
  /** The value of a key; undefined if it is absent or has expired. */
  get(key: string): Promise<string | undefined>
  /**
   * Stores a value for `ttlMs` milliseconds. `owner` is the principal it is stored for, for stores that limit each principal.
   * Rejects if it does not fit; a value that has not expired is never evicted.
   */
  set(key: string, value: string, ttlMs: number, owner?: string): Promise<void>
  /** As `set`, but only if the key is absent; whether it stored the value. */
  add(key: string, value: string, ttlMs: number, owner?: string): Promise<boolean>
  /** Replaces `expected` with `value`; false if the stored value differs. */
  swap(key: string, expected: string, value: string, ttlMs: number): Promise<boolean>
  /** Deletes a key, if it exists. */
  delete(key: string): Promise<void>
  /**
   * Appends to a log, trims it to its newest `keep` entries, and returns the position of the entry: at most 40 digits and
   * hyphens. No other entry of this log ever has the same position, also after the log expired or a failover lost data.
   * @param previous the position of the last entry that the only writer of the log appended. If the newest entry has another
   *   one, the store lost entries, and the log starts anew with this entry, so that readers of older positions get `undefined`
   */
  append(log: string, entry: string, keep: number, ttlMs: number, previous?: string): Promise<string>
  /**
   * The entry at a position and all later ones, oldest first; undefined if the store does not have that entry: it was trimmed,
   * has expired, was lost in a failover, or never was.
   * @param newest the newest position that the caller knows; undefined is returned, too, if the store does not have that one
   */
  read(log: string, position: string, newest?: string): Promise<LogEntry[] | undefined>
  /** Sends a message to all subscribers of a topic, in every process that shares the backplane. */
  publish(topic: string, message: string): Promise<void>
  /**
   * Calls `listener` for every message until the returned function is called. After an interruption in which messages may
   * have been lost, `lost` is called as soon as messages arrive again.
   */
  subscribe(topic: string, listener: (message: string) => void, lost?: () => void): Promise<() => void>
  /**
   * Takes `cost` tokens, at most its capacity, from the bucket of a key, by the clock of the store. Returns 0, or the
   * milliseconds to wait if there are too few; then it takes none. Absent if the store cannot count.
   */
  spend?(key: string, cost: number, bucket: TokenBucket): Promise<number>
}

/** An entry of an append log. */
export interface LogEntry {
  readonly position: string
  readonly entry: string
}

interface Log {
  readonly entries: LogEntry[]
  /** The position of the newest entry. Those before it are its predecessors. */
  last: number
  expires: number
  chars: number
}

/** Append logs with expiry and a common size limit. When it is exceeded, the least recently appended logs are evicted. */
class MemoryLogs {
  readonly #maxChars: number
  /** In the order of their newest entries. */
  readonly #logs = new Map<string, Log>()
  /** The highest position of any log, from which a log that starts again continues. */
  #highest = 0
  #chars = 0

  constructor(maxChars: number) {
    this.#maxChars = maxChars
  }

  append(
    name: string,
    entry: string,
    keep: number,
    expires: number,
    now: number,
    previous: string | undefined,
  ): string {
    const known = this.#live(name, now)
    if (known !== undefined && previous !== undefined && String(known.last) !== previous) this.delete(name)
    const log = this.#logs.get(name) ?? { entries: [], last: this.#highest, expires, chars: 0 }
    this.#logs.delete(name)
    this.#logs.set(name, log)
    log.last++
    this.#highest = Math.max(this.#highest, log.last)
    log.expires = expires
    const position = String(log.last)
    log.entries.push({ position, entry })
    this.#grow(log, entry.length)
    const tooMany = log.entries.length - keep
    if (tooMany > 0) {
      for (const { entry } of log.entries.splice(0, tooMany)) this.#grow(log, -entry.length)
    }
    for (const [other, unused] of this.#logs) {
      if (this.#chars <= this.#maxChars || unused === log) break
      this.delete(other)
    }
    return position
  }

  read(name: string, position: string, newest: string, now: number): LogEntry[] | undefined {
    const log = this.#logs.get(name)
    if (log === undefined || log.expires <= now) return undefined
    const index = indexOf(log, position)
    return index === undefined || indexOf(log, newest) === undefined ? undefined : log.entries.slice(index)
  }

  delete(name: string): void {
    const log = this.#logs.get(name)
    if (log === undefined) return
    this.#logs.delete(name)
    this.#chars -= log.chars
  }

  sweep(now: number): void {
    for (const name of [...this.#logs.keys()]) this.#live(name, now)
  }

  /** A log that has not expired; one that has is deleted. */
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

/** The index of the entry at a position, if the log has it. */
function indexOf({ entries, last }: Log, position: string): number | undefined {
  const index = Number(position) - last + entries.length - 1
  return entries[index]?.position === position ? index : undefined
}

interface StoredValue {
  readonly value: string
  /** When it expires, in milliseconds of the monotonic clock. */
  readonly expires: number
  readonly owner: string | undefined
}

interface Amount {
  count: number
  chars: number
}

const nothing: Readonly<Amount> = { count: 0, chars: 0 }
/** One owner may have a fifth of the values and of their characters. */
const ownerFraction = 5
const minSweepIntervalMs = 1_000

/** Values that expire, bounded in number and characters, both in all and for each owner. */
class MemoryValues {
  readonly #max: Readonly<Amount>
  readonly #share: Readonly<Amount>
  readonly #values = new Map<string, StoredValue>()
  readonly #total: Amount = { count: 0, chars: 0 }
  readonly #owned = new Map<string, Amount>()
  #nextSweep = 0

  constructor(count: number, chars: number) {
    this.#max = { count, chars }
    this.#share = { count: Math.ceil(count / ownerFraction), chars: Math.ceil(chars / ownerFraction) }
  }

  get(key: string, now: number): string | undefined {
    const stored = this.#values.get(key)
    return stored !== undefined && stored.expires > now ? stored.value : undefined
  }

  ownerOf(key: string): string | undefined {
    return this.#values.get(key)?.owner
  }

  /** @throws McpError 'LIMIT' if it does not fit; the previous value is then unchanged */
  set(key: string, stored: StoredValue, now: number): void {
    const before = this.#values.get(key)
    if (before !== undefined) this.delete(key)
    const reason = this.#exceeded(stored) === undefined ? undefined : this.#exceededAfterSweep(stored, now)
    if (reason === undefined) {
      this.#write(key, stored)
      return
    }
    if (before !== undefined) this.#write(key, before)
    throw new McpError('LIMIT', `${reason}. Try again when some of it has expired, or raise the limit.`)
  }

  delete(key: string): void {
    const stored = this.#values.get(key)
    if (stored === undefined) return
    this.#values.delete(key)
    this.#count(stored, -1)
  }

  sweep(now: number): void {
    for (const [key, { expires }] of this.#values) if (expires <= now) this.delete(key)
  }

  #write(key: string, stored: StoredValue): void {
    this.#values.set(key, stored)
    this.#count(stored, 1)
  }

  #count({ value, owner }: StoredValue, sign: 1 | -1): void {
    add(this.#total, value, sign)
    if (owner === undefined) return
    const owned = this.#owned.get(owner) ?? { count: 0, chars: 0 }
    add(owned, value, sign)
    if (owned.count === 0) this.#owned.delete(owner)
    else this.#owned.set(owner, owned)
  }

  /** Checks again after removing expired values, at most once a second because that iterates over all of them. */
  #exceededAfterSweep(stored: StoredValue, now: number): string | undefined {
    if (now < this.#nextSweep) return this.#exceeded(stored)
    this.#nextSweep = now + minSweepIntervalMs
    this.sweep(now)
    return this.#exceeded(stored)
  }

  #exceeded({ value, owner }: StoredValue): string | undefined {
    const full = exceededLimit(this.#total, this.#max, value)
    if (full !== undefined) return `The memory backplane of this process is full (${full})`
    if (owner === undefined) return undefined
    const share = exceededLimit(this.#owned.get(owner) ?? nothing, this.#share, value)
    return (
      share &&
      `"${excerpt(owner)}" has used its share of the memory backplane of this process (a fifth of ${share})`
    )
  }
}

function add(amount: Amount, value: string, sign: 1 | -1): void {
  amount.count += sign
  amount.chars += sign * value.length
}

/** The name of the limit that one more value would exceed. */
function exceededLimit(amount: Readonly<Amount>, max: Readonly<Amount>, value: string): string | undefined {
  if (amount.count >= max.count) return 'limits.remembered'
  return amount.chars + value.length > max.chars ? 'limits.rememberedChars' : undefined
}

const maxBuckets = 10_000

/** Token buckets in memory, by key: at most 10 000, of which the least recently used are removed. */
export class TokenBuckets {
  /** When each bucket is full again (GCRA), on the monotonic clock. */
  readonly #fullAt = new Map<string, number>()

  /** Takes tokens; returns 0, or the milliseconds to wait if there are too few. */
  spend(key: string, cost: number, { refillMs, capacity }: TokenBucket): number {
    const now = performance.now()
    const fullAt = Math.max(this.#fullAt.get(key) ?? now, now)
    const after = fullAt + cost * refillMs
    const waitMs = after - now - capacity * refillMs
    // Reinserted at the end, so that the least recently used is removed first.
    this.#fullAt.delete(key)
    this.#fullAt.set(key, waitMs > 0 ? fullAt : after)
    dropOldest(this.#fullAt, maxBuckets)
    return Math.max(0, waitMs)
  }
}

const sweepEveryMs = 30_000

/** The limits of a backplane in memory: values, characters of values, and characters of stored events (`limits` of the server). */
export type MemoryBounds = Pick<
  { readonly [Name in keyof typeof limits]: number },
  'remembered' | 'rememberedChars' | 'storedEventChars'
>

/**
 * A backplane for one process, which a server without the `backplane` option has too. Give one to several servers to test in one
 * process what several nodes share. Expired entries are removed when read, and swept every 30 s of use. A value that does not fit
 * is rejected with McpError 'LIMIT'; a log entry evicts the least recently appended logs.
 */
export function memoryBackplane(bounds: MemoryBounds = limits): Backplane {
  const values = new MemoryValues(bounds.remembered, bounds.rememberedChars)
  const logs = new MemoryLogs(bounds.storedEventChars)
  const topics = new Map<string, Set<(message: string) => void>>()
  const buckets = new TokenBuckets()
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
  const write = (key: string, value: string, ttlMs: number, owner: string | undefined): void => {
    const now = performance.now()
    sweep(now)
    values.set(key, { value, expires: now + ttlMs, owner }, now)
  }

  return {
    // Created on first use: workers have no randomness before the first request.
    get instance() {
      instance ??= crypto.randomUUID()
      return instance
    },
    get: async (key) => live(key),
    set: async (key, value, ttlMs, owner) => write(key, value, ttlMs, owner),
    add: async (key, value, ttlMs, owner) => {
      if (live(key) !== undefined) return false
      write(key, value, ttlMs, owner)
      return true
    },
    swap: async (key, expected, value, ttlMs) => {
      if (live(key) !== expected) return false
      write(key, value, ttlMs, values.ownerOf(key))
      return true
    },
    delete: async (key) => {
      values.delete(key)
      logs.delete(key)
    },
    append: async (name, entry, keep, ttlMs, previous) => {
      const now = performance.now()
      sweep(now)
      return logs.append(name, entry, keep, now + ttlMs, now, previous)
    },
    read: async (name, position, newest = position) => logs.read(name, position, newest, performance.now()),
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
    spend: async (key, cost, bucket) => buckets.spend(key, cost, bucket),
  }
}
