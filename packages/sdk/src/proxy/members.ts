import { jsonBytes } from '../jsonrpc/bytes.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { dropOldest } from '../jsonrpc/rotating-map.ts'
import type { Subscriber } from '../request/changes.ts'
import type { Exchange, InputStrategy, Outcome, Peer } from '../request/exchange.ts'
import { limits } from '../request/limits.ts'
import { noInput } from '../request/live-run.ts'
import { resourceNotFound } from '../server/resource.ts'
import type { Server } from '../server/server.ts'
import { parseTemplate, type UriTemplate } from '../server/uri-template.ts'

const maxEntries = 10_000
const maxPages = 100
/** Shortest interval between two listings in search of an unknown URI. */
const refreshMs = 10_000
const readMs = 30_000

/** The URIs and templates one member lists to any caller. Used for routing only: the member itself checks access. */
class ResourceIndex {
  readonly #member: Member
  readonly #uris = new Set<string>()
  readonly #templates = new Map<string, UriTemplate | undefined>()
  readonly #schemes = new Set<string>()
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  constructor(member: Member) {
    this.#member = member
  }

  lists(uri: string): boolean {
    return this.#uris.has(uri)
  }

  hasTemplate(uriTemplate: string): boolean {
    return this.#templates.has(uriTemplate)
  }

