import type { Backplane } from './backplane.ts'
import { limits } from './limits.ts'
import { MemoryLogs } from './memory-logs.ts'
import { MemoryValues } from './memory-values.ts'

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
