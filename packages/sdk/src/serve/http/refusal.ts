import type { Caller } from '../../core/exchange.ts'
import { allows } from '../../core/scopes.ts'
import { ErrorCode, RpcError } from '../../jsonrpc/error.ts'
import type { RequestId } from '../../jsonrpc/message.ts'
import { isObject, isRequestId } from '../../jsonrpc/parse.ts'
import { failure } from '../message.ts'
import type { Core } from './core.ts'
import type { HttpReply } from './face.ts'
import type { HttpRefusal } from './options.ts'

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad request: what it shows to be let in cannot be read',
  401: 'Unauthorized: show a valid access token',
  403: 'Forbidden: the caller was not allowed this',
}

/** Sends a refusal. One without a body of its own gets an error in the protocol's form. */
export function sendRefusal(reply: HttpReply, refusal: HttpRefusal, id?: RequestId): void {
  const { status, headers, body } = refusal
  const why = reasons[status] ?? 'Refused'
  reply.send(
    status,
    body ?? JSON.stringify(failure(id, new RpcError(ErrorCode.InvalidRequest, why))),
    headers,
  )
}

/**
 * Answers a message, or a batch, whose caller lacks a scope that some request in it needs, naming all that it needs.
 * @returns whether it did
 */
export function refusesScopes(core: Core, reply: HttpReply, caller: Caller, value: unknown): boolean {
  if (core.server.scopes.length === 0) return false
  // One that is too long is refused as such, before anybody looks at what is in it.
  if (Array.isArray(value) && value.length > core.bounds.batch) return false
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value]
  const needed = new Set(messages.flatMap((message) => scopesOf(core, message)))
  if (allows(caller, [...needed])) return false
  const id = isObject(value) && isRequestId(value['id']) ? value['id'] : undefined
  sendRefusal(reply, core.lacking([...needed], caller), id)
  return true
}

function scopesOf({ server, bounds }: Core, message: unknown): readonly string[] {
  if (!isObject(message)) return []
  const { method, params } = message
  if (typeof method !== 'string') return []
  return server.scopesFor(method, isObject(params) ? params : undefined, bounds.uriChars)
}
