import { McpError } from '../../jsonrpc/error.ts'
import { parseJson } from '../../jsonrpc/parse.ts'
import { orAborted } from '../../jsonrpc/promises.ts'
import { fetchError } from '../../transports/client/http-request.ts'
import { bodyText, discard } from '../../transports/client/http-response.ts'
import { hostOf, type Zone, zoneOfAddress, zoneOfName } from './address-zones.ts'
import { defaultPinnedFetch, nullBodyStatuses } from './pinned-fetch.ts'

export function isLoopback(url: URL): boolean {
  const host = hostOf(url)
  return (zoneOfAddress(host) ?? zoneOfName(host)) === 'loopback'
}

/** Milliseconds without an outcome before the next attempt starts. */
const staggerMs = 1_500
/** Milliseconds for all attempts together. */
const totalTimeoutMs = 5_000

/** The outcome of one attempt; `late` if the total time ran out first. */
type StaggeredOutcome<Place, Answer> =
  | { readonly place: Place; readonly answer: Answer }
  | { readonly place: Place; readonly error: unknown; readonly late: boolean }

/**
 * Tries alternatives and yields the outcomes in their order. The next attempt starts when those before it have settled, or
 * 1.5 s after the last start, so that one without a response does not delay the others; all together take at most 5 s. When
 * the caller stops iterating, attempts still running are aborted.
 */
export async function* staggered<Place, Answer>(
  places: readonly Place[],
  attempt: (place: Place, signal: AbortSignal) => Promise<Answer>,
  signal?: AbortSignal,
): AsyncGenerator<StaggeredOutcome<Place, Answer>> {
  const stop = new AbortController()
  const limited = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
  const late = setTimeout(() => stop.abort(tooLate), totalTimeoutMs)
  const attempts: Promise<Answer>[] = []
  let next: ReturnType<typeof setTimeout> | undefined
  const startNext = (): void => {
    clearTimeout(next)
    const place = places[attempts.length]
    if (place === undefined || limited.aborted) return
    const answer = orAborted(attempt(place, limited), limited)
    answer.catch(() => {})
    attempts.push(answer)
    next = setTimeout(startNext, staggerMs)
  }
  const outcomeOf = async (
    place: Place,
    answer: Promise<Answer> | undefined,
  ): Promise<StaggeredOutcome<Place, Answer>> => {
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
      if (attempts.length === at) startNext()
      yield await outcomeOf(place, attempts[at])
    }
  } finally {
    clearTimeout(late)
    clearTimeout(next)
    stop.abort()
  }
}

const tooLate = new Error(`No response within ${totalTimeoutMs} ms`)

/**
 * Sends one request to an authorization server. `addresses` are the resolved and checked addresses of its host: a `fetch`
 * that connects only to them is safe from DNS rebinding.
 */
export type AuthFetch = (url: URL, init: RequestInit, addresses: readonly string[]) => Promise<Response>

/**
 * Resolves a host name to its addresses. Rejects if it has none. Returns undefined if the name is not resolved on this machine,
 * for example because a proxy resolves it; only the name itself is checked then.
 */
export type Lookup = (hostname: string, url: URL) => Promise<readonly string[] | undefined>

/** How requests to authorization servers are sent. */
export interface NetworkOptions {
  /**
   * Sends the requests. Default: on Node a fetch that connects only to the checked addresses and uses no proxy, elsewhere
   * the global `fetch`. Use `(url, init) => fetch(url, init)` behind a mandatory proxy.
   */
  fetch?: AuthFetch
  /**
   * Resolves host names, to refuse those with private addresses. Default: the system's resolver if the runtime has one,
   * as Node does; elsewhere names are only checked themselves.
   */
  lookup?: Lookup
}

/** How requests are sent, and which restrictions are lifted for trusted URLs. */
interface NetworkAccess extends Omit<NetworkOptions, 'lookup'> {
  /** `none`: names are not resolved, only checked themselves. */
  lookup?: Lookup | 'none' | undefined
  /** Allows http: to other machines. */
  plainHttp?: boolean
}

const maxRedirects = 3
const maxBodyBytes = 65_536
const timeoutMs = 10_000
const redirects = new Set([301, 302, 303, 307, 308])

interface ResolvedHost {
  readonly zone: Zone
  /** The name has addresses in several zones. */
  readonly mixed: boolean
  readonly addresses: readonly string[]
}

interface Sent {
  readonly response: Response
  readonly url: URL
  readonly signal: AbortSignal
  /** The signal combined with the timeout. */
  readonly limited: AbortSignal
}

