import { McpError } from '@jackfield/sdk'
import type { Redaction } from '../servers/launch/launch.ts'
import { linkSignals } from '../shared/signals.ts'
import { reasonOf } from '../shared/text.ts'
import type { HostEvent } from '../types/index.ts'

/** Tracks the running work of a host, so that closing it can wait. */
export class RunningWork {
  readonly #work = new Set<Promise<unknown>>()
  readonly #ended = new AbortController()

  /** Aborted when the host closes. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  /** @throws McpError 'CONNECTION_CLOSED' once the host is closed */
  refuseWhenClosed(): void {
    if (this.signal.aborted) throw new McpError('CONNECTION_CLOSED', 'The host is closed')
  }

  /** Runs work that the host's close waits for. It receives a signal: the host's, combined with `signal`. */
  async track<T>(work: (until: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.refuseWhenClosed()
    const linked = linkSignals(this.signal, signal)
    const running = work(linked.signal)
    this.#work.add(running)
    try {
      return await running
    } finally {
      this.#work.delete(running)
      linked.release()
    }
  }

  /** Makes the host's close wait for work that outlives its call. */
  follow(work: Promise<unknown>): void {
    const ended = work.finally(() => this.#work.delete(ended))
    this.#work.add(ended)
  }

  /** Aborts all running work. */
  end(): void {
    this.#ended.abort(new McpError('CANCELLED', 'The host was closed'))
  }

  /** Waits for all work to end, up to this time. */
  async settled(withinMs: number): Promise<void> {
    const timeout = new Promise((resolve) => setTimeout(resolve, withinMs).unref())
    await Promise.race([Promise.allSettled(this.#work), timeout])
  }
}

interface Listener {
  notify: (event: HostEvent) => void
  types: readonly HostEvent['type'][] | undefined
}

const streamedTypes: ReadonlySet<HostEvent['type']> = new Set(['stderr', 'connection'])

/** Notifies all listeners of an event, with secrets redacted. */
export class HostEvents {
  readonly #listeners = new Set<Listener>()
  readonly #redaction: Redaction

  constructor(redaction: Redaction) {
    this.#redaction = redaction
  }

  /** Adds a listener, for these event types only if given. */
  on(notify: Listener['notify'], types?: readonly HostEvent['type'][]): () => void {
    const listener: Listener = { notify, types }
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Whether there is a listener for this event type. Without one, an event need not be created. */
  hasListener(type: HostEvent['type']): boolean {
    for (const { types } of this.#listeners) if (types?.includes(type) ?? true) return true
    return false
  }

  /** Emits an event to its listeners. */
  emit(unredacted: HostEvent): void {
    // Process output is redacted as a stream, so no piece of it is dropped.
    if (!streamedTypes.has(unredacted.type) && !this.hasListener(unredacted.type)) return
    for (const event of this.#redaction.events(unredacted)) this.#notify(event)
  }

  #notify(event: HostEvent): void {
    for (const { notify, types } of [...this.#listeners]) {
      if (types !== undefined && !types.includes(event.type)) continue
      try {
        notify(event)
      } catch (error) {
        process.emitWarning(`A listener of the host threw: ${reasonOf(error)}`)
      }
    }
  }
}

/** Defaults of a host's options. */
export const defaults = {
  connectTimeoutMs: 8_000,
  callTimeoutMs: 60_000,
  idlePingMs: 60_000,
  info: { name: 'jackfield', version: '0.1.0', title: 'Jackfield' },
}
