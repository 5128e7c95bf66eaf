import type { JsonObject, JsonRpcNotification } from '../jsonrpc/message.ts'
import type { SubscriptionFilter } from '../protocol/definitions.ts'
import { listFlags } from '../request/changes.ts'
import { canonical } from '../request/encoding.ts'
import { limits } from '../request/limits.ts'
import type { ServerChange } from './types.ts'

interface CachedResult {
  readonly result: JsonObject
  readonly bytes: number
}

interface Entry {
  readonly method: string
  readonly uri: unknown
  /** The result as JSON: its size is known, and callers cannot change it. */
  readonly text: string
  readonly bytes: number
  readonly freshUntil: number
}

const maxEntries = 512
const maxTtlMs = 24 * 60 * 60_000

const methodsByChange = {
  tools: ['tools/list'],
  prompts: ['prompts/list'],
  resources: ['resources/list', 'resources/templates/list', 'resources/read'],
} as const

/**
 * Results of one connection, cached for the `ttlMs` that the server gives. A connection has one authorization and its own
 * cache, so private and public results are treated alike.
 */
export class Cache {
  readonly #entries = new Map<string, Entry>()
  #chars = 0
  #epoch = 0

  /** Increases with every invalidation: a result requested before one must not be cached after it. */
  get epoch(): number {
    return this.#epoch
  }

  get(method: string, params: JsonObject): CachedResult | undefined {
    const key = keyOf(method, params)
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (performance.now() < entry.freshUntil) return { result: JSON.parse(entry.text), bytes: entry.bytes }
    this.#delete(key)
    return undefined
  }

  set(method: string, params: JsonObject, { result, bytes }: CachedResult, epoch: number): void {
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

  invalidate(change: ServerChange): void {
    this.#epoch++
    for (const [key, { method, uri }] of this.#entries) {
      const hit =
        change.type === 'resource'
          ? method === 'resources/read' && typeof uri === 'string' && change.uri.startsWith(uri)
          : methodsByChange[change.type].some((name) => name === method)
      if (hit) this.#delete(key)
    }
  }

  /** Drops all pages of a list. */
  invalidateMethod(dropped: string): void {
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

/** The change that a notification announces, if any. */
export function changeOf({ method, params }: JsonRpcNotification): ServerChange | undefined {
  switch (method) {
    case 'notifications/tools/list_changed':
      return { type: 'tools' }
    case 'notifications/prompts/list_changed':
      return { type: 'prompts' }
    case 'notifications/resources/list_changed':
      return { type: 'resources' }
    case 'notifications/resources/updated':
      return typeof params?.['uri'] === 'string' ? { type: 'resource', uri: params['uri'] } : undefined
    default:
      return undefined
  }
}

/** Whether a change matches a filter. A resource URI matches every URI that starts with it. */
export function matchesFilter(filter: SubscriptionFilter, change: ServerChange): boolean {
  return change.type === 'resource'
    ? filter.resourceSubscriptions?.some((uri) => change.uri.startsWith(uri)) === true
    : filter[listFlags[change.type]] === true
}
