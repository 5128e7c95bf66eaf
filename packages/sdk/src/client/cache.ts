import { canonical } from '../core/canonical.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ServerChange } from './types.ts'

interface Entry {
  readonly method: string
  readonly uri: unknown
  readonly result: JsonObject
  readonly freshUntil: number
}

const maxEntries = 512
const maxTtlMs = 24 * 60 * 60_000

const listsOf = {
  tools: ['tools/list'],
  prompts: ['prompts/list'],
  resources: ['resources/list', 'resources/templates/list', 'resources/read'],
} as const

/**
 * Answers of one connection that the server called fresh for a while. One connection has one authorization, so
 * private and public answers are kept alike and shared with nobody.
 */
export class Cache {
  readonly #entries = new Map<string, Entry>()
  #epoch = 0

  /** Marks a moment; an answer asked for before a change must not be kept after it. */
  get epoch(): number {
    return this.#epoch
  }

  get(method: string, params: JsonObject): JsonObject | undefined {
    const key = keyOf(method, params)
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (performance.now() < entry.freshUntil) return structuredClone(entry.result)
    this.#entries.delete(key)
    return undefined
  }

  put(method: string, params: JsonObject, result: JsonObject, epoch: number): void {
    const key = keyOf(method, params)
    this.#entries.delete(key)
    const { ttlMs } = result
    if (epoch !== this.#epoch || typeof ttlMs !== 'number' || !(ttlMs > 0)) return
    const freshUntil = performance.now() + Math.min(ttlMs, maxTtlMs)
    this.#entries.set(key, { method, uri: params['uri'], result: structuredClone(result), freshUntil })
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries) break
      this.#entries.delete(oldest)
    }
  }

  /** Drops what a change made stale. */
  drop(change: ServerChange): void {
    this.#epoch++
    for (const [key, { method, uri }] of this.#entries) {
      const hit =
        change.type === 'resource'
          ? method === 'resources/read' && typeof uri === 'string' && change.uri.startsWith(uri)
          : listsOf[change.type].some((name) => name === method)
      if (hit) this.#entries.delete(key)
    }
  }

  /** Drops all pages of one list. */
  dropMethod(dropped: string): void {
    this.#epoch++
    for (const [key, { method }] of this.#entries) if (method === dropped) this.#entries.delete(key)
  }
}

function keyOf(method: string, params: JsonObject): string {
  return `${method} ${canonical(params)}`
}
