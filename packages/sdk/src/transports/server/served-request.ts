import { type JsonBody, responseBody, responseText } from '../../jsonrpc/cached-json.ts'
import {
  clipped,
  ErrorCode,
  internalError,
  invalidRequest,
  McpError,
  RpcError,
  readableError,
} from '../../jsonrpc/error.ts'
import type {
  JsonObject,
  JsonRpcFailure,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../jsonrpc/message.ts'
import { isObject, isRequestId } from '../../jsonrpc/parse.ts'
import { RotatingMap, RotatingSet } from '../../jsonrpc/rotating-map.ts'
import type { PeerMeta } from '../../protocol/meta.ts'
import { type MethodRow, protocolVersions, type ServerNotification } from '../../protocol/methods.ts'
import { type Revision, stateless } from '../../protocol/revision.ts'
import { revisionOf } from '../../protocol/revisions.ts'
import type {
  Caller,
  ClientSession,
  Exchange,
  InputStrategy,
  Outcome,
  Peer,
  Transport,
} from '../../request/exchange.ts'
import type { RequestLimits } from '../../request/limits.ts'
import type { Server } from '../../server/server.ts'
import { report } from './options.ts'

const maxShownChars = 100

/** Sends messages that belong to one request. */
export interface Outlet {
  readonly transport?: Transport | undefined
  /** The headers of the HTTP request, without credentials; absent on other transports. */
  headers?(): Readonly<Record<string, string>>
  notify(message: JsonRpcNotification): void
  /** Closes the response stream now; the client reconnects for the rest. Absent if it cannot be resumed. */
  detach?(): void
}

/** The response to a request, or `undefined` if the request was cancelled. */
export type ServedResponse = JsonRpcResponse | undefined

/** One request being served: its exchange, its cancellation, and the encoding of its response. */
export class ServedRequest {
  readonly id: RequestId
  readonly method: string
  readonly peer: Peer
  readonly exchange: Exchange
  readonly #outlet: Outlet
  readonly #controller = new AbortController()
  #over = false

  constructor(
    request: JsonRpcRequest,
    peer: Peer,
    inputStrategy: InputStrategy,
    outlet: Outlet,
    limits: RequestLimits,
    session?: ClientSession,
  ) {
    this.id = request.id
    this.method = request.method
    this.peer = peer
    this.#outlet = outlet
    this.exchange = exchangeOf(
      this,
      request.params ?? {},
      this.#controller.signal,
      inputStrategy,
      outlet,
      limits,
      session,
    )
  }

  notify(notification: ServerNotification): void {
    if (this.#over) return
    const wire = this.peer.revision.notification(notification)
    if (wire !== undefined) this.#outlet.notify({ jsonrpc: '2.0', ...wire })
  }

  /** Aborts the handler's signal. Its response is still sent. */
  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Cancels the request: aborts the handler's signal and sends nothing more. */
  cancel(reason: unknown): void {
    this.#over = true
    this.abort(reason)
  }

  /**
   * Serves the request.
   * @param settle receives the response of the server, or undefined if the request was cancelled
   * @returns what `settle` returns
   */
  async serve<T>(server: Server, settle: (response: ServedResponse) => T): Promise<T> {
    let response: JsonRpcResponse
    try {
      const outcome = await server.handle(this.exchange)
      response = { jsonrpc: '2.0', id: this.id, result: this.#encode(outcome, server) }
    } catch (error) {
      response = this.#failure(error, server)
    }
    if (this.#over) return settle(undefined)
    this.#over = true
    return settle(response)
  }

  #encode(outcome: Outcome, server: Server): JsonObject {
    const { revision } = this.peer
    switch (outcome.type) {
      case 'complete':
        return revision.result(this.method, outcome.result, server.info)
      case 'input_required':
        return revision.inputRequired(outcome.requests, outcome.state, server.info)
      case 'extension':
        return revision.extended(outcome.resultType, outcome.result, server.info)
    }
  }

  #failure(thrown: unknown, server: Server): JsonRpcFailure {
    const error = readableError(thrown)
    if (error instanceof RpcError) {
      return { jsonrpc: '2.0', id: this.id, error: this.peer.revision.error(error) }
    }
    if (!this.exchange.signal.aborted) {
      const { name, uri } = this.exchange.params
      const what = typeof name === 'string' ? name : uri
      report(server, error, this.method, typeof what === 'string' ? what : undefined)
    }
    return failure(this.id, internalError())
  }
}

/**
 * The exchange of a request, with own properties only, so that middleware can spread it. It is an object literal with bound
 * methods: until V8 optimizes the function, a closure that a constructor stores, or that is added after the literal, keeps that
 * of the previous request in memory (`test/weight/young.test.ts`).
 */
function exchangeOf(
  served: ServedRequest,
  params: JsonObject,
  signal: AbortSignal,
  inputStrategy: InputStrategy,
  outlet: Outlet,
  limits: RequestLimits,
  session: ClientSession | undefined,
): Exchange {
  const exchange: { -readonly [Member in keyof Exchange]: Exchange[Member] } = {
    id: served.id,
    method: served.method,
    params,
    peer: served.peer,
    inputStrategy,
    limits,
    signal,
    notify: (notification) => served.notify(notification),
  }
  if (session !== undefined) exchange.session = session
  if (outlet.transport !== undefined) exchange.transport = outlet.transport
  if (outlet.headers !== undefined) exchange.headers = outlet.headers.bind(outlet)
  if (outlet.detach !== undefined) exchange.detach = outlet.detach.bind(outlet)
  return exchange
}

/** The limits on requests in flight that the sessions and connections of one node share. */
export interface CallQuota {
  /** Counts one more request of a principal; if a limit is reached, the error for its response. */
  admitCall(principal: string | null): { readonly error: RpcError } | undefined
  releaseCall(principal: string | null): void
}

/** The requests being served on one connection or session. */
export class Calls {
  readonly #max: number
  readonly #quota: CallQuota | undefined
  readonly #byId = new RotatingMap<RequestId, ServedRequest>()
  /** Cancelled requests whose handlers still run. */
  readonly #cancelled = new RotatingSet<ServedRequest>()
  #onIdle: (() => void)[] = []

  /** @param quota limits shared with other sessions; a request counts until its handler ends */
  constructor(max: number, quota?: CallQuota) {
    this.#max = max
    this.#quota = quota
  }

  get size(): number {
    return this.#byId.size + this.#cancelled.size
  }

  get isFull(): boolean {
    return this.size >= this.#max
  }

  /**
   * Requires that a request may start.
   * @throws RpcError -32600 for an id in flight, or if there are too many requests in flight
   */
  admit(id: RequestId): void {
    if (this.#byId.has(id)) {
      throw invalidRequest('this id belongs to a request in flight')
    }
    if (this.size >= this.#max) {
      throw new RpcError(
        ErrorCode.InvalidRequest,
        `Too many requests in flight: wait for some of the ${this.#max} to finish`,
      )
    }
  }

  /**
   * Serves a request that was admitted. It counts as in flight from the call of this function on.
   * @param settle receives the response, or undefined if the request was cancelled
   * @returns what `settle` returns
   * @throws RpcError if all sessions together, or those of its principal, have too many in flight
   */
  run<T>(call: ServedRequest, server: Server, settle: (response: ServedResponse) => T): Promise<T> {
    const busy = this.#quota?.admitCall(call.peer.principal)
    if (busy !== undefined) throw busy.error
    this.#byId.set(call.id, call)
    return call.serve(server, (response) => {
      this.#release(call)
      return settle(response)
    })
  }

  #release(call: ServedRequest): void {
    if (this.#byId.get(call.id) === call) this.#byId.delete(call.id)
    else this.#cancelled.delete(call)
    this.#quota?.releaseCall(call.peer.principal)
    if (this.#onIdle.length > 0 && this.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  cancel(id: RequestId, reason: unknown): void {
    const call = this.#byId.get(id)
    if (call === undefined) return
    this.#byId.delete(id)
    this.#cancelled.add(call)
    call.cancel(reason)
  }

  /** Aborts the signal of every handler; their responses are still sent. */
  abort(reason: unknown): void {
    for (const call of [...this.#byId.values(), ...this.#cancelled.values()]) call.abort(reason)
  }

  cancelAll(reason: unknown): void {
    for (const call of this.#byId.values()) this.#cancelled.add(call)
    this.#byId.clear()
    for (const call of this.#cancelled.values()) call.cancel(reason)
  }

  /** Resolves when no handler runs and all responses are sent, or after `ms` milliseconds. */
  idle(ms: number): Promise<void> {
    if (this.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#onIdle.push(() => {
        clearTimeout(timer)
        setTimeout(resolve, 0)
      })
    })
  }
}

/** Handles `notifications/cancelled`; other notifications are ignored. */
export function cancelCall(calls: Calls, { method, params }: JsonRpcNotification): void {
  if (method !== 'notifications/cancelled' || !isRequestId(params?.['requestId'])) return
  const reason = typeof params['reason'] === 'string' ? `: ${params['reason']}` : ''
  calls.cancel(params['requestId'], new McpError('CANCELLED', `The client cancelled the request${reason}`))
}

/**
 * The client of a stateless request.
 * @throws RpcError -32022 for a version that is not stateless
 */
export function peerOf(meta: PeerMeta, caller: Caller): Peer {
  if (meta.version !== stateless.version) throw unsupportedVersion(meta.version)
  return {
    ...caller,
    revision: stateless,
    capabilities: meta.capabilities,
    info: meta.info,
    logLevel: meta.logLevel,
  }
}

/** The error for an unsupported version, or one that needs a session. */
export function unsupportedVersion(requested: string): RpcError {
  return new RpcError(
    ErrorCode.UnsupportedProtocolVersion,
    revisionOf(requested)?.era === 'session'
      ? `Unsupported protocol version: ${requested} begins with "initialize"`
      : 'Unsupported protocol version',
    {
      supported: protocolVersions.filter((version) => version !== requested).reverse(),
      requested: clipped(requested, maxShownChars),
    },
  )
}

/**
 * The row of a client method.
 * @throws RpcError -32601 where the revision has none
 */
export function requireMethod(server: Server, revision: Revision, method: string): MethodRow {
  const row = server.method(method, revision.version)
  if (row === undefined) {
    throw new RpcError(
      ErrorCode.MethodNotFound,
      `Method not found: revision ${revision.version} has no "${clipped(method, maxShownChars)}"`,
    )
  }
  return row
}

/** An error response; without an id if that of the request is unknown. */
export function failure(id: RequestId | undefined, error: RpcError): JsonRpcFailure {
  return id === undefined
    ? { jsonrpc: '2.0', error: error.toObject() }
    : { jsonrpc: '2.0', id, error: error.toObject() }
}

/** The error to send for a request that was rejected before it began. */
export function refusalOf(thrown: unknown, method: string, server: Server): RpcError {
  const error = readableError(thrown)
  if (error instanceof RpcError) return error
  report(server, error, method)
  return internalError()
}

/** Whether an invalid message gets an error response: notifications and responses do not. */
export function expectsResponse(value: unknown): boolean {
  if (!isObject(value)) return true
  return 'method' in value ? 'id' in value : !('result' in value || 'error' in value)
}

/** Whether a notification may be dropped if the reader is slow. */
export function isDroppable(method: string): boolean {
  return method === 'notifications/progress' || method === 'notifications/message'
}

/** The JSON text of a message. One that cannot be serialized is reported; a response is then replaced by an error. */
export function encodeMessage(
  message: JsonRpcRequest | JsonRpcNotification | JsonRpcResponse,
  server: Server,
): string | undefined {
  try {
    return 'method' in message ? JSON.stringify(message) : responseText(message)
  } catch (error) {
    const isCall = 'method' in message
    report(server, error, isCall ? message.method : 'response')
    return isCall ? undefined : JSON.stringify(failure(message.id, internalError()))
  }
}

/** The JSON of the responses to a batch; '' for one without requests. */
export function encodeBatch(responses: readonly JsonRpcResponse[], server: Server): string {
  if (responses.length === 0) return ''
  return `[${responses.map((response) => encodeMessage(response, server)).join(',')}]`
}

/** The JSON of a response. One that cannot be serialized is reported and replaced by an error. */
export function encodeResponse(response: JsonRpcResponse, server: Server): JsonBody {
  try {
    return responseBody(response)
  } catch (error) {
    report(server, error, 'response')
    return JSON.stringify(failure(response.id, internalError()))
  }
}