/** Sends requests to URLs that a server names, protected against SSRF: limited in size, time and reachable networks. */
export class Network {
  readonly #fetch: AuthFetch
  readonly #lookup: Lookup | undefined
  readonly #server: URL
  readonly #plainHttp: boolean
  #zone: Promise<Zone> | undefined

  /** @param server the URL that the user gave; URLs in the same zone are allowed */
  constructor(server: URL, options: NetworkAccess) {
    this.#server = server
    this.#plainHttp = options.plainHttp ?? false
    this.#fetch = options.fetch ?? defaultPinnedFetch() ?? ((url, init) => fetch(url, init))
    this.#lookup = options.lookup === 'none' ? undefined : (options.lookup ?? systemLookup())
  }

  /** The JSON documents at alternative URLs, in their order, within 5 s in total; see `staggered`. */
  async *documents(
    places: readonly URL[],
    signal: AbortSignal,
  ): AsyncGenerator<{ place: URL; document: unknown }> {
    let unanswered: URL | undefined
    for await (const { place, ...outcome } of staggered(
      places,
      (url, limited) => this.#document(url, limited),
      signal,
    )) {
      if ('answer' in outcome) {
        if (outcome.answer !== undefined) yield { place, document: outcome.answer }
      } else if (outcome.late) unanswered ??= place
      else throw outcome.error
    }
    if (unanswered !== undefined) throw timeoutError(unanswered, totalTimeoutMs)
  }

  /** The JSON document at a URL, after at most three redirects within its origin; undefined if there is none. */
  async #document(url: URL, signal: AbortSignal): Promise<unknown> {
    for (let at = url, hop = 0; ; hop++) {
      const sent = await this.#send(at, { headers: { accept: 'application/json' } }, signal)
      const { status, headers } = sent.response
      if (status === 200) return parseDocument(await this.#text(sent), at)
      discard(sent.response)
      if (isMissing(status)) return undefined
      const location = headers.get('location')
      if (!redirects.has(status) || location === null) {
        throw authError(`${at} responded with status ${status}. Try again later`)
      }
      if (hop === maxRedirects || !URL.canParse(location, at)) {
        throw authError(`${url} redirects ${hop === maxRedirects ? 'too often' : 'to an invalid URL'}`)
      }
      const next = new URL(location, at)
      if (next.origin !== url.origin) {
        throw authError(
          `${url} redirects to another origin, ${next.origin}, which is not followed. The server must name that URL itself`,
        )
      }
      at = next
    }
  }

  /** Posts to an endpoint of an authorization server and reads the whole response. Follows no redirects. */
  async post(url: URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
    const sent = await this.#send(url, { ...init, method: 'POST' }, signal)
    const { status, headers } = sent.response
    const text = await this.#text(sent)
    return new Response(nullBodyStatuses.has(status) ? null : text, { status, headers })
  }

  /** Sends one checked request without a timeout of its own. Follows no redirects. */
  async send(url: URL, init: RequestInit): Promise<Response> {
    return this.#fetchAt(url, await this.#admit(url), init)
  }

  /** Rejects a URL that must not be requested, before anything is sent. */
  async check(url: URL): Promise<void> {
    await this.#admit(url)
  }

