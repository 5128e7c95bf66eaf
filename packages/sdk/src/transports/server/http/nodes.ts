import type { RequestId } from '../../../jsonrpc/message.ts'
import { isObject, isRequestId, tryParseJson } from '../../../jsonrpc/parse.ts'
import { retryDelay } from '../../../jsonrpc/promises.ts'
import type { Backplane } from '../../../request/backplane.ts'
import { unref } from '../options.ts'

/**
 * A message from one node to another about a session. Its content is in the store already: a node that may have missed messages
 * reads the store, so a lost message only causes a delay.
 */
export type NodeMessage = { readonly session: string } & (
  | /** This node sends the events of a stream to the client from now on. */
  { readonly type: 'follow'; readonly stream: string; readonly node: string }
  /** A stream that the receiver sends to the client has an event at this position of the log of `node`. */
  | { readonly type: 'stored'; readonly stream: string; readonly node: string; readonly position: string }
  /** A request of the receiver to the client was answered. `response`, if the store does not have the request. */
  | { readonly type: 'answered'; readonly id: string; readonly response?: unknown }
  /** The client cancelled a request. */
  | { readonly type: 'cancelled'; readonly requestId: RequestId }
  /** This node has the client's stream for messages outside of requests. */
  | { readonly type: 'listening'; readonly node: string }
  /** A message for a session of HTTP+SSE was stored. */
  | { readonly type: 'posted' }
  /** The record of the session was changed. */
  | { readonly type: 'changed' }
  /** The session was ended. */
  | { readonly type: 'ended' }
)

/** Milliseconds without a renewal after which a node counts as stopped. */
const leaseMs = 8_000
const renewMs = 2_500
/** Milliseconds a lease must be absent: a failover of the store can lose a lease, which is then renewed. */
const absentMs = renewMs + 1_000
/** Milliseconds that other nodes can read that a node was closed. */
const closedMs = 3_600_000
const closed = 'closed'
/** Delays of renewals after a failure: short, because the lease may end soon after the store is available again. */
const retryMs = { first: 250, max: 1_000 }

/** The id of a node: it is part of the ids of its streams and questions, so it has no hyphen. */
const idPattern = /^([0-9a-f]{12})-/

/** The node that a stream or question belongs to; undefined for another id. */
export function nodeOf(id: string): string | undefined {
  return idPattern.exec(id)?.[1]
}

export interface NodeListener {
  /** Handles a message of another node. */
  receive(message: NodeMessage): void
  /** Messages may have been missed. */
  missed(): void
  report(error: unknown): void
}

/** This node among those that serve the same server: its id, its lease, and messages to the others. */
export class Nodes {
  readonly id: string = crypto.randomUUID().replaceAll('-', '').slice(-12)
  readonly #backplane: Backplane
  readonly #listener: NodeListener
  /** The name of the server: several servers may share a backplane. */
  readonly #server: string
  readonly #unsubscribe: (() => void)[] = []
  #opening: Promise<void> | undefined
  #renewal: ReturnType<typeof setTimeout> | undefined
  #closed = false
  #renewedAt: number | undefined
  /** When the lease of a node was first found absent, on the monotonic clock. */
  readonly #absentSince = new Map<string, number>()
  readonly #substituted = new Set<string>()

  constructor(backplane: Backplane, server: string, listener: NodeListener) {
    this.#backplane = backplane
    this.#server = server
    this.#listener = listener
  }

  /** Whether this node receives messages of the others. */
  get isOpen(): boolean {
    return this.#unsubscribe.length > 0
  }

