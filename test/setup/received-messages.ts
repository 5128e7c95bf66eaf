import type { JsonRpcRequest, JsonRpcResponse, ProtocolVersion } from '@jackfield/sdk'
import { latestSessionVersion } from '../../packages/sdk/src/protocol/methods.ts'
import { DuplexConnection } from '../../packages/sdk/src/transports/server/duplex-connection.ts'
import {
  type Body,
  type HttpRequest,
  sessionIdIn,
} from '../../packages/sdk/src/transports/server/http/http-adapter.ts'
import { Router } from '../../packages/sdk/src/transports/server/http/router.ts'
import { type HttpSession, Sessions } from '../../packages/sdk/src/transports/server/http/sessions.ts'
import { Session } from '../../packages/sdk/src/transports/server/session.ts'
import type { SessionOutlet } from '../../packages/sdk/src/transports/server/session-requester.ts'
import { isObject } from './json.ts'
import {
  coreResultMethod,
  isCoreMethod,
  published,
  validateReceived,
  versionIn,
} from './schema-validation.ts'

/** Validates one parsed message. Responses are validated where sessions receive them. `revision`: that of the session. */
export function checkMessage(value: unknown, revision: ProtocolVersion | undefined): void {
  if (Array.isArray(value) && revision === '2025-03-26') {
    for (const message of value) checkMessage(message, revision)
    return
  }
  if (!isObject(value)) {
    validateReceived(revision ?? latestSessionVersion, 'client', value)
    return
  }
  const { method, params } = value
  const isAnswer = method === undefined && ('result' in value || 'error' in value)
  if (isAnswer || (typeof method === 'string' && !isCoreMethod(method))) return
  validateReceived(revisionOf(method, params) ?? revision ?? latestSessionVersion, 'client', value)
}

/** The revision that a message names; for an `initialize` without one with sessions, the newest that has them. */
function revisionOf(method: unknown, params: unknown): ProtocolVersion | undefined {
  const named = versionIn(params)
  return method === 'initialize' && (named === undefined || named > latestSessionVersion)
    ? latestSessionVersion
    : named
}

const receive = DuplexConnection.prototype.receive
/** The revision that a client requested, until it is negotiated: clients may continue before the response. */
const greeted = new WeakMap<DuplexConnection, ProtocolVersion>()
DuplexConnection.prototype.receive = function (value, bytes, caller) {
  if (isObject(value) && value['method'] === 'initialize') {
    greeted.set(this, revisionOf(value['method'], value['params']) ?? latestSessionVersion)
  }
  checkMessage(value, this.peer?.revision.version ?? greeted.get(this))
  return receive.call(this, value, bytes, caller)
}

const owners = new Map<string, HttpSession>()
const begin = Sessions.prototype.begin
Sessions.prototype.begin = function (...of) {
  const owner = begin.apply(this, of)
  if (owner !== undefined) owners.set(owner.id, owner)
  return owner
}

const handle = Router.prototype.handle
Router.prototype.handle = function (request, reply) {
  const read = request.read.bind(request)
  request.read = async (maxBytes, memory) => {
    const body = await read(maxBytes, memory)
    // The connection of HTTP+SSE validates what is posted to it.
    if (sessionIdIn(request) === undefined) checkBody(request, body)
    return body
  }
  return handle.call(this, request, reply)
}

function checkBody(request: HttpRequest, body: Body): void {
  const value = valueIn(body)
  const owner = owners.get(request.header('mcp-session-id') ?? '')
  const revision = owner?.session.peer?.revision.version ?? published(request.header('mcp-protocol-version'))
  if (value !== undefined) checkMessage(value, revision)
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The JSON value of a body; undefined if it is not JSON. */
function valueIn(body: Body): unknown {
  if (body.type === 'value') return body.value
  if (body.type !== 'bytes') return undefined
  try {
    return JSON.parse(decoder.decode(body.bytes))
  } catch {
    return undefined
  }
}

/** The requests of every session to its client, by id. */
const questions = new WeakMap<Session, Map<unknown, string>>()

const request = Session.prototype.request
Session.prototype.request = function (message: JsonRpcRequest, outlet: SessionOutlet, caller) {
  const asked = questions.get(this) ?? new Map<unknown, string>()
  questions.set(this, asked)
  const { transport } = outlet
  const noting: SessionOutlet = {
    transport,
    get memory() {
      return outlet.memory
    },
    notify: (notice) => outlet.notify(notice),
    request: (question) => {
      asked.set(question.id, question.method)
      return outlet.request(question)
    },
    ...(outlet.headers === undefined ? {} : { headers: () => outlet.headers?.() ?? {} }),
    ...(outlet.detach === undefined ? {} : { detach: () => outlet.detach?.() }),
  }
  return request.call(this, message, noting, caller)
}

const response = Session.prototype.response
Session.prototype.response = function (message: JsonRpcResponse) {
  const version = this.peer?.revision.version
  const asked = 'id' in message ? questions.get(this)?.get(message.id) : undefined
  const result = 'result' in message ? message.result : undefined
  if (version !== undefined) validateReceived(version, 'client', message, coreResultMethod(asked, result))
  return response.call(this, message)
}