  async #admit(url: URL): Promise<ResolvedHost> {
    this.checkUrl(url)
    const place = await this.#locate(url)
    const { zone } = place
    if (url.protocol === 'http:' && zone !== 'loopback' && !this.#plainHttp)
      throw authError(`${url} starts with http:, which is only allowed on this machine`)
    if (zone === 'public') return place
    const own = url.origin === this.#server.origin
    if (zone !== 'forbidden' && (own || zone === (await this.#ownZone()))) return place
    throw authError(
      `${url.origin} is in a ${zone === 'forbidden' ? 'reserved' : zone} network, to which ${this.#server.origin} must not direct this client. If that is intended, use an address of that network for the server`,
    )
  }

  /** The checks that need no DNS: the scheme, credentials in the URL, and literal addresses. */
  checkUrl(url: URL): void {
    const isHere = isLoopback(url) && isLoopback(this.#server)
    const plain = url.protocol === 'http:' && (isHere || this.#plainHttp)
    if (url.protocol !== 'https:' && !plain) {
      throw authError(`${url} is not an https: URL, which logins require`)
    }
    if (url.username !== '' || url.password !== '') {
      throw authError(`The server names a URL with credentials: ${url.origin}`)
    }
    const zone = zoneOfAddress(hostOf(url))
    if (zone === 'forbidden')
      throw authError(`${url.origin} is a reserved address, to which no request is sent`)
  }

  async #send(url: URL, init: RequestInit, signal: AbortSignal): Promise<Sent> {
    return this.#timed(url, await this.#admit(url), init, signal)
  }

  async #timed(url: URL, host: ResolvedHost, init: RequestInit, signal: AbortSignal): Promise<Sent> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    try {
      const response = await this.#fetchAt(url, host, { ...init, signal: limited })
      return { response, url, signal, limited }
    } catch (error) {
      throw networkError(error, { url, signal, limited })
    }
  }

  async #text(sent: Sent): Promise<string> {
    const { response, limited, url } = sent
    try {
      return await bodyText(response, maxBodyBytes, limited, url)
    } catch (error) {
      throw networkError(error, sent)
    }
  }

  #ownZone(): Promise<Zone> {
    this.#zone ??= this.#findOwnZone().catch((error) => {
      this.#zone = undefined
      throw error
    })
    return this.#zone
  }

  /**
   * The zone of the server. The owner of a public name can point it to any address at any time, so it only counts as
   * private after a response from there.
   */
  async #findOwnZone(): Promise<Zone> {
    const url = new URL('/', this.#server.origin)
    const place = await this.#locate(url)
    if (place.mixed) return 'public'
    const isPublicName = zoneOfAddress(hostOf(url)) === undefined && zoneOfName(hostOf(url)) === undefined
    if (isPublicName && (place.zone === 'private' || place.zone === 'loopback')) {
      const { response } = await this.#timed(url, place, {}, new AbortController().signal)
      discard(response)
    }
    return place.zone
  }

  async #fetchAt(url: URL, { zone, mixed, addresses }: ResolvedHost, init: RequestInit): Promise<Response> {
    const response = await this.#fetch(url, { ...init, redirect: 'manual' }, addresses)
    if (url.origin === this.#server.origin && !mixed) this.#zone = Promise.resolve(zone)
    return response
  }

  async #locate(url: URL): Promise<ResolvedHost> {
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
      throw authError(
        `The host ${host}, which is needed to sign in, could not be resolved. Check the network, or try again later`,
        undefined,
        error,
      )
    }
    if (addresses === undefined) return { zone: named ?? 'public', mixed: false, addresses: [] }
    const zones = new Set(addresses.map((address) => zoneOfAddress(address) ?? 'forbidden'))
    if (named === 'loopback' && [...zones].some((zone) => zone !== 'loopback')) zones.add('forbidden')
    const worst = (['forbidden', 'loopback', 'private'] as const).find((zone) => zones.has(zone))
    return { zone: worst ?? (zones.size === 0 ? 'forbidden' : 'public'), mixed: zones.size > 1, addresses }
  }
}

/**
 * What a login lacks, as `missing` in the details of an error: without it, another attempt fails in the same way. Without an
 * `authorizationServer`, only a token that was obtained elsewhere helps; a `client` has to be registered by hand.
 */
export type MissingForLogin = 'authorizationServer' | 'client'

export function authError(message: string, details?: Record<string, unknown>, cause?: unknown): McpError {
  return new McpError('UNAUTHORIZED', message, { cause, ...(details && { details }) })
}

function timeoutError({ origin }: URL, ms: number): McpError {
  return authError(`${origin} did not respond within ${ms} ms. Try again later`)
}

function isMissing(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}

function networkError(error: unknown, { url, signal, limited }: Omit<Sent, 'response'>): unknown {
  if (signal.aborted) return signal.reason
  if (limited.aborted) return timeoutError(url, timeoutMs)
  const lost = fetchError(error, signal, url)
  return lost instanceof McpError ? authError(`${lost.message}. Try again later`, undefined, lost) : lost
}

function parseDocument(text: string, url: URL): unknown {
  try {
    return parseJson(text)
  } catch {
    throw authError(`${url} does not contain JSON. Contact its operator`)
  }
}

/** The system's resolver, if the runtime has one. Not imported: bundles for browsers include this file. */
function systemLookup(): Lookup | undefined {
  const builtin = typeof process === 'object' ? process.getBuiltinModule?.('node:dns/promises') : undefined
  if (typeof builtin?.lookup !== 'function') return undefined
  return async (hostname) => (await builtin.lookup(hostname, { all: true })).map(({ address }) => address)
}