  /** Takes the lease and subscribes to messages; resolves when that succeeded. Rejects if the backplane fails. */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined
      for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe()
      throw error
    })
    return this.#opening
  }

  /** Sends a message to one node, or to all others. It is lost where the backplane fails. */
  send(message: NodeMessage, node?: string): void {
    if (node === this.id) return
    const topic = node === undefined ? this.#topic() : this.#topic(node)
    const text = JSON.stringify({ from: this.id, ...message })
    // A lost message is harmless: the receiver reads the store later. Reads report failures of the store.
    this.#backplane.publish(topic, text).catch(() => {})
  }

  /** Whether a node has stopped. Must be called repeatedly: it becomes true some seconds after the lease has ended. */
  async isGone(node: string): Promise<boolean> {
    if (node === this.id) return false
    const lease = await this.#backplane.get(this.#leaseKey(node))
    if (lease === closed) return true
    if (lease !== undefined) {
      this.#absentSince.delete(node)
      return false
    }
    const now = performance.now()
    const since = this.#absentSince.get(node) ?? now
    if (this.#absentSince.size < 10_000) this.#absentSince.set(node, since)
    return now - since >= absentMs
  }

  /** Also receives the messages for a node that stopped, because this node runs calls of it. */
  substitute(node: string): void {
    if (this.#substituted.has(node) || this.#closed) return
    this.#substituted.add(node)
    this.#subscribe(this.#topic(node)).catch((error) => {
      this.#substituted.delete(node)
      this.#listener.report(error)
    })
  }

  /** Ends the lease, so that other nodes need not wait until it expires. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#renewal)
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    if (this.#opening !== undefined) await this.#backplane.set(this.#leaseKey(this.id), closed, closedMs)
  }

  async #open(): Promise<void> {
    await this.#renew()
    for (const topic of [this.#topic(), this.#topic(this.id)]) await this.#subscribe(topic)
    this.#renewLater(renewMs)
  }

  async #subscribe(topic: string): Promise<void> {
    const { receive, missed } = this.#listener
    const unsubscribe = await this.#backplane.subscribe(
      topic,
      (text) => {
        const message = messageOf(text, this.id)
        if (message !== undefined) receive(message)
      },
      missed,
    )
    if (this.#closed) unsubscribe()
    else this.#unsubscribe.push(unsubscribe)
  }

  /** Milliseconds since the lease was renewed; undefined without one. */
  get leaseAgeMs(): number | undefined {
    return this.#renewedAt === undefined ? undefined : performance.now() - this.#renewedAt
  }

  async #renew(): Promise<void> {
    const now = performance.now()
    await this.#backplane.set(this.#leaseKey(this.id), 'running', leaseMs)
    this.#renewedAt = now
  }

  #renewLater(ms: number, failures = 0): void {
    if (this.#closed) return
    this.#renewal = unref(
      setTimeout(() => {
        const wasOver = (this.leaseAgeMs ?? 0) > leaseMs
        this.#renew().then(
          () => {
            // Other nodes may have considered this one stopped.
            if (wasOver) this.#listener.missed()
            this.#renewLater(renewMs)
          },
          (error) => {
            if (failures === 0) this.#listener.report(error)
            this.#renewLater(retryDelay(failures, retryMs.first, retryMs.max), failures + 1)
          },
        )
      }, ms),
    )
  }

  #topic(node?: string): string {
    return node === undefined ? `nodes:${this.#server}` : `node:${this.#server}:${node}`
  }

  #leaseKey(node: string): string {
    return `lease:${this.#server}:${node}`
  }
}

/** A message of another node; undefined for one that this version does not know. */
function messageOf(text: string, self: string): NodeMessage | undefined {
  const value = tryParseJson(text)
  if (!isObject(value) || value['from'] === self) return undefined
  const { type, session, stream, node, position, id, requestId, response } = value
  if (typeof session !== 'string') return undefined
  switch (type) {
    case 'follow':
      return typeof stream === 'string' && typeof node === 'string'
        ? { type, session, stream, node }
        : undefined
    case 'stored':
      return typeof stream === 'string' && typeof node === 'string' && typeof position === 'string'
        ? { type, session, stream, node, position }
        : undefined
    case 'answered':
      return typeof id === 'string' ? { type, session, id, response } : undefined
    case 'cancelled':
      return isRequestId(requestId) ? { type, session, requestId } : undefined
    case 'listening':
      return typeof node === 'string' ? { type, session, node } : undefined
    case 'posted':
    case 'changed':
    case 'ended':
      return { type, session }
    default:
      return undefined
  }
}
