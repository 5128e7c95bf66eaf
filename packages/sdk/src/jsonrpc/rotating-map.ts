/** Entries that a table takes before the next one: far more than move at once, where few stay. */
const fewest = 1024

/**
 * A map whose entries come and go all the time. In V8 a table that a `Map` outgrew points to the one after it and keeps
 * what it held; once such a table is old, a collection of young objects takes all that came after it for alive. So the
 * entries move to a new `Map` before long, and nothing points there.
 */
export class RotatingMap<K, V> {
  #entries = new Map<K, V>()
  #room = fewest

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  set(key: K, value: V): void {
    if (this.#room-- === 0) {
      this.#entries = new Map(this.#entries)
      this.#room = Math.max(fewest, this.#entries.size)
    }
    this.#entries.set(key, value)
  }

  delete(key: K): boolean {
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries = new Map()
    this.#room = fewest
  }

  /** What it holds now, the oldest first. */
  values(): V[] {
    return [...this.#entries.values()]
  }

  /** The same with its keys. */
  entries(): [K, V][] {
    return [...this.#entries]
  }
}

/** A set whose members come and go all the time: what `TransientMap` says of a map holds for it. */
export class RotatingSet<T> {
  readonly #members = new RotatingMap<T, T>()

  get size(): number {
    return this.#members.size
  }

  add(member: T): void {
    this.#members.set(member, member)
  }

  delete(member: T): boolean {
    return this.#members.delete(member)
  }

  clear(): void {
    this.#members.clear()
  }

  /** Its members now, the oldest first. */
  values(): T[] {
    return this.#members.values()
  }
}
