import type { Listener } from '../core/changes.ts'
import type { Exchange, Peer } from '../core/exchange.ts'
import { limits } from '../core/limits.ts'
import { none } from '../core/live.ts'
import { jsonBytes } from '../jsonrpc/bytes.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { parseTemplate, type UriTemplate } from '../server/uri-template.ts'
import type { Member } from './members.ts'

const maxEntries = 10_000
const maxPages = 100
/** A list is not asked for more often than this to find what it does not hold. */
const againMs = 10_000
const readMs = 30_000

/**
 * Which URIs and templates one member lists, as far as any caller was shown them: it says where a request goes, and
 * the member itself says who may have it.
 */
export class Catalogue {
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
  async read(listener: Listener, again: boolean): Promise<void> {
    const age = performance.now() - this.#listed
    if (age === Number.POSITIVE_INFINITY || (again && age > againMs)) {
      this.#listing ??= this.#read(listener).finally(() => {
        this.#listed = performance.now()
        this.#listing = undefined
      })
    }
    await this.#listing
  }

  async #read({ peer: caller, session }: Listener): Promise<void> {
    if (this.#member.server.capabilities.resources === undefined) return
    // Nobody is shown what is read here, so it is read as somebody who may see all of it, and is no more than that.
    const { scopes: own } = caller
    const scopes = own === 'any' ? own : new Set([...own, ...this.#member.server.scopes])
    const peer: Peer = { ...caller, scopes }
    const signal = AbortSignal.timeout(readMs)
    for (const method of ['resources/list', 'resources/templates/list']) {
      const exchange = { id: 0, method, params: {}, peer, signal, asking: none, limits, notify: () => {} }
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
