import { isObject, parseJson } from '../../jsonrpc/parse.ts'
import { retryDelay } from '../../jsonrpc/promises.ts'
import type { Backplane } from '../../request/backplane.ts'
import type { Change, Changes } from '../../request/changes.ts'
import type { Server } from '../../server/server.ts'
import { report, unref } from './options.ts'

/** Maximum changes per message, and characters of them; more are replaced by `anything`. */
const maxChanges = 1000
const maxChars = 64_000
const retryMs = { first: 500, max: 30_000 }

/** Changes received from other nodes, which are not published to them again. */
const received = new WeakSet<Change>()
/** The sender id of each server, the same for all of its mounts, which ignore their own messages. */
const senderIds = new WeakMap<Changes, string>()

/** Replicates changes between the nodes of one server over a backplane. */
export class ChangeReplicator {
  readonly #server: Server
  readonly #backplane: Backplane
  readonly #topic: string
  readonly #over = new AbortController()
  readonly #queued = new Map<string, Change>()
  #queuedChars = 0
  /** The newest changes of all nodes, each with the time in milliseconds since 1970, oldest first. */
  readonly #recent = new Map<string, { readonly change: Change; readonly at: number }>()
  /** The time of the newest change that is not in `#recent` any more. */
  #forgotten = Date.now()
  #flushing = false
  #opening: Promise<void> | undefined
  #unsubscribe: (() => void) | undefined

  constructor(server: Server, backplane: Backplane) {
    this.#server = server
    this.#backplane = backplane
    this.#topic = `changes:${server.info.name}`
    // The filter queues the changes itself, so that their limit also applies to many changes at once.
    server.changes.watch((change) => this.#queue(change), this.#over.signal)
  }

  /**
   * Subscribes to changes of other nodes; resolves when that succeeded, or failed and will be retried. Clients that subscribed
   * before are notified that changes may have been missed.
   */
  open(): Promise<void> {
    this.#opening ??= this.#open(0)
    return this.#opening
  }

  /** The changes after a time in milliseconds since 1970, as far as they are known. */
  since(ms: number): { readonly change: Change; readonly at: number }[] {
    if (ms < this.#forgotten) return [{ change: { type: 'anything' }, at: Date.now() }]
    return [...this.#recent.values()].filter(({ at }) => at >= ms)
  }

  #remember(change: Change, key: string): void {
    this.#recent.delete(key)
    this.#recent.set(key, { change, at: Date.now() })
    if (this.#recent.size <= maxChanges) return
    for (const [oldest, { at }] of this.#recent) {
      this.#recent.delete(oldest)
      this.#forgotten = at
      return
    }
  }

  close(): void {
    this.#over.abort()
    this.#unsubscribe?.()
  }

  async #open(failures: number): Promise<void> {
    const { signal } = this.#over
    try {
      const unsubscribe = await this.#backplane.subscribe(
        this.#topic,
        (message) => this.#receive(message),
        () => this.#publishMissed(),
      )
      if (signal.aborted) {
        unsubscribe()
        return
      }
      this.#unsubscribe = unsubscribe
      this.#publishMissed()
    } catch (error) {
      report(this.#server, error, 'changes of other nodes')
      this.#retry(failures, () => this.#open(failures + 1))
    }
  }

  #queue(change: Change): boolean {
    if (change.type === 'log') return false
    const key = JSON.stringify(change)
    this.#remember(change, key)
    if (received.has(change)) return false
    if (this.#queued.has(key)) return false
    this.#queuedChars += key.length
    if (this.#queued.size >= maxChanges || this.#queuedChars > maxChars) this.#queueAnything()
    else this.#queued.set(key, change)
    if (!this.#flushing) {
      this.#flushing = true
      queueMicrotask(() => this.#flush(0))
    }
    return false
  }

  #queueAnything(): void {
    this.#queued.clear()
    this.#queuedChars = 0
    this.#queued.set('anything', { type: 'anything' })
  }

  /** Publishes queued changes until there are none; changes that cannot be published now become `anything`. */
  async #flush(failures: number): Promise<void> {
    const { signal } = this.#over
    try {
      while (this.#queued.size > 0 && !signal.aborted) {
        const changes = [...this.#queued.values()]
        this.#queued.clear()
        this.#queuedChars = 0
        await this.#backplane.publish(this.#topic, JSON.stringify({ from: this.#senderId(), changes }))
      }
      this.#flushing = false
    } catch (error) {
      report(this.#server, error, 'changes for other nodes')
      this.#queueAnything()
      this.#retry(failures, () => this.#flush(failures + 1))
    }
  }

  #receive(text: string): void {
    let message: unknown
    try {
      message = parseJson(text)
    } catch (error) {
      report(this.#server, error, 'changes of other nodes')
      return
    }
    if (!isObject(message) || message['from'] === this.#senderId() || !Array.isArray(message['changes']))
      return
    for (const one of message['changes'].slice(0, maxChanges)) {
      const change = changeOf(one)
      if (change !== undefined) this.#publish(change)
    }
  }

  #publishMissed(): void {
    this.#publish({ type: 'anything' })
  }

  #publish(change: Change): void {
    received.add(change)
    this.#server.changes.publish(change)
  }

  #senderId(): string {
    const { changes } = this.#server
    const id = senderIds.get(changes) ?? crypto.randomUUID()
    senderIds.set(changes, id)
    return id
  }

  #retry(failures: number, work: () => Promise<void>): void {
    if (this.#over.signal.aborted) return
    unref(setTimeout(work, retryDelay(failures, retryMs.first, retryMs.max)))
  }
}

/** A change of another node; undefined for one that this version does not know. */
function changeOf(value: unknown): Change | undefined {
  if (!isObject(value)) return undefined
  const { type, uri, id } = value
  switch (type) {
    case 'tools':
    case 'prompts':
    case 'resources':
    case 'anything':
      return { type }
    case 'resource':
      return typeof uri === 'string' ? { type, uri } : undefined
    case 'elicitation':
      return typeof id === 'string' ? { type, id } : undefined
    default:
      return undefined
  }
}
