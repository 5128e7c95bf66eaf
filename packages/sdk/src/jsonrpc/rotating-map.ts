/** Insertions before the entries move to a new `Map`. */
const minInsertions = 1024

/**
 * A map for entries with short lives. When a V8 `Map` grows or compacts, its old table links to the new one; once the old
 * table is in the old generation, minor garbage collections keep everything reachable from it. Moving the entries to a new
 * `Map` now and then cuts that chain. No upstream report is known. A plain `Map` can replace it once its tests in
 * `test/jsonrpc` pass with one.
 */
export class RotatingMap<K, V> {
  #entries = new Map<K, V>()
  #insertionsLeft = minInsertions

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
    if (this.#insertionsLeft-- === 0) {
      this.#entries = new Map(this.#entries)
      this.#insertionsLeft = Math.max(minInsertions, this.#entries.size)
    }
    this.#entries.set(key, value)
  }

  delete(key: K): boolean {
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries = new Map()
    this.#insertionsLeft = minInsertions
  }

  /** The values, oldest first. */
  values(): V[] {
    return [...this.#entries.values()]
  }

  /** The entries, oldest first. */
  entries(): [K, V][] {
    return [...this.#entries]
  }
}

/** A set for members with short lives; see `RotatingMap`. Each member is its own key. */
export class RotatingSet<T> extends RotatingMap<T, T> {
  add(member: T): void {
    this.set(member, member)
  }
}

/** Removes the oldest entries of a map or set until it has at most `max`. */
export function dropOldest<K>(entries: Map<K, unknown> | Set<K>, max: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= max) return
    entries.delete(oldest)
  }
}
