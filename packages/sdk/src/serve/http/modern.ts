import type { Caller } from '../../core/exchange.ts'
import { ErrorCode, RpcError } from '../../jsonrpc/error.ts'
import type { JsonRpcRequest } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { readPeerMeta } from '../../protocol/client-meta.ts'
import { checkParamHeaders, decodeHeaderValue } from '../../protocol/headers.ts'
import type { Server } from '../../server/server.ts'
import { Call, failure, type Outlet, peerOf, refusalOf, requireMethod } from '../message.ts'
import type { Core } from './core.ts'
import type { HttpReply, HttpRequest } from './face.ts'
import { ModernAnswer, refusalStatus } from './modern-answer.ts'
import { refusesScopes } from './refusal.ts'

/**
 * Serves one request of the stateless era: whole in one POST and its answer.
 * @returns a promise of the end of its handler where that is not now
 */
export function serveModern(
  core: Core,
  request: HttpRequest,
  reply: HttpReply,
  caller: Caller,
  message: JsonRpcRequest,
): Promise<void> | undefined {
  const answer = new ModernAnswer(core, reply, request)
  let call: Call
  try {
    call = open(core, request, caller, message, answer)
  } catch (error) {
    const refusal = refusalOf(error, message.method, core.server)
    reply.send(refusalStatus(refusal.code), JSON.stringify(failure(message.id, refusal)))
    return undefined
  }
  return refusesScopes(core, reply, caller, message) ? undefined : answer.serve(call)
}

/** Checks the envelope, then every header that mirrors a part of it. */
function open(
  core: Core,
  request: HttpRequest,
  caller: Caller,
  message: JsonRpcRequest,
  outlet: Outlet,
): Call {
  const { method, params } = message
  const meta = readPeerMeta(params?.['_meta'])
  requireHeader(request, 'mcp-protocol-version', 'MCP-Protocol-Version', meta.version)
  const peer = peerOf(meta, caller)
  requireHeader(request, 'mcp-method', 'Mcp-Method', method)
  const { named } = requireMethod(core.server, peer.revision, method)
  if (named !== undefined) requireName(request, params?.[named])
  if (method === 'tools/call') requireParams(core.server, request, params)
  return new Call(message, peer, core.asking, outlet)
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

/** Refuses a header that one reader could take for something else than another. */
function requireHeaderText(request: HttpRequest, name: string, title: string, value: string): void {
  if (!/^[\t\x20-\x7E]*$/.test(value)) throw mismatch(`${title} holds characters that are not valid`)
  if (value.includes(',') && request.repeats(name)) throw mismatch(`${title} is given more than once`)
}

function mismatch(why: string): RpcError {
  return new RpcError(ErrorCode.HeaderMismatch, `Header mismatch: ${why}`)
}
