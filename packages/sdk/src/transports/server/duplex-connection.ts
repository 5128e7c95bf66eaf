import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
} from '../../jsonrpc/message.ts'
import { classify, isObject } from '../../jsonrpc/parse.ts'
import { nextTurn } from '../../jsonrpc/promises.ts'
import { isStatelessRequest, readPeerMeta } from '../../protocol/meta.ts'
import { type Backplane, memoryBackplane } from '../../request/backplane.ts'
import {
  type Caller,
  type InputStrategy,
  localCaller,
  type Peer,
  type Transport,
} from '../../request/exchange.ts'
import { replay } from '../../request/replay.ts'
import { createSealer } from '../../request/state.ts'
import type { Server } from '../../server/server.ts'
import { fullError, type MemoryAccount, MemoryBudget } from './memory-budget.ts'
import { type Bounds, bounds, report } from './options.ts'
import {
  type CallQuota,
  Calls,
  expectsResponse,
  failure,
  peerOf,
  refusalOf,
  requireMethod,
  ServedRequest,
  type ServedResponse,
  unsupportedVersion,
} from './served-request.ts'
import { Session, serveBatch } from './session.ts'
import type { SessionOutlet } from './session-requester.ts'

export interface DuplexOptions {
  /** The client. Default: a local one with every scope. */
  caller?: Caller | undefined
  /** Secrets of at least 32 bytes that seal `requestState`. Default: a random one for this connection. */
  keys?: readonly (string | Uint8Array)[] | undefined
  /** Default: in memory, for this connection. */
  backplane?: Backplane | undefined
  /** Accepts states of other processes, though this process cannot know whether they were used. Default false. */
  acceptUnknownStates?: boolean | undefined
  limits?: Partial<Bounds>
  /** Sends the responses to one batch as one array. Default: one after the other. */
  sendBatch?: (responses: JsonRpcResponse[]) => void
  /** Resolves when the channel accepts more data; notifications of changes wait for it. */
  ready?: () => Promise<void> | undefined
  /** Limits shared with other connections. Default: only those of this connection. */
  quota?: CallQuota
  /** The memory account of requests and session state. Default: a separate one, according to `limits`. */
  memory?: MemoryAccount
  /** Rejects stateless requests, for HTTP+SSE, which is older. Default false. */
  sessionsOnly?: boolean
  /** The kind of channel; absent within one process. */
  transport?: Transport
}

/** Milliseconds for handlers to finish. A process must exit 1 s after its input ended. */
const graceMs = 900

/** Milliseconds between the last progress of a request and its response, so that a client reads them separately. */
const progressGapMs = 2

/** Serves one ordered two-way channel (stdio, memory, a socket) in both eras at once. */
export class DuplexConnection implements SessionOutlet {
  readonly transport: Transport | undefined
  readonly #server: Server
  readonly #send: (message: JsonRpcMessage) => void
  readonly #options: DuplexOptions
  readonly #bounds: Bounds
  readonly #caller: Caller
  readonly #inputStrategy: InputStrategy
  readonly #calls: Calls
  readonly #memory: MemoryAccount
  readonly #session: Session
  /** Values that arrived while the maximum of requests was in flight, in order. */
  readonly #queue: QueuedValue[] = []
  /** Progress tokens of the notifications sent in this turn of the event loop. */
  readonly #reported = new Set<unknown>()
  /** Sends the responses that wait for their client to read progress. */
  readonly #delayed = new Set<() => void>()
  #accepting = true
  #open = true

