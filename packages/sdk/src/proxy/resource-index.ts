import { jsonBytes } from '../jsonrpc/bytes.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Subscriber } from '../request/changes.ts'
import type { Exchange, Outcome, Peer } from '../request/exchange.ts'
import { limits } from '../request/limits.ts'
import { noInput } from '../request/live-run.ts'
import { parseTemplate, type UriTemplate } from '../server/uri-template.ts'
import type { Member } from './upstream.ts'

const maxEntries = 10_000
const maxPages = 100
/** A list is not asked for more often than this to find what it does not hold. */
const againMs = 10_000
const readMs = 30_000

/**
 * Which URIs and templates one member lists, as far as any caller was shown them: it says where a request goes, and
 * the member itself says who may have it.
 */
export class ResourceIndex {
  readonly #member: Member
  readonly #uris = new Set<string>()
  readonly #templates = new Map<string, UriTemplate | undefined>()
  readonly #schemes = new Set<string>()
  #listed = Number.NEGATIVE_INFINITY
  #listing: Promise<void> | undefined

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

  /** Whether anything it lists has the scheme of this URI. */
  sharesScheme(uri: string): boolean {
    return this.#schemes.has(schemeOf(uri))
  }

  /** Takes note of a page of either list. */
  learn(result: JsonObject): void {
    for (const uri of column(result['resources'], 'uri')) {
      this.#uris.add(uri)
      this.#schemes.add(schemeOf(uri))
    }
    for (const uriTemplate of column(result['resourceTemplates'], 'uriTemplate')) {
      if (!this.#templates.has(uriTemplate)) this.#templates.set(uriTemplate, parsed(uriTemplate))
      this.#schemes.add(schemeOf(uriTemplate))
    }
    for (const kept of [this.#uris, this.#templates, this.#schemes]) {
      for (const oldest of kept.keys()) {
        if (kept.size <= maxEntries) break
        kept.delete(oldest)
      }
    }
  }

  /** Everything may be different now. */
  stale(): void {
    this.#uris.clear()
    this.#templates.clear()
    this.#schemes.clear()
    this.#listed = Number.NEGATIVE_INFINITY
  }

  /** Has read the lists at least once, and lately where `again`. A member that fails is taken to list nothing. */
  async read(listener: Subscriber, again: boolean): Promise<void> {
    const age = performance.now() - this.#listed
    if (age === Number.POSITIVE_INFINITY || (again && age > againMs)) {
      this.#listing ??= this.#read(listener).finally(() => {
        this.#listed = performance.now()
        this.#listing = undefined
      })
    }
    await this.#listing
  }

  async #read({ peer: caller, session }: Subscriber): Promise<void> {
    if (this.#member.server.capabilities.resources === undefined) return
    // Nobody is shown what is read here, so it is read as somebody who may see all of it, and is no more than that.
    const { scopes: own } = caller
    const scopes = own === 'any' ? own : new Set([...own, ...this.#member.server.scopes])
    const peer: Peer = { ...caller, scopes }
    const signal = AbortSignal.timeout(readMs)
    for (const method of ['resources/list', 'resources/templates/list']) {
      const exchange = {
        id: 0,
        method,
        params: {},
        peer,
        signal,
        inputStrategy: noInput,
        limits,
        notify: () => {},
      }
      await this.#pages(session === undefined ? exchange : { ...exchange, session }).catch(() => {})
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
      this.learn(outcome.result)
      const { nextCursor } = outcome.result
      if (typeof nextCursor !== 'string' || nextCursor.length > limits.cursorChars) return
      params = { cursor: nextCursor }
    }
  }
}

/** One member of all rows, without those that nobody could ask for. */
function column(rows: unknown, name: string): string[] {
  if (!Array.isArray(rows)) return []
  const texts: unknown[] = rows.map((row) => (isObject(row) ? row[name] : undefined))
  return texts.filter((text) => typeof text === 'string').filter(({ length }) => length <= limits.uriChars)
}

function parsed(uriTemplate: string): UriTemplate | undefined {
  try {
    return parseTemplate(uriTemplate)
  } catch {
    return undefined
  }
}

function schemeOf(uri: string): string {
  return uri.slice(0, uri.indexOf(':') + 1).toLowerCase()
}

/** Finds whose a resource is: who lists it, else whose template it matches, else who lists others of its scheme. */
export class ResourceRouter {
  readonly #members: () => readonly Member[]

  constructor(members: () => readonly Member[]) {
    this.#members = members
  }

  /** Members that may know a URI: the one whose it is, or those who may have it unlisted. */
  async ofPlace(listener: Subscriber, uri: string): Promise<readonly Member[]> {
    await this.#read(listener, false)
    if (!this.#isListed(uri)) await this.#read(listener, true)
    const members = this.#offering()
    const certain =
      members.find(({ catalogue }) => catalogue.lists(uri)) ??
      members.find(({ catalogue }) => catalogue.matches(uri))
    return certain === undefined ? members.filter(({ catalogue }) => catalogue.sharesScheme(uri)) : [certain]
  }

  /** The member that lists a template written like this, or else a resource at this place. */
  async ofReference(listener: Subscriber, uri: string): Promise<Member | undefined> {
    const found = (): Member | undefined =>
      this.#offering().find(({ catalogue }) => catalogue.hasTemplate(uri)) ??
      this.#offering().find(({ catalogue }) => catalogue.lists(uri))
    await this.#read(listener, false)
    if (found() === undefined) await this.#read(listener, true)
    return found()
  }

  /** Has read the lists of everybody who stands before a member. */
  async readBefore(listener: Subscriber, member: Member): Promise<void> {
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

  async #read(listener: Subscriber, again: boolean): Promise<void> {
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

const maxKept = 10_000
const maxOfOne = 16
const maxChars = 256

/**
 * Which member made what an extension goes on with, such as a task, as far as this process saw it made: no other member
 * is told its id, or what it is answered.
 */
export class ExtensionOwners {
  readonly #makers = new Map<string, Member>()

  /** Takes note of what a member names in a result of an extension; what another one named before stays with that one. */
  learn(member: Member, outcome: Outcome): void {
    if (outcome.type !== 'extension') return
    for (const key of namesIn(outcome.result)) if (!this.#makers.has(key)) this.#makers.set(key, member)
    for (const oldest of this.#makers.keys()) {
      if (this.#makers.size <= maxKept) break
      this.#makers.delete(oldest)
    }
  }

  /** Who made what a request is about, which stands under `named` in its params. */
  makerOf(params: Readonly<JsonObject>, named: string | undefined): Member | undefined {
    const id = named === undefined ? undefined : params[named]
    return named === undefined || typeof id !== 'string' ? undefined : this.#makers.get(keyOf(named, id))
  }
}

function namesIn(result: JsonObject): string[] {
  const inner = Object.values(result).filter(isObject)
  return [result, ...inner]
    .flatMap((part) => Object.entries(part))
    .flatMap(([name, value]) =>
      typeof value === 'string' && value.length <= maxChars ? [keyOf(name, value)] : [],
    )
    .slice(0, maxOfOne)
}

function keyOf(name: string, id: string): string {
  return JSON.stringify([name, id])
}
