import type { Asking, Caller, ClientSession, Exchange, Outcome, Peer, Transport } from '../core/exchange.ts'
import type { RequestLimits } from '../core/limits.ts'
import { ErrorCode, RpcError, readable } from '../jsonrpc/error.ts'
import { responseBody, responseText } from '../jsonrpc/kept.ts'
import type {
  JsonObject,
  JsonRpcFailure,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { type PeerMeta, readPeerMeta } from '../protocol/client-meta.ts'
import { eraOf } from '../protocol/eras.ts'
import { type MethodRow, protocolVersions, type ServerNotification } from '../protocol/methods.ts'
import type { Revision } from '../protocol/revision.ts'
import { stateless } from '../protocol/stateless.ts'
import type { Server } from '../server/server.ts'
import { report } from './report.ts'

/** Where messages about one request go. */
export interface Outlet {
  readonly transport?: Transport | undefined
  /** The headers of the HTTP request, without credentials; absent where it came another way. */
  headers?(): Readonly<Record<string, string>>
  notify(message: JsonRpcNotification): void
  /** Closes the response stream now; the client reconnects for the rest. Absent where nothing can be resumed. */
  detach?(): void
}

/** What a request comes to: its response, or nothing once it was cancelled. */
export type Answered = JsonRpcResponse | undefined

/** One request on its way from the wire through the server and back. */
export class Call {
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
    asking: Asking,
    outlet: Outlet,
    limits: RequestLimits,
    session?: ClientSession | undefined,
  ) {
    this.id = request.id
    this.method = request.method
    this.peer = peer
    this.#outlet = outlet
    this.exchange = new ServedExchange(this, request.params ?? {}, asking, outlet, limits, session)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  notify(notification: ServerNotification): void {
    if (this.#over) return
    const wire = this.peer.revision.notification(notification)
    if (wire !== undefined) this.#outlet.notify({ jsonrpc: '2.0', ...wire })
  }

  /** Asks the handler to stop. What it still gives is its answer. */
  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** The peer no longer waits: asks the handler to stop and sends nothing more about this request. */
  cancel(reason: unknown): void {
    this.#over = true
    this.abort(reason)
  }

  /**
   * Has the request served, and gives its response, or undefined once it was cancelled: at once where nothing had to be
   * waited for. Never fails.
   * @param onAnswered called before the response is given, cancelled or not
   */
  serve(server: Server, onAnswered?: (call: Call) => void): Answered | Promise<Answered> {
    let outcome: Outcome | Promise<Outcome>
    try {
      outcome = server.handle(this.exchange)
    } catch (error) {
      return this.#answer(this.#failure(error, server), onAnswered)
    }
    if ('type' in outcome) return this.#answer(this.#response(outcome, server), onAnswered)
    return Promise.resolve(outcome).then(
      (later) => this.#answer(this.#response(later, server), onAnswered),
      (error) => this.#answer(this.#failure(error, server), onAnswered),
    )
  }

  #answer(response: JsonRpcResponse, onAnswered: ((call: Call) => void) | undefined): Answered {
    onAnswered?.(this)
    const wanted = this.#over ? undefined : response
    this.#over = true
    return wanted
  }

  #response(outcome: Outcome, server: Server): JsonRpcResponse {
    try {
      return { jsonrpc: '2.0', id: this.id, result: this.#encode(outcome, server) }
    } catch (error) {
      return this.#failure(error, server)
    }
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
    const error = readable(thrown)
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

// A function that a constructor makes for a member of its object keeps, in V8, what was made so before it alive until the
// constructor is optimized. These are made elsewhere.
function notifyOf(served: Call): Exchange['notify'] {
  return (notification) => served.notify(notification)
}

function headersOf(outlet: Outlet): () => Readonly<Record<string, string>> {
  return () => outlet.headers?.() ?? {}
}

function detachOf(outlet: Outlet): () => void {
  return () => outlet.detach?.()
}

/** What the server sees of a call: own members only, so that middleware can spread it and change some of them. */
class ServedExchange implements Exchange {
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject
  readonly peer: Peer
  readonly asking: Asking
  readonly limits: RequestLimits
  readonly session?: ClientSession
  readonly transport?: Transport
  readonly headers?: () => Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly notify: (notification: ServerNotification) => void
  readonly detach?: () => void

  constructor(
    served: Call,
    params: JsonObject,
    asking: Asking,
    outlet: Outlet,
    limits: RequestLimits,
    session: ClientSession | undefined,
  ) {
    this.id = served.id
    this.method = served.method
    this.params = params
    this.peer = served.peer
    this.asking = asking
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
 * Opens a request of the stateless era: everything about its sender is in its own `_meta`.
 * @throws RpcError -32602, -32022 or -32601
 */
export function openCall(
  server: Server,
  request: JsonRpcRequest,
  caller: Caller,
  asking: Asking,
  outlet: Outlet,
  limits: RequestLimits,
): Call {
  const peer = peerOf(readPeerMeta(request.params?.['_meta']), caller)
  requireMethod(server, peer.revision, request.method)
  return new Call(request, peer, asking, outlet, limits)
}

/**
 * The sender of a stateless request.
 * @throws RpcError -32022 for a version that is not served that way
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

/** Says that a version is not served, or not in the way it was named, and which are. */
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

/** A failed answer; without an id when the request's own could not be read. */
export function failure(id: RequestId | undefined, error: RpcError): JsonRpcFailure {
  return id === undefined
    ? { jsonrpc: '2.0', error: error.toObject() }
    : { jsonrpc: '2.0', id, error: error.toObject() }
}

export function internalError(): RpcError {
  return new RpcError(ErrorCode.InternalError, 'Internal error')
}

/** The error to answer a request with that was refused before it began. */
export function refusalOf(thrown: unknown, method: string, server: Server): RpcError {
  const error = readable(thrown)
  if (error instanceof RpcError) return error
  report(server, error, method)
  return internalError()
}

/** Whether something that is not a valid message wants an error back: notifications and responses never do. */
export function wantsAnswer(value: unknown): boolean {
  if (!isObject(value)) return true
  return 'method' in value ? 'id' in value : !('result' in value || 'error' in value)
}

/** Whether a notice may be left out when its reader is too slow. */
export function isDroppable(method: string): boolean {
  return method === 'notifications/progress' || method === 'notifications/message'
}

/** JSON text of a message. One that holds what JSON cannot is reported; in place of a response stands an error. */
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

/** The whole answer to a request as JSON, in UTF-8 where it is bytes. One that holds what JSON cannot becomes an error. */
export function encodeAnswer(
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
