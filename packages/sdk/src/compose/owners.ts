import type { Listener } from '../core/changes.ts'
import type { Exchange, Outcome } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { Member } from './members.ts'

/** Finds whose a resource is: who lists it, else whose template it matches, else who lists others of its scheme. */
export class Owners {
  readonly #members: () => readonly Member[]

  constructor(members: () => readonly Member[]) {
    this.#members = members
  }

  /** Members that may know a URI: the one whose it is, or those who may have it unlisted. */
  async ofPlace(listener: Listener, uri: string): Promise<readonly Member[]> {
    await this.#read(listener, false)
    if (!this.#isListed(uri)) await this.#read(listener, true)
    const members = this.#offering()
    const certain =
      members.find(({ catalogue }) => catalogue.lists(uri)) ??
      members.find(({ catalogue }) => catalogue.matches(uri))
    return certain === undefined ? members.filter(({ catalogue }) => catalogue.sharesScheme(uri)) : [certain]
  }

  /** The member that lists a template written like this, or else a resource at this place. */
  async ofReference(listener: Listener, uri: string): Promise<Member | undefined> {
    const found = (): Member | undefined =>
      this.#offering().find(({ catalogue }) => catalogue.hasTemplate(uri)) ??
      this.#offering().find(({ catalogue }) => catalogue.lists(uri))
    await this.#read(listener, false)
    if (found() === undefined) await this.#read(listener, true)
    return found()
  }

  /** Has read the lists of everybody who stands before a member. */
  async readBefore(listener: Listener, member: Member): Promise<void> {
    const members = this.#offering()
    const before = members.slice(0, members.indexOf(member))
    await Promise.all(before.map(({ catalogue }) => catalogue.read(listener, false)))
  }

  /** Whether a member that stands before this one lists the same. */
  isTaken(member: Member, lists: (other: Member) => boolean): boolean {
    for (const other of this.#offering()) {
      if (other === member) return false
      if (lists(other)) return true
    }
    return false
  }

  /**
   * Has a read served by whose the URI is. Where nobody lists it, those who have others of its scheme are tried in
   * order; to a member of other schemes it is never shown.
   */
  async read(exchange: Exchange, uri: string): Promise<Outcome> {
    let missing = notFound(uri)
    for (const member of await this.ofPlace(exchange, uri)) {
      try {
        return await member.server.handle(member.exchange(exchange, exchange.params))
      } catch (error) {
        if (!isNotFound(error)) throw error
        missing = error
        if (member.catalogue.lists(uri)) member.catalogue.stale()
      }
    }
    throw missing
  }

  async #read(listener: Listener, again: boolean): Promise<void> {
    await Promise.all(this.#offering().map(({ catalogue }) => catalogue.read(listener, again)))
  }

  #isListed(uri: string): boolean {
    return this.#offering().some(({ catalogue }) => catalogue.lists(uri) || catalogue.matches(uri))
  }

  #offering(): readonly Member[] {
    return this.#members().filter(({ server }) => server.capabilities.resources !== undefined)
  }
}

function notFound(uri: string): RpcError {
  return new RpcError(ErrorCode.ResourceNotFound, 'Resource not found', { uri })
}

/** Revision 2026-07-28 says with -32602 what earlier ones say with a code of its own. */
function isNotFound(error: unknown): error is RpcError {
  return (
    error instanceof RpcError &&
    (error.code === ErrorCode.ResourceNotFound || error.code === ErrorCode.InvalidParams)
  )
}
