import { McpError } from '@jackfield/sdk'
import type { Redaction } from '../servers/launch/launch.ts'
import { linkSignals } from '../shared/signals.ts'
import { reasonOf } from '../shared/text.ts'
import type { HostEvent } from '../types/index.ts'

/** What a host is doing, and the end of it all. */
export class Running {
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

  /** Does something that the host's end waits for. The work gets a signal: that of the host, and `signal`. */
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

  /** Lets the host's end wait for what goes on after the call that began it. */
  follow(going: Promise<unknown>): void {
    const ended = going.finally(() => this.#work.delete(ended))
    this.#work.add(ended)
  }

  end(): void {
    this.#ended.abort(new McpError('CANCELLED', 'The host was closed'))
  }

  /** Waits until all work is over, but no longer than this. */
  async settled(withinMs: number): Promise<void> {
    const patience = new Promise((resolve) => setTimeout(resolve, withinMs).unref())
    await Promise.race([Promise.allSettled(this.#work), patience])
  }
}

interface Listener {
  notify: (event: HostEvent) => void
  types: readonly HostEvent['type'][] | undefined
}

const streamed: ReadonlySet<HostEvent['type']> = new Set(['stderr', 'connection'])

/** Notifies every listener of what happens, without the values of secrets. */
export class Events {
  readonly #listeners = new Set<Listener>()
  readonly #redaction: Redaction

  constructor(redaction: Redaction) {
    this.#redaction = redaction
  }

  /** Adds a listener, of events of these types only where some are given. */
  on(notify: Listener['notify'], types?: readonly HostEvent['type'][]): () => void {
    const listener: Listener = { notify, types }
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Whether there is a listener for events of this type: others need not be made. */
  isHeard(type: HostEvent['type']): boolean {
    for (const { types } of this.#listeners) if (types?.includes(type) ?? true) return true
    return false
  }

  emit(whole: HostEvent): void {
    // Output of a process is redacted as a stream, so no piece of it is left out.
    if (!streamed.has(whole.type) && !this.isHeard(whole.type)) return
    for (const event of this.#redaction.events(whole)) this.#notify(event)
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

/** What holds where the options of a host do not say otherwise. */
export const defaults = {
  connectTimeoutMs: 8_000,
  callTimeoutMs: 60_000,
  idlePingMs: 60_000,
  info: { name: 'jackfield', version: '0.1.0', title: 'Jackfield' },
}
