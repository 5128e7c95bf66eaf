import { isObject, parseJson } from '../../../jsonrpc/parse.ts'
import type { Caller } from '../../../request/exchange.ts'
import { parsedBytes } from '../memory-budget.ts'
import { type Nodes, nodeOf } from './nodes.ts'
import type { HttpServerState } from './server-state.ts'
import { callerOf, storedCaller } from './shared-call.ts'

/** Messages for a session of HTTP+SSE that arrived on other nodes. */
interface Inbox {
  readonly principal: string | null
  /** The position of the newest message that was received. */
  position: string
  /** The messages are read one after the other. */
  reading: Promise<void>
  receive(value: unknown, bytes: number, caller: Caller): void
  /** Messages were lost. */
  lost(): void
}

/** Messages of one inbox that are stored and not received yet. */
const maxPosted = 64

/** The sessions of HTTP+SSE whose streams are here, and the messages for those of other nodes. */
export class SseInboxes {
  readonly #state: HttpServerState
  readonly #nodes: Nodes
  readonly #report: (error: unknown) => void
  readonly #inboxes = new Map<string, Inbox>()

  constructor(state: HttpServerState, nodes: Nodes, report: (error: unknown) => void) {
    this.#state = state
    this.#nodes = nodes
    this.#report = report
  }

  /** Receives messages for a session of HTTP+SSE whose stream is here, also from other nodes. Rejects if the backplane fails. */
  async open(
    id: string,
    { principal, receive, lost }: Pick<Inbox, 'principal' | 'receive' | 'lost'>,
  ): Promise<void> {
    const position = await this.#renew(id, principal)
    this.#inboxes.set(id, { principal, position, reading: Promise.resolve(), receive, lost })
  }

  /** Renews the time to live of an inbox, with an entry that is not a message, and returns its position. */
  async #renew(id: string, principal: string | null): Promise<string> {
    const { backplane, bounds } = this.#state
    await backplane.set(this.#key(id), JSON.stringify({ principal }), bounds.sessionIdleMs)
    const position = await backplane.append(this.#key(id), '', maxPosted, bounds.sessionIdleMs)
    this.read(id)
    return position
  }

  /** Renews the time to live of all inboxes here. */
  renew(): void {
    for (const [id, { principal }] of this.#inboxes) this.#renew(id, principal).catch(this.#report)
  }

  /** Reads all inboxes: messages of other nodes may have been missed. */
  readAll(): void {
    for (const id of this.#inboxes.keys()) this.read(id)
  }

  close(id: string): void {
    this.#inboxes.delete(id)
    this.#state.backplane.delete(this.#key(id)).catch(this.#report)
  }

  /**
   * Stores a message for a session of HTTP+SSE whose stream is on another node. Rejects if the backplane fails.
   * @returns whether the session exists for this caller
   */
  async post(id: string, caller: Caller, value: unknown): Promise<boolean> {
    const node = nodeOf(id)
    const text = node === undefined ? undefined : await this.#state.backplane.get(this.#key(id))
    const record = text === undefined ? undefined : parseJson(text)
    if (node === undefined || !isObject(record) || record['principal'] !== caller.principal) return false
    if (await this.#nodes.isGone(node)) return false
    const entry = JSON.stringify({ value, caller: storedCaller(caller) })
    await this.#state.backplane.append(this.#key(id), entry, maxPosted, this.#state.bounds.sessionIdleMs)
    this.#nodes.send({ type: 'posted', session: id }, node)
    return true
  }

  /** Receives the messages that were stored since the last read. */
  read(id: string): void {
    const inbox = this.#inboxes.get(id)
    if (inbox === undefined) return
    const read = async (): Promise<void> => {
      const entries = await this.#state.backplane.read(this.#key(id), inbox.position)
      if (entries === undefined) {
        inbox.lost()
        return
      }
      for (const { position, entry } of entries.slice(1)) {
        inbox.position = position
        if (entry === '') continue
        const posted = parseJson(entry)
        const caller = isObject(posted) ? callerOf(posted['caller']) : undefined
        if (!isObject(posted) || caller?.principal !== inbox.principal) continue
        inbox.receive(posted['value'], parsedBytes(entry, false), caller)
      }
    }
    inbox.reading = inbox.reading.then(read).catch(this.#report)
  }

  #key(session: string): string {
    return `inbox:${this.#state.server.info.name}:${session}`
  }
}