  matches(uri: string): boolean {
    for (const template of this.#templates.values()) if (template?.match(uri) !== undefined) return true
    return false
  }

  /** Whether a listed URI has the same scheme. */
  sharesScheme(uri: string): boolean {
    return this.#schemes.has(schemeOf(uri))
  }

  /** Adds the entries of a page. */
  addPage(result: JsonObject): void {
    for (const uri of columnOf(result['resources'], 'uri')) {
      this.#uris.add(uri)
      this.#schemes.add(schemeOf(uri))
    }
    for (const uriTemplate of columnOf(result['resourceTemplates'], 'uriTemplate')) {
      if (!this.#templates.has(uriTemplate)) this.#templates.set(uriTemplate, parseOrUndefined(uriTemplate))
      this.#schemes.add(schemeOf(uriTemplate))
    }
    for (const entries of [this.#uris, this.#templates, this.#schemes]) dropOldest(entries, maxEntries)
  }

  /** Clears the index after a change of the lists. */
  clear(): void {
    this.#uris.clear()
    this.#templates.clear()
    this.#schemes.clear()
    this.#readAt = Number.NEGATIVE_INFINITY
  }

  /** Reads the lists if they were never read or, with `refresh`, not recently. A failing member counts as listing nothing. */
  async read(subscriber: Subscriber, refresh: boolean): Promise<void> {
    const age = performance.now() - this.#readAt
    if (age === Number.POSITIVE_INFINITY || (refresh && age > refreshMs)) {
      this.#reading ??= this.#read(subscriber).finally(() => {
        this.#readAt = performance.now()
        this.#reading = undefined
      })
    }
    await this.#reading
  }

  async #read({ peer: caller, session }: Subscriber): Promise<void> {
    if (this.#member.server.capabilities.resources === undefined) return
    // The lists are used for routing only, so they are read with all scopes of the member.
    const { scopes: callerScopes } = caller
    const scopes =
      callerScopes === 'any' ? callerScopes : new Set([...callerScopes, ...this.#member.server.scopes])
    const peer: Peer = { ...caller, scopes }
    const signal = AbortSignal.timeout(readMs)
    const exchange = { id: 0, params: {}, peer, signal, inputStrategy: noInput, limits, notify: () => {} }
    for (const method of ['resources/list', 'resources/templates/list']) {
      await this.#pages({ ...exchange, method, ...(session && { session }) }).catch(() => {})
    }
  }

  async #pages(exchange: Exchange): Promise<void> {
    let params: JsonObject = {}
    let bytes = 0
    for (let page = 0; page < maxPages; page++) {
      const outcome = await this.#member.server.handle(this.#member.exchange(exchange, params))
      if (outcome.type !== 'complete') return
      bytes += jsonBytes(outcome.result)
      if (bytes > limits.listBytes) return
      this.addPage(outcome.result)
      const { nextCursor } = outcome.result
      if (typeof nextCursor !== 'string' || nextCursor.length > limits.cursorChars) return
      params = { cursor: nextCursor }
    }
  }
}

/** One member of all entries, without URIs too long to be requested. */
function columnOf(rows: unknown, name: string): string[] {
  if (!Array.isArray(rows)) return []
  const texts: unknown[] = rows.map((row) => (isObject(row) ? row[name] : undefined))
  return texts.filter((text) => typeof text === 'string').filter(({ length }) => length <= limits.uriChars)
}

function parseOrUndefined(uriTemplate: string): UriTemplate | undefined {
  try {
    return parseTemplate(uriTemplate)
  } catch {
    return undefined
  }
}

function schemeOf(uri: string): string {
  return uri.slice(0, uri.indexOf(':') + 1).toLowerCase()
}

export class Member {
  readonly prefix: string
  readonly server: Server
  readonly resources: ResourceIndex

  constructor(prefix: string, server: Server) {
    this.prefix = prefix
    this.server = server
    this.resources = new ResourceIndex(this)
  }

  /**
   * An exchange for this member. Its input requests are sealed under `requestName`, so that no other member accepts their
   * state.
   * @param requestName the name the client uses; the member's prefix if names are not changed
   */
  exchange(exchange: Exchange, params: Readonly<JsonObject>, requestName: string = this.prefix): Exchange {
    return { ...exchange, params, inputStrategy: withRequestName(exchange.inputStrategy, requestName) }
  }
}

function withRequestName(inputStrategy: InputStrategy, name: string): InputStrategy {
  const renamed = (exchange: Exchange): Exchange => ({
    ...exchange,
    params: { ...exchange.params, name },
    inputStrategy,
  })
  const { relay } = inputStrategy
  return {
    begin: (exchange) => inputStrategy.begin(renamed(exchange)),
    resume: (exchange) => inputStrategy.resume(renamed(exchange)),
    ...(relay && { relay }),
  }
}

/** Finds the owner of a resource: the member that lists it, else matches it by a template, else lists its scheme. */
export class ResourceRouter {
  readonly #members: () => readonly Member[]

  constructor(members: () => readonly Member[]) {
    this.#members = members
  }

  /** The members that may serve a URI: its owner, or all candidates for an unlisted one. */
  async ownersOf(subscriber: Subscriber, uri: string): Promise<readonly Member[]> {
    await this.#read(subscriber, false)
    const lists = ({ resources }: Member) => resources.lists(uri) || resources.matches(uri)
    if (!this.#providers().some(lists)) await this.#read(subscriber, true)
    const members = this.#providers()
    const owner =
      members.find(({ resources }) => resources.lists(uri)) ??
      members.find(({ resources }) => resources.matches(uri))
    return owner === undefined ? members.filter(({ resources }) => resources.sharesScheme(uri)) : [owner]
  }

  /** The member that lists this template, or a resource with this URI. */
  async ownerOfReference(subscriber: Subscriber, uri: string): Promise<Member | undefined> {
    const find = (): Member | undefined =>
      this.#providers().find(({ resources }) => resources.hasTemplate(uri)) ??
      this.#providers().find(({ resources }) => resources.lists(uri))
    await this.#read(subscriber, false)
    if (find() === undefined) await this.#read(subscriber, true)
    return find()
  }

  /** Reads the lists of all members before this one. */
  async readBefore(subscriber: Subscriber, member: Member): Promise<void> {
    const members = this.#providers()
    const before = members.slice(0, members.indexOf(member))
    await Promise.all(before.map(({ resources }) => resources.read(subscriber, false)))
  }

  /** Whether a member before this one lists the same. */
  isTaken(member: Member, lists: (other: Member) => boolean): boolean {
    for (const other of this.#providers()) {
      if (other === member) return false
      if (lists(other)) return true
    }
    return false
  }

  /**
   * Reads a resource from its owner. For an unlisted URI the members that list its scheme are tried in order; it is not sent
   * to other members.
   */
  async read(exchange: Exchange, uri: string): Promise<Outcome> {
    let missing = resourceNotFound(uri)
    for (const member of await this.ownersOf(exchange, uri)) {
      try {
        return await member.server.handle(member.exchange(exchange, exchange.params))
      } catch (error) {
        if (!isNotFound(error)) throw error
        missing = error
        if (member.resources.lists(uri)) member.resources.clear()
      }
    }
    throw missing
  }

  async #read(subscriber: Subscriber, refresh: boolean): Promise<void> {
    await Promise.all(this.#providers().map(({ resources }) => resources.read(subscriber, refresh)))
  }

  #providers(): readonly Member[] {
    return this.#members().filter(({ server }) => server.capabilities.resources !== undefined)
  }
}

/** Revision 2026-07-28 uses -32602 in place of the earlier code -32002. */
function isNotFound(error: unknown): error is RpcError {
  return (
    error instanceof RpcError &&
    (error.code === ErrorCode.ResourceNotFound || error.code === ErrorCode.InvalidParams)
  )
}

const maxOwned = 10_000
const maxIdsPerResult = 16
const maxIdChars = 256

/** Which member created an extension's object, such as a task, so that requests about it are sent to that member only. */
export class ExtensionOwners {
  readonly #owners = new Map<string, Member>()

  /** Records the ids in an extension result. The first owner of an id keeps it. */
  record(member: Member, outcome: Outcome): void {
    if (outcome.type !== 'extension') return
    for (const key of idsOf(outcome.result)) if (!this.#owners.has(key)) this.#owners.set(key, member)
    dropOldest(this.#owners, maxOwned)
  }

  /** The owner of the id in param `named`. */
  ownerOf(params: Readonly<JsonObject>, named: string | undefined): Member | undefined {
    const id = named === undefined ? undefined : params[named]
    return named === undefined || typeof id !== 'string' ? undefined : this.#owners.get(keyOf(named, id))
  }
}

function idsOf(result: JsonObject): string[] {
  const inner = Object.values(result).filter(isObject)
  return [result, ...inner]
    .flatMap((part) => Object.entries(part))
    .flatMap(([name, value]) =>
      typeof value === 'string' && value.length <= maxIdChars ? [keyOf(name, value)] : [],
    )
    .slice(0, maxIdsPerResult)
}

function keyOf(name: string, id: string): string {
  return JSON.stringify([name, id])
}
