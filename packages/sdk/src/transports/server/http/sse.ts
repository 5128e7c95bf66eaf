import { ErrorCode, internalError, RpcError } from '../../../jsonrpc/error.ts'
import { classify } from '../../../jsonrpc/parse.ts'
import { encodeEvent } from '../../../jsonrpc/sse.ts'
import { randomText } from '../../../request/encoding.ts'
import type { Caller } from '../../../request/exchange.ts'
import { DuplexConnection } from '../duplex-connection.ts'
import { type MemoryAccount, PrincipalQuota } from '../memory-budget.ts'
import { report } from '../options.ts'
import { encodeBatch, encodeMessage, isDroppable } from '../served-request.ts'
import { EventStream } from './event-stream.ts'
import { type HttpReply, sendBusy, sendError, sendUnavailable, sessionIdIn } from './http-adapter.ts'
import type { HttpExchange, HttpServerState } from './server-state.ts'
import type { SessionRequests } from './session-requests.ts'

const noSession = new RpcError(ErrorCode.InvalidRequest, 'This session does not exist or has ended')

/** One session: a connection whose outgoing half is an event stream. */
interface SseSession {
  readonly principal: string | null
  readonly connection: DuplexConnection
  readonly stream: EventStream
}

/** The sessions of the HTTP+SSE transport (2024-11-05) on one node. Each ends with its stream. */
export class SseSessions {
  /** The path for GET, which opens a stream, and for the client's POSTs. */
  readonly #path: string
  readonly #state: HttpServerState
  readonly #sessions: SessionRequests
  readonly #byId = new Map<string, SseSession>()
  readonly #quota: PrincipalQuota

  constructor(path: string, state: HttpServerState, sessions: SessionRequests) {
    this.#path = path
    this.#state = state
    this.#sessions = sessions
    this.#quota = new PrincipalQuota(state.bounds.sessionsPerPrincipal)
  }

  /** Opens a session on the response to a GET, whose first event is the endpoint for messages. */
  async open(reply: HttpReply, caller: Caller, memory: MemoryAccount): Promise<void> {
    if (this.#byId.size >= this.#state.bounds.sessions || !this.#quota.reserve(caller.principal)) {
      const full = internalError('Too many sessions are open: try again later')
      sendBusy(reply, 503, full, undefined, 60)
      return
    }
    const loading = this.#sessions.shared
    const shared = loading === undefined ? undefined : await loading
    const id = shared === undefined ? randomText(24) : `${shared.nodes.id}-${randomText(24)}`
    const stream = new EventStream(reply, this.#state.bounds, 0)
    const connection = this.#connection(stream, caller, memory)
    this.#byId.set(id, { principal: caller.principal, connection, stream })
    reply.onClose(() => {
      this.#byId.delete(id)
      this.#quota.release(caller.principal)
      stream.closed()
      connection.close('The client closed its event stream')
      shared?.inboxes.close(id)
    })
    try {
      await shared?.openInbox(id, {
        principal: caller.principal,
        receive: (value, bytes, caller) => connection.receive(value, bytes, caller),
        lost: () => stream.end(),
      })
    } catch (error) {
      report(this.#state.server, error, 'GET')
      stream.end()
      return
    }
    stream.send(encodeEvent({ event: 'endpoint', data: `${this.#path}?sessionId=${id}` }), false)
  }

  /** Accepts one message or batch of a client, whose responses are sent on the stream of its session. */
  async message(exchange: HttpExchange, value: unknown, bytes: number): Promise<void> {
    const { request, reply, caller } = exchange
    const id = sessionIdIn(request) ?? ''
    const candidate = this.#byId.get(id)
    const session = candidate?.principal === caller.principal ? candidate : undefined
    if (session === undefined && !this.#state.sharesSessions) {
      sendError(reply, 404, noSession)
    } else if (!this.#state.refusesScopes(reply, caller, value)) {
      const classified = Array.isArray(value) ? undefined : classify(value)
      if (classified?.kind === 'invalid') sendError(reply, 400, classified.error, classified.id)
      else if (session === undefined) await this.#forward(id, exchange, value)
      else {
        reply.send(202, '')
        session.stream.renew(reply.validity)
        session.connection.receive(value, bytes, caller)
      }
    }
  }

  /** Accepts one message or batch for a session whose stream is on another node. Resolves when its response was sent. */
  async #forward(id: string, { reply, caller }: HttpExchange, value: unknown): Promise<void> {
    try {
      const shared = await this.#sessions.shared
      if ((await shared?.inboxes.post(id, caller, value)) === true) reply.send(202, '')
      else sendError(reply, 404, noSession)
    } catch (error) {
      report(this.#state.server, error, 'POST')
      sendUnavailable(reply)
    }
  }

  /** Closes every session; responses within 0.9 s are sent. */
  async close(reason: string): Promise<void> {
    const ending = [...this.#byId.values()].map(async ({ connection, stream }) => {
      await connection.shutdown(reason)
      stream.end()
    })
    await Promise.all(ending)
  }

  #connection(stream: EventStream, caller: Caller, memory: MemoryAccount): DuplexConnection {
    const { server, bounds } = this.#state
    const send = (text: string | undefined, droppable: boolean): void => {
      if (text !== undefined) stream.send(encodeEvent({ event: 'message', data: text }), droppable)
    }
    return new DuplexConnection(
      server,
      (message) => send(encodeMessage(message, server), 'method' in message && isDroppable(message.method)),
      {
        caller,
        limits: bounds,
        memory,
        quota: this.#state,
        sessionsOnly: true,
        transport: 'tcp',
        sendBatch: (responses) => send(encodeBatch(responses, server), false),
      },
    )
  }
}
