import { ErrorCode, McpError, messageOf, RpcError } from '../jsonrpc/error.ts'
import type {
  JsonObject,
  JsonRpcErrorObject,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../jsonrpc/message.ts'
import { RotatingMap } from '../jsonrpc/rotating-map.ts'
import { MetaKey, metaOf } from '../protocol/meta.ts'
import type { ProtocolVersion } from '../protocol/methods.ts'
import type { QuestionMethod } from '../protocol/server-requests.ts'
import { limits } from '../request/limits.ts'
import type { Cause, ClientConnection } from './client-connection.ts'
import { type HandlerRegistry, notDeclared } from './handlers.ts'
import { sendResponse } from './retry.ts'

interface OpenRequest {
  readonly stop: AbortController
  /** The requests in flight that may have caused it; empty if it need not belong to any. */
  readonly causes: Set<RequestId>
}

/** Handles the requests that a server sends in a session. */
export class IncomingRequests {
  readonly #connection: ClientConnection
  readonly #handlers: HandlerRegistry
  readonly #open = new RotatingMap<RequestId, OpenRequest>()

  constructor(connection: ClientConnection, handlers: HandlerRegistry) {
    this.#connection = connection
    this.#handlers = handlers
    connection.transport.closed.then(() => {
      const gone = new McpError('CONNECTION_CLOSED', 'The connection closed before the response was sent')
      for (const { stop } of this.#open.values()) stop.abort(gone)
    })
  }

  accept(
    { id, method, params = {} }: JsonRpcRequest,
    cause: Cause | undefined,
    version: ProtocolVersion,
  ): void {
    if (method === 'ping') this.#respond({ jsonrpc: '2.0', id, result: {} })
    else if (this.#open.has(id)) {
      this.#refuse(id, ErrorCode.InvalidRequest, 'A request with this id is already in progress')
    } else if (this.#open.size >= limits.inFlight) {
      this.#refuse(id, ErrorCode.InternalError, 'Too many requests are in progress')
    } else if (!this.#handlers.session.canHandle(method)) {
      this.#connection.warn(notDeclared(method))
      this.#refuse(id, ErrorCode.MethodNotFound, `Method not found: ${method}`)
    } else if (!this.#isRelated(method, params, cause)) {
      this.#refuse(
        id,
        ErrorCode.InvalidParams,
        'Invalid params: sampling/createMessage belongs to no request of this client (the option sampling.unrelated allows that)',
      )
    } else this.#serve(id, method, params, cause, version)
  }

  /** Sampling is only accepted if a request of this client, or a task, may have caused it. */
  #isRelated(method: QuestionMethod, params: JsonObject, cause: Cause | undefined): boolean {
    if (method !== 'sampling/createMessage' || this.#handlers.session.allowsUnrelatedSampling) return true
    if (cause !== undefined || metaOf(params)[MetaKey.relatedTask] !== undefined) return true
    // Over HTTP too: some servers send the requests of a call on the standalone stream.
    return this.#connection.requestsThatMayAsk.length > 0
  }

  #serve(
    id: RequestId,
    method: QuestionMethod,
    params: JsonObject,
    cause: Cause | undefined,
    version: ProtocolVersion,
  ): void {
    const stop = new AbortController()
    const resume = this.#connection.pause(cause?.id)
    this.#open.set(id, {
      stop,
      causes: new Set(cause === undefined ? this.#possibleCauses(method, params) : [cause.id]),
    })
    const done = (): void => {
      if (this.#open.get(id)?.stop === stop) this.#open.delete(id)
      resume()
    }
    stop.signal.addEventListener('abort', done, { once: true })
    this.#handlers.session
      .handle(method, params, { cause, signal: stop.signal }, version, this.#connection.spanOf(cause?.id))
      .then(
        (result) => ({ result: withRelatedTask(result, params) }),
        (error) => ({ error: this.#errorOf(error, method) }),
      )
      .then((answer) => {
        if (stop.signal.aborted) return
        done()
        this.#respond({ jsonrpc: '2.0', id, ...answer })
      })
  }

  /** Handles `notifications/cancelled`. */
  cancel({ params }: JsonRpcNotification): void {
    const { requestId: id, reason } = params ?? {}
    if (typeof id !== 'string' && typeof id !== 'number') return
    const suffix = typeof reason === 'string' ? `: ${reason}` : ''
    this.#open.get(id)?.stop.abort(new McpError('CANCELLED', `The server cancelled its request${suffix}`))
  }

  /** Cancels the server requests that only this request of the client can have caused. */
  requestEnded(cause: RequestId, error?: unknown): void {
    for (const [id, { stop, causes }] of this.#open.entries()) {
      if (!causes.delete(cause) || causes.size > 0) continue
      const suffix = error instanceof McpError ? `: ${error.message}` : ''
      stop.abort(new McpError('CANCELLED', `The request that caused it has ended${suffix}`, { cause: error }))
      if (this.#connection.isOpen)
        this.#refuse(id, ErrorCode.InternalError, 'The request that caused it has ended')
    }
  }

  /** The possible causes if the transport does not name one: any request in flight, but none for roots or tasks. */
  #possibleCauses(method: QuestionMethod, params: JsonObject): RequestId[] {
    const ofTask = metaOf(params)[MetaKey.relatedTask] !== undefined
    return method === 'roots/list' || ofTask ? [] : this.#connection.requestsThatMayAsk
  }

  #errorOf(error: unknown, method: string): JsonRpcErrorObject {
    if (error instanceof RpcError) return error.toObject()
    this.#connection.warn(`The handler for ${method} failed: ${messageOf(error)}`)
    return { code: ErrorCode.InternalError, message: 'The client failed to handle the request' }
  }

  #refuse(id: RequestId, code: number, message: string, data?: unknown): void {
    this.#respond({ jsonrpc: '2.0', id, error: new RpcError(code, message, data).toObject() })
  }

  #respond(response: JsonRpcResponse): void {
    sendResponse(response, this.#connection).catch((error) => {
      if (!this.#connection.isOpen) return
      this.#connection.warn(`A response to the server could not be delivered: ${error}`)
    })
  }
}

/** Copies the related task from a request's `_meta` to its result. */
function withRelatedTask(result: JsonObject, params: JsonObject): JsonObject {
  const task = metaOf(params)[MetaKey.relatedTask]
  return task === undefined
    ? result
    : { ...result, _meta: { ...metaOf(result), [MetaKey.relatedTask]: task } }
}
