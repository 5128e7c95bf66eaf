import { ErrorCode, RpcError } from '../../../jsonrpc/error.ts'
import type {
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../../jsonrpc/message.ts'
import { eraOf } from '../../../protocol/revision.ts'
import type { Caller } from '../../../request/exchange.ts'
import { serveBatch } from '../batch.ts'
import { fullError, fullStatus, type MemoryAccount } from '../memory-budget.ts'
import { report } from '../options.ts'
import {
  encodeAnswer,
  encodeMessage,
  failure,
  refusalOf,
  type ServedResponse,
  unsupportedVersion,
} from '../served-request.ts'
import type { SessionOutlet } from '../session-requester.ts'
import type { EventStream } from './event-stream.ts'
import type { HttpReply, HttpRequest } from './http-adapter.ts'
import { refusesScopes } from './options.ts'
import { PostStream } from './post-response.ts'
import { parseEventId } from './resumable-stream.ts'
import type { HttpServerState } from './server-state.ts'
import { type HttpSession, Sessions } from './sessions.ts'

/** One HTTP request of the legacy era, with who sent it. */
export interface SessionHttpRequest {
  readonly request: HttpRequest
  readonly reply: HttpReply
  readonly caller: Caller
  /** The account that its bytes are on. */
  readonly memory: MemoryAccount
}

/** Serves the legacy era: the sessions of one mounted server, and the HTTP requests that belong to them. */
export class SessionRequestHandler {
  readonly #core: HttpServerState
  readonly #sessions: Sessions

  constructor(core: HttpServerState) {
    this.#core = core
    this.#sessions = new Sessions(core)
  }

  /**
   * Serves a request: `initialize` begins a session, everything else belongs to one.
   * @returns a promise of the end of its handler where that is not now
   */
  request(trip: SessionHttpRequest, message: JsonRpcRequest): Promise<void> | undefined {
    const isFirst = message.method === 'initialize' && trip.request.header('mcp-session-id') === undefined
    if (isFirst) {
      if (checkVersion(trip, message.id)) this.#begin(trip, message)
      return undefined
    }
    const owner = this.#find(trip, message.id)
    const { reply, caller } = trip
    if (owner === undefined || refusesScopes(this.#core, reply, caller, message)) return undefined
    const { server } = this.#core
    const post = new PostStream(owner, reply, trip.request)
    const answered = (response: ServedResponse): void =>
      post.answer(200, response === undefined ? '' : encodeAnswer(response, server))
    const refused = (error: unknown): void => {
      const refusal = owner.session.refusal(error, message.method)
      post.answer(refusalStatus(refusal), JSON.stringify(failure(message.id, refusal)))
    }
    try {
      const response = post.awaited(owner.session.request(message, post, caller))
      if (response instanceof Promise) return response.then(answered, refused)
      answered(response)
    } catch (error) {
      refused(error)
    }
    return undefined
  }

  /** Serves an array of messages, where the session's revision has such. */
  batch(trip: SessionHttpRequest, values: readonly unknown[]): Promise<void> | undefined {
    const owner = this.#find(trip, undefined)
    const { reply, caller } = trip
    if (owner === undefined || refusesScopes(this.#core, reply, caller, values)) return undefined
    const { server, bounds } = this.#core
    const post = new PostStream(owner, reply, trip.request)
    const serve = (message: JsonRpcRequest): ServedResponse | Promise<ServedResponse> =>
      owner.session.request(message, post, caller)
    return post.awaited(serveBatch(owner.session, values, bounds.batch, serve)).then(
      (responses) => {
        if (responses.length > 0) {
          post.answer(200, `[${responses.map((response) => encodeMessage(response, server)).join(',')}]`)
        } else {
          post.accept()
        }
      },
      (error) => {
        const refusal = refusalOf(error, 'batch', server)
        post.answer(refusalStatus(refusal), JSON.stringify(failure(undefined, refusal)))
      },
    )
  }

  /** Takes a notice or the answer to a question. */
  other(trip: SessionHttpRequest, message: JsonRpcNotification | JsonRpcResponse): void {
    const owner = this.#find(trip, undefined)
    if (owner === undefined) return
    if ('method' in message) owner.session.notification(message)
    else owner.session.response(message)
    trip.reply.send(202, '')
  }

  /** Opens the stream for what belongs to no request, or goes on with a stream that was lost. */
  get(trip: SessionHttpRequest): void {
    const owner = this.#find(trip, undefined)
    if (owner === undefined) return
    const { reply } = trip
    const last = trip.request.header('last-event-id')
    if (last !== undefined) {
      if (this.#refusesStream(owner, reply)) return
      resume(owner, trip, last).catch((error) => {
        report(this.#core.server, error, 'GET')
        reply.send(
          500,
          JSON.stringify(failure(undefined, new RpcError(ErrorCode.InternalError, 'Internal error'))),
        )
      })
      return
    }
    const { standalone } = owner
    if (this.#refusesStream(owner, reply)) return
    if (standalone.connected) {
      refuse(reply, 409, undefined, 'this session already has an open stream')
      return
    }
    owner.listener = trip.caller
    const connection = owner.connect(reply, standalone)
    connection.breathe()
    standalone.attach(connection)
  }

  /** Ends a session at its client's wish. */
  delete(trip: SessionHttpRequest): void {
    const owner = this.#find(trip, undefined)
    if (owner === undefined) return
    this.#sessions.end(owner, 'The client ended the session')
    trip.reply.send(204, '')
  }

  /** Ends every session. */
  close(reason: string): void {
    this.#sessions.close(reason)
  }

  /** Refuses one more connection of a session that has as many as requests may be in flight. */
  #refusesStream(owner: HttpSession, reply: HttpReply): boolean {
    const { inFlight } = this.#core.bounds
    if (owner.connections < inFlight) return false
    const why = `Too many streams are open: a session may have ${inFlight} connections`
    const error = new RpcError(ErrorCode.InternalError, why)
    reply.send(429, JSON.stringify(failure(undefined, error)), { 'Retry-After': '10' })
    return true
  }

  #begin({ reply, caller, memory }: SessionHttpRequest, message: JsonRpcRequest): void {
    const owner = this.#sessions.begin(caller, memory)
    if (owner === undefined) {
      reply.send(
        503,
        JSON.stringify(
          failure(
            message.id,
            new RpcError(ErrorCode.InternalError, 'Too many sessions are open: try again later'),
          ),
        ),
        { 'Retry-After': '60' },
      )
      return
    }
    try {
      const response = owner.session.request(message, nowhere)
      reply.send(200, JSON.stringify(response), { 'Mcp-Session-Id': owner.id })
    } catch (error) {
      const refusal = owner.session.refusal(error, message.method)
      reply.send(refusalStatus(refusal), JSON.stringify(failure(message.id, refusal)))
      this.#sessions.end(owner, refusal.message)
    }
  }

  /** The session a request names, or an answer that there is none. */
  #find(trip: SessionHttpRequest, id: RequestId | undefined): HttpSession | undefined {
    if (!checkVersion(trip, id)) return undefined
    const { request, reply, caller } = trip
    const name = request.header('mcp-session-id')
    if (name === undefined) {
      refuse(
        reply,
        400,
        id,
        'send "initialize" first and its Mcp-Session-Id ever after, or put the protocol version into _meta',
      )
      return undefined
    }
    const owner = this.#sessions.find(name, caller.principal)
    if (owner === undefined) refuse(reply, 404, id, 'this session does not exist, or no longer')
    return owner
  }
}

/** `initialize` has nothing to say but its answer. */
const nowhere: SessionOutlet = { notify: () => {}, request: () => false }

async function resume(
  owner: HttpSession,
  { reply, caller, memory }: SessionHttpRequest,
  last: string,
): Promise<void> {
  const event = parseEventId(last)
  if (event !== undefined) {
    const stream = owner.stream(event.stream) ?? owner.ended(event.stream)
    const open = (): EventStream => {
      if (stream === owner.standalone) owner.listener = caller
      return owner.connect(reply, stream)
    }
    const resumed = await stream.resume(event.position, memory, open)
    if (resumed === true) return
    if (resumed !== false) {
      const text = JSON.stringify(failure(undefined, fullError(resumed)))
      reply.send(fullStatus(resumed), text, { 'Retry-After': '10' })
      return
    }
  }
  refuse(reply, 400, undefined, 'the event of Last-Event-ID is not known here, or no longer')
}

/** Any known revision with sessions will do: clients are known to name another than they agreed on. */
export function checkVersion({ request, reply }: SessionHttpRequest, id: RequestId | undefined): boolean {
  const version = request.header('mcp-protocol-version')
  if (version === undefined || eraOf(version) === 'session') return true
  reply.send(400, JSON.stringify(failure(id, unsupportedVersion(version))))
  return false
}

/** Clients take a status such as 404 for the loss of their session, so most refusals are plain answers. */
export function refusalStatus(refusal: RpcError): number {
  return refusal.code === ErrorCode.InvalidRequest ? 400 : 200
}

function refuse(reply: HttpReply, status: number, id: RequestId | undefined, why: string): void {
  const error = new RpcError(ErrorCode.InvalidRequest, `Invalid request: ${why}`)
  reply.send(status, JSON.stringify(failure(id, error)))
}
