import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { methodRow, type ProtocolVersion } from '../protocol/methods.ts'
import { wait } from '../transports/client/retry-backoff.ts'
import { type CallDeadline, linkedSignal, orAborted } from './call-deadline.ts'
import type { ReceivedResult } from './client-connection.ts'
import type { ClientHandlers } from './handlers.ts'
import type { TelemetrySpan } from './telemetry.ts'
import type { Round } from './types.ts'

export interface RoundsOptions {
  readonly method: string
  readonly params: JsonObject
  readonly version: ProtocolVersion
  readonly scope: CallDeadline
  /** The call's own, where it is followed. */
  readonly span: TelemetrySpan | undefined
  readonly maxRounds: number
  /** Questions that are answered at once. */
  readonly maxQuestions: number
  /** The type of a result that does not say it by itself. */
  typeOf(result: JsonObject): string
  /** Finishes a result of a type that an extension adds; undefined where none does. */
  extended(resultType: string, result: JsonObject, id: RequestId): Promise<JsonObject> | undefined
  /** Where to begin, in place of the first request. */
  readonly resume: Resumed | undefined
  /** Hears of each round before its questions are put. */
  readonly onRound: ((round: Round) => void) | undefined
  /** Called when a round is answered, before its answers are sent. */
  readonly onAnswered: (() => void) | undefined
  /** Has the end of the connection heard, until the returned function is called. */
  onClosed(hear: () => void): () => void
  /** Sends the request, with what the retry adds to its params. */
  send(more: JsonObject): Promise<Sent>
}

/** The answer to a request, and what its questions are answered with: what the request declared. */
export interface Sent extends ReceivedResult {
  readonly answers: ClientHandlers
}

/** A round that was kept, and what its questions are answered with. */
export interface Resumed {
  readonly round: Round
  readonly answers: ClientHandlers
}

export interface Completed {
  readonly result: JsonObject
  /** How often the server asked back. */
  readonly rounds: number
}

/** Stands for a request that was not sent by this client: ids begin at 1. */
export const beforeFirst: RequestId = 0

const firstPauseMs = 100
const longestPauseMs = 5_000

/** Sends a request, answers what the server asks back and retries, until the result is complete. */
export async function untilComplete(options: RoundsOptions): Promise<Completed> {
  const { method, maxRounds, scope, send } = options
  let more: JsonObject = {}
  let idle = 0
  const answer = async (round: Round, id: RequestId, answers: ClientHandlers): Promise<void> => {
    const { inputRequests, requestState } = round
    const asked =
      inputRequests === undefined ? undefined : await answerAll(inputRequests, id, { ...options, answers })
    more = {}
    if (asked !== undefined) more['inputResponses'] = asked
    if (requestState !== undefined) more['requestState'] = requestState
    if (asked !== undefined && Object.keys(asked).length > 0) idle = 0
    else await wait(Math.min(longestPauseMs, firstPauseMs * 2 ** idle++), scope.signal)
    options.onAnswered?.()
  }
  if (options.resume !== undefined) await answer(options.resume.round, beforeFirst, options.resume.answers)
  for (let rounds = 0; ; rounds++) {
    scope.touch()
    const { id, result, answers } = await send(more)
    const { resultType = options.typeOf(result), ...rest } = result
    if (resultType === 'complete') return { result: rest, rounds }
    if (resultType !== 'input_required') {
      const finished = typeof resultType === 'string' ? options.extended(resultType, rest, id) : undefined
      if (finished !== undefined) return { result: await finished, rounds: rounds + 1 }
      throw protocol(`The result of ${method} has the unknown type ${JSON.stringify(resultType)}`)
    }
    if (methodRow(method, options.version)?.asks !== true) {
      throw protocol(`The server asked back on ${method}, which the protocol does not allow`)
    }
    if (rounds >= maxRounds) {
      throw new McpError('TOO_MANY_ROUNDS', `The server asked back more than ${maxRounds} times on ${method}`)
    }
    const round = roundIn(rest, method)
    options.onRound?.(round)
    await answer(round, id, answers)
  }
}

function roundIn({ inputRequests, requestState }: JsonObject, method: string): Round {
  if (inputRequests === undefined && requestState === undefined) {
    throw protocol(`The server asked back on ${method} without a question or a state`)
  }
  if (requestState !== undefined && typeof requestState !== 'string') {
    throw protocol('"requestState" must be a string')
  }
  if (inputRequests !== undefined && !isObject(inputRequests))
    throw protocol('"inputRequests" must be an object')
  return {
    ...(inputRequests !== undefined && { inputRequests }),
    ...(requestState !== undefined && { requestState }),
  }
}

/** Answers the questions that came with the answer to one request. */
export async function answerAll(
  inputRequests: unknown,
  id: RequestId,
  options: Pick<RoundsOptions, 'scope' | 'method' | 'params' | 'version' | 'span' | 'maxQuestions'> &
    Partial<Pick<RoundsOptions, 'onClosed'>> & { readonly answers: ClientHandlers },
): Promise<JsonObject> {
  if (!isObject(inputRequests)) throw protocol('"inputRequests" must be an object')
  const questions = Object.entries(inputRequests)
  const { scope, method, params, answers, version, span, maxQuestions } = options
  if (questions.length > maxQuestions) {
    throw new McpError(
      'LIMIT',
      `The server asked ${questions.length} questions at once; at most ${maxQuestions} are answered. ` +
        'Raise maxQuestions of connect if the server needs more',
    )
  }
  const stop = linkedSignal(scope.signal)
  const resume = scope.pause()
  const forget = options.onClosed?.(() =>
    stop.abort(new McpError('CONNECTION_CLOSED', 'The server went away before it got the answer')),
  )
  const context = { cause: { id, method, params }, signal: stop.signal }
  const one = async ([key, question]: [string, unknown]): Promise<[string, JsonObject]> => {
    const asked = questionIn(question, key, answers)
    return [key, await answers.answer(asked.method, asked.params, context, version, span)]
  }
  try {
    return Object.fromEntries(await orAborted(Promise.all(questions.map(one)), stop.signal))
  } catch (error) {
    stop.abort(error)
    throw error
  } finally {
    forget?.()
    resume()
    stop.release()
  }
}

function questionIn(question: unknown, key: string, answers: ClientHandlers) {
  if (!isObject(question) || typeof question['method'] !== 'string') {
    throw protocol(`The question "${key}" is not a request`)
  }
  const { method, params = {} } = question
  if (!isObject(params)) throw protocol(`The params of the question "${key}" must be an object`)
  if (!answers.can(method)) {
    throw new McpError(
      'CAPABILITY',
      `The server asked ${method}, which this client did not say it can answer. Give connect a handler for it.`,
    )
  }
  return { method, params }
}

function protocol(why: string): McpError {
  return new McpError('PROTOCOL', why)
}
