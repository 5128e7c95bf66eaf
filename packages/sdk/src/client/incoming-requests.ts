import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type {
  JsonObject,
  JsonRpcErrorObject,
  JsonRpcNotification,
  JsonRpcRequest,
  RequestId,
} from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { RotatingMap } from '../jsonrpc/rotating-map.ts'
import { MetaKey } from '../protocol/meta.ts'
import type { ProtocolVersion } from '../protocol/methods.ts'
import type { QuestionMethod } from '../protocol/server-requests.ts'
import { limits } from '../request/limits.ts'
import type { Cause, ClientConnection } from './client-connection.ts'
import type { HandlerRegistry } from './handlers.ts'
import { deliver } from './retry.ts'

interface Open {
  readonly stop: AbortController
  /** The requests that it may be about, as long as they are under way; none where it may be about no request at all. */
  readonly causes: Set<RequestId>
}

/** Serves the requests a server sends in a session, with the same handlers that answer its questions elsewhere. */
export class IncomingRequests {
  readonly #wire: ClientConnection
  readonly #answers: HandlerRegistry
  readonly #open = new RotatingMap<RequestId, Open>()

  constructor(wire: ClientConnection, answers: HandlerRegistry) {
    this.#wire = wire
    this.#answers = answers
    wire.link.closed.then(() => {
      const gone = new McpError('CONNECTION_CLOSED', 'The server went away before it got the answer')
      for (const { stop } of this.#open.values()) stop.abort(gone)
    })
  }

  take(
    { id, method, params = {} }: JsonRpcRequest,
    cause: Cause | undefined,
    version: ProtocolVersion,
  ): void {
    if (method === 'ping') this.#reply(id, {})
    else if (this.#open.has(id)) {
      this.#refuse(id, ErrorCode.InvalidRequest, 'A request with this id is already being served')
    } else if (this.#open.size >= limits.inFlight) {
      this.#refuse(id, ErrorCode.InternalError, 'Too many requests are being served')
    } else if (!this.#answers.session.can(method)) {
      this.#refuse(id, ErrorCode.MethodNotFound, `Method not found: ${method}`)
    } else if (!this.#isRelated(method, params, cause)) {
      this.#refuse(
        id,
        ErrorCode.InvalidParams,
        'Invalid params: sampling/createMessage belongs to no request of this client (its option sampling.unrelated allows that)',
      )
    } else this.#serve(id, method, params, cause, version)
  }

  /** Whether a question may be answered: a sample is only where a request of this client, or a task, may be what asks. */
  #isRelated(method: QuestionMethod, { _meta: meta }: JsonObject, cause: Cause | undefined): boolean {
    if (method !== 'sampling/createMessage' || this.#answers.session.samplesUnrelated) return true
    if (cause !== undefined || (isObject(meta) && meta[MetaKey.relatedTask] !== undefined)) return true
    // Over HTTP too: servers of others send what a call asks on the stream that belongs to no request.
    return this.#wire.asking.length > 0
  }

  #serve(
    id: RequestId,
    method: QuestionMethod,
    params: JsonObject,
    cause: Cause | undefined,
    version: ProtocolVersion,
  ): void {
    const stop = new AbortController()
    const resume = this.#wire.pause(cause?.id)
    this.#open.set(id, {
      stop,
      causes: new Set(cause === undefined ? this.#among(method, params) : [cause.id]),
    })
    const done = (): void => {
      if (this.#open.get(id)?.stop === stop) this.#open.delete(id)
      resume()
    }
    stop.signal.addEventListener('abort', done, { once: true })
    this.#answers.session
      .answer(method, params, { cause, signal: stop.signal }, version, this.#wire.spanOf(cause?.id))
      .then(
        (result) => ({ result }),
        (error) => ({ error: this.#errorOf(error, method) }),
      )
      .then((answer) => {
        if (stop.signal.aborted) return
        done()
        if ('result' in answer) this.#reply(id, aboutTask(answer.result, params))
        else this.#refuse(id, answer.error.code, answer.error.message, answer.error.data)
      })
  }

  /** The server no longer wants the answer to a request. */
  cancel({ params }: JsonRpcNotification): void {
    const { requestId: id, reason } = params ?? {}
    if (typeof id !== 'string' && typeof id !== 'number') return
    const why = typeof reason === 'string' ? `: ${reason}` : ''
    this.#open.get(id)?.stop.abort(new McpError('CANCELLED', `The server took its question back${why}`))
  }

  /** A request of this client is over, and with it every question that can be about nothing else. */
  over(cause: RequestId, error?: unknown): void {
    for (const [id, { stop, causes }] of this.#open.entries()) {
      if (!causes.delete(cause) || causes.size > 0) continue
      const why = error instanceof McpError ? `: ${error.message}` : ''
      stop.abort(new McpError('CANCELLED', `The request that asked is over${why}`, { cause: error }))
      if (this.#wire.isOpen) this.#refuse(id, ErrorCode.InternalError, 'The request that asked is over')
    }
  }

  /** What a question may be about where the transport does not say: a form or a sample comes of what is under way. */
  #among(method: QuestionMethod, { _meta: meta }: JsonObject): RequestId[] {
    const ofTask = isObject(meta) && meta[MetaKey.relatedTask] !== undefined
    return method === 'roots/list' || ofTask ? [] : this.#wire.asking
  }

  #errorOf(error: unknown, method: string): JsonRpcErrorObject {
    if (error instanceof RpcError) return error.toObject()
    this.#wire.warn(
      `The handler of ${method} failed: ${error instanceof Error ? error.message : String(error)}`,
    )
    return { code: ErrorCode.InternalError, message: 'The client could not answer' }
  }

  #reply(id: RequestId, result: JsonObject): void {
    deliver({ jsonrpc: '2.0', id, result }, this.#wire).catch((error) => this.#undelivered(error))
  }

  #refuse(id: RequestId, code: number, message: string, data?: unknown): void {
    const error = data === undefined ? { code, message } : { code, message, data }
    deliver({ jsonrpc: '2.0', id, error }, this.#wire).catch((error) => this.#undelivered(error))
  }

  #undelivered(error: unknown): void {
    if (this.#wire.isOpen) this.#wire.warn(`An answer to the server could not be delivered: ${error}`)
  }
}

/** The answer to a question about a task says so too. */
function aboutTask(result: JsonObject, { _meta: asked }: JsonObject): JsonObject {
  const task = isObject(asked) ? asked[MetaKey.relatedTask] : undefined
  if (task === undefined) return result
  const meta = isObject(result['_meta']) ? result['_meta'] : {}
  return { ...result, _meta: { ...meta, [MetaKey.relatedTask]: task } }
}
