import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
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
import { runToOutcome } from '../request/handler-run.ts'
import { ProgressAndLogs } from '../server/handler-context.ts'
import { wait } from '../transports/client/retry-backoff.ts'
import { answersAny, askLive, questionsIn } from './questions.ts'
import { type SuspendedCalls, SuspendedUpstreamCall } from './suspended-calls.ts'
import type { PooledConnection, UpstreamConnection, UpstreamRequest } from './upstream-pool.ts'

/** One request to pass on: how it reads upstream, and what its client can answer there. */
export interface ProxiedRequest {
  readonly exchange: Exchange
  readonly params: JsonObject
  readonly capabilities: ClientCapabilities
  /** Whether the protocol lets its handler ask. */
  readonly asks: boolean
  /** Whether an extension is relayed, which may add types of results. */
  readonly extended: boolean
}

const firstPauseMs = 100
const longestPauseMs = 5_000

/**
 * Passes a request on to a server that asks by the end of a round. Its state travels inside this side's own sealed
 * state, so nothing is kept here and any node can pass on the retry.
 */
export async function passStateless(passing: ProxiedRequest, seat: UpstreamConnection): Promise<Outcome> {
  const { exchange, params, asks } = passing
  const notices = new ProgressAndLogs(exchange)
  const passage = passageOf(passing, notices)
  let extended: Outcome | undefined
  let idle = 0
  const send = async (more: JsonObject): Promise<InputRequired | JsonObject> => {
    const result = await seat.pass(exchange.method, { ...params, ...more }, passage)
    if (result['resultType'] !== 'input_required') {
      extended = extendedBy(passing, result)
      return result
    }
    const requests = questionsIn(result['inputRequests'])
    const keys = Object.keys(requests)
    if (!asks || keys.length > exchange.limits.questions) throw unusable()
    // A client that is asked by the end of a round waits by itself before it comes back without an answer.
    if (keys.length > 0) idle = 0
    else if (exchange.inputStrategy.relay !== undefined) {
      await wait(Math.min(longestPauseMs, firstPauseMs * 2 ** idle++), exchange.signal)
    }
    return new InputRequired(requests, { upstream: result['requestState'], keys })
  }
  try {
    const outcome = await runToOutcome<JsonObject>(
      exchange,
      ({ carried }) => send(retryOf(carried)),
      (result) => result,
    )
    return extended ?? outcome
  } finally {
    notices.close()
  }
}

/** What a retry adds to the request: the upstream server's own state, and the answers to what it asked last. */
function retryOf({ state, answers }: Carried): JsonObject {
  if (state === undefined) return {}
  if (!isObject(state) || !Array.isArray(state['keys'])) throw notOurs()
  const { upstream, keys } = state
  const given = Object.entries(answers).filter(([key]) => keys.includes(key))
  return {
    ...(keys.length === 0 ? {} : { inputResponses: Object.fromEntries(given) }),
    ...(upstream === undefined ? {} : { requestState: upstream }),
  }
}

/** Passes a request on to a server with sessions, which asks by requests of its own while it runs. */
export async function passSession(
  passing: ProxiedRequest,
  take: () => PooledConnection,
  held: SuspendedCalls<SuspendedUpstreamCall>,
): Promise<Outcome> {
  const { exchange, params, asks, capabilities } = passing
  const notices = new ProgressAndLogs(exchange)
  try {
    const retried = exchange.params['requestState'] !== undefined
    if (asks && exchange.inputStrategy.relay === undefined && (retried || answersAny(capabilities))) {
      return await passHeld(passing, take, held, notices)
    }
    const result = await sent(exchange.method, params, take, passageOf(passing, notices))
    return completeOf(passing, result)
  } finally {
    notices.close()
  }
}

/**
 * Keeps the request open upstream while its client, which is asked by the end of a round, finds the answers. They find
 * it again by the sealed state, and only on this node: where it is gone, the client is told, and nothing runs again.
 */
async function passHeld(
  passing: ProxiedRequest,
  take: () => PooledConnection,
  held: SuspendedCalls<SuspendedUpstreamCall>,
  notices: ProgressAndLogs,
): Promise<Outcome> {
  const { exchange, params, capabilities } = passing
  const { inputStrategy: asking, peer } = exchange
  const { requestState, inputResponses } = exchange.params
  const carries = requestState !== undefined || inputResponses !== undefined
  const round: HandlerRun = carries ? await asking.resume(exchange) : asking.begin(exchange)
  let call: SuspendedUpstreamCall
  if (requestState === undefined) {
    call = new SuspendedUpstreamCall(exchange, { capabilities }, (passage) =>
      sent(exchange.method, params, take, passage),
    )
  } else {
    const found = held.take(heldIn(round.carried.state), peer.principal)
    if (found === undefined) throw gone()
    call = found
    call.answer(round.carried.answers)
  }
  for (;;) {
    const next = await call.next(exchange.signal, notices)
    if ('result' in next) return completeOf(passing, next.result)
    try {
      held.keep(call)
      const ended = await Promise.race([
        round.require(new InputRequired(next.asked, { held: call.id })),
        round.ended,
      ])
      if ('type' in ended) return ended
      held.take(call.id, peer.principal)
      call.answer(ended.answers)
    } catch (error) {
      held.take(call.id, peer.principal)
      call.cancel(new McpError('CANCELLED', 'The client could not be asked'))
      throw error
    }
  }
}

async function sent(
  method: string,
  params: JsonObject,
  take: () => PooledConnection,
  passage: UpstreamRequest,
): Promise<JsonObject> {
  const { seat, release } = take()
  try {
    return await seat.pass(method, params, passage)
  } finally {
    release()
  }
}

function passageOf(
  { exchange, capabilities, asks }: ProxiedRequest,
  notices: ProgressAndLogs,
): UpstreamRequest {
  const { inputStrategy: asking, peer, limits } = exchange
  let asked = 0
  return {
    relay: { capabilities },
    get signal() {
      return exchange.signal
    },
    logLevel: peer.logLevel,
    ask: (question, signal) => {
      if (asking.relay === undefined || !asks || ++asked > limits.questions) {
        throw new RpcError(ErrorCode.InvalidRequest, 'The client behind this proxy cannot be asked this now')
      }
      return askLive(exchange, asking.relay, question, signal)
    },
    progress: (report) => notices.progress(report),
    log: ({ level, data, logger }) => notices.log(level, data, logger),
  }
}

function completeOf(passing: ProxiedRequest, result: JsonObject): Outcome {
  return extendedBy(passing, result) ?? { type: 'complete', result }
}

function extendedBy({ extended }: ProxiedRequest, result: JsonObject): Outcome | undefined {
  const { resultType, ...rest } = result
  if (resultType === undefined) return undefined
  if (!extended || typeof resultType !== 'string' || resultType === 'input_required') throw unusable()
  return { type: 'extension', resultType, result: rest }
}

function heldIn(state: unknown): string {
  if (!isObject(state) || typeof state['held'] !== 'string') throw notOurs()
  return state['held']
}

function notOurs(): RpcError {
  return new RpcError(ErrorCode.InvalidParams, 'The requestState is not valid here. Start the request over.')
}

function gone(): RpcError {
  return new RpcError(
    ErrorCode.InternalError,
    'The call that asked is no longer open on this node: it waited too long, the node was started anew, or the answer ' +
      'reached another one. It was not run again. Whether it had an effect is not known: look before you repeat it.',
  )
}

function unusable(): McpError {
  return new McpError('PROTOCOL', 'The upstream server gave a result of a type that has no place here')
}
