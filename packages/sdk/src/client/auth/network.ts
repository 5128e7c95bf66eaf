import { McpError } from '../../jsonrpc/error.ts'
import { parseJson } from '../../jsonrpc/parse.ts'
import { bodyText, discard } from '../../links/http-answer.ts'
import { lostBy } from '../../links/http-request.ts'
import { orAborted } from '../scope.ts'
import { hostOf, isLoopback, type Zone, zoneOfAddress, zoneOfName } from './address.ts'
import { inTurn, withinMs } from './in-turn.ts'
import { bodiless, pinnedHere } from './pinned.ts'

/**
 * Sends one request to an authorization server. `addresses` are those its host name was found to stand for, already
 * checked; a `fetch` that connects to them and no others leaves no gap between check and use.
 */
export type AuthFetch = (url: URL, init: RequestInit, addresses: readonly string[]) => Promise<Response>

/**
 * The addresses of a host name. Rejects when it has none; undefined where it is not resolved on this machine, as where a
 * proxy resolves it: the name is then judged by what it says.
 */
export type Lookup = (hostname: string, url: URL) => Promise<readonly string[] | undefined>

/** How requests to authorization servers leave this process. */
export interface NetworkOptions {
  /**
   * What sends the requests. Default: on Node a fetch that connects to the addresses that were checked and to no others,
   * and that uses no proxy; elsewhere the global `fetch`. Give `(url, init) => fetch(url, init)` where a proxy is the only
   * way out.
   */
  fetch?: AuthFetch
  /**
   * Resolves host names, so that none that stands for a private address is reached. Default: the system's resolver
   * where the runtime has one to offer, as Node has; elsewhere names are judged by what they say.
   */
  lookup?: Lookup
}

/** How requests leave, and what else may be reached than an outsider may name. */
export interface Reach extends Omit<NetworkOptions, 'lookup'> {
  /** `none` has names judged by what they say. */
  lookup?: Lookup | 'none' | undefined
  /** Lets http lead to other machines. */
  plainHttp?: boolean
}

const maxRedirects = 3
const bodyBytes = 65_536
const timeoutMs = 10_000
const redirects = new Set([301, 302, 303, 307, 308])

interface Place {
  readonly zone: Zone
  /** The name stands for addresses in several zones. */
  readonly mixed: boolean
  readonly addresses: readonly string[]
}

interface Sent {
  readonly response: Response
  readonly url: URL
  readonly signal: AbortSignal
  /** The signal, or the time being up. */
  readonly limited: AbortSignal
}

/** Requests that a server told this client to make: bounded, timed, and kept away from where it must not reach. */
export class Network {
  readonly #fetch: AuthFetch
  readonly #lookup: Lookup | undefined
  readonly #server: URL
  readonly #plainHttp: boolean
  #zone: Promise<Zone> | undefined

  /** @param server the URL this client was given; what lies where it lies may be reached */
  constructor(server: URL, options: Reach) {
    this.#server = server
    this.#plainHttp = options.plainHttp ?? false
    this.#fetch = options.fetch ?? pinnedHere() ?? ((url, init) => fetch(url, init))
    this.#lookup = options.lookup === 'none' ? undefined : (options.lookup ?? systemLookup())
  }

  /**
   * The JSON documents at the places where one may be, in their order, within 5 s in all. A place is asked when those
   * before it hold nothing or have been silent for a while.
   */
  async *documents(
    places: readonly URL[],
    signal: AbortSignal,
  ): AsyncGenerator<{ place: URL; document: unknown }> {
    let silent: URL | undefined
    for await (const { place, ...came } of inTurn(
      places,
      (url, limited) => this.#document(url, limited),
      signal,
    )) {
      if ('answer' in came) {
        if (came.answer !== undefined) yield { place, document: came.answer }
      } else if (came.late) silent ??= place
      else throw came.error
    }
    if (silent !== undefined) throw unanswered(silent, withinMs)
  }

  /** The JSON document at a URL, also after three redirects within its origin; undefined when there is none. */
  async #document(url: URL, signal: AbortSignal): Promise<unknown> {
    for (let at = url, hop = 0; ; hop++) {
      const sent = await this.#send(at, { headers: { accept: 'application/json' } }, signal)
      const { status, headers } = sent.response
      if (status === 200) return parsed(await this.#text(sent), at)
      discard(sent.response)
      if (absent(status)) return undefined
      const location = headers.get('location')
      if (!redirects.has(status) || location === null) {
        throw refused(`${at} answered with status ${status}. Try again later`)
      }
      if (hop === maxRedirects || !URL.canParse(location, at)) {
        throw refused(`${url} redirects ${hop === maxRedirects ? 'too often' : 'to what is no URL'}`)
      }
      const next = new URL(location, at)
      if (next.origin !== url.origin) {
        throw refused(
          `${url} redirects to another origin, ${next.origin}, which is not followed. The server has to name the address itself`,
        )
      }
      at = next
    }
  }

  /** Posts to an endpoint of an authorization server; the whole answer is read, and no redirect is followed. */
  async post(url: URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
    const sent = await this.#send(url, { ...init, method: 'POST' }, signal)
    const { status, headers } = sent.response
    const text = await this.#text(sent)
    return new Response(bodiless.has(status) ? null : text, { status, headers })
  }

  /** Sends one request that is checked like all others, and follows no redirect; its signal is the caller's to give. */
  async send(url: URL, init: RequestInit): Promise<Response> {
    return this.#fetchAt(url, await this.#admit(url), init)
  }

