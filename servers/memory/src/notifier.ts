import type { Change, Server, Subscriber } from '@jackfield/sdk'
import type { MemoryStore } from './store.ts'
import type { EntityChange, GraphKey } from './types.ts'
import { uris } from './uris.ts'

/**
 * Notifies subscribed clients of changes, those of other processes included: every change is read from the log in the file.
 * Clients are only notified of changes in graphs that they can read.
 */

const pollMs = 500

/** Publishes the changes of a store to the subscribers of a server. */
export class Notifier {
  readonly #server: Server
  readonly #store: MemoryStore
  readonly #mayNotify: (key: GraphKey, subscriber: Subscriber) => boolean
  readonly #keys = new WeakMap<Change, GraphKey>()
  #watchers = 0
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(
    server: Server,
    store: MemoryStore,
    mayNotify: (key: GraphKey, subscriber: Subscriber) => boolean,
  ) {
    this.#server = server
    this.#store = store
    this.#mayNotify = mayNotify
    const { changes } = server
    const watchAll = changes.watch.bind(changes)
    changes.watch = (wants, signal, subscriber) => {
      if (subscriber === undefined) return watchAll(wants, signal)
      this.#countWatcher(signal)
      return watchAll((change) => this.#mayReceive(subscriber, change) && wants(change), signal, subscriber)
    }
  }

  /** Publishes the changes since the last call. */
  publish(): void {
    if (this.#watchers === 0) return
    const { changes, lost } = this.#store.changes()
    if (lost) this.#server.changes.publish({ type: 'anything' })
    for (const change of changes) this.#publishOne(change)
  }

  /** Stops polling for changes of other processes. */
  stop(): void {
    clearInterval(this.#timer)
  }

  #publishOne({ key, name, listed }: EntityChange): void {
    const changes: Change[] = [{ type: 'resource', uri: uris.entity(key, name) }]
    // The graph as a whole and the list of resources are those of requests that name no conversation.
    if (!key.conversation.startsWith('n:')) {
      changes.push({ type: 'resource', uri: uris.graph })
      if (listed) changes.push({ type: 'resources' })
    }
    for (const change of changes) {
      this.#keys.set(change, key)
      this.#server.changes.publish(change)
    }
  }

  /**
   * Ignores changes of resources without a key: they were replicated from another node, without their owner. This process reads
   * the same changes from the log.
   */
  #mayReceive(subscriber: Subscriber, change: Change): boolean {
    if (change.type !== 'resource' && change.type !== 'resources') return true
    const key = this.#keys.get(change)
    return key !== undefined && this.#mayNotify(key, subscriber)
  }

  #countWatcher(signal: AbortSignal): void {
    if (signal.aborted) return
    if (this.#watchers++ === 0) {
      this.#store.skipChanges()
      this.#timer = setInterval(() => this.#poll(), pollMs)
      this.#timer.unref()
    }
    signal.addEventListener(
      'abort',
      () => {
        if (--this.#watchers === 0) this.stop()
      },
      { once: true },
    )
  }

  #poll(): void {
    try {
      this.publish()
    } catch (error) {
      clearInterval(this.#timer)
      this.#server.report(error, { method: 'notifications/resources/updated' })
    }
  }
}
