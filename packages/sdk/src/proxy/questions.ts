import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { inWords, isObject } from '../jsonrpc/parse.ts'
import type { ClientCapabilities } from '../protocol/definitions.ts'
import { isElicitSchema } from '../protocol/elicitation.ts'
import { MetaKey } from '../protocol/meta.ts'
import type { CreateMessageParams, InputRequests, Question } from '../protocol/server-requests.ts'
import type { Exchange, Peer } from '../request/exchange.ts'
import { faultOf } from '../request/input-responses.ts'
import { canAsk, missingFor } from '../request/input-support.ts'
import { noInput } from '../request/live-run.ts'

/**
 * The part of a `_meta` that is meant for whoever is at the other end: not what speaks of one hop (the progress token,
 * who sends, in which revision), and no other key reserved for the protocol but those of relayed extensions. Trace
 * context travels.
 */
export function endToEnd(meta: unknown, relayed: ReadonlySet<string>): JsonObject | undefined {
  if (!isObject(meta)) return undefined
  const travelling = Object.entries(meta).filter(([key]) => relayed.has(key) || !isOfOneHop(key))
  return travelling.length === 0 ? undefined : Object.fromEntries(travelling)
}

/** A result or the params of a question with the `_meta` that travels. */
export function withEndToEnd(value: JsonObject, relayed: ReadonlySet<string>): JsonObject {
  const { _meta, ...rest } = value
  const meta = endToEnd(_meta, relayed)
  return meta === undefined ? rest : { ...rest, _meta: meta }
}

function isOfOneHop(key: string): boolean {
  if (key === MetaKey.progressToken) return true
  const slash = key.indexOf('/')
  const [, second] = slash === -1 ? [] : key.slice(0, slash).toLowerCase().split('.')
  return second === 'modelcontextprotocol' || second === 'mcp'
}

const noMeta: ReadonlySet<string> = new Set()

/**
 * What an upstream server may be told that the client of an exchange can answer: what it declared, as far as its
 * revision has it and this exchange can carry it, and nothing else.
 */
export function answerable(
  { peer, inputStrategy: asking }: Pick<Exchange, 'peer' | 'inputStrategy'>,
  extensions: readonly string[],
): ClientCapabilities {
  if (asking !== noInput) return capabilitiesOf(peer, extensions)
  const { extensions: spoken } = capabilitiesOf(peer, extensions)
  return spoken === undefined ? {} : { extensions: spoken }
}

/** What a client declared, as far as its revision has it. */
export function capabilitiesOf(peer: Peer, extensions: readonly string[]): ClientCapabilities {
  const asks = questionsOf(peer)
  const declared = peer.capabilities.extensions ?? {}
  const spoken = extensions.filter((id) => Object.hasOwn(declared, id)).map((id) => [id, declared[id]])
  return spoken.length === 0 ? asks : { ...asks, extensions: Object.fromEntries(spoken) }
}

function questionsOf(peer: Peer): ClientCapabilities {
  const form = canAsk(peer, 'elicitation')
  const url = canAsk(peer, 'elicitation.url')
  const all: ClientCapabilities = {}
  if (form || url) all.elicitation = { ...(form ? { form: {} } : {}), ...(url ? { url: {} } : {}) }
  if (canAsk(peer, 'sampling')) {
    all.sampling = {
      ...(canAsk(peer, 'sampling.tools') ? { tools: {} } : {}),
      ...(canAsk(peer, 'sampling.context') ? { context: {} } : {}),
    }
  }
  if (canAsk(peer, 'roots')) all.roots = {}
  return all
}

/** Whether any question can be answered. */
export function answersAny({ elicitation, sampling, roots }: ClientCapabilities): boolean {
  return elicitation !== undefined || sampling !== undefined || roots !== undefined
}

/**
 * A question as an upstream server put it.
 * @throws RpcError for one against the rules
 */
export function questionOf(method: unknown, params: unknown): Question {
  const question = isObject(params) ? read(method, withEndToEnd(params, noMeta)) : undefined
  if (question === undefined) throw refusedForm(`${inWords(method)} is none it knows, or lacks what it needs`)
  const fault = faultOf(question)
  if (fault !== undefined) throw refusedForm(fault)
  return question
}