  /**
   * Refuses a URL this client must not be led to, before anything is sent there.
   * @returns the addresses its name stands for, as far as they could be found out
   */
  async check(url: URL): Promise<readonly string[]> {
    return (await this.#admit(url)).addresses
  }

  async #admit(url: URL): Promise<Place> {
    this.mayName(url)
    const place = await this.#locate(url)
    const { zone } = place
    if (url.protocol === 'http:' && zone !== 'loopback' && !this.#plainHttp)
      throw refused(`${url} is not on this machine`)
    if (zone === 'public') return place
    const own = url.origin === this.#server.origin
    if (zone !== 'forbidden' && (own || zone === (await this.#ownZone()))) return place
    throw refused(
      `${url.origin} lies in a ${zone === 'forbidden' ? 'reserved' : zone} network, where ${this.#server.origin} has no business sending this client. If it is meant to be there, reach the server by an address of that network`,
    )
  }

  /** What can be told without a look at the network: the scheme, and hosts that are written as addresses. */
  mayName(url: URL): void {
    const isHere = isLoopback(url) && isLoopback(this.#server)
    const plain = url.protocol === 'http:' && (isHere || this.#plainHttp)
    if (url.protocol !== 'https:' && !plain) {
      throw refused(`${url} is not an https: URL, as everything about a login must be`)
    }
    if (url.username !== '' || url.password !== '') {
      throw refused(`The server names a URL with a password in it: ${url.origin}`)
    }
    const zone = zoneOfAddress(hostOf(url))
    if (zone === 'forbidden') throw refused(`${url.origin} is a reserved address, which is never reached`)
  }

  async #send(url: URL, init: RequestInit, signal: AbortSignal): Promise<Sent> {
    return this.#timed(url, await this.#admit(url), init, signal)
  }

  async #timed(url: URL, place: Place, init: RequestInit, signal: AbortSignal): Promise<Sent> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    try {
      const response = await this.#fetchAt(url, place, { ...init, signal: limited })
      return { response, url, signal, limited }
    } catch (error) {
      throw failed(error, { url, signal, limited })
    }
  }

  async #text(sent: Sent): Promise<string> {
    const { response, limited, url } = sent
    try {
      return await bodyText(response, bodyBytes, limited, url)
    } catch (error) {
      throw failed(error, sent)
    }
  }

  #ownZone(): Promise<Zone> {
    this.#zone ??= this.#meet().catch((error) => {
      this.#zone = undefined
      throw error
    })
    return this.#zone
  }

  /**
   * Where the server lies. Whoever owns a name on the Internet can have it stand for any address at any moment, so it
   * only counts as one of another network where it is met there.
   */
  async #meet(): Promise<Zone> {
    const url = new URL('/', this.#server.origin)
    const place = await this.#locate(url)
    if (place.mixed) return 'public'
    const anyones = zoneOfAddress(hostOf(url)) === undefined && zoneOfName(hostOf(url)) === undefined
    if (anyones && (place.zone === 'private' || place.zone === 'loopback')) {
      const { response } = await this.#timed(url, place, {}, new AbortController().signal)
      discard(response)
    }
    return place.zone
  }

  async #fetchAt(url: URL, { zone, mixed, addresses }: Place, init: RequestInit): Promise<Response> {
    const response = await this.#fetch(url, { ...init, redirect: 'manual' }, addresses)
    if (url.origin === this.#server.origin && !mixed) this.#zone = Promise.resolve(zone)
    return response
  }

  async #locate(url: URL): Promise<Place> {
    const host = hostOf(url)
    const literal = zoneOfAddress(host)
    if (literal !== undefined) return { zone: literal, mixed: false, addresses: [host] }
    const named = zoneOfName(host)
    if (this.#lookup === undefined || named === 'forbidden') {
      return { zone: named ?? 'public', mixed: false, addresses: [] }
    }
    let addresses: readonly string[] | undefined
    try {
      addresses = await orAborted(this.#lookup(host, url), AbortSignal.timeout(timeoutMs))
    } catch (error) {
      throw refused(`The host ${host} could not be found. Check the network, or try again later`, error)
    }
    if (addresses === undefined) return { zone: named ?? 'public', mixed: false, addresses: [] }
    const zones = new Set(addresses.map((address) => zoneOfAddress(address) ?? 'forbidden'))
    if (named === 'loopback' && [...zones].some((zone) => zone !== 'loopback')) zones.add('forbidden')
    const worst = (['forbidden', 'loopback', 'private'] as const).find((zone) => zones.has(zone))
    return { zone: worst ?? (zones.size === 0 ? 'forbidden' : 'public'), mixed: zones.size > 1, addresses }
  }
}

/** An error that ends an attempt to get credentials. */
export function refused(message: string, cause?: unknown, details?: Record<string, unknown>): McpError {
  return new McpError('UNAUTHORIZED', message, { cause, ...(details && { details }) })
}

function unanswered({ origin }: URL, ms: number): McpError {
  return refused(`${origin} did not answer within ${ms} ms. Try again later`)
}

function absent(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}

function failed(error: unknown, { url, signal, limited }: Omit<Sent, 'response'>): unknown {
  if (signal.aborted) return signal.reason
  if (limited.aborted) return unanswered(url, timeoutMs)
  const lost = lostBy(error, signal, url)
  return lost instanceof McpError ? refused(`${lost.message}. Try again later`, lost) : lost
}

function parsed(text: string, url: URL): unknown {
  try {
    return parseJson(text)
  } catch {
    throw refused(`${url} does not hold JSON. Tell whoever runs it`)
  }
}

/** The resolver of the system, where the runtime lends it to code that names no module of its own. */
function systemLookup(): Lookup | undefined {
  const builtin = typeof process === 'object' ? process.getBuiltinModule?.('node:dns/promises') : undefined
  if (typeof builtin?.lookup !== 'function') return undefined
  return async (hostname) => (await builtin.lookup(hostname, { all: true })).map(({ address }) => address)
}
