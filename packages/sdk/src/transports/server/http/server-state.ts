import { collectedBytes } from '../../../jsonrpc/bytes.ts'
import { ErrorCode, internalError, McpError, messageOf, RpcError } from '../../../jsonrpc/error.ts'
import type { RequestId } from '../../../jsonrpc/message.ts'
import { isObject, isRequestId } from '../../../jsonrpc/parse.ts'
import { deferred, nextTurn, OnDemand, waitAtMost } from '../../../jsonrpc/promises.ts'
import { RotatingMap, RotatingSet } from '../../../jsonrpc/rotating-map.ts'
import { type Backplane, memoryBackplane } from '../../../request/backplane.ts'
import type { Change } from '../../../request/changes.ts'
import { allows, anonymousCaller, type Caller, type InputStrategy } from '../../../request/exchange.ts'
import { replay } from '../../../request/replay.ts'
import { createSealer, type Sealer } from '../../../request/state.ts'
import type { Server } from '../../../server/server.ts'
import { ChangeReplicator } from '../change-replicator.ts'
import { type MemoryAccount, MemoryBudget, PrincipalQuota } from '../memory-budget.ts'
import { type Bounds, bounds, report, unref } from '../options.ts'
import { type CallQuota, failure } from '../served-request.ts'
import { listenMethod } from './event-stream.ts'
import type { HttpReply, HttpRequest } from './http-adapter.ts'
import { type HttpObserver, type HttpServerLoad, observedBackplane } from './observer.ts'
import type { Authenticate, HttpCaller, HttpRefusal, ServeHttpOptions } from './options.ts'
import type { SessionlessRequests, SessionRequests } from './session-requests.ts'

/** A response that was not sent yet. */
export interface PendingResponse {
  readonly principal: string | null
  readonly method: string
  /** Aborts the handler's signal; its response is still sent. */
  abort(reason: unknown): void
  /** Ends without a response. */
  abandon(reason: unknown): void
  /** Called every half keep-alive interval. */
  onTick(): void
}

/** A response that may be slow. */
export interface SlowResponse {
  /** Prepares for a slow response, unless it was sent. */
  onSlow(): void
}

/** The caller of a request, and its memory account. */
export interface Sender {
  readonly caller: Caller
  readonly memory: MemoryAccount
}

export interface HttpExchange extends Sender {
  readonly request: HttpRequest
  readonly reply: HttpReply
}

/** Why a request cannot be served now. */
export interface Busy {
  /** 429 if its principal exceeds a limit, 503 if the node does. */
  readonly status: 429 | 503
  readonly error: RpcError
}

const graceMs = 1000
/** Milliseconds between two releases of waiting calls on a draining node, because further calls may begin to wait. */
const releaseIntervalMs = 250
const maxWarnings = 1000
/** Maximum number of anonymous senders by network address, so that all requests of one share an object. */
const maxAnonymousSenders = 10_000

const noSessions = { sessions: 0, connections: 0, waiting: 0, leaseAgeMs: undefined }

/** The state of one mounted server. */
export class HttpServerState implements CallQuota {
  readonly server: Server
  readonly bounds: Bounds
  readonly inputStrategy: InputStrategy
  readonly backplane: Backplane
  readonly observer: HttpObserver | undefined
  readonly memory: MemoryBudget
  /** Maximum bytes of a request body: the limit for messages, or less if `memoryBytes` is small. */
  readonly messageBytes: number
  /** Whether every node that shares the backplane serves the sessions. */
  readonly sharesSessions: boolean
  /** Encrypts state that the client or the backplane stores for this server. */
  readonly sealer: Sealer
  /** Serves the revisions up to 2025-11-25. */
  readonly sessionEra: OnDemand<SessionRequests | SessionlessRequests>
  /** The same if they have sessions; undefined with `sessions: 'none'`. */
  readonly sessions: OnDemand<SessionRequests> | undefined
  /** Exchanges changes with other nodes; undefined where no backplane is shared. */
  readonly #replicator: ChangeReplicator | undefined
  readonly #authenticate: Authenticate | undefined
  readonly #serving = new RotatingSet<PendingResponse>()
  /** Responses that began in this turn of the event loop. */
  readonly #begun: SlowResponse[] = []
  readonly #quota: PrincipalQuota
  readonly #listenQuota: PrincipalQuota
  readonly #clientAddress: ((request: HttpCaller) => string | undefined) | undefined
  readonly #anonymous = new RotatingMap<string, Sender>()
  closing = false
  /** Whether the node is about to close, and load balancers should send requests to others. */
  draining = false
  #warned = false
  #subscriptions = 0
  /** Requests in flight other than subscriptions, including those of closed sessions. */
  #calls = 0
  #ticking: ReturnType<typeof setTimeout> | undefined
  #onIdle: (() => void) | undefined
  /** Called when the last request in flight has finished. */
  #onNoCalls: (() => void) | undefined
  #closing: Promise<void> | undefined
  readonly #stopObserving: (() => void) | undefined

