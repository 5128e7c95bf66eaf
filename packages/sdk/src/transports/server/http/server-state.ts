import { collectedBytes, nextTurn } from '../../../jsonrpc/bytes.ts'
import { ErrorCode, McpError, RpcError } from '../../../jsonrpc/error.ts'
import { RotatingMap, RotatingSet } from '../../../jsonrpc/rotating-map.ts'
import { type Backplane, memoryBackplane } from '../../../request/backplane.ts'
import { anonymousCaller, type Caller, type InputStrategy } from '../../../request/exchange.ts'
import { replay } from '../../../request/replay.ts'
import { createSealer } from '../../../request/state.ts'
import type { Server } from '../../../server/server.ts'
import { type CallQuota, PrincipalQuota } from '../calls.ts'
import { ChangeReplicator } from '../change-replicator.ts'
import { MemoryBudget } from '../memory-budget.ts'
import { type Bounds, bounds, report, unref } from '../options.ts'
import type { HttpRequest } from './http-adapter.ts'
import type { Authenticate, HttpOptions, HttpRefusal } from './options.ts'
import { listenMethod } from './post-response.ts'
import { SessionlessRequests, SessionRequests } from './session-requests.ts'
import { SseSessions } from './sse.ts'

/** An answer that is still owed. */
export interface PendingResponse {
  readonly principal: string | null
  readonly method: string
  /** Asks the handler to stop; what it still gives is sent. */
  abort(reason: unknown): void
  /** Breaks off without an answer. */
  abandon(reason: unknown): void
  /** Half a keep-alive interval went by. */
  tick(): void
}

/** An answer that may take long. */
export interface SlowAnswer {
  /** Prepares for a wait, unless the answer was sent. */
  wait(): void
}

/** Why a request cannot be served now. */
export interface Busy {
  /** 429 where its principal has too much, 503 where the node has. */
  readonly status: 429 | 503
  readonly error: RpcError
}

const graceMs = 1000
/** Network addresses whose callers are remembered, so that a caller is the same value for all of its requests. */
const addresses = 10_000

/** What every request of one mounted server quota. */
export class HttpServerState {
  readonly server: Server
  readonly bounds: Bounds
  readonly inputStrategy: InputStrategy
  readonly backplane: Backplane
  readonly memory: MemoryBudget
  /** The most that the body of one request may have: where memory is short, less than the limit for messages. */
  readonly messageBytes: number
  /** Serves the revisions up to 2025-11-25. */
  readonly legacy: SessionRequests | SessionlessRequests
  /** Serves HTTP+SSE; undefined without the option `sse`. */
  readonly sse: SseSessions | undefined
  /** Exchanges changes with other nodes; undefined where no backplane is shared. */
  readonly #replicator: ChangeReplicator | undefined
  readonly #authenticate: Authenticate | undefined
  readonly #serving = new RotatingSet<PendingResponse>()
  /** Answers that began in this turn of the event loop. */
  readonly #begun: SlowAnswer[] = []
  readonly #quota: PrincipalQuota
  readonly #listenQuota: PrincipalQuota
  readonly #addressOf: (request: HttpRequest) => string | undefined
  readonly #anonymous = new RotatingMap<string, Caller>()
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
    this.#quota = new PrincipalQuota(this.bounds.inFlightPerPrincipal)
    this.#listenQuota = new PrincipalQuota(this.bounds.listenStreamsPerPrincipal)
    this.inputStrategy = replay({
      sealer: createSealer(options.keys),
      backplane: this.backplane,
      audience: server.info.name,
      ttlMs: this.bounds.stateTtlMs,
      acceptUnasked: options.acceptUnaskedAnswers ?? false,
      acceptUnknown: options.acceptUnknownStates ?? false,
      onRefused: (reason) => warn(`A requestState was refused: ${reason}`),
      onFailed: (error) => warn(`The backplane failed: ${error instanceof Error ? error.message : error}`),
    })
    this.#replicator =
      options.backplane === undefined ? undefined : new ChangeReplicator(server, options.backplane)
    this.join().catch((error) => report(server, error, 'changes of other nodes'))
    this.legacy = options.sessions === 'none' ? new SessionlessRequests(this) : new SessionRequests(this)
    this.sse = options.sse === undefined ? undefined : new SseSessions(options.sse, this)
  }

  get closing(): boolean {
    return this.#closing !== undefined
  }

  /** Begins to hear what changes on other nodes; settles when it does, or when that failed and is tried again. */
  async join(): Promise<void> {
    await this.#replicator?.open()
  }

  /** The caller of a request without authentication: limits for each client count it by its address. */
  anonymous(request: HttpRequest): Caller {
    const address = this.#addressOf(request)
    if (address === undefined) return anonymousCaller
    const known = this.#anonymous.get(address)
    if (known !== undefined) return known
    if (this.#anonymous.size >= addresses) this.#anonymous.clear()
    const caller = { ...anonymousCaller, quotaKey: `address ${networkOf(address)}` }
    this.#anonymous.set(address, caller)
    return caller
  }

  /** Room for the requests of one principal's sessions among all that are being served. */
  callPlaces(principal: string | null): CallQuota {
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
  admit(serving: PendingResponse, ticks: boolean): Busy | undefined {
    const busy =
      serving.method === listenMethod ? this.#openListening(serving) : this.#openCall(serving.principal)
    if (busy !== undefined) return busy
    this.begin(serving, ticks)
    return undefined
  }

  /** Registers an answer in progress, so that `close` waits for it. Its calls take their places by themselves. */
  begin(serving: PendingResponse, ticks: boolean): void {
    this.#serving.add(serving)
    if (ticks) this.#ticking ??= this.#tickLater()
  }

  /** Calls `wait` of an answer when this turn of the event loop is over: most answers are sent before. */
  afterTurn(answer: SlowAnswer): void {
    this.#begun.push(answer)
    if (this.#begun.length > 1) return
    nextTurn().then(() => {
      for (const one of this.#begun.splice(0)) one.wait()
    })
  }

  /** Unregisters an answer that was given. */
  end(serving: PendingResponse): void {
    this.#serving.delete(serving)
    if (this.#serving.size === 0) this.#onIdle?.()
  }

  #openListening({ principal }: PendingResponse): Busy | undefined {
    if (this.#subscriptions >= this.bounds.listenStreams) {
      return busy(503, 'Too many subscriptions are open: try again later')
    }
    if (!this.#listenQuota.take(principal)) {
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
    if (this.#quota.take(principal)) {
      this.#calls++
      return undefined
    }
    const { inFlightPerPrincipal } = this.bounds
    return busy(429, `Too many requests in flight: wait for some of your ${inFlightPerPrincipal} to finish`)
  }

  #closeCall(principal: string | null): void {
    this.#calls--
    this.#quota.give(principal)
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
  done(serving: PendingResponse): void {
    if (serving.method === listenMethod) {
      this.#subscriptions--
      this.#listenQuota.give(serving.principal)
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
    this.#replicator?.close()
    this.legacy.close(reason.message)
    const sse = this.sse?.close(reason.message)
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

function busy(status: 429 | 503, why: string): Busy {
  return { status, error: new RpcError(ErrorCode.InternalError, why) }
}
