import { describeValue, ErrorCode, internalError, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ClientCapabilities } from '../protocol/definitions.ts'
import { isElicitSchema } from '../protocol/elicitation.ts'
import { MetaKey } from '../protocol/meta.ts'
import type { CreateMessageParams, InputRequests, Question } from '../protocol/server-requests.ts'
import type { Exchange, Peer } from '../request/exchange.ts'
import { faultOfQuestion } from '../request/input-responses.ts'
import { canAsk, missingFor } from '../request/input-support.ts'
import { noInput } from '../request/live-run.ts'

/**
 * The end-to-end part of a `_meta`: without the keys of one hop (progress token, sender, revision) and other reserved keys,
 * except those of relayed extensions. Trace context is kept.
 */
function endToEnd(meta: unknown, relayed: ReadonlySet<string>): JsonObject | undefined {
  if (!isObject(meta)) return undefined
  const endToEndEntries = Object.entries(meta).filter(([key]) => relayed.has(key) || !isHopByHop(key))
  return endToEndEntries.length === 0 ? undefined : Object.fromEntries(endToEndEntries)
}

/** A result or params with only the end-to-end part of its `_meta`. */
export function withEndToEnd(value: JsonObject, relayed: ReadonlySet<string>): JsonObject {
  const { _meta, ...rest } = value
  const meta = endToEnd(_meta, relayed)
  return meta === undefined ? rest : { ...rest, _meta: meta }
}

function isHopByHop(key: string): boolean {
  if (key === MetaKey.progressToken) return true
  const slash = key.indexOf('/')
  const [, second] = slash === -1 ? [] : key.slice(0, slash).toLowerCase().split('.')
  return second === 'modelcontextprotocol' || second === 'mcp'
}

const noMeta: ReadonlySet<string> = new Set()

/** The capabilities to declare upstream: those the client declared, its revision has and this exchange can serve. */
export function answerable(
  { peer, inputStrategy }: Pick<Exchange, 'peer' | 'inputStrategy'>,
  extensions: readonly string[],
): ClientCapabilities {
  if (inputStrategy !== noInput) return capabilitiesOf(peer, extensions)
  const { extensions: supported } = capabilitiesOf(peer, extensions)
  return supported === undefined ? {} : { extensions: supported }
}

/** The input capabilities and relayed extensions that a client declared and its revision has. */
export function capabilitiesOf(peer: Peer, extensions: readonly string[]): ClientCapabilities {
  const input = inputCapabilities(peer)
  const declared = peer.capabilities.extensions ?? {}
  const supported = extensions.filter((id) => Object.hasOwn(declared, id)).map((id) => [id, declared[id]])
  return supported.length === 0 ? input : { ...input, extensions: Object.fromEntries(supported) }
}

function inputCapabilities(peer: Peer): ClientCapabilities {
  const toForm = canAsk(peer, 'elicitation')
  const url = canAsk(peer, 'elicitation.url')
  const capabilities: ClientCapabilities = {}
  if (toForm || url)
    capabilities.elicitation = { ...(toForm ? { form: {} } : {}), ...(url ? { url: {} } : {}) }
  if (canAsk(peer, 'sampling')) {
    capabilities.sampling = {
      ...(canAsk(peer, 'sampling.tools') ? { tools: {} } : {}),
      ...(canAsk(peer, 'sampling.context') ? { context: {} } : {}),
    }
  }
  if (canAsk(peer, 'roots')) capabilities.roots = {}
  return capabilities
}

/** Whether any input request can be answered. */
export function canAnswerAny({ elicitation, sampling, roots }: ClientCapabilities): boolean {
  return elicitation !== undefined || sampling !== undefined || roots !== undefined
}

/**
 * Validates an input request of the upstream server.
 * @throws RpcError for an invalid one
 */