  constructor(server: Server, options: ServeHttpOptions, warn: (message: string) => void) {
    this.server = server
    this.bounds = bounds(options.limits)
    this.observer = options.observer
    const backplane = options.backplane ?? memoryBackplane(this.bounds)
    this.backplane = this.observer === undefined ? backplane : observedBackplane(backplane, this.observer)
    this.memory = new MemoryBudget(this.bounds.memoryBytes)
    const { messageBytes } = this.bounds
    this.messageBytes = Math.min(messageBytes, Math.floor(this.memory.requestBytes / collectedBytes(1)))
    this.#clientAddress = options.clientAddress
    this.#authenticate = options.authenticate
    this.#quota = new PrincipalQuota(this.bounds.inFlightPerPrincipal)
    this.#listenQuota = new PrincipalQuota(this.bounds.listenStreamsPerPrincipal)
    this.sealer = createSealer(options.keys)
    this.inputStrategy = replay({
      sealer: this.sealer,
      backplane: this.backplane,
      audience: server.info.name,
      ttlMs: this.bounds.stateTtlMs,
      acceptUnasked: options.dangerouslyAcceptUnsentQuestions ?? false,
      acceptUnknown: options.acceptUnknownStates ?? false,
      onSealed: () => this.#warnOfStates(options, warn),
      onRefused: (reason) => {
        this.observer?.event({ type: 'writeRefused', what: 'state' })
        warn(`A requestState was refused: ${reason}`)
      },
      onFailed: (error) => warn(`The backplane failed: ${messageOf(error)}`),
    })
    this.#replicator =
      options.backplane === undefined ? undefined : new ChangeReplicator(server, this.backplane)
    this.sharesSessions = options.backplane?.spansProcesses === true && options.sessions === undefined
    if (options.sessions === 'none') {
      this.sessionEra = new OnDemand(async () => {
        const { SessionlessRequests } = await import('./session-requests.ts')
        return new SessionlessRequests(this)
      })
    } else {
      this.sessions = new OnDemand(async () => {
        const { SessionRequests } = await import('./session-requests.ts')
        return new SessionRequests(this, options.sse)
      })
      this.sessionEra = this.sessions
    }
    this.#stopObserving = this.observer?.start(() => this.#load())
    this.join().catch((error) => report(server, error, 'changes and sessions of other nodes'))
  }

  /** Warns once that answers are refused by other processes and after a restart, unless options say so. */
  #warnOfStates({ keys = [], backplane, acceptUnknownStates }: ServeHttpOptions, warn: Warn): void {
    if (this.#warned || acceptUnknownStates === false) return
    this.#warned = true
    const noBackplane = backplane === undefined && acceptUnknownStates === undefined
    if (keys.length > 0 && !noBackplane) return
    const missing = [keys.length === 0 && 'keys', noBackplane && 'a backplane'].filter(Boolean).join(' and ')
    warnOnce(
      warn,
      `${this.server.info.name}: without ${missing}, the answer to a question is refused after a restart of this process, and by every ` +
        'other process; the client then starts its request over. A single process works as it is: acceptUnknownStates: false ' +
        'removes this warning. Several processes, and questions that outlast a restart, need the same keys and one backplane, ' +
        'the store that records used answers: give both to serveHttp.',
    )
  }