/** All questions of one `input_required` result, by their keys. */
export function questionsIn(requests: unknown): InputRequests {
  if (requests === undefined) return {}
  if (!isObject(requests)) throw refusedForm('"inputRequests" is no object')
  return Object.fromEntries(
    Object.entries(requests).map(([key, request]) => {
      if (!isObject(request)) throw refusedForm(`the question "${key}" is no request`)
      return [key, questionOf(request['method'], request['params'] ?? {})]
    }),
  )
}

/** Puts a question of an upstream server to the client of a live exchange, and gives its own answer or error. */
export async function askLive(
  { peer }: Exchange,
  relay: NonNullable<Exchange['inputStrategy']['relay']>,
  question: Question,
  signal: AbortSignal,
): Promise<JsonObject> {
  const missing = missingFor(peer, question)
  if (missing !== undefined) {
    throw new RpcError(
      ErrorCode.InvalidRequest,
      `The client behind this proxy cannot be asked this: it did not declare ${Object.keys(missing).join(', ')}`,
    )
  }
  try {
    const answer = await relay(question.method, peer.revision.question(question), { signal })
    if (isObject(answer)) return withEndToEnd(answer, noMeta)
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw new RpcError(ErrorCode.InternalError, 'The client behind this proxy could not be asked')
  }
  throw new RpcError(ErrorCode.InternalError, 'The client behind this proxy gave an answer that is none')
}

function read(method: unknown, params: JsonObject): Question | undefined {
  switch (method) {
    case 'elicitation/create':
      return form(params) ?? visit(params)
    case 'sampling/createMessage':
      return isSampling(params) ? { method, params } : undefined
    case 'roots/list':
      return { method, params: {} }
    default:
      return undefined
  }
}

function form(params: JsonObject): Question | undefined {
  const { mode = 'form', message, requestedSchema } = params
  if (mode !== 'form' || typeof message !== 'string' || !isElicitSchema(requestedSchema)) return undefined
  return { method: 'elicitation/create', params: { ...params, mode, message, requestedSchema } }
}

function visit(params: JsonObject): Question | undefined {
  const { mode, message, url } = params
  if (mode !== 'url' || typeof message !== 'string' || typeof url !== 'string') return undefined
  return { method: 'elicitation/create', params: { ...params, mode, message, url } }
}

function isSampling(params: JsonObject): params is JsonObject & CreateMessageParams {
  const { messages, maxTokens } = params
  return (
    typeof maxTokens === 'number' &&
    Array.isArray(messages) &&
    messages.every((message) => isObject(message) && typeof message['role'] === 'string')
  )
}

function refusedForm(why: string): RpcError {
  return new RpcError(
    ErrorCode.InvalidParams,
    `The upstream server asked in a form the protocol does not allow: ${why}`,
  )
}

/** Codes that speak of the hop between this proxy and its upstream server, which a client would take for its own. */
const ofOneHop: ReadonlySet<number> = new Set([
  ErrorCode.HeaderMismatch,
  ErrorCode.UnsupportedProtocolVersion,
  ErrorCode.ParseError,
])

/** The error to answer a client with when its request failed upstream. An upstream error is passed on as it is. */
export function relayedError(error: unknown): RpcError {
  if (error instanceof RpcError) {
    return ofOneHop.has(error.code) ? internal('The upstream server refused the request') : error
  }
  if (!(error instanceof McpError)) return internal('Internal error')
  switch (error.code) {
    case 'CAPABILITY':
      return new RpcError(ErrorCode.MethodNotFound, 'Method not found: the upstream server does not offer it')
    case 'TIMEOUT':
      return internal('The upstream server did not answer in time. Whether the request ran is not known.')
    case 'CONNECTION_CLOSED':
    case 'OUTCOME_UNKNOWN':
      return internal(
        'The connection to the upstream server broke off. Whether the request ran is not known: look before you repeat it.',
      )
    case 'CONNECT_FAILED':
    case 'VERSION_MISMATCH':
      return internal('The upstream server cannot be reached now. Try again later.')
    case 'UNAUTHORIZED':
      return internal('The upstream server does not let this proxy in')
    case 'PROTOCOL':
    case 'HTTP':
      return internal('The upstream server gave an answer that cannot be used')
    default:
      return internal('The request could not be passed on to the upstream server')
  }
}

/** Whether a failure is this side's to know about: an upstream error that was passed on is not. */
export function isOwnFault(error: unknown): boolean {
  return !(error instanceof RpcError) && !(error instanceof McpError && error.code === 'CANCELLED')
}

function internal(message: string): RpcError {
  return new RpcError(ErrorCode.InternalError, message)
}
