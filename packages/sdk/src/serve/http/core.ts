import type { Backplane } from '../../core/backplane.ts'
import { type Asking, type Caller, nobody } from '../../core/exchange.ts'
import { lateReplay } from '../../core/late-replay.ts'
import { Later } from '../../core/later.ts'
import { memoryBackplane } from '../../core/memory-backplane.ts'
import { collectedBytes } from '../../jsonrpc/bytes.ts'
import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import { TransientMap, TransientSet } from '../../jsonrpc/transient.ts'
import type { Server } from '../../server/server.ts'
import { type Bounds, bounds } from '../bounds.ts'
import type { CallPlaces } from '../calls.ts'
import { MemoryBudget } from '../memory.ts'
import type { Relay } from '../relay.ts'
import { report } from '../report.ts'
import { unref } from '../timers.ts'
import type { HttpRequest } from './face.ts'
import type { Legacy } from './legacy.ts'
import type { Authenticate, HttpOptions, HttpRefusal } from './options.ts'
import { listening } from './post-answer.ts'
import type { Sessionless } from './sessionless.ts'
import { Shares } from './shares.ts'
import type { SseSessions } from './sse.ts'

/** An answer that is still owed. */
export interface Serving {
  readonly principal: string | null
  readonly method: string
  /** Asks the handler to stop; what it still gives is sent. */
  abort(reason: unknown): void
  /** Breaks off without an answer. */
  abandon(reason: unknown): void
  /** Half a keep-alive interval went by. */
  tick(): void
}

/** Why a request cannot be served now. */
export interface Busy {
  /** 429 where its principal has too much, 503 where the node has. */
  readonly status: 429 | 503
  readonly error: RpcError
}

/** The path of HTTP+SSE, and the sessions that begin there. */
export interface OlderPath {
  readonly path: string
  readonly sessions: Later<SseSessions>
}

const graceMs = 1000
const maxPrinted = 1000
/** Network addresses whose callers are remembered, so that a caller is the same value for all of its requests. */
const addresses = 10_000

/** What every request of one mounted server shares. */
export class Core {
  readonly server: Server
  readonly bounds: Bounds
  readonly asking: Asking
  readonly backplane: Backplane
  readonly memory: MemoryBudget
  /** The most that the body of one request may have: where memory is short, less than the limit for messages. */
  readonly messageBytes: number
  /** Serves the legacy era with sessions. Many servers never meet it. */
  readonly legacy: Later<Legacy>
  /** Serves the legacy era instead, if the server is mounted without sessions. */
  readonly sessionless: Later<Sessionless> | undefined
  /** Serves HTTP+SSE, where that was wished for. */
  readonly sse: OlderPath | undefined
  /** What joins this node to others, where they share a backplane. */
  readonly #relay: Later<Relay> | undefined
  readonly #authenticate: Authenticate | undefined
  readonly #serving = new TransientSet<Serving>()
  readonly #shares: Shares
  readonly #listenShares: Shares
  readonly #addressOf: (request: HttpRequest) => string | undefined
  readonly #anonymous = new TransientMap<string, Caller>()
  #warned = false
  #subscriptions = 0
  /** Requests whose handlers run, other than subscriptions, also where their session has ended. */
  #calls = 0
  #ticking: ReturnType<typeof setTimeout> | undefined
  #onIdle: (() => void) | undefined
  #closing: Promise<void> | undefined

  constructor(server: Server, options: HttpOptions, warn: (message: string) => void) {
    this.server = server
    this.bounds = bounds(options.limits)
    this.backplane = options.backplane ?? memoryBackplane(this.bounds)
    this.memory = new MemoryBudget(this.bounds.memoryBytes)
    const { messageBytes } = this.bounds
    this.messageBytes = Math.min(messageBytes, Math.floor(this.memory.requestBytes / collectedBytes(1)))
    this.#addressOf = options.clientAddress ?? ((request) => request.address)
    this.#authenticate = options.authenticate
    this.#shares = new Shares(this.bounds.inFlightPerPrincipal)
    this.#listenShares = new Shares(this.bounds.listenStreamsPerPrincipal)
    this.asking = lateReplay({
      keys: options.keys,
      backplane: this.backplane,
      audience: server.info.name,
      ttlMs: this.bounds.stateTtlMs,
      acceptUnasked: options.acceptUnaskedAnswers ?? false,
      acceptUnknown: options.acceptUnknownStates ?? false,
      onSealed: () => this.#warnOfStates(options, warn),
      onRefused: (reason) => warn(`A requestState was refused: ${reason}`),
      onFailed: (error) => warn(`The backplane failed: ${error instanceof Error ? error.message : error}`),
    })
    this.#relay = options.backplane === undefined ? undefined : relayOver(options.backplane, server)
    this.join().catch((error) => report(server, error, 'changes of other nodes'))
    this.legacy = new Later(async () => {
      const { Legacy } = await import('./legacy.ts')
      return new Legacy(this)
    })
    this.sessionless = options.sessions === 'none' ? withoutSessions(this) : undefined
    this.sse = options.sse === undefined ? undefined : olderPath(options.sse, this)
  }

  /** Warns once that input requests do not outlive this process, unless that was chosen. */
  #warnOfStates({ keys = [], backplane, acceptUnknownStates }: HttpOptions, warn: Warn): void {
    if (this.#warned || acceptUnknownStates === false) return
    this.#warned = true
    const noBackplane = backplane === undefined && acceptUnknownStates === undefined
    if (keys.length > 0 && !noBackplane) return
    import('./mount-hints.ts').then(
      ({ statesHint }) => warnOnce(warn, statesHint(this.server.info.name, keys.length === 0, noBackplane)),
      (error) => report(this.server, error, 'a warning'),
    )
  }

