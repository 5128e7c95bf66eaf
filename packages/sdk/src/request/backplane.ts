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
