import { responseBody, responseText } from '../../jsonrpc/cached-json.ts'
import { ErrorCode, RpcError, readableError } from '../../jsonrpc/error.ts'
import type {
  JsonObject,
  JsonRpcFailure,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { type PeerMeta, readPeerMeta } from '../../protocol/meta.ts'
import { type MethodRow, protocolVersions, type ServerNotification } from '../../protocol/methods.ts'
import { eraOf, type Revision } from '../../protocol/revision.ts'
import { stateless } from '../../protocol/stateless-revision.ts'
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

/** A request while it is served. */
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
    session?: ClientSession | undefined,
  ) {
    this.id = request.id
    this.method = request.method
    this.peer = peer
    this.#outlet = outlet
    this.exchange = new ServedExchange(this, request.params ?? {}, inputStrategy, outlet, limits, session)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
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
   * The response of the server, or undefined if the request was cancelled. Never rejects.
   * @param onOver called before the promise resolves
   */
  async serve(server: Server, onOver: () => void = () => {}): Promise<ServedResponse> {
    let response: JsonRpcResponse
    try {
      const outcome = await server.handle(this.exchange)
      response = { jsonrpc: '2.0', id: this.id, result: this.#encode(outcome, server) }
    } catch (error) {
      response = this.#failure(error, server)
    }
    onOver()
    if (this.#over) return undefined
    this.#over = true
    return response
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
    if (!this.signal.aborted) {
      const { name, uri } = this.exchange.params
      const what = typeof name === 'string' ? name : uri
      report(server, error, this.method, typeof what === 'string' ? what : undefined)
    }
    return failure(this.id, internalError())
  }
}

// Created outside of the constructor: until V8 optimizes a constructor, a closure in it keeps the previous one alive.
function notifyOf(served: ServedRequest): Exchange['notify'] {
  return (notification) => served.notify(notification)
}

function headersOf(outlet: Outlet): () => Readonly<Record<string, string>> {
  return () => outlet.headers?.() ?? {}
}

function detachOf(outlet: Outlet): () => void {
  return () => outlet.detach?.()
}

/** The exchange of a request, with own properties only, so that middleware can spread it. */
class ServedExchange implements Exchange {
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject
  readonly peer: Peer
  readonly inputStrategy: InputStrategy
  readonly limits: RequestLimits
  readonly session?: ClientSession
  readonly transport?: Transport
  readonly headers?: () => Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly notify: (notification: ServerNotification) => void
  readonly detach?: () => void

  constructor(
    served: ServedRequest,
    params: JsonObject,
    inputStrategy: InputStrategy,
    outlet: Outlet,
    limits: RequestLimits,
    session: ClientSession | undefined,
  ) {
    this.id = served.id
    this.method = served.method
    this.params = params
    this.peer = served.peer
    this.inputStrategy = inputStrategy
    this.limits = limits
    if (session !== undefined) this.session = session
    if (outlet.transport !== undefined) this.transport = outlet.transport
    if (outlet.headers !== undefined) this.headers = headersOf(outlet)
    this.signal = served.signal
    this.notify = notifyOf(served)
    if (outlet.detach !== undefined) this.detach = detachOf(outlet)
  }
}

/**
 * Creates a stateless request, whose `_meta` describes the client.
 * @throws RpcError -32602, -32022 or -32601
 */
export function openCall(
  server: Server,
  request: JsonRpcRequest,
  caller: Caller,
  inputStrategy: InputStrategy,
  outlet: Outlet,
  limits: RequestLimits,
): ServedRequest {
  const peer = peerOf(readPeerMeta(request.params?.['_meta']), caller)
  requireMethod(server, peer.revision, request.method)
  return new ServedRequest(request, peer, inputStrategy, outlet, limits)
}

/**
 * The client of a stateless request.
 * @throws RpcError -32022 for a version that is not stateless
 */
export function peerOf(meta: PeerMeta, caller: Caller): Peer {
  return {
    ...caller,
    revision: requireStateless(meta.version),
    capabilities: meta.capabilities,
    info: meta.info,
    logLevel: meta.logLevel,
  }
}

/** The error for an unsupported version, or one that needs a session. */
export function unsupportedVersion(requested: string): RpcError {
  return new RpcError(
    ErrorCode.UnsupportedProtocolVersion,
    eraOf(requested) === 'session'
      ? `Unsupported protocol version: ${requested} begins with "initialize"`
      : 'Unsupported protocol version',
    {
      supported: protocolVersions.filter((version) => version !== requested).reverse(),
      requested: shortened(requested),
    },
  )
}

function requireStateless(version: string): Revision {
  if (eraOf(version) !== 'stateless') throw unsupportedVersion(version)
  return stateless
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
      `Method not found: revision ${revision.version} has no "${shortened(method)}"`,
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

export function internalError(): RpcError {
  return new RpcError(ErrorCode.InternalError, 'Internal error')
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

/** The JSON of a response as text or UTF-8. One that cannot be serialized is reported and replaced by an error. */
export function encodeResponse(
  response: JsonRpcResponse,
  server: Server,
): string | ReturnType<TextEncoder['encode']> {
  try {
    return responseBody(response)
  } catch (error) {
    report(server, error, 'response')
    return JSON.stringify(failure(response.id, internalError()))
  }
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
