import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Tool } from '../protocol/definitions.ts'
import { encodeHeaderValue } from '../protocol/headers.ts'
import { type MethodRow, methodRow, methods, type ProtocolVersion } from '../protocol/methods.ts'
import { wait } from '../transports/client/retry-backoff.ts'
import { CallDeadline, linkedSignal, orAborted } from './call-deadline.ts'
import type { ClientConnection, OutgoingRequest, ReceivedResult } from './client-connection.ts'
import type { ClientExtension, ExtensionCall } from './extension.ts'
import { type ClientHandlers, guarded, type HandlerRegistry } from './handlers.ts'
import type { Era } from './negotiate.ts'
import { sendWithRetry } from './retry.ts'
import { followed, type TelemetrySpan } from './telemetry.ts'
import type { ToolDefinitions } from './tools.ts'
import type { CallOptions, Round } from './types.ts'

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

export interface RequestsOptions {
  readonly wire: ClientConnection
  readonly era: Era
  readonly answers: HandlerRegistry
  readonly tools: ToolDefinitions
  readonly timeoutMs: number
  readonly maxTotalMs: number
  readonly maxRounds: number
  readonly maxQuestions: number
  readonly extensions: readonly ClientExtension[]
  /** Lists the tools anew, past the cache. */
  readonly relist: () => Promise<void>
}

type OnProgress = NonNullable<CallOptions['onProgress']>

/** What belongs to one call of an extension. */
interface CallParts {
  readonly scope: CallDeadline
  readonly id: RequestId
  readonly span?: TelemetrySpan | undefined
  readonly onProgress?: OnProgress | undefined
}

/** Passes on only what is further than before, however many requests report it. */
function increasing(
  onProgress: CallOptions['onProgress'],
  warn: (text: string) => void,
): OnProgress | undefined {
  if (onProgress === undefined) return undefined
  const report = guarded(onProgress, 'onProgress', warn)
  let last = Number.NEGATIVE_INFINITY
  return (now) => {
    if (!(now.progress > last)) return
    last = now.progress
    report(now)
  }
}

const rows: ReadonlyMap<string, MethodRow> = new Map(Object.entries(methods))
const reserved = new Map([
  ['initialize', 'connect sends it'],
  ['subscriptions/listen', 'use watch'],
])

/** Requests as a caller means them: gated, timed, answered when asked back, and sent again where that is safe. */
export class Requests {
  readonly #options: RequestsOptions

  constructor(options: RequestsOptions) {
    this.#options = options
  }

  perform(method: string, given: JsonObject, options: CallOptions): Promise<Completed> {
    return this.#perform(method, given, options)
  }