  /** Joins the other nodes for changes and sessions; resolves when that succeeded, or failed and will be retried. */
  async join(): Promise<void> {
    const joinSessions = async (): Promise<void> => {
      if (this.sharesSessions) await (await this.sessions?.load())?.join()
    }
    await Promise.all([this.#replicator?.open(), joinSessions()])
  }

  #load(): HttpServerLoad {
    const load = this.sessions?.value?.load()
    const { sessions, connections, waiting, leaseAgeMs } = load ?? noSessions
    return {
      sessions,
      streams: { session: connections, subscription: this.#subscriptions },
      calls: { running: Math.max(0, this.#calls - waiting), waiting },
      leaseAgeMs,
    }
  }

  /** The changes after a time in milliseconds since 1970, on any node. */
  changesSince(ms: number): { readonly change: Change; readonly at: number }[] {
    return this.#replicator?.since(ms) ?? []
  }

  sender(caller: Caller): Sender {
    return { caller, memory: this.memory.account(caller.quotaKey) }
  }

  /** The sender of an unauthenticated request, whose quota key is its network address. */
  anonymous(request: HttpRequest): Sender {
    const address = this.#clientAddress === undefined ? request.address : this.#clientAddress(request)
    if (address === undefined) return this.sender(anonymousCaller)
    const known = this.#anonymous.get(address)
    if (known !== undefined) return known
    if (this.#anonymous.size >= maxAnonymousSenders) this.#anonymous.clear()
    const sender = this.sender({ ...anonymousCaller, quotaKey: `address ${networkOf(address)}` })
    this.#anonymous.set(address, sender)
    return sender
  }

  /**
   * Refuses a message or batch whose caller lacks a required scope, naming all required scopes.
   * @returns whether it was refused
   */
  refusesScopes(reply: HttpReply, caller: Caller, value: unknown): boolean {
    const { server, bounds } = this
    if (server.scopes.length === 0) return false
    // A batch that is too long is rejected as such, without reading its messages.
    if (Array.isArray(value) && value.length > bounds.batch) return false
    const messages: readonly unknown[] = Array.isArray(value) ? value : [value]
    const needed = new Set<string>()
    for (const message of messages) {
      const { method, params } = isObject(message) ? message : {}
      if (typeof method !== 'string') continue
      const scopes = server.scopesFor(method, isObject(params) ? params : undefined, bounds.uriChars)
      for (const scope of scopes) needed.add(scope)
    }
    if (allows(caller, [...needed])) return false
    const id = isObject(value) && isRequestId(value['id']) ? value['id'] : undefined
    sendRefusal(reply, this.#authenticate?.lacking?.([...needed], caller) ?? { status: 403 }, id)
    return true
  }

  /** Registers a response, so that `close` waits for it, and calls its `onSlow` and `onTick`. */
  begin(serving: PendingResponse & SlowResponse, reply: HttpReply): void {
    this.#serving.add(serving)
    if (reply.sharesTimers) this.#ticking ??= this.#tickLater()
    this.afterTurn(serving, reply)
  }

  readonly #waitForBegun = (): void => {
    for (const one of this.#begun.splice(0)) one.onSlow()
  }

  /**
   * Calls `onSlow` of a response when this turn of the event loop is over, because most responses are sent before; at once on
   * runtimes that bind timers to a request.
   */
  afterTurn(answer: SlowResponse, { sharesTimers }: HttpReply): void {
    if (!sharesTimers) {
      answer.onSlow()
      return
    }
    this.#begun.push(answer)
    if (this.#begun.length > 1) return
    setImmediate(this.#waitForBegun)
  }

  end(serving: PendingResponse): void {
    this.#serving.delete(serving)
    if (this.#serving.size === 0) this.#onIdle?.()
  }

  /** Counts one more subscription of a principal; why not, if a limit is reached. */
  admitSubscription(principal: string | null): Busy | undefined {
    if (this.#subscriptions >= this.bounds.listenStreams) {
      return busy(503, 'Too many subscriptions are open: try again later')
    }
    if (!this.#listenQuota.reserve(principal)) {
      const { listenStreamsPerPrincipal } = this.bounds
      return busy(429, `Too many subscriptions are open: end some of your ${listenStreamsPerPrincipal}`)
    }
    this.#subscriptions++
    return undefined
  }

  /** Counts one more request in flight of a principal; why not, if a limit is reached. */
  admitCall(principal: string | null): Busy | undefined {
    if (this.#calls >= this.bounds.inFlightPerNode) {
      return busy(503, 'Too many requests in flight: try again later')
    }
    if (principal !== null && !this.#quota.reserve(principal)) {
      const { inFlightPerPrincipal } = this.bounds
      return busy(429, `Too many requests in flight: wait for some of your ${inFlightPerPrincipal} to finish`)
    }
    this.#calls++
    return undefined
  }

  releaseCall(principal: string | null): void {
    this.#calls--
    if (this.#calls === 0) this.#onNoCalls?.()
    if (principal !== null) this.#quota.release(principal)
  }

  /** One timer for all responses: most are sent long before it fires. */
  #tickLater(): ReturnType<typeof setTimeout> {
    return unref(
      setTimeout(() => {
        for (const serving of this.#serving.values()) serving.onTick()
        this.#ticking = this.#serving.size > 0 ? this.#tickLater() : undefined
      }, this.bounds.keepAliveMs / 2),
    )
  }

  /** Counts a stateless request that was admitted as finished. */
  done(serving: PendingResponse): void {
    if (serving.method === listenMethod) {
      this.#subscriptions--
      this.#listenQuota.release(serving.principal)
    } else {
      this.releaseCall(serving.principal)
    }
    this.end(serving)
  }

  /** Whether load balancers may send requests here. */
  get readiness(): 'ready' | 'joining' | 'draining' {
    if (this.draining || this.closing) return 'draining'
    return !this.sharesSessions || this.sessions?.value?.hasJoined === true ? 'ready' : 'joining'
  }

  /** Waits `settleMs` for load balancers to send requests to other nodes, up to `graceMs` for running requests, and closes. */
  async drain(settleMs: number, graceMs: number): Promise<void> {
    this.draining = true
    await new Promise((resolve) => setTimeout(resolve, settleMs))
    const end = performance.now() + graceMs
    for (;;) {
      await this.sessions?.value?.release()
      const leftMs = end - performance.now()
      if (this.#calls === 0 || this.closing || leftMs <= 0) break
      const noCalls = deferred()
      this.#onNoCalls = noCalls.resolve
      await waitAtMost(noCalls.promise, Math.min(leftMs, releaseIntervalMs))
      // The response is sent after its request was counted as finished.
      await nextTurn()
    }
    await this.close()
  }

  /** Closes sessions, streams and requests; responses within 1 s are sent. */
  close(): Promise<void> {
    this.closing = true
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const reason = new McpError('CONNECTION_CLOSED', 'The server is shutting down')
    clearTimeout(this.#ticking)
    this.#stopObserving?.()
    this.#replicator?.close()
    const { sessions } = this
    const left = sessions?.isUsed === true ? sessions.use((one) => one.close(reason.message)) : undefined
    for (const serving of this.#serving.values()) serving.abort(reason)
    if (this.#serving.size > 0) {
      const idle = deferred()
      this.#onIdle = idle.resolve
      await waitAtMost(idle.promise, graceMs)
    }
    await left
    for (const serving of this.#serving.values()) serving.abandon(reason)
  }
}

/** The quota of an IPv6 address is that of its /64 network, of which a client can use any address. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - last.length)
  return `${[...groups, ...Array<string>(zeros).fill('0'), ...last].slice(0, 4).join(':')}::/64`
}

type Warn = (message: string) => void

/** Warnings that this process has printed, so that each is printed once. */
const printed = new Set<string>()

/** Prints a warning once in this process, also where a server is mounted for each request. */
export function warnOnce(warn: Warn, message: string): void {
  if (printed.has(message) || printed.size >= maxWarnings) return
  printed.add(message)
  warn(message)
}

function busy(status: 429 | 503, reason: string): Busy {
  return { status, error: internalError(reason) }
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad request: its credentials are malformed',
  401: 'Unauthorized: send a valid access token',
  403: 'Forbidden: the caller is not allowed to do this',
}

/** Sends a refusal, with a JSON-RPC error as its default body. */
export function sendRefusal(reply: HttpReply, refusal: HttpRefusal, id?: RequestId): void {
  const { status, headers, body } = refusal
  const reason = reasons[status] ?? 'Refused'
  reply.send(
    status,
    body ?? JSON.stringify(failure(id, new RpcError(ErrorCode.InvalidRequest, reason))),
    headers,
  )
}
