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
import { classify } from '../jsonrpc/parse.ts'
import { isModern, readPeerMeta } from '../protocol/client-meta.ts'
import type { Server } from '../server/server.ts'
import type { SessionOutlet } from './asker.ts'
import { type Bounds, bounds } from './bounds.ts'
import { Calls } from './calls.ts'
import type { Connection, ConnectionOptions } from './connection.ts'
import { goOn } from './go-on.ts'
import { LateSession } from './late-session.ts'
import { type Answered, failure, openCall, refusalOf, unsupportedVersion, wantsAnswer } from './message.ts'
import { report } from './report.ts'

export interface DuplexOptions extends ConnectionOptions {
  /** Secrets of at least 32 bytes that seal `requestState`. Default: a random one for this connection. */
  keys?: readonly (string | Uint8Array)[]
  /** Default: in memory, for this connection. */
  backplane?: Backplane
  /** Accepts states of other processes, though nobody here knows whether they were used. Default false. */
  acceptUnknownStates?: boolean
  limits?: Partial<Bounds>
  /** Sends the responses to one batch as one array. Default: one after the other. */
  sendBatch?: (responses: JsonRpcResponse[]) => void
  /** Settles when the channel can take more; notices of changes wait for it. */
  ready?: () => Promise<void> | undefined
  /** Refuses requests of the stateless era, for a transport that is older than it. Default false. */
  sessionsOnly?: boolean
  /** What the channel is; left out within one process. */
  transport?: Transport
}

/** A connection its own side can end. */
export interface Duplex extends Connection {
  /**
   * Takes one parsed value, from a sender who may be allowed something else by now. The result is false for what holds no
   * message. Never throws.
   */
  receive(value: unknown, caller?: Caller): boolean
  /**
   * Ends the connection from this side: handlers are asked to stop, what they still answer within 0.9 s is sent, and
   * open subscriptions are told that they are over.
   */
  shutdown(reason?: string): Promise<void>
  /** How many requests are being served. */
  readonly running: number
}

/** Milliseconds handlers get to finish. A process must be gone 1 s after its input ended. */
const graceMs = 900

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
  readonly #session: LateSession
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
    this.#calls = new Calls(this.#bounds.inFlight)
    this.#session = new LateSession({
      server,
      calls: this.#calls,
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

  receive(value: unknown, caller?: Caller): boolean {
    if (!this.#accepting) return true
    const { waiting } = this.#session
    if (waiting === 0) return this.#take(value, caller)
    if (waiting < this.#bounds.inFlight) this.#session.line(() => this.#take(value, caller))
    else this.#overflow(value)
    return true
  }

  reject(code: number, message: string): void {
    this.#out(failure(undefined, new RpcError(code, message)))
  }

  /** Refuses what came while too much waits in line. */
  #overflow(value: unknown): void {
    const classified = classify(value)
    if (classified.kind !== 'request') return
    const { id } = classified.message
    this.#out(
      failure(
        id,
        new RpcError(ErrorCode.InvalidRequest, 'Too many requests in flight: wait for some to finish'),
      ),
    )
  }

  #take(value: unknown, caller: Caller | undefined): boolean {
    if (Array.isArray(value)) {
      this.#batch(value, caller)
      return value.length <= this.#bounds.batch && value.some((one) => classify(one).kind !== 'invalid')
    }
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
        this.#request(classified.message, caller)
        return true
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
  }

  request(message: JsonRpcRequest): boolean {
    this.#out(message)
    return this.#open
  }

  #out(message: JsonRpcMessage): void {
    if (this.#open) this.#send(message)
  }

  #request(message: JsonRpcRequest, caller: Caller | undefined): void {
    if (!isModern(message.params)) {
      const refuse = (error: unknown): void => this.#refuse(message, error)
      this.#session.use(
        ({ session }) => goOn(() => session.request(message, this, caller), this.#answered, refuse),
        refuse,
      )
      return
    }
    try {
      this.#stateless(message)
    } catch (error) {
      this.#refuse(message, error)
    }
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
  #stateless(message: JsonRpcRequest): void {
    if (this.#options.sessionsOnly === true) {
      throw unsupportedVersion(readPeerMeta(message.params?.['_meta']).version)
    }
    this.#calls.admit(message.id)
    const call = openCall(this.#server, message, this.#caller, this.#asking, this)
    const done = call.method === 'subscriptions/listen' ? this.#listened(call.id) : this.#answered
    const response = this.#calls.run(call, this.#server)
    if (response instanceof Promise) response.then(done)
    else done(response)
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

  #batch(values: readonly unknown[], caller: Caller | undefined): void {
    const refuse = (error: unknown): void =>
      this.#out(failure(undefined, refusalOf(error, 'batch', this.#server)))
    this.#session.use(({ session, serveBatch }) => {
      serveBatch(session, values, this, this.#bounds.batch, caller).then((responses) => {
        if (responses.length === 0 || !this.#open) return
        if (this.#options.sendBatch !== undefined) this.#options.sendBatch(responses)
        else for (const response of responses) this.#send(response)
      }, refuse)
    }, refuse)
  }
}
