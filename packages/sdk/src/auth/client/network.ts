import { orAborted } from '../../client/call-deadline.ts'
import { McpError } from '../../jsonrpc/error.ts'
import { parseJson } from '../../jsonrpc/parse.ts'
import { lostBy } from '../../transports/client/http-request.ts'
import { bodyText, discard } from '../../transports/client/http-response.ts'
import { bodiless, pinnedHere } from './pinned.ts'

/** Where an address lies. Requests to `forbidden` ones are never made. */
export type Zone = 'public' | 'private' | 'loopback' | 'forbidden'

type Range = readonly [base: string, bits: number, zone: Zone]

// Cloud metadata services and other addresses that only make sense as targets of an attack stand before their range.
const ranges4: readonly Range[] = [
  ['100.100.100.200', 32, 'forbidden'],
  ['168.63.129.16', 32, 'forbidden'],
  ['0.0.0.0', 8, 'forbidden'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'private'],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'forbidden'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'forbidden'],
  ['192.0.2.0', 24, 'forbidden'],
  ['192.88.99.0', 24, 'forbidden'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'private'],
  ['198.51.100.0', 24, 'forbidden'],
  ['203.0.113.0', 24, 'forbidden'],
  ['224.0.0.0', 3, 'forbidden'],
]

const loopbackName = /^(?:.+\.)?localhost$/
const privateName = /^[^.]+$|\.(?:internal|intranet|lan|local|localdomain|corp|home|home\.arpa|private)$/
const metadataName = /^metadata(?:\.google\.internal|\.goog)?$|^instance-data(?:\.ec2\.internal)?$/

/** The zone of an IP address in text form; undefined for what is none. */
export function zoneOfAddress(address: string): Zone | undefined {
  const four = parse4(address)
  if (four !== undefined) return zoneOf4(four)
  const six = parse6(address)
  return six === undefined ? undefined : zoneOf6(six)
}

/** The zone a host name stands for as far as the name alone tells; undefined where it has to be looked up. */
export function zoneOfName(name: string): Zone | undefined {
  if (loopbackName.test(name)) return 'loopback'
  if (metadataName.test(name)) return 'forbidden'
  return privateName.test(name) ? 'private' : undefined
}

/** The host of a URL without brackets and without dots at its end, and an address that stood before dots as addresses are written. */
export function hostOf(url: URL): string {
  const named = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const host = named.replace(/\.+$/, '')
  return host !== named && URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`).hostname : host
}

/** Whether a URL names this machine itself. */
export function isLoopback(url: URL): boolean {
  const host = hostOf(url)
  return (zoneOfAddress(host) ?? zoneOfName(host)) === 'loopback'
}

function zoneOf4(address: number): Zone {
  for (const [base, bits, zone] of ranges4) {
    const shift = 2 ** (32 - bits)
    if (Math.floor(address / shift) === Math.floor((parse4(base) ?? 0) / shift)) return zone
  }
  return 'public'
}

function zoneOf6(groups: readonly number[]): Zone {
  const [a = 0, b = 0, c = 0] = groups
  const last = four(groups, 6)
  if (groups.slice(0, 7).every((group) => group === 0)) return groups[7] === 1 ? 'loopback' : 'forbidden'
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return zoneOf4(last)
  if (a === 0x64 && b === 0xff9b && groups.slice(2, 6).every((group) => group === 0)) return tunnelled(last)
  if (a === 0x2002) return tunnelled(four(groups, 1))
  if ((a === 0xfd00 && b === 0xec2) || (a === 0xfd20 && b === 0xce && c === 0)) return 'forbidden'
  if ((a & 0xfe00) === 0xfc00 || (a & 0xffc0) === 0xfec0) return 'private'
  if ((a === 0x2001 && (b < 0x200 || b === 0xdb8)) || (a === 0x3fff && b < 0x1000)) return 'forbidden'
  // What is left of the space that is routed on the Internet.
  return (a & 0xe000) === 0x2000 ? 'public' : 'forbidden'
}

/** A way to an IPv4 address through somebody's relay, which is no way to anything that is not public. */
function tunnelled(address: number): Zone {
  return zoneOf4(address) === 'public' ? 'public' : 'forbidden'
}

function four(groups: readonly number[], at: number): number {
  return (groups[at] ?? 0) * 65_536 + (groups[at + 1] ?? 0)
}

function parse4(text: string): number | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (match === null) return undefined
  const parts = match.slice(1).map(Number)
  return parts.every((part) => part < 256) ? parts.reduce((sum, part) => sum * 256 + part, 0) : undefined
}

function parse6(text: string): number[] | undefined {
  const plain = text.replace(/%.*$/, '')
  if (!plain.includes(':') || !URL.canParse(`http://[${plain}]/`)) return undefined
  const [head = '', tail] = new URL(`http://[${plain}]/`).hostname.slice(1, -1).split('::')
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const front = groups(head)
  const back = tail === undefined ? [] : groups(tail)
  return [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back]
}

/** Milliseconds of silence after which the next place is asked too. */
const silentMs = 1_500
/** Milliseconds all places together may take. */
export const withinMs = 5_000

/** What came of asking one place; `late` where it had not answered when the time of all was up. */
export type Outcome<Place, Answer> =
  | { readonly place: Place; readonly answer: Answer }
  | { readonly place: Place; readonly error: unknown; readonly late: boolean }

/**
 * Asks places that may hold the same, and gives what came of each in their order. One is asked when those before it
 * have answered, or have been silent for 1.5 s, so that a place that never answers takes no time of the others; all
 * together take 5 s at most. Whoever found what it looked for asks for no more, and what is still under way is dropped.
 */
export async function* staggered<Place, Answer>(
  places: readonly Place[],
  ask: (place: Place, signal: AbortSignal) => Promise<Answer>,
  signal?: AbortSignal,
): AsyncGenerator<Outcome<Place, Answer>> {
  const stop = new AbortController()
  const limited = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
  const late = setTimeout(() => stop.abort(tooLate), withinMs)
  const asked: Promise<Answer>[] = []
  let next: ReturnType<typeof setTimeout> | undefined
  const askNext = (): void => {
    clearTimeout(next)
    const place = places[asked.length]
    if (place === undefined || limited.aborted) return
    const answer = orAborted(ask(place, limited), limited)
    answer.catch(() => {})
    asked.push(answer)
    next = setTimeout(askNext, silentMs)
  }
  const outcomeOf = async (
    place: Place,
    answer: Promise<Answer> | undefined,
  ): Promise<Outcome<Place, Answer>> => {
    try {
      if (answer !== undefined) return { place, answer: await answer }
    } catch (error) {
      if (error !== tooLate) return { place, error, late: false }
    }
    return { place, error: tooLate, late: true }
  }
  try {
    for (const [at, place] of places.entries()) {
      signal?.throwIfAborted()
      if (asked.length === at) askNext()
      yield await outcomeOf(place, asked[at])
    }
  } finally {
    clearTimeout(late)
    clearTimeout(next)
    stop.abort()
  }
}

const tooLate = new Error(`There was no answer within ${withinMs} ms`)

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
    for await (const { place, ...came } of staggered(
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
