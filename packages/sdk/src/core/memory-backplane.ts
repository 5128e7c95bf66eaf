import type { Backplane } from './backplane.ts'

interface Kept {
  value: string
  expires: number
}

interface Log {
  entries: { position: number; entry: string }[]
  last: number
  expires: number
}

const sweepEveryMs = 30_000

/** A backplane for one process. Expired entries are dropped when met, and swept every 30 s of use. */
export function memoryBackplane(): Backplane {
  const values = new Map<string, Kept>()
  const logs = new Map<string, Log>()
  const topics = new Map<string, Set<(message: string) => void>>()
  let nextSweep = 0

  const sweep = (now: number): void => {
    if (now < nextSweep) return
    nextSweep = now + sweepEveryMs
    for (const [name, kept] of values) if (kept.expires <= now) values.delete(name)
    for (const [name, log] of logs) if (log.expires <= now) logs.delete(name)
  }
  const live = (key: string): Kept | undefined => {
    const now = Date.now()
    sweep(now)
    const kept = values.get(key)
    return kept !== undefined && kept.expires > now ? kept : undefined
  }

  return {
    get: async (key) => live(key)?.value,
    set: async (key, value, ttlMs) => {
      const now = Date.now()
      sweep(now)
      values.set(key, { value, expires: now + ttlMs })
    },
    add: async (key, value, ttlMs) => {
      if (live(key) !== undefined) return false
      values.set(key, { value, expires: Date.now() + ttlMs })
      return true
    },
    swap: async (key, expected, value, ttlMs) => {
      if (live(key)?.value !== expected) return false
      values.set(key, { value, expires: Date.now() + ttlMs })
      return true
    },
    delete: async (key) => {
      values.delete(key)
      logs.delete(key)
    },
    append: async (name, entry, keep, ttlMs) => {
      const now = Date.now()
      sweep(now)
      const known = logs.get(name)
      const log = known !== undefined && known.expires > now ? known : { entries: [], last: 0, expires: 0 }
      log.last++
      log.expires = now + ttlMs
      log.entries.push({ position: log.last, entry })
      if (log.entries.length > keep) log.entries.splice(0, log.entries.length - keep)
      logs.set(name, log)
      return log.last
    },
    after: async (name, position) => {
      const log = logs.get(name)
      if (log === undefined || log.expires <= Date.now()) return undefined
      const oldest = log.last - log.entries.length
      if (position < oldest || position > log.last) return undefined
      return log.entries.slice(position - oldest)
    },
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
