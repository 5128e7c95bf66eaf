import { ErrorCode, RpcError } from '../../../jsonrpc/error.ts'
import type { JsonRpcRequest } from '../../../jsonrpc/message.ts'
import { isObject } from '../../../jsonrpc/parse.ts'
import { checkParamHeaders, decodeHeaderValue } from '../../../protocol/headers.ts'
import { readPeerMeta } from '../../../protocol/meta.ts'
import type { Caller } from '../../../request/exchange.ts'
import type { Server } from '../../../server/server.ts'
import { failure, type Outlet, peerOf, refusalOf, requireMethod, ServedRequest } from '../served-request.ts'
import type { HttpReply, HttpRequest } from './http-adapter.ts'
import { refusesScopes } from './options.ts'
import { PostResponse } from './post-response.ts'
import type { HttpServerState } from './server-state.ts'

/** The response to one request of 2026-07-28. */
export class StatelessResponse extends PostResponse {
  #call: ServedRequest | undefined

  /** Serves a call, and resolves when its response was sent. */
  async serve(call: ServedRequest): Promise<void> {
    this.#call = call
    const busy = this.state.admit(this, this.reply.sharesTimers)
    if (busy !== undefined) {
      this.reply.send(busy.status, JSON.stringify(failure(call.id, busy.error)), { 'Retry-After': '10' })
      return
    }
    this.waitLater()
    const response = await call.serve(this.state.server)
    this.state.done(this)
    const status = response !== undefined && 'error' in response ? answerStatus(response.error.code) : 200
    this.finish(status, response)
  }

  get principal(): string | null {
    return this.#call?.peer.principal ?? null
  }

  get method(): string {
    return this.#call?.method ?? ''
  }

  abort(reason: unknown): void {
    this.#call?.abort(reason)
  }

  protected cancel(reason: unknown): void {
    this.#call?.cancel(reason)
  }
}

/** The HTTP status of an error before a request ran. */
export function refusalStatus(code: number): number {
  if (code === ErrorCode.MethodNotFound) return 404
  return code === ErrorCode.InternalError ? 500 : 400
}

/** The HTTP status of an error response. */
function answerStatus(code: number): number {
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

/** Serves one stateless request (2026-07-28). */
export function serveStateless(
  state: HttpServerState,
  request: HttpRequest,
  reply: HttpReply,
  caller: Caller,
  message: JsonRpcRequest,
): Promise<void> {
  const answer = new StatelessResponse(state, reply, request)
  let call: ServedRequest
  try {
    call = open(state, request, caller, message, answer)
  } catch (error) {
    const refusal = refusalOf(error, message.method, state.server)
    reply.send(refusalStatus(refusal.code), JSON.stringify(failure(message.id, refusal)))
    return Promise.resolve()
  }
  return refusesScopes(state, reply, caller, message) ? Promise.resolve() : answer.serve(call)
}

/** Validates the envelope, then every header that mirrors a part of it. */
function open(
  state: HttpServerState,
  request: HttpRequest,
  caller: Caller,
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
  if (method === 'tools/call') requireParams(state.server, request, params)
  return new ServedRequest(message, peer, state.inputStrategy, outlet, state.bounds)
}

function requireHeader(request: HttpRequest, name: string, title: string, expected: string): void {
  const value = request.header(name)
  if (value !== expected) {
    throw mismatch(value === undefined ? `${title} is missing` : `${title} does not match the body`)
  }
}

function requireName(request: HttpRequest, expected: unknown): void {
  const header = request.header('mcp-name')
  if (header === undefined) {
    if (typeof expected === 'string') throw mismatch('Mcp-Name is missing')
    return
  }
  requireHeaderText(request, 'mcp-name', 'Mcp-Name', header)
  let name: string
  try {
    name = decodeHeaderValue(header)
  } catch {
    throw mismatch('Mcp-Name holds characters that are not valid')
  }
  if (name !== expected) throw mismatch('Mcp-Name does not match the body')
}

function requireParams(server: Server, request: HttpRequest, params: JsonRpcRequest['params']): void {
  const tool = params?.['name']
  const plan = typeof tool === 'string' ? server.headerPlan(tool) : undefined
  if (plan === undefined || plan.length === 0) return
  const args = params?.['arguments']
  const wrong = checkParamHeaders(plan, isObject(args) ? args : {}, (name) => {
    const value = request.header(name)
    if (value !== undefined) requireHeaderText(request, name, name, value)
    return value
  })
  if (wrong !== undefined) throw mismatch(wrong)
}

/** Rejects a header that two readers could interpret differently. */
function requireHeaderText(request: HttpRequest, name: string, title: string, value: string): void {
  if (!/^[\t\x20-\x7E]*$/.test(value)) throw mismatch(`${title} holds characters that are not valid`)
  if (value.includes(',') && request.repeats(name)) throw mismatch(`${title} is given more than once`)
}

function mismatch(why: string): RpcError {
  return new RpcError(ErrorCode.HeaderMismatch, `Header mismatch: ${why}`)
}
