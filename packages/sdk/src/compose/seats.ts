import type { Client } from '../client/types.ts'
import { canonical } from '../core/canonical.ts'
import type { Caller, ClientSession, Exchange } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { ClientCapabilities } from '../protocol/capabilities.ts'
import { unref } from '../serve/timers.ts'
import { answersAny } from './questions.ts'
import type { Seat, SeatEvents } from './seat.ts'

export interface SeatsOptions {
  /** The proxy's own connection, which can be asked nothing. */
  base: Seat
  /** Whether the upstream server keeps sessions, which are then not shared by those who must not meet in one. */
  sessions: () => boolean
  /** Whether each principal is somebody of their own upstream. */
  separate: boolean
  /** Uses the proxy's own connection for everybody. */
  one: boolean
  open(caller: Caller, capabilities: ClientCapabilities, events: SeatEvents): Promise<Client>
  seat(open: (events: SeatEvents) => Promise<Client>, shared: boolean): Seat
  /** Connections besides the proxy's own. */
  max: number
  /** Those of one principal among them. */
  maxOfOne: number
}

/** A seat for one request. */
export interface Lease {
  readonly seat: Seat
  release(): void
}

type Traveller = Pick<Exchange, 'peer' | 'session'>

const idleMs = 60_000

/**
 * Who travels on which connection upstream, where the server keeps sessions. What a connection declares it declares
 * once, and a question on it may not say which request it is about, so nobody may share one who must not be asked in
 * another's place:
 * - a session downstream has one of its own, for as long as it lasts, and another where its caller has other rights;
 * - requests that stand alone share one where they are known to be of one person who can answer the same;
 * - where nobody knows who sends them, each that may be asked something has one to itself while it runs, and all others
 *   share the proxy's own.
 * A server without sessions needs none of this: every request says by itself who can answer what.
 */
export class Seats {
  readonly #options: SeatsOptions
  readonly #ofSession = new WeakMap<ClientSession, Map<string, Seat>>()
  readonly #ofPerson = new Map<string, Seat>()
  readonly #free = new Map<Seat, { readonly key: string; readonly timer: ReturnType<typeof setTimeout> }>()
  readonly #all = new Map<Seat, string | null>()

  constructor(options: SeatsOptions) {
    this.#options = options
  }

  /** Every connection there is besides the proxy's own. */
  get all(): Iterable<Seat> {
    return this.#all.keys()
  }

  /**
   * A seat for one request.
   * @throws RpcError where there are too many connections
   */
  take(traveller: Traveller, capabilities: ClientCapabilities, asks: boolean): Lease {
    const { sessions, one } = this.#options
    const { peer, session } = traveller
    const alone = sessions() && !one && session === undefined && !isKnown(peer)
    if (alone && asks && answersAny(capabilities)) return this.#alone(peer, capabilities)
    return { seat: this.home(traveller, capabilities), release: () => {} }
  }

  /** Where whatever is not taken alone belongs, changes among it. */
  home({ session, peer }: Traveller, capabilities: ClientCapabilities): Seat {
    const { base, one, sessions, separate } = this.#options
    if (one) return base
    if (sessions() && session !== undefined) return this.#dedicated(session, peer, capabilities)
    if (!sessions()) return separate ? this.#person(peer, {}, true) : base
    if (isKnown(peer) && answersAny(capabilities)) return this.#person(peer, capabilities, false)
    return peer.principal === null && !separate ? base : this.#person(peer, {}, true)
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#all.keys(), (seat) => this.#end(seat)))
  }

  #dedicated(session: ClientSession, caller: Caller, capabilities: ClientCapabilities): Seat {
    const key = canonical(this.#rights(caller))
    const seats = this.#ofSession.get(session) ?? new Map<string, Seat>()
    const known = seats.get(key)
    if (known !== undefined) return known
    const seat = this.#new(caller, capabilities, false)
    this.#ofSession.set(session, seats.set(key, seat))
    const end = (): void => void this.#end(seat)
    if (session.ended.aborted) end()
    else session.ended.addEventListener('abort', end, { once: true })
    return seat
  }

  #person(caller: Caller, capabilities: ClientCapabilities, shared: boolean): Seat {
    const key = canonical([caller.principal, capabilities, this.#rights(caller)])
    const seat = this.#ofPerson.get(key) ?? this.#new(caller, capabilities, shared)
    this.#ofPerson.delete(key)
    this.#ofPerson.set(key, seat)
    return seat
  }

  /** What a connection with credentials of a caller's own may depend on, besides who they are. */
  #rights({ scopes, clientId }: Caller): readonly unknown[] {
    return this.#options.separate ? [clientId, scopes === 'any' ? scopes : [...scopes].toSorted()] : []
  }

  #alone(caller: Caller, capabilities: ClientCapabilities): Lease {
    const key = canonical(capabilities)
    const [free] = [...this.#free].find(([, place]) => place.key === key) ?? []
    const seat = free ?? this.#new(caller, capabilities, false)
    clearTimeout(this.#free.get(seat)?.timer)
    this.#free.delete(seat)
    return {
      seat,
      release: () => {
        if (!this.#all.has(seat) || this.#free.has(seat)) return
        const timer = setTimeout(() => void this.#end(seat), idleMs)
        this.#free.set(seat, { key, timer: unref(timer) })
      },
    }
  }

  #new(caller: Caller, capabilities: ClientCapabilities, shared: boolean): Seat {
    const { principal, scopes, clientId, claims } = caller
    const { max, maxOfOne } = this.#options
    const isFull = this.#all.size >= max && !this.#makeRoom([...this.#all.keys()])
    const own = principal === null ? [] : this.#of(principal)
    if (isFull || (own.length >= maxOfOne && !this.#makeRoom(own))) {
      throw new RpcError(
        ErrorCode.InternalError,
        'Too many connections to the upstream server are in use: try again later',
      )
    }
    const { open, seat: make } = this.#options
    const who: Caller = { principal, scopes, claims, ...(clientId === undefined ? {} : { clientId }) }
    const seat = make((events) => open(who, capabilities, events), shared)
    this.#all.set(seat, principal)
    return seat
  }

  #of(principal: string): Seat[] {
    return [...this.#all].filter(([, whose]) => whose === principal).map(([seat]) => seat)
  }

  /** Ends one of these that is not in use and stands for nobody's session, the longest unused first. */
  #makeRoom(among: readonly Seat[]): boolean {
    const free = [...this.#free.keys()].find((seat) => among.includes(seat))
    const unused = free ?? [...this.#ofPerson.values()].find((seat) => seat.idle && among.includes(seat))
    if (unused === undefined) return false
    void this.#end(unused)
    return true
  }

  async #end(seat: Seat): Promise<void> {
    this.#all.delete(seat)
    clearTimeout(this.#free.get(seat)?.timer)
    this.#free.delete(seat)
    for (const [key, known] of this.#ofPerson) if (known === seat) this.#ofPerson.delete(key)
    await seat.close().catch(() => {})
  }
}

/** Whether all requests of this caller are known to be of one person: who authenticated, or owns both ends. */
function isKnown({ principal, scopes }: Caller): boolean {
  return principal !== null || scopes === 'any'
}
