import { canonical } from '../core/canonical.ts'
import { limits } from '../core/limits.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ServerChange } from './types.ts'

/** An answer, and its bytes as it was received. */
export interface CachedAnswer {
  readonly result: JsonObject
  readonly bytes: number
}

interface Entry {
  readonly method: string
  readonly uri: unknown
  /** The result as JSON text, so that its size is known and no caller can change it. */
  readonly text: string
  readonly bytes: number
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
  #chars = 0
  #epoch = 0

  /** Marks a moment; an answer asked for before a change must not be kept after it. */
  get epoch(): number {
    return this.#epoch
  }

  get(method: string, params: JsonObject): CachedAnswer | undefined {
    const key = keyOf(method, params)
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (performance.now() < entry.freshUntil) return { result: JSON.parse(entry.text), bytes: entry.bytes }
    this.#delete(key)
    return undefined
  }

  put(method: string, params: JsonObject, { result, bytes }: CachedAnswer, epoch: number): void {
    const key = keyOf(method, params)
    this.#delete(key)
    const { ttlMs } = result
    if (epoch !== this.#epoch || typeof ttlMs !== 'number' || !(ttlMs > 0)) return
    const freshUntil = performance.now() + Math.min(ttlMs, maxTtlMs)
    const text = JSON.stringify(result)
    this.#entries.set(key, { method, uri: params['uri'], text, bytes, freshUntil })
    this.#chars += text.length
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#chars <= limits.cacheChars) break
      this.#delete(oldest)
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
      if (hit) this.#delete(key)
    }
  }

  /** Drops all pages of one list. */
  dropMethod(dropped: string): void {
    this.#epoch++
    for (const [key, { method }] of this.#entries) if (method === dropped) this.#delete(key)
  }

  #delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#chars -= entry.text.length
  }
}

function keyOf(method: string, params: JsonObject): string {
  return `${method} ${canonical(params)}`
}