  /** The first result that is no question, with its type, not finished by any extension. */
  async first(
    method: string,
    given: JsonObject,
    options: CallOptions,
  ): Promise<{ resultType: string; result: JsonObject }> {
    let type = 'complete'
    const { result } = await this.#perform(method, given, options, async (resultType, result) => {
      type = resultType
      return result
    })
    return { resultType: type, result }
  }

  /** Runs what an extension does by itself as one call. */
  async during<T>(
    method: string,
    params: JsonObject,
    options: CallOptions,
    run: (call: ExtensionCall) => Promise<T>,
  ): Promise<T> {
    const scope = this.#scope(method, params, options)
    try {
      scope.signal.throwIfAborted()
      const onProgress = increasing(options.onProgress, (text) => this.#options.wire.warn(text))
      return await run(this.#callOf(method, params, { scope, id: beforeFirst, onProgress }))
    } finally {
      scope.close()
    }
  }

  /** The tool of this name, once the tools were listed. */
  async tool(name: string): Promise<Tool | undefined> {
    const { tools, relist } = this.#options
    if (tools.isEmpty) await relist()
    return tools.tool(name)
  }

  async #perform(
    method: string,
    given: JsonObject,
    options: CallOptions,
    finish?: (resultType: string, result: JsonObject) => Promise<JsonObject>,
  ): Promise<Completed> {
    const { wire, era } = this.#options
    this.#mayCall(method)
    const span = wire.follow(method, given, undefined, era.facts.revision)
    const run = (): Promise<Completed> => this.#run(method, given, options, finish, span)
    return span === undefined ? run() : followed(span, run, ({ result }) => result)
  }

  async #run(
    method: string,
    given: JsonObject,
    options: CallOptions,
    finish: ((resultType: string, result: JsonObject) => Promise<JsonObject>) | undefined,
    span: TelemetrySpan | undefined,
  ): Promise<Completed> {
    const { era, answers, maxRounds, maxQuestions, wire } = this.#options
    const warn = (text: string): void => wire.warn(text)
    const onProgress = increasing(options.onProgress, warn)
    const params = options.relay === undefined ? await this.#extended(method, given) : given
    const scope = this.#scope(method, params, options)
    const { revision } = era.facts
    const send = async (more: JsonObject): Promise<Sent> => {
      const declared = answers.now
      const out = this.#outgoing(method, params, more, scope, options, onProgress, span && { span })
      return { ...(await this.#sendTool(out)), answers: declared }
    }
    try {
      scope.signal.throwIfAborted()
      if (options.relay !== undefined) return { result: (await send({})).result, rounds: 0 }
      return await untilComplete({
        method,
        params,
        version: revision,
        scope,
        span,
        maxRounds,
        maxQuestions,
        resume: options.resume && this.#resumed(options.resume, method),
        onRound: options.onRound && guarded(options.onRound, 'onRound', warn),
        onClosed: (hear) => wire.onClosed(hear),
        onAnswered: options.onAnswered && guarded(options.onAnswered, 'onAnswered', warn),
        send,
        typeOf: (result) => this.#typeOf(result, method),
        extended: finish
          ? (resultType, result) => finish(resultType, result)
          : (resultType, result, id) => {
              const finisher = this.#finisher(resultType)
              const call = this.#callOf(method, params, { scope, id, span, onProgress })
              return finisher && this.#finished(finisher(result, call), id, onProgress)
            },
      })
    } catch (error) {
      answers.visits.beginAll(error)
      throw error
    } finally {
      scope.close()
    }
  }

  #scope(method: string, params: JsonObject, options: CallOptions): CallDeadline {
    const { timeoutMs, maxTotalMs } = this.#options
    const subject = params['name'] ?? params['uri']
    return new CallDeadline({
      what: typeof subject === 'string' ? `${method} "${subject}"` : method,
      signal: options.signal,
      idleMs: options.timeoutMs ?? timeoutMs,
      totalMs: options.maxTotalMs ?? maxTotalMs,
    })
  }

  #outgoing(
    method: string,
    params: JsonObject,
    more: JsonObject,
    scope: CallDeadline,
    options: Omit<CallOptions, 'onProgress'>,
    onProgress: OnProgress | false | undefined,
    trace: Pick<OutgoingRequest, 'span' | 'parent'> = {},
  ): OutgoingRequest {
    const { wire, era } = this.#options
    const warn = (text: string): void => wire.warn(text)
    const row = rows.get(method)
    const meta: JsonObject = {
      ...(isObject(params['_meta']) ? params['_meta'] : {}),
      ...options.meta,
      ...era.envelope(options),
    }
    const all: JsonObject = { ...params, ...more, _meta: meta }
    if (Object.keys(meta).length === 0) delete all['_meta']
    const headers = row === undefined ? this.#nameHeader(method, params) : undefined
    return {
      method,
      params: all,
      scope,
      repeatable: options.repeatable === true,
      ...(headers && { headers }),
      progress: onProgress !== false && (onProgress !== undefined || row === undefined || row.asks === true),
      ...(onProgress && { onProgress }),
      ...(options.onLog && { onLog: guarded(options.onLog, 'onLog', warn) }),
      ...(options.relay && { relay: options.relay }),
      ...trace,
    }
  }

  /** Adds a tool's headers; when the server finds them wrong, learns the tool anew and tries once more. */
  async #sendTool(out: OutgoingRequest): Promise<ReceivedResult> {
    if (out.method !== 'tools/call') return this.#sendAgain(out)
    const { tools, wire, relist } = this.#options
    const { name, arguments: args } = out.params
    const headers = tools.headers(name, args)
    try {
      return await this.#sendAgain({ ...out, headers })
    } catch (error) {
      const mismatch = error instanceof RpcError && error.code === ErrorCode.HeaderMismatch
      if (!mismatch || !wire.link.hasHeaders) throw error
      await relist()
      return this.#sendAgain({ ...out, headers: tools.headers(name, args) })
    }
  }

  #sendAgain(out: OutgoingRequest): Promise<ReceivedResult> {
    const { wire, era } = this.#options
    return sendWithRetry(out, wire, (one) => era.send(one))
  }

  /** The params with what extensions add to them. */
  async #extended(method: string, given: JsonObject): Promise<JsonObject> {
    let params = given
    for (const extension of this.#options.extensions) {
      if (extension.params === undefined) continue
      const { name } = params
      const tool = async (): Promise<Tool | undefined> =>
        method === 'tools/call' && typeof name === 'string' ? this.tool(name) : undefined
      params = (await extension.params({ method, params, server: this.#options.era.facts, tool })) ?? params
    }
    return params
  }

  #typeOf(result: JsonObject, method: string): string {
    const { extensions, era } = this.#options
    for (const extension of extensions) {
      const type = extension.resultType?.(result, { method, server: era.facts })
      if (type !== undefined) return type
    }
    return 'complete'
  }

  /** What an extension makes of a result; progress under the token of its request is taken until then. */
  async #finished(
    result: Promise<JsonObject>,
    id: RequestId,
    onProgress: OnProgress | undefined,
  ): Promise<JsonObject> {
    const release = onProgress && this.#options.wire.keepProgress(id, onProgress)
    try {
      return await result
    } finally {
      release?.()
    }
  }

  #callOf(method: string, params: JsonObject, { scope, id, span, onProgress }: CallParts): ExtensionCall {
    const { era, answers, timeoutMs, maxQuestions } = this.#options
    const { revision: version } = era.facts
    let last = id
    const send = (
      name: string,
      more: JsonObject,
      scope: CallDeadline,
      onProgress?: OnProgress | false,
    ): Promise<ReceivedResult> =>
      this.#sendAgain(this.#outgoing(name, more, {}, scope, {}, onProgress, span && { parent: span }))
    return {
      method,
      params,
      server: era.facts,
      signal: scope.signal,
      ...(onProgress && { onProgress }),
      request: async (name, more, taking) => {
        const answered = await send(name, more, scope, taking)
        last = answered.id
        return answered.result
      },
      apart: async (name, more) => {
        const own = new CallDeadline({ what: name, idleMs: timeoutMs, totalMs: timeoutMs })
        try {
          return (await send(name, more, own)).result
        } finally {
          own.close()
        }
      },
      answer: (questions) =>
        answerAll(questions, last, {
          scope,
          method,
          params,
          answers: answers.now,
          version,
          span,
          maxQuestions,
        }),
      maxQuestions,
      touch: () => scope.touch(),
      wait: (ms) => wait(ms, scope.signal),
    }
  }

  #finisher(resultType: string): NonNullable<ClientExtension['results']>[string] | undefined {
    for (const { results } of this.#options.extensions) {
      if (results !== undefined && Object.hasOwn(results, resultType)) return results[resultType]
    }
    return undefined
  }

  /** Extensions' methods say by themselves which param their `Mcp-Name` header mirrors. */
  #nameHeader(method: string, params: JsonObject): Readonly<Record<string, string>> | undefined {
    if (!this.#options.wire.link.hasHeaders) return undefined
    for (const { named } of this.#options.extensions) {
      const value =
        named !== undefined && Object.hasOwn(named, method) ? params[named[method] ?? ''] : undefined
      if (typeof value === 'string') return { 'mcp-name': encodeHeaderValue(value) }
    }
    return undefined
  }

  #resumed({ answers: given, ...round }: NonNullable<CallOptions['resume']>, method: string): Resumed {
    const { era, answers } = this.#options
    const { revision } = era.facts
    if (era.facts.era === 'session') {
      throw new McpError(
        'INVALID',
        `Revision ${revision}, which this server speaks, has no rounds to take up`,
      )
    }
    if (methodRow(method, revision)?.asks !== true) {
      throw new McpError('INVALID', `Servers do not ask back on ${method}, so there is no round to take up`)
    }
    return { round, answers: given === undefined ? answers.now : answers.apart(given) }
  }

  #mayCall(method: string): void {
    const { revision, capabilities } = this.#options.era.facts
    const why = reserved.get(method)
    if (why !== undefined) throw new McpError('INVALID', `${method} is not sent with request: ${why}`)
    const row = rows.get(method)
    if (row === undefined) return
    if (methodRow(method, revision) === undefined) {
      throw new McpError('CAPABILITY', `Revision ${revision}, which this server speaks, has no ${method}`)
    }
    // The capability for completions came a revision later than the method.
    if (row.capability === 'completions' && revision === '2024-11-05') return
    if (row.capability !== undefined && capabilities[row.capability] === undefined) {
      throw new McpError(
        'CAPABILITY',
        `The server offers no ${row.capability}: it did not declare that capability, so ${method} was not sent`,
      )
    }
    if (method.endsWith('subscribe') && capabilities.resources?.subscribe !== true) {
      throw new McpError('CAPABILITY', 'The server does not let resources be subscribed to')
    }
  }
}
