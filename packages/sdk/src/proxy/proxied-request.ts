import { ErrorCode, internalError, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ClientCapabilities } from '../protocol/definitions.ts'
import {
  type Carried,
  type Exchange,
  type HandlerRun,
  InputRequired,
  type Outcome,
} from '../request/exchange.ts'
import { ProgressAndLogs, runToOutcome } from '../server/handler-context.ts'
import { wait } from '../transports/client/retry-backoff.ts'
import { askLive, canAnswerAny, parseQuestions } from './questions.ts'
import { type SuspendedCalls, SuspendedUpstreamCall } from './suspended-calls.ts'
import type { PooledConnection, UpstreamConnection, UpstreamRequest } from './upstream-pool.ts'

/** A request to forward: its upstream params and the client's capabilities. */
export interface ProxiedRequest {
  readonly exchange: Exchange
  readonly params: JsonObject
  readonly capabilities: ClientCapabilities
  /** Whether its handler may request input. */
  readonly asks: boolean
  /** Whether extensions are relayed; they may add result types. */
  readonly extended: boolean
}

const firstPauseMs = 100
const maxPauseMs = 5_000

/** Forwards a request to a stateless server. Its `requestState` is part of the proxy's sealed state, so any node can forward the retry. */
export async function forwardStateless(
  request: ProxiedRequest,
  connection: UpstreamConnection,
): Promise<Outcome> {
  const { exchange, params, asks } = request
  const notifications = new ProgressAndLogs(exchange)
  const upstreamRequest = toUpstreamRequest(request, notifications)
  let extended: Outcome | undefined
  let emptyRounds = 0
  const send = async (more: JsonObject): Promise<InputRequired | JsonObject> => {
    const result = await connection.send(exchange.method, { ...params, ...more }, upstreamRequest)
    if (result['resultType'] !== 'input_required') {
      extended = extensionOutcome(request, result)
      return result
    }
    const requests = parseQuestions(result['inputRequests'])
    const keys = Object.keys(requests)
    if (!asks || keys.length > exchange.limits.questions) throw unusableResult()
    // A client that is asked by `input_required` results decides when to retry; for others the proxy waits between empty rounds.
    if (keys.length > 0) emptyRounds = 0
    else if (exchange.inputStrategy.relay !== undefined) {
      await wait(Math.min(maxPauseMs, firstPauseMs * 2 ** emptyRounds++), exchange.signal)
    }
    return new InputRequired(requests, { upstream: result['requestState'], keys })
  }
  const outcome = await runToOutcome<JsonObject>(
    exchange,
    ({ carried }) => send(retryParams(carried)),
    (result) => result,
    { progressAndLogs: notifications, isOver: false },
  )
  return extended ?? outcome
}

/** The params a retry adds: the upstream state and the responses to its last input requests. */
function retryParams({ state, answers }: Carried): JsonObject {
  if (state === undefined) return {}
  if (!isObject(state) || !Array.isArray(state['keys'])) throw invalidState()
  const { upstream, keys } = state
  const responses = Object.entries(answers).filter(([key]) => keys.includes(key))
  return {
    ...(keys.length === 0 ? {} : { inputResponses: Object.fromEntries(responses) }),
    ...(upstream === undefined ? {} : { requestState: upstream }),
  }
}

/** Forwards a request to a server with sessions, which asks for input by requests. */
export async function forwardToSession(
  request: ProxiedRequest,
  acquire: () => PooledConnection,
  suspendedCalls: SuspendedCalls<SuspendedUpstreamCall>,
): Promise<Outcome> {
  const { exchange, params, asks, capabilities } = request
  const notifications = new ProgressAndLogs(exchange)
  try {
    const retried = exchange.params['requestState'] !== undefined
    if (asks && exchange.inputStrategy.relay === undefined && (retried || canAnswerAny(capabilities))) {
      return await forwardSuspendable(request, acquire, suspendedCalls, notifications)
    }
    const result = await sendOnce(exchange.method, params, acquire, toUpstreamRequest(request, notifications))
    return toOutcome(request, result)
  } finally {
    notifications.close()
  }
}

