import type { Backplane } from '../core/backplane.ts'
import { type Asking, type Caller, local, type Peer, type Transport } from '../core/exchange.ts'
import { lateReplay } from '../core/late-replay.ts'
import { memoryBackplane } from '../core/memory-backplane.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../jsonrpc/message.ts'
import { classify, isObject } from '../jsonrpc/parse.ts'
import { isModern, readPeerMeta } from '../protocol/client-meta.ts'
import type { Server } from '../server/server.ts'
import type { SessionOutlet } from './asker.ts'
import { type Bounds, bounds } from './bounds.ts'
import { type CallPlaces, Calls } from './calls.ts'
import type { Connection, ConnectionOptions } from './connection.ts'
import { LateSession } from './late-session.ts'
import { fullError, type MemoryAccount, MemoryBudget } from './memory.ts'
import { type Answered, failure, openCall, refusalOf, unsupportedVersion, wantsAnswer } from './message.ts'
import { report } from './report.ts'

export interface DuplexOptions extends ConnectionOptions {
  /** Secrets of at least 32 bytes that seal `requestState`. Default: a random one for this connection. */
  keys?: readonly (string | Uint8Array)[]
  /** Default: in memory, for this connection. */
  backplane?: Backplane
  /** Accepts states of other processes, though this process cannot know whether they were used. Default false. */
  acceptUnknownStates?: boolean
  limits?: Partial<Bounds>
  /** Sends the responses to one batch as one array. Default: one after the other. */
  sendBatch?: (responses: JsonRpcResponse[]) => void
  /** Settles when the channel can take more; notices of changes wait for it. */
  ready?: () => Promise<void> | undefined
  /** Room among what the whole node serves. Default: as much as the connection itself may. */
  places?: CallPlaces
  /** The account that requests and the session's state are on. Default: one of its own, as `limits` say. */
  memory?: MemoryAccount
  /** Refuses requests of the stateless era, for a transport that is older than it. Default false. */
  sessionsOnly?: boolean
  /** What the channel is; left out within one process. */
  transport?: Transport
}

/** A connection its own side can end. */
export interface Duplex extends Connection {
  /**
   * Takes one parsed value, from a sender who may be allowed something else by now. Never throws.
   * @param bytes what the value holds, about; default 0, for one that is not counted
   * @returns false for what holds no message
   */
  receive(value: unknown, bytes?: number, caller?: Caller): boolean
  /**
   * Ends the connection from this side: handlers are asked to stop, what they still answer within 0.9 s is sent, and
   * open subscriptions are told that they are over.
   */
  shutdown(reason?: string): Promise<void>
  /** How many requests are being served. */
  readonly running: number
}

function tooMany(): RpcError {
  return new RpcError(ErrorCode.InvalidRequest, 'Too many requests in flight: wait for some to finish')
}

/** Milliseconds handlers get to finish. A process must be gone 1 s after its input ended. */
const graceMs = 900

/** Milliseconds between the last progress of a request and its response, so that a client reads them separately. */
const apartMs = 2

/** Serves one ordered two-way channel (stdio, memory, a socket) in both eras at once. */
export function openConnection(
  server: Server,
  send: (message: JsonRpcMessage) => void,
  options: DuplexOptions = {},
): Duplex {
  return new DuplexConnection(server, send, options)
}

class DuplexConnection implements Duplex, SessionOutlet {
  readonly transport: Transport | undefined
  readonly #server: Server
  readonly #send: (message: JsonRpcMessage) => void
  readonly #options: DuplexOptions
  readonly #bounds: Bounds
  readonly #caller: Caller
  readonly #asking: Asking
  readonly #calls: Calls
  readonly #memory: MemoryAccount
  readonly #session: LateSession
  /** Progress tokens of the notifications sent in this turn of the event loop. */
  readonly #reported = new Set<unknown>()
  /** Sends the responses that wait for their client to read progress. */
  readonly #delayed = new Set<() => void>()
  #accepting = true
  #open = true