  constructor(server: Server, send: (message: JsonRpcMessage) => void, options: DuplexOptions = {}) {
    this.#server = server
    this.#send = send
    this.#options = options
    this.#bounds = bounds(options.limits)
    this.#caller = options.caller ?? localCaller
    this.transport = options.transport
    this.#inputStrategy = replay({
      sealer: createSealer(options.keys),
      backplane: options.backplane ?? memoryBackplane(this.#bounds),
      audience: server.info.name,
      ttlMs: this.#bounds.stateTtlMs,
      acceptUnknown: options.acceptUnknownStates ?? false,
      onFailed: (error) => report(server, error, 'request state'),
    })
    this.#calls = new Calls(this.#bounds.inFlight, options.quota)
    this.#memory = options.memory ?? new MemoryBudget(this.#bounds.memoryBytes).account(undefined)
    this.#session = new Session({
      server,
      calls: this.#calls,
      memory: this.#memory,
      caller: this.#caller,
      bounds: this.#bounds,
      send: (message) => {
        this.#sendIfOpen(message)
        return options.ready?.()
      },
    })
  }

  /** The client of the session, after `initialize`. */
  get peer(): Peer | undefined {
    return this.#session.peer
  }

  get running(): number {
    return this.#calls.size
  }

  /**
   * Receives one parsed value. Never throws; invalid input gets an error response as the protocol defines.
   * @param bytes estimated memory of the value. Default 0: not counted
   * @param caller the sender, whose scopes may have changed
   * @returns false for a value that is not a message
   */
  receive(value: unknown, bytes = 0, caller?: Caller): boolean {
    if (!this.#accepting) return true
    const full = this.#memory.reserve(bytes, 'request')
    if (full !== undefined) return this.#overflow(value, fullError(full))
    if (this.#queue.length === 0 && !(this.#calls.isFull && isCall(value))) {
      return this.#serve({ value, bytes, caller })
    }
    if (this.#queue.length >= this.#bounds.inFlight) {
      this.#memory.release(bytes)
      const message = 'Too many requests in flight: wait for some to finish'
      return this.#overflow(value, new RpcError(ErrorCode.InvalidRequest, message))
    }
    if (this.#queue.length === 0) this.#serveQueueLater()
    this.#queue.push({ value, bytes, caller })
    return Array.isArray(value) ? this.#isBatch(value) : classify(value).kind !== 'invalid'
  }

  /**
   * Serves the queue in the next turn of the event loop, when handlers without asynchronous work have finished. Each turn serves
   * as many requests as the limit allows; if it allows none, the rest is rejected.
   */
  #serveQueueLater(): void {
    nextTurn().then(() => {
      const wasFull = this.#calls.isFull
      for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
        if (!wasFull && this.#calls.isFull && isCall(next.value)) {
          this.#serveQueueLater()
          return
        }
        this.#serve(next)
        // Removed after it was served, so that values received meanwhile are queued behind the rest.
        this.#queue.shift()
      }
    })
  }

  /** Sends an error without an id, for input that was no JSON or was not accepted. */
  reject(code: number, message: string): void {
    this.#sendIfOpen(failure(undefined, new RpcError(code, message)))
  }

  /** Rejects a request or batch above the limit. Notifications and responses are served, because the limit excludes them. */
  #overflow(value: unknown, error: RpcError): boolean {
    const classified = classify(value)
    if (Array.isArray(value)) {
      if (this.#isBatch(value)) this.#sendIfOpen(failure(undefined, error))
      return this.#isBatch(value)
    }
    if (classified.kind === 'request') this.#sendIfOpen(failure(classified.message.id, error))
    else if (this.#queue.length === 0) return this.#serve({ value, bytes: 0, caller: undefined })
    return classified.kind !== 'invalid'
  }

  /** Whether an array is a batch: it is no longer than the limit, and contains a message. */
  #isBatch(value: readonly unknown[]): boolean {
    return value.length <= this.#bounds.batch && value.some((one) => classify(one).kind !== 'invalid')
  }

  /** Serves one value and counts its bytes until its response is sent. False for a value that is not a message. */
  #serve({ value, bytes, caller }: QueuedValue): boolean {
    if (Array.isArray(value)) {
      this.#batch(value, caller).finally(() => this.#memory.release(bytes))
      return this.#isBatch(value)
    }
    const classified = classify(value)
    if (classified.kind === 'request') {
      this.#request(classified.message, bytes, caller)
      return true
    }
    this.#memory.release(bytes)
    if (classified.kind === 'notification') this.#session.notification(classified.message)
    else if (classified.kind === 'response') this.#session.response(classified.message)
    else if (expectsResponse(value)) this.#sendIfOpen(failure(classified.id, classified.error))
    else this.#session.invalidMessage(classified)
    return classified.kind !== 'invalid'
  }

  /** The client disconnected: cancels requests in both directions. Resolves when all handlers ended, or after 0.9 s. */
  async close(reason = 'The connection was closed'): Promise<void> {
    this.#accepting = false
    this.#open = false
    for (const { bytes } of this.#queue.splice(0)) this.#memory.release(bytes)
    this.#session.close(reason)
    await this.#calls.idle(graceMs)
  }

  /**
   * Closes the connection from the server: handlers are aborted, responses within 0.9 s are sent, and open subscriptions are
   * ended.
   */
  async shutdown(reason = 'The server is shutting down'): Promise<void> {
    this.#accepting = false
    // Requests received before are served first: their handlers start before they are aborted.
    do await nextTurn()
    while (this.#queue.length > 0)
    this.#calls.abort(new McpError('CONNECTION_CLOSED', reason))
    await this.#calls.idle(graceMs)
    for (const send of this.#delayed) send()
    this.#open = false
    this.#session.close(reason)
  }

  notify(message: JsonRpcNotification): void {
    this.#sendIfOpen(message)
    const token = message.params?.['progressToken']
    if (this.transport === undefined || token === undefined) return
    if (this.#reported.size === 0) setTimeout(() => this.#reported.clear(), 0)
    this.#reported.add(token)
  }

  /**
   * Delays a response if progress of its request was sent in this turn of the event loop. The official clients (versions 1 and 2)
   * remove the progress handler of a request when they read its response, before they handle notifications in the same chunk.
   */
  #afterProgress(message: JsonRpcRequest, response: NonNullable<ServedResponse>): void {
    const meta = this.#reported.size === 0 ? undefined : message.params?.['_meta']
    if (!isObject(meta) || !this.#reported.has(meta['progressToken'])) {
      this.#sendIfOpen(response)
      return
    }
    const send = (): void => {
      clearTimeout(timer)
      if (this.#delayed.delete(send)) this.#sendIfOpen(response)
    }
    const timer = setTimeout(send, progressGapMs)
    this.#delayed.add(send)
  }

  request(message: JsonRpcRequest): boolean {
    this.#sendIfOpen(message)
    return this.#open
  }

  #sendIfOpen(message: JsonRpcMessage): void {
    if (this.#open) this.#send(message)
  }

  /** @param bytes counted until the request was served */
  async #request(message: JsonRpcRequest, bytes: number, caller: Caller | undefined): Promise<void> {
    const { id, method } = message
    try {
      const isStateless = isStatelessRequest(message.params)
      const response = await (isStateless
        ? this.#stateless(message)
        : this.#session.request(message, this, caller))
      if (response === undefined) return
      if (isStateless && method === 'subscriptions/listen' && 'result' in response) {
        // A subscription that the server ends is cancelled before its result is sent.
        this.#sendIfOpen({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
      }
      this.#afterProgress(message, response)
    } catch (error) {
      this.#sendIfOpen(failure(id, refusalOf(error, method, this.#server)))
    } finally {
      this.#memory.release(bytes)
    }
  }

  /**
   * Serves a request of the stateless era.
   * @throws RpcError for one that was rejected before it began
   */
  #stateless(message: JsonRpcRequest): Promise<ServedResponse> {
    if (this.#options.sessionsOnly === true) {
      throw unsupportedVersion(readPeerMeta(message.params?.['_meta']).version)
    }
    this.#calls.admit(message.id)
    const peer = peerOf(readPeerMeta(message.params?.['_meta']), this.#caller)
    requireMethod(this.#server, peer.revision, message.method)
    const call = new ServedRequest(message, peer, this.#inputStrategy, this, this.#bounds)
    return this.#calls.run(call, this.#server, (response) => response)
  }

  async #batch(values: readonly unknown[], caller: Caller | undefined): Promise<void> {
    try {
      const serve = (message: JsonRpcRequest) => this.#session.request(message, this, caller)
      const responses = await serveBatch(this.#session, this.#server, values, this.#bounds.batch, serve)
      if (responses.length === 0 || !this.#open) return
      if (this.#options.sendBatch !== undefined) this.#options.sendBatch(responses)
      else for (const response of responses) this.#send(response)
    } catch (error) {
      this.#sendIfOpen(failure(undefined, refusalOf(error, 'batch', this.#server)))
    }
  }
}

interface QueuedValue {
  readonly value: unknown
  readonly bytes: number
  readonly caller: Caller | undefined
}

/** Whether a value counts as a request in flight. */
function isCall(value: unknown): boolean {
  return Array.isArray(value) || classify(value).kind === 'request'
}
