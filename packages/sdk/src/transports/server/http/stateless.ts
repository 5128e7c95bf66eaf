import { ErrorCode, McpError, RpcError } from '../../../jsonrpc/error.ts'
import type { JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from '../../../jsonrpc/message.ts'
import { isObject } from '../../../jsonrpc/parse.ts'
import { encodeEvent } from '../../../jsonrpc/sse.ts'
import { checkParamHeaders, decodeHeaderValue, type HeaderPlan } from '../../../protocol/headers.ts'
import { readPeerMeta } from '../../../protocol/meta.ts'
import { unref } from '../options.ts'
import {
  encodeBatch,
  encodeMessage,
  encodeResponse,
  isDroppable,
  type Outlet,
  peerOf,
  refusalOf,
  requireMethod,
  ServedRequest,
  type ServedResponse,
} from '../served-request.ts'
import { EventStream, listenMethod, responseGraceMs } from './event-stream.ts'
import { type HttpReply, type HttpRequest, sendBusy, sendError } from './http-adapter.ts'
import type { HttpExchange, HttpServerState, PendingResponse, SlowResponse } from './server-state.ts'

/** Requests that can be aborted, so that their responses are still sent, or cancelled. */
type RunningRequests = Pick<ServedRequest, 'abort' | 'cancel'>

/**
 * The response to a POST without a session: one JSON text, or an event stream after the first notification or a long wait. It
 * cannot be resumed, so a client that disconnects cancels its requests.
 */
export class PostResponse implements Outlet, SlowResponse, PendingResponse {
  readonly transport = 'tcp'
  readonly principal: string | null
  readonly method: string
  protected readonly state: HttpServerState
  protected readonly reply: HttpReply
  /** The requests that are served; undefined if the POST was rejected before. */
  protected running: RunningRequests | undefined
  readonly #request: HttpRequest
  #stream: EventStream | undefined
  #ticks = 0
  #keepAliveTimer: ReturnType<typeof setTimeout> | undefined
  #over = false

  constructor(state: HttpServerState, { request, reply, caller }: HttpExchange, method: string) {
    this.state = state
    this.reply = reply
    this.principal = caller.principal
    this.method = method
    this.#request = request
  }

  headers(): Readonly<Record<string, string>> {
    return this.#request.headers()
  }

  abort(reason: unknown): void {
    this.running?.abort(reason)
  }

  notify(message: JsonRpcNotification): void {
    const text = encodeMessage(message, this.state.server)
    if (text !== undefined) {
      this.#open().send(encodeEvent({ event: 'message', data: text }), isDroppable(message.method))
    }
  }

  /** A slow response becomes a stream, so that proxies do not close the connection as idle. */
  onTick(): void {
    if (++this.#ticks === 2) this.#sendKeepAlive()
  }

  abandon(reason: unknown): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#keepAliveTimer)
    this.running?.cancel(reason)
    if (this.#stream !== undefined) this.#stream.disconnect()
    else this.reply.send(503, '')
  }

  onSlow(): void {
    if (this.#over) return
    if (!this.reply.sharesTimers) {
      this.#keepAliveTimer = unref(setTimeout(() => this.#sendKeepAlive(), this.state.bounds.keepAliveMs))
    }
    this.reply.onClose(() => this.#disconnected())
  }

  /**
   * Sends a response, or those of a batch, and ends. If there is none because the request was cancelled, a stream is ended.
   * @param status the HTTP status, unless the response is a stream
   */
  protected finish(status: number, answer: ServedResponse | readonly JsonRpcResponse[]): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#keepAliveTimer)
    if (answer === undefined) {
      this.#stream?.end()
      return
    }
    const { server } = this.state
    if (this.#stream === undefined) {
      const body = 'jsonrpc' in answer ? encodeResponse(answer, server) : encodeBatch(answer, server)
      this.reply.send(status, body)
      return
    }
    const data = 'jsonrpc' in answer ? (encodeMessage(answer, server) ?? '') : encodeBatch(answer, server)
    if (data !== '') this.#stream.send(encodeEvent({ event: 'message', data }), false)
    this.#stream.end()
  }

  #sendKeepAlive(): void {
    if (this.#stream === undefined && !this.#over) this.#open().sendKeepAlive()
  }

  #open(): EventStream {
    if (this.#stream === undefined) {
      const patienceMs = this.method === listenMethod ? 0 : responseGraceMs
      this.#stream = new EventStream(this.reply, this.state.bounds, patienceMs)
    }
    return this.#stream
  }

  /** The client disconnected, which cancels its requests. */
  #disconnected(): void {
    this.#stream?.closed()
    clearTimeout(this.#keepAliveTimer)
    if (this.#over) return
    const message =
      this.#stream?.expired === true
        ? 'The credentials of the request expired or were revoked'
        : 'The client closed the connection'
    this.running?.cancel(new McpError('CANCELLED', message))
  }
}

/** The response to a request of the stateless era. */
export class StatelessResponse extends PostResponse {
  /** Serves the request; undefined if it was rejected before it began, otherwise resolves when its response was sent. */
  serve(exchange: HttpExchange, message: JsonRpcRequest): Promise<void> | undefined {
    const { state, reply } = this
    let call: ServedRequest
    try {
      call = openRequest(state, exchange, message, this)
    } catch (error) {
      const refusal = refusalOf(error, message.method, state.server)
      sendError(reply, refusalStatus(refusal.code), refusal, message.id)
      return undefined
    }
    if (state.refusesScopes(reply, exchange.caller, message)) return undefined
    const busy =
      message.method === listenMethod
        ? state.admitSubscription(this.principal)
        : state.admitCall(this.principal)
    if (busy !== undefined) {
      sendBusy(reply, busy.status, busy.error, call.id)
      return undefined
    }
    this.running = call
    state.begin(this, reply)
    return call.serve(state.server, (response) => {
      state.done(this)
      const status = response !== undefined && 'error' in response ? responseStatus(response.error.code) : 200
      this.finish(status, response)
    })
  }
}

/** The HTTP status of an error before a request ran. */
export function refusalStatus(code: number): number {
  if (code === ErrorCode.MethodNotFound) return 404
  return code === ErrorCode.InternalError ? 500 : 400
}

function responseStatus(code: number): number {
  switch (code) {
    case ErrorCode.MethodNotFound:
      return 404
    case ErrorCode.HeaderMismatch:
    case ErrorCode.MissingRequiredClientCapability:
    case ErrorCode.UnsupportedProtocolVersion:
      return 400
    default:
      return 200
  }
}

/** Validates the envelope, then every header that mirrors a part of it. */
function openRequest(
  state: HttpServerState,
  { request, caller }: HttpExchange,
  message: JsonRpcRequest,
  outlet: Outlet,
): ServedRequest {
  const { method, params } = message
  const meta = readPeerMeta(params?.['_meta'])
  requireHeader(request, 'mcp-protocol-version', 'MCP-Protocol-Version', meta.version)
  const peer = peerOf(meta, caller)
  requireHeader(request, 'mcp-method', 'Mcp-Method', method)
  const { named } = requireMethod(state.server, peer.revision, method)
  if (named !== undefined) requireName(request, params?.[named])
  const tool = method === 'tools/call' ? params?.['name'] : undefined
  const plan = typeof tool === 'string' ? state.server.headerPlan(tool) : undefined
  if (plan !== undefined) requireParams(plan, request, params?.['arguments'])
  return new ServedRequest(message, peer, state.inputStrategy, outlet, state.bounds)
}

function requireHeader(request: HttpRequest, name: string, title: string, expected: string): void {
  const value = request.header(name)
  if (value !== expected) {
    throw mismatch(value === undefined ? `${title} is missing` : `${title} does not match the body`)
  }
}

/** Characters that need no encoding in a header and cannot separate two values. */
const plainName = /^[\w./:-]+$/

function requireName(request: HttpRequest, expected: unknown): void {
  const header = request.header('mcp-name')
  if (header !== undefined && header === expected && plainName.test(header)) return
  if (header === undefined) {
    if (typeof expected === 'string') throw mismatch('Mcp-Name is missing')
    return
  }
  requireHeaderText(request, 'mcp-name', 'Mcp-Name', header)
  let name: string
  try {
    name = decodeHeaderValue(header)
  } catch {
    throw mismatch('Mcp-Name has invalid characters')
  }
  if (name !== expected) throw mismatch('Mcp-Name does not match the body')
}

function requireParams(plan: HeaderPlan, request: HttpRequest, args: unknown): void {
  const wrong = checkParamHeaders(plan, isObject(args) ? args : {}, (name) => {
    const value = request.header(name)
    if (value !== undefined) requireHeaderText(request, name, name, value)
    return value
  })
  if (wrong !== undefined) throw mismatch(wrong)
}

/** Rejects a header that two parsers could interpret differently. */
function requireHeaderText(request: HttpRequest, name: string, title: string, value: string): void {
  if (!/^[\t\x20-\x7E]*$/.test(value)) throw mismatch(`${title} has invalid characters`)
  if (value.includes(',') && request.repeats(name)) throw mismatch(`${title} is sent more than once`)
}

function mismatch(reason: string): RpcError {
  return new RpcError(ErrorCode.HeaderMismatch, `Header mismatch: ${reason}`)
}