  constructor(server: Server, send: (message: JsonRpcMessage) => void, options: DuplexOptions) {
    this.#server = server
    this.#send = send
    this.#options = options
    this.#bounds = bounds(options.limits)
    this.#caller = options.caller ?? local
    this.transport = options.transport
    this.#asking = lateReplay({
      keys: options.keys,
      backplane: options.backplane ?? memoryBackplane(this.#bounds),
      audience: server.info.name,
      ttlMs: this.#bounds.stateTtlMs,
      acceptUnknown: options.acceptUnknownStates ?? false,
      onFailed: (error) => report(server, error, 'what questions remember'),
    })
    this.#calls = new Calls(this.#bounds.inFlight, options.places)
    this.#memory = options.memory ?? new MemoryBudget(this.#bounds.memoryBytes).account(undefined)
    this.#session = new LateSession({
      server,
      calls: this.#calls,
      memory: this.#memory,
      caller: this.#caller,
      bounds: this.#bounds,
      send: (message) => {
        this.#out(message)
        return options.ready?.()
      },
    })
  }

  get peer(): Peer | undefined {
    return this.#session.peer
  }

  get running(): number {
    return this.#calls.size
  }

  receive(value: unknown, bytes = 0, caller?: Caller): boolean {
    if (!this.#accepting) return true
    const { waiting } = this.#session
    const full = this.#memory.admit(bytes)
    if (full !== undefined) return this.#overflow(value, fullError(full))
    if (waiting === 0) return this.#take(value, bytes, caller)
    if (waiting >= this.#bounds.inFlight) {
      this.#memory.give(bytes)
      return this.#overflow(value, tooMany())
    }
    this.#session.line(
      () => this.#take(value, bytes, caller),
      () => this.#memory.give(bytes),
    )
    return true
  }

  reject(code: number, message: string): void {
    this.#out(failure(undefined, new RpcError(code, message)))
  }

  /** Refuses what came while too much is under way. What holds nothing once it was looked at is taken all the same. */
  #overflow(value: unknown, error: RpcError): boolean {
    const classified = classify(value)
    if (Array.isArray(value)) {
      if (this.#isBatch(value)) this.#out(failure(undefined, error))
      return this.#isBatch(value)
    }
    if (classified.kind === 'request') this.#out(failure(classified.message.id, error))
    else if (this.#session.waiting === 0) return this.#take(value, 0, undefined)
    return classified.kind !== 'invalid'
  }

  /** Whether an array may be a batch: it has no more members than one may have, and a message among them. */
  #isBatch(value: readonly unknown[]): boolean {
    return value.length <= this.#bounds.batch && value.some((one) => classify(one).kind !== 'invalid')
  }

  /** Serves one value and counts its bytes until that is over. The result is false for what holds no message. */
  #take(value: unknown, bytes: number, caller: Caller | undefined): boolean {
    const served = this.#serve(value, caller)
    if (served instanceof Promise) served.then(() => this.#memory.give(bytes))
    else this.#memory.give(bytes)
    return Array.isArray(value) ? this.#isBatch(value) : served !== false
  }

  /** Serves one value: gives a promise of the end of its handlers where that is not now, and false for what is no message. */
  #serve(value: unknown, caller: Caller | undefined): Promise<void> | boolean {
    if (Array.isArray(value)) return this.#batch(value, caller) ?? true
    const classified = classify(value)
    switch (classified.kind) {
      case 'invalid':
        if (wantsAnswer(value)) this.#out(failure(classified.id, classified.error))
        else this.#session.unusable(classified)
        return false
      case 'notification':
        this.#session.notification(classified.message)
        return true
      case 'response':
        this.#session.response(classified.message)
        return true
      case 'request':
        return this.#request(classified.message, caller) ?? true
    }
  }

  async close(reason = 'The connection was closed'): Promise<void> {
    this.#accepting = false
    this.#open = false
    this.#session.close(reason)
    await this.#calls.idle(graceMs)
  }

  async shutdown(reason = 'The server is shutting down'): Promise<void> {
    this.#accepting = false
    if (this.#session.settled !== undefined) await this.#taken(this.#session.settled)
    this.#calls.abort(new McpError('CONNECTION_CLOSED', reason))
    await this.#calls.idle(graceMs)
    for (const send of this.#delayed) send()
    this.#open = false
    this.#session.close(reason)
  }

  /** Settles when what waited in line was taken, and what was answered at once is sent. */
  async #taken(settled: Promise<void>): Promise<void> {
    await settled
    await new Promise((resolve) => setTimeout(resolve, 0))
  }

  notify(message: JsonRpcNotification): void {
    this.#out(message)
    const token = message.params?.['progressToken']
    if (this.transport === undefined || token === undefined) return
    if (this.#reported.size === 0) setTimeout(() => this.#reported.clear(), 0)
    this.#reported.add(token)
  }

  /**
   * Sends a response a little later if progress of its request was sent in this one. The official clients (versions 1 and 2)
   * remove the progress handler of a request when its response is read, before the handlers of notifications in the same chunk run.
   */
  #afterProgress(message: JsonRpcRequest, response: Answered, answered: (response: Answered) => void): void {
    const meta = this.#reported.size === 0 ? undefined : message.params?.['_meta']
    if (!isObject(meta) || !this.#reported.has(meta['progressToken'])) {
      answered(response)
      return
    }
    const send = (): void => {
      clearTimeout(timer)
      if (this.#delayed.delete(send)) answered(response)
    }
    const timer = setTimeout(send, apartMs)
    this.#delayed.add(send)
  }

  request(message: JsonRpcRequest): boolean {
    this.#out(message)
    return this.#open
  }

  #out(message: JsonRpcMessage): void {
    if (this.#open) this.#send(message)
  }

  #request(message: JsonRpcRequest, caller: Caller | undefined): Promise<void> | undefined {
    if (isModern(message.params)) {
      const answered = message.method === 'subscriptions/listen' ? this.#listened(message.id) : this.#answered
      return this.#settle(message, () => this.#stateless(message), answered)
    }
    return this.#session.use(
      ({ session }) => this.#settle(message, () => session.request(message, this, caller), this.#answered),
      (error) => this.#refuse(message, error),
    )
  }

  /** Answers a request, now or when its handler has ended. */
  #settle(
    message: JsonRpcRequest,
    begin: () => Answered | Promise<Answered>,
    answered: (response: Answered) => void,
  ): Promise<void> | undefined {
    try {
      const response = begin()
      const send = (later: Answered): void => this.#afterProgress(message, later, answered)
      if (response instanceof Promise) return response.then(send, (error) => this.#refuse(message, error))
      send(response)
    } catch (error) {
      this.#refuse(message, error)
    }
    return undefined
  }

  readonly #answered = (response: Answered): void => {
    if (response !== undefined) this.#out(response)
  }

  #refuse(message: JsonRpcRequest, error: unknown): void {
    this.#out(failure(message.id, refusalOf(error, message.method, this.#server)))
  }

  /**
   * Serves a request of the stateless era.
   * @throws RpcError for one that was refused before it began
   */
  #stateless(message: JsonRpcRequest): Answered | Promise<Answered> {
    if (this.#options.sessionsOnly === true) {
      throw unsupportedVersion(readPeerMeta(message.params?.['_meta']).version)
    }
    this.#calls.admit(message.id)
    const call = openCall(this.#server, message, this.#caller, this.#asking, this, this.#bounds)
    return this.#calls.run(call, this.#server)
  }

  /** A subscription that ends on this side is taken back before its result is sent. */
  #listened(requestId: RequestId): (response: Answered) => void {
    return (response) => {
      if (response !== undefined && 'result' in response) {
        this.#out({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
      }
      this.#answered(response)
    }
  }

  #batch(values: readonly unknown[], caller: Caller | undefined): Promise<void> | undefined {
    const refuse = (error: unknown): void =>
      this.#out(failure(undefined, refusalOf(error, 'batch', this.#server)))
    return this.#session.use(({ session, serveBatch }) => {
      const serve = (message: JsonRpcRequest): Answered | Promise<Answered> =>
        session.request(message, this, caller)
      return serveBatch(session, values, this.#bounds.batch, serve).then((responses) => {
        if (responses.length === 0 || !this.#open) return
        if (this.#options.sendBatch !== undefined) this.#options.sendBatch(responses)
        else for (const response of responses) this.#send(response)
      }, refuse)
    }, refuse)
  }
}