  get closing(): boolean {
    return this.#closing !== undefined
  }

  /** Begins to hear what changes on other nodes; settles when it does, or when that failed and is tried again. */
  async join(): Promise<void> {
    if (this.#relay !== undefined) await (await this.#relay.get()).open()
  }

  /** The caller of a request without authentication: limits for each client count it by its address. */
  anonymous(request: HttpRequest): Caller {
    const address = this.#addressOf(request)
    if (address === undefined) return nobody
    const known = this.#anonymous.get(address)
    if (known !== undefined) return known
    if (this.#anonymous.size >= addresses) this.#anonymous.clear()
    const caller = { ...nobody, quotaKey: `address ${networkOf(address)}` }
    this.#anonymous.set(address, caller)
    return caller
  }

  /** Room for the requests of one principal's sessions among all that are being served. */
  callPlaces(principal: string | null): CallPlaces {
    return {
      take: () => this.#openCall(principal)?.error,
      give: () => this.#closeCall(principal),
    }
  }

  /** How to refuse a caller who was not allowed all of this. */
  lacking(scopes: readonly string[], caller: Caller): HttpRefusal {
    return this.#authenticate?.lacking?.(scopes, caller) ?? { status: 403 }
  }

  /** Takes a stateless request in, or says why not now. One that `ticks` hears of time going by. */
  admit(serving: Serving, ticks: boolean): Busy | undefined {
    const busy =
      serving.method === listening ? this.#openListening(serving) : this.#openCall(serving.principal)
    if (busy !== undefined) return busy
    this.begin(serving, ticks)
    return undefined
  }

  /** Registers an answer in progress, so that `close` waits for it. Its calls take their places by themselves. */
  begin(serving: Serving, ticks: boolean): void {
    this.#serving.add(serving)
    if (ticks) this.#ticking ??= this.#tickLater()
  }

  /** Unregisters an answer that was given. */
  end(serving: Serving): void {
    this.#serving.delete(serving)
    if (this.#serving.size === 0) this.#onIdle?.()
  }

  #openListening({ principal }: Serving): Busy | undefined {
    if (this.#subscriptions >= this.bounds.listenStreams) {
      return busy(503, 'Too many subscriptions are open: try again later')
    }
    if (!this.#listenShares.take(principal)) {
      const { listenStreamsPerPrincipal } = this.bounds
      return busy(429, `Too many subscriptions are open: end some of your ${listenStreamsPerPrincipal}`)
    }
    this.#subscriptions++
    return undefined
  }

  #openCall(principal: string | null): Busy | undefined {
    if (this.#calls >= this.bounds.inFlightPerNode) {
      return busy(503, 'Too many requests in flight: try again later')
    }
    if (this.#shares.take(principal)) {
      this.#calls++
      return undefined
    }
    const { inFlightPerPrincipal } = this.bounds
    return busy(429, `Too many requests in flight: wait for some of your ${inFlightPerPrincipal} to finish`)
  }

  #closeCall(principal: string | null): void {
    this.#calls--
    this.#shares.give(principal)
  }

  /** One timer for every answer that is owed: most are given long before it rings. */
  #tickLater(): ReturnType<typeof setTimeout> {
    return unref(
      setTimeout(() => {
        for (const serving of this.#serving.values()) serving.tick()
        this.#ticking = this.#serving.size > 0 ? this.#tickLater() : undefined
      }, this.bounds.keepAliveMs / 2),
    )
  }

  /** A stateless request that was taken in is over. */
  done(serving: Serving): void {
    if (serving.method === listening) {
      this.#subscriptions--
      this.#listenShares.give(serving.principal)
    } else {
      this.#closeCall(serving.principal)
    }
    this.end(serving)
  }

  /** Ends everything: what handlers still answer within 1 s is sent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const reason = new McpError('CONNECTION_CLOSED', 'The server is shutting down')
    clearTimeout(this.#ticking)
    this.#relay?.use(
      (relay) => relay.close(),
      () => {},
    )
    this.legacy.value?.close(reason.message)
    const sse = this.sse?.sessions.value?.close(reason.message)
    for (const serving of this.#serving.values()) serving.abort(reason)
    if (this.#serving.size > 0) await this.#idle()
    await sse
    for (const serving of this.#serving.values()) serving.abandon(reason)
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs)
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/** An IPv6 client can have any address of its /64 network, so it is counted by that. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - last.length)
  return `${[...groups, ...Array<string>(zeros).fill('0'), ...last].slice(0, 4).join(':')}::/64`
}

function withoutSessions(core: Core): Later<Sessionless> {
  return new Later(async () => {
    const { Sessionless } = await import('./sessionless.ts')
    return new Sessionless(core)
  })
}

function olderPath(path: string, core: Core): OlderPath {
  const sessions = new Later(async () => {
    const { SseSessions } = await import('./sse.ts')
    return new SseSessions(path, core)
  })
  return { path, sessions }
}

function relayOver(backplane: Backplane, server: Server): Later<Relay> {
  return new Later(async () => {
    const { Relay } = await import('../relay.ts')
    return new Relay(server, backplane)
  })
}

type Warn = (message: string) => void

/** Warnings that this process has printed, so that each is printed once. */
const printed = new Set<string>()

/** Prints a warning once in this process, also where a server is mounted for each request. */
export function warnOnce(warn: Warn, message: string): void {
  if (printed.has(message) || printed.size >= maxPrinted) return
  printed.add(message)
  warn(message)
}

function busy(status: 429 | 503, why: string): Busy {
  return { status, error: new RpcError(ErrorCode.InternalError, why) }
}