/**
 * Keeps the upstream request open between an `input_required` result and the client's retry, which must reach this node: for a
 * call that is not suspended here the client gets an error, so that nothing runs twice.
 */
async function forwardSuspendable(
  request: ProxiedRequest,
  acquire: () => PooledConnection,
  suspendedCalls: SuspendedCalls<SuspendedUpstreamCall>,
  notifications: ProgressAndLogs,
): Promise<Outcome> {
  const { exchange, params, capabilities } = request
  const { inputStrategy, peer } = exchange
  const { requestState, inputResponses } = exchange.params
  const isRetry = requestState !== undefined || inputResponses !== undefined
  const run: HandlerRun = isRetry ? await inputStrategy.resume(exchange) : inputStrategy.begin(exchange)
  let call: SuspendedUpstreamCall
  if (requestState === undefined) {
    call = new SuspendedUpstreamCall(exchange, { capabilities }, (upstreamRequest) =>
      sendOnce(exchange.method, params, acquire, upstreamRequest),
    )
  } else {
    const suspended = suspendedCalls.resume(suspendedId(run.carried.state), peer.principal)
    if (suspended === undefined) throw callLost()
    call = suspended
    call.answer(run.carried.answers)
  }
  for (;;) {
    const next = await call.next(exchange.signal, notifications)
    if ('result' in next) return toOutcome(request, next.result)
    try {
      suspendedCalls.suspend(call)
      const ended = await Promise.race([
        run.require(new InputRequired(next.asked, { held: call.id })),
        run.ended,
      ])
      if ('type' in ended) return ended
      suspendedCalls.resume(call.id, peer.principal)
      call.answer(ended.answers)
    } catch (error) {
      suspendedCalls.resume(call.id, peer.principal)
      call.cancel(new McpError('CANCELLED', 'The client could not be asked'))
      throw error
    }
  }
}

async function sendOnce(
  method: string,
  params: JsonObject,
  acquire: () => PooledConnection,
  upstreamRequest: UpstreamRequest,
): Promise<JsonObject> {
  const { connection, release } = acquire()
  try {
    return await connection.send(method, params, upstreamRequest)
  } finally {
    release()
  }
}

function toUpstreamRequest(
  { exchange, capabilities, asks }: ProxiedRequest,
  notifications: ProgressAndLogs,
): UpstreamRequest {
  const { inputStrategy, peer, limits } = exchange
  let inputRequests = 0
  return {
    relay: { capabilities },
    get signal() {
      return exchange.signal
    },
    logLevel: peer.logLevel,
    ask: (question, signal) => {
      if (inputStrategy.relay === undefined || !asks || ++inputRequests > limits.questions) {
        throw new RpcError(
          ErrorCode.InvalidRequest,
          'The client of this proxy cannot be asked for input here',
        )
      }
      return askLive(exchange, inputStrategy.relay, question, signal)
    },
    progress: (report) => notifications.progress(report),
    log: ({ level, data, logger }) => notifications.log(level, data, logger),
  }
}

function toOutcome(request: ProxiedRequest, result: JsonObject): Outcome {
  return extensionOutcome(request, result) ?? { type: 'complete', result }
}

function extensionOutcome({ extended }: ProxiedRequest, result: JsonObject): Outcome | undefined {
  const { resultType, ...rest } = result
  if (resultType === undefined) return undefined
  if (!extended || typeof resultType !== 'string' || resultType === 'input_required') throw unusableResult()
  return { type: 'extension', resultType, result: rest }
}

function suspendedId(state: unknown): string {
  if (!isObject(state) || typeof state['held'] !== 'string') throw invalidState()
  return state['held']
}

function invalidState(): RpcError {
  return new RpcError(ErrorCode.InvalidParams, 'The requestState is not valid here. Start the request over.')
}

function callLost(): RpcError {
  return internalError(
    'The call that requested input is no longer open on this node: it timed out, the node was restarted, or the retry reached ' +
      'another node. It was not run again. It may have had effects: check before you repeat it.',
  )
}

function unusableResult(): McpError {
  return new McpError('PROTOCOL', 'The upstream server sent a result type that is not allowed here')
}