export function parseQuestion(method: unknown, params: unknown): Question {
  const question = isObject(params) ? toQuestion(method, withEndToEnd(params, noMeta)) : undefined
  if (question === undefined)
    throw invalidQuestion(`the method ${describeValue(method)} is unknown, or its params are incomplete`)
  const problem = faultOfQuestion(question)
  if (problem !== undefined) throw invalidQuestion(problem)
  return question
}

/** The input requests of an `input_required` result, by key. */
export function parseQuestions(requests: unknown): InputRequests {
  if (requests === undefined) return {}
  if (!isObject(requests)) throw invalidQuestion('"inputRequests" is not an object')
  return Object.fromEntries(
    Object.entries(requests).map(([key, request]) => {
      if (!isObject(request)) throw invalidQuestion(`the input request "${key}" is not an object`)
      return [key, parseQuestion(request['method'], request['params'] ?? {})]
    }),
  )
}

/** Sends an input request to the client of a live exchange and returns its response. */
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
      `The client of this proxy cannot be asked for this: it did not declare ${Object.keys(missing).join(', ')}`,
    )
  }
  try {
    const answer = await relay(question.method, peer.revision.question(question), { signal })
    if (isObject(answer)) return withEndToEnd(answer, noMeta)
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw internalError('The client of this proxy could not be asked')
  }
  throw internalError('The client of this proxy sent an invalid response')
}

function toQuestion(method: unknown, params: JsonObject): Question | undefined {
  switch (method) {
    case 'elicitation/create':
      return toForm(params) ?? toUrlElicitation(params)
    case 'sampling/createMessage':
      return isSampling(params) ? { method, params } : undefined
    case 'roots/list':
      return { method, params: {} }
    default:
      return undefined
  }
}

function toForm(params: JsonObject): Question | undefined {
  const { mode = 'form', message, requestedSchema } = params
  if (mode !== 'form' || typeof message !== 'string' || !isElicitSchema(requestedSchema)) return undefined
  return { method: 'elicitation/create', params: { ...params, mode, message, requestedSchema } }
}

function toUrlElicitation(params: JsonObject): Question | undefined {
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

function invalidQuestion(reason: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `The upstream server sent an invalid input request: ${reason}`)
}

/** Codes about the hop between proxy and upstream server, which the client would misread as its own. */
const hopByHopCodes: ReadonlySet<number> = new Set([
  ErrorCode.HeaderMismatch,
  ErrorCode.UnsupportedProtocolVersion,
  ErrorCode.ParseError,
])

/** The error for a client whose request failed upstream. Upstream errors are passed on as they are. */
export function relayedError(error: unknown): RpcError {
  if (error instanceof RpcError) {
    return hopByHopCodes.has(error.code) ? internalError('The upstream server refused the request') : error
  }
  if (!(error instanceof McpError)) return internalError('Internal error')
  switch (error.code) {
    case 'CAPABILITY':
      return new RpcError(ErrorCode.MethodNotFound, 'Method not found: the upstream server does not offer it')
    case 'TIMEOUT':
      return internalError(
        'The upstream server did not respond in time. It is unknown whether the request ran.',
      )
    case 'CONNECTION_CLOSED':
    case 'OUTCOME_UNKNOWN':
      return internalError(
        'The connection to the upstream server was lost. It is unknown whether the request ran: check before you repeat it.',
      )
    case 'CONNECT_FAILED':
    case 'VERSION_MISMATCH':
      return internalError('The upstream server cannot be reached. Try again later.')
    case 'UNAUTHORIZED':
      return internalError('The upstream server rejected the credentials of this proxy')
    case 'PROTOCOL':
    case 'HTTP':
      return internalError('The upstream server sent an invalid response')
    default:
      return internalError('The request could not be forwarded to the upstream server')
  }
}

/** Whether a failure should be reported here: forwarded upstream errors and cancellations are not. */
export function isProxyFault(error: unknown): boolean {
  return !(error instanceof RpcError) && !(error instanceof McpError && error.code === 'CANCELLED')
}
