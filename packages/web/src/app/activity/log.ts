import type { TraceEvent } from '@jackfield/host/browser'
import type { HostClient } from '@jackfield/host/client'
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { asError, useHost } from '../data/host.tsx'

/** Rows of one request. */
const chunkSize = 100
/** Rows that are cached. */
const maxRows = 4_000
const followMs = 700

/**
 * The events of one filter: all ids, and the rows that were in view. Rows are fetched in chunks, one request at a time; the
 * current window has priority.
 */
export class EventLog {
  /** Oldest first; undefined until they are loaded. */
  ids: readonly number[] | undefined
  error: (Error & { readonly data?: unknown }) | undefined
  readonly #client: HostClient
  readonly #filter: string
  readonly #rows = new Map<number, TraceEvent>()
  readonly #listeners = new Set<() => void>()
  readonly #abort = new AbortController()
  #window: readonly [from: number, to: number] = [0, 0]
  #isFetching = false
  #version = 0

  constructor(client: HostClient, filter: string) {
    this.#client = client
    this.#filter = filter
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly version = (): number => this.#version

  async load(): Promise<void> {
    try {
      this.ids = await this.#call('trace.ids', { filter: this.#filter })
      this.error = undefined
    } catch (error) {
      if (this.#abort.signal.aborted) return
      this.error = asError(error)
    }
    this.#notify()
  }

  /** Adds new events, and refreshes the rows in view that were still running. */
  async follow(): Promise<void> {
    const { ids } = this
    if (ids === undefined || this.error !== undefined) return
    const more = await this.#call('trace.ids', { filter: this.#filter, after: ids.at(-1) ?? 0 }).catch(
      () => [],
    )
    const running = this.#visibleIds().filter((id) => this.#rows.get(id)?.status === 'running')
    if (running.length > 0)
      for (const row of await this.#call('trace.rows', { ids: running }).catch(() => []))
        this.#rows.set(row.id, row)
    if (more.length > 0) this.ids = [...ids, ...more]
    if (more.length > 0 || running.length > 0) this.#notify()
  }

  row(id: number): TraceEvent | undefined {
    return this.#rows.get(id)
  }

  /** Sets the range of indexes in view and fetches their rows. */
  show(from: number, to: number): void {
    this.#window = [from, to]
    void this.#fetch()
  }

  close(): void {
    this.#abort.abort()
  }

  #visibleIds(): readonly number[] {
    const [from, to] = this.#window
    return this.ids?.slice(from, to) ?? []
  }

  async #fetch(): Promise<void> {
    if (this.#isFetching) return
    this.#isFetching = true
    try {
      for (;;) {
        const ids = this.ids ?? []
        const [from, to] = this.#window
        const missingIndex = ids.slice(from, to).findIndex((id) => !this.#rows.has(id))
        if (missingIndex === -1) return
        const start = Math.floor((from + missingIndex) / chunkSize) * chunkSize
        const requestedIds = ids.slice(start, start + chunkSize).filter((id) => !this.#rows.has(id))
        const rows = await this.#call('trace.rows', { ids: requestedIds })
        for (const row of rows) this.#rows.set(row.id, row)
        // Deleted events have no row; their ids are removed so that they are not requested again.
        const returnedIds = new Set(rows.map(({ id }) => id))
        if (returnedIds.size < requestedIds.length) {
          const deletedIds = new Set(requestedIds.filter((id) => !returnedIds.has(id)))
          this.ids = ids.filter((id) => !deletedIds.has(id))
        }
        for (const id of this.#rows.keys()) {
          if (this.#rows.size <= maxRows) break
          this.#rows.delete(id)
        }
        this.#notify()
      }
    } catch {
      // Without a connection the next window retries.
    } finally {
      this.#isFetching = false
    }
  }

  #call: HostClient['call'] = (method, params) =>
    this.#client.call(method, params, { signal: this.#abort.signal })

  #notify(): void {
    this.#version += 1
    for (const listener of this.#listeners) listener()
  }
}

/** The events of a filter, kept up to date while the tab is visible. */
export function useLog(filter: string): EventLog {
  const { client } = useHost()
  const log = useMemo(() => new EventLog(client, filter), [client, filter])
  useSyncExternalStore(log.subscribe, log.version)
  useEffect(() => {
    let isStopped = false
    let timer: ReturnType<typeof setTimeout>
    const next = (): void => {
      if (isStopped) return
      timer = setTimeout(async () => {
        if (document.visibilityState === 'visible' && client.state.state === 'connected') await log.follow()
        next()
      }, followMs)
    }
    void log.load().then(next)
    return () => {
      isStopped = true
      clearTimeout(timer)
    }
  }, [client, log])
  return log
}
