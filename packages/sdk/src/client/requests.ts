import { ErrorCode, invalid, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { orAborted } from '../jsonrpc/promises.ts'
import type { Tool } from '../protocol/definitions.ts'
import { encodeHeaderValue } from '../protocol/headers.ts'
import { metaOf } from '../protocol/meta.ts'
import { methodRow, rowOf } from '../protocol/methods.ts'
import { supports } from '../protocol/revision.ts'
import { wait } from '../transports/client/retry-backoff.ts'
import { CallDeadline, withDeadline } from './call-deadline.ts'
import type { ClientConnection, EraClient, OutgoingRequest, ReceivedResult } from './client-connection.ts'
import type { ClientExtension, ExtensionCall } from './extension.ts'
import { type ClientHandlers, guardCallback, type HandlerRegistry, notDeclared } from './handlers.ts'
import { sendWithRetry } from './retry.ts'
import { type TelemetrySpan, withSpan } from './telemetry.ts'
import type { ToolDefinitions } from './tool-definitions.ts'
import type { CallOptions, Round } from './types.ts'

interface RequestsOptions {
  readonly connection: ClientConnection
  readonly era: EraClient
  readonly handlers: HandlerRegistry
  readonly tools: ToolDefinitions
  readonly timeoutMs: number
  readonly maxTotalMs: number
  readonly maxRounds: number
  readonly maxQuestions: number
  readonly extensions: readonly ClientExtension[]
  /** Lists the tools again, bypassing the cache. */
  readonly refreshTools: () => Promise<void>
}

interface Completed {
  readonly result: JsonObject
  /** How often the server requested input. */
  readonly rounds: number
}

type OnProgress = NonNullable<CallOptions['onProgress']>

interface Call {
  readonly method: string
  readonly params: JsonObject
  readonly deadline: CallDeadline
  readonly span?: TelemetrySpan | undefined
  readonly onProgress: OnProgress | undefined
}

/** Turns a result of a type other than `complete` and `input_required` into a complete one; undefined for an unknown type. */
type Finish = (
  call: Call,
  resultType: string,
  result: JsonObject,
  id: RequestId,
) => Promise<JsonObject> | undefined

/** In place of the id of a request that was not sent by this connection, whose own ids start at 1. */
const noRequestId: RequestId = 0
const firstPauseMs = 100
const maxPauseMs = 5_000

const unsendableMethods = new Map([
  ['initialize', 'connect sends it'],
  ['subscriptions/listen', 'use watch'],
])

/** Sends calls: checks capabilities, applies deadlines, answers requests for input, retries where that is safe. */
export class Requests {
  readonly #options: RequestsOptions
  readonly #warn: (text: string) => void

  constructor(options: RequestsOptions) {
    this.#options = options
    this.#warn = (text) => options.connection.warn(text)
  }

  /** Sends a request and returns its complete result. */
  async perform(
    method: string,
    given: JsonObject,
    options: CallOptions,
    finish: Finish = (...args) => this.#finishByExtension(...args),
  ): Promise<Completed> {
    const { connection, era } = this.#options
    this.#assertAllowed(method)
    const span = connection.startSpan(method, given, undefined, era.facts.revision)
    const run = async (): Promise<Completed> => {
      const onProgress = increasingOnly(options.onProgress, this.#warn)
      const params = options.relay === undefined ? await this.#extendParams(method, given) : given
      const deadline = this.#deadlineFor(method, params, options)
      const call: Call = { method, params, deadline, span, onProgress }
      try {
        deadline.signal.throwIfAborted()
        if (options.relay === undefined) return await this.#untilComplete(call, options, finish)
        return { result: (await this.#send(call, {}, options)).result, rounds: 0 }
      } catch (error) {
        this.#options.handlers.pendingElicitations.addFromError(error)
        throw error
      } finally {
        deadline.close()
      }
    }
    return span === undefined ? run() : withSpan(span, run, ({ result }) => result)
  }

  /** The first result that is not a request for input, with its type, before any extension completes it. */
  async performUnfinished(
    method: string,
    given: JsonObject,
    options: CallOptions,
  ): Promise<{ resultType: string; result: JsonObject }> {
    let resultType = 'complete'
    const { result } = await this.perform(method, given, options, async (_call, type, unfinished) => {
      resultType = type
      return unfinished
    })
    return { resultType, result }
  }

  /** Runs an extension's work as one call. */
  async runAsCall<T>(
    method: string,
    params: JsonObject,
    options: CallOptions,
    run: (call: ExtensionCall) => Promise<T>,
  ): Promise<T> {
    const deadline = this.#deadlineFor(method, params, options)
    try {
      deadline.signal.throwIfAborted()
      const onProgress = increasingOnly(options.onProgress, this.#warn)
      return await run(this.#extensionCall({ method, params, deadline, onProgress }, noRequestId))
    } finally {
      deadline.close()
    }
  }

  /** The listed tool of this name; lists the tools first if none is known. */
  async tool(name: string): Promise<Tool | undefined> {
    const { tools, refreshTools } = this.#options
    if (tools.isEmpty) await refreshTools()
    return tools.tool(name)
  }

  /** Sends a request, answers requests for input and repeats it with the responses until the result is complete. */
  async #untilComplete(call: Call, options: CallOptions, finish: Finish): Promise<Completed> {
    const { method, deadline } = call
    const { era, handlers, maxRounds } = this.#options
    const { resume } = options
    const onRound = options.onRound && guardCallback(options.onRound, 'onRound', this.#warn)
    const onAnswered = options.onAnswered && guardCallback(options.onAnswered, 'onAnswered', this.#warn)
    let retryParams: JsonObject = {}
    let roundsWithoutInput = 0
    const answer = async (round: Round, id: RequestId, using: ClientHandlers): Promise<void> => {
      const { inputRequests, requestState } = round
      retryParams =
        inputRequests === undefined
          ? {}
          : { inputResponses: await this.#respondAll(call, inputRequests, id, using, true) }
      if (requestState !== undefined) retryParams['requestState'] = requestState
      if (inputRequests !== undefined && Object.keys(inputRequests).length > 0) roundsWithoutInput = 0
      else await wait(Math.min(maxPauseMs, firstPauseMs * 2 ** roundsWithoutInput++), deadline.signal)
      onAnswered?.()
    }
    if (resume !== undefined) await answer(resume, noRequestId, this.#resumeHandlers(resume, method))
    for (let rounds = 0; ; rounds++) {
      deadline.touch()
      const declared = handlers.current
      const { id, result } = await this.#send(call, retryParams, options)
      const { resultType = this.#typeOf(result, method), ...rest } = result
      if (resultType === 'complete') return { result: rest, rounds }
      if (resultType !== 'input_required') {
        const finished = typeof resultType === 'string' ? finish(call, resultType, rest, id) : undefined
        if (finished !== undefined) return { result: await finished, rounds: rounds + 1 }
        throw protocolError(`The result of ${method} has the unknown type ${JSON.stringify(resultType)}`)
      }
      if (methodRow(method, era.facts.revision)?.asks !== true) {
        throw protocolError(`The server requested input for ${method}, which the protocol does not allow`)
      }
      if (rounds >= maxRounds) {
        throw new McpError(
          'TOO_MANY_ROUNDS',
          `The server requested input more than ${maxRounds} times for ${method}. Raise maxRounds of connect if the server needs more`,
        )
      }
      const round = readRound(rest, method)
      onRound?.(round)
      await answer(round, id, declared)
    }
  }

  #send(call: Call, more: JsonObject, options: CallOptions): Promise<ReceivedResult> {
    const { method, params, deadline, span, onProgress } = call
    return this.#sendTool(
      this.#outgoing(method, params, more, deadline, options, onProgress, span && { span }),
    )
  }

  /** Runs the handlers of all input requests in one result at once. */
  async #respondAll(
    { method, params, deadline, span }: Call,
    inputRequests: unknown,
    id: RequestId,
    using: ClientHandlers,
    endsWithConnection = false,
  ): Promise<JsonObject> {
    if (!isObject(inputRequests)) throw protocolError('"inputRequests" must be an object')
    const { connection, era, maxQuestions } = this.#options
    const entries = Object.entries(inputRequests)
    if (entries.length > maxQuestions) {
      throw new McpError(
        'LIMIT',
        `The server sent ${entries.length} input requests at once; the limit is ${maxQuestions}. ` +
          'Raise maxQuestions of connect if the server needs more',
      )
    }
    const stop = new AbortController()
    const signal = AbortSignal.any([deadline.signal, stop.signal])
    const resume = deadline.pause()
    const closed = new McpError('CONNECTION_CLOSED', 'The connection closed before the response was sent')
    const removeListener = endsWithConnection ? connection.onClosed(() => stop.abort(closed)) : undefined
    const context = { cause: { id, method, params }, signal }
    const respond = async ([key, value]: [string, unknown]): Promise<[string, JsonObject]> => {
      const request = readInputRequest(value, key, using)
      const { revision } = era.facts
      return [key, await using.handle(request.method, request.params, context, revision, span)]
    }
    try {
      return Object.fromEntries(await orAborted(Promise.all(entries.map(respond)), signal))
    } catch (error) {
      stop.abort(error)
      throw error
    } finally {
      removeListener?.()
      resume()
    }
  }

  #deadlineFor(method: string, params: JsonObject, options: CallOptions): CallDeadline {
    const { timeoutMs, maxTotalMs } = this.#options
    const subject = params['name'] ?? params['uri']
    return new CallDeadline({
      label: typeof subject === 'string' ? `${method} "${subject}"` : method,
      signal: options.signal,
      idleMs: options.timeoutMs ?? timeoutMs,
      totalMs: options.maxTotalMs ?? maxTotalMs,
    })
  }

  #outgoing(
    method: string,
    params: JsonObject,
    more: JsonObject,
    deadline: CallDeadline,
    options: Omit<CallOptions, 'onProgress'>,
    onProgress: OnProgress | false | undefined,
    trace: Pick<OutgoingRequest, 'span' | 'parent'> = {},
  ): OutgoingRequest {
    const { era } = this.#options
    const row = rowOf(method)
    const meta: JsonObject = { ...metaOf(params), ...options.meta, ...era.envelope(options) }
    const all: JsonObject = { ...params, ...more, _meta: meta }
    if (Object.keys(meta).length === 0) delete all['_meta']
    const headers = row === undefined ? this.#nameHeader(method, params) : undefined
    return {
      method,
      params: all,
      deadline,
      repeatable: options.repeatable === true,
      ...(headers && { headers }),
      progress: onProgress !== false && (onProgress !== undefined || row === undefined || row.asks === true),
      ...(onProgress && { onProgress }),
      ...(options.onLog && { onLog: guardCallback(options.onLog, 'onLog', this.#warn) }),
      ...(options.relay && { relay: options.relay }),
      ...trace,
    }
  }

  /** Adds a tool's headers; if the server rejects them, lists the tools again and retries once. */
  async #sendTool(outgoing: OutgoingRequest): Promise<ReceivedResult> {
    if (outgoing.method !== 'tools/call') return this.#sendWithRetry(outgoing)
    const { tools, connection, refreshTools } = this.#options
    const { name, arguments: args } = outgoing.params
    const headers = tools.headers(name, args)
    try {
      return await this.#sendWithRetry({ ...outgoing, headers })
    } catch (error) {
      const mismatch = error instanceof RpcError && error.code === ErrorCode.HeaderMismatch
      if (!mismatch || !connection.transport.hasHeaders) throw error
      await refreshTools()
      return this.#sendWithRetry({ ...outgoing, headers: tools.headers(name, args) })
    }
  }

  #sendWithRetry(outgoing: OutgoingRequest): Promise<ReceivedResult> {
    const { connection, era } = this.#options
    return sendWithRetry(outgoing, connection, (one) => era.send(one))
  }

  /** The params, with additions by extensions. */
  async #extendParams(method: string, given: JsonObject): Promise<JsonObject> {
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

  /** Has an extension complete a result; progress with the token of its request is reported until then. */
  #finishByExtension(
    call: Call,
    resultType: string,
    result: JsonObject,
    id: RequestId,
  ): Promise<JsonObject> | undefined {
    const { connection, extensions } = this.#options
    const owner = extensions.find(
      ({ results }) => results !== undefined && Object.hasOwn(results, resultType),
    )
    const finish = owner?.results?.[resultType]
    if (finish === undefined) return undefined
    const finished = finish(result, this.#extensionCall(call, id))
    const release = call.onProgress && connection.trackProgress(id, call.onProgress)
    return release === undefined ? finished : finished.finally(release)
  }

  #extensionCall(call: Call, id: RequestId): ExtensionCall {
    const { method, params, deadline, span, onProgress } = call
    const { era, handlers, timeoutMs, maxQuestions } = this.#options
    let last = id
    const send = (
      name: string,
      more: JsonObject,
      within: CallDeadline,
      report?: OnProgress | false,
    ): Promise<ReceivedResult> =>
      this.#sendWithRetry(this.#outgoing(name, more, {}, within, {}, report, span && { parent: span }))
    return {
      method,
      params,
      server: era.facts,
      signal: deadline.signal,
      ...(onProgress && { onProgress }),
      request: async (name, more, report) => {
        const received = await send(name, more, deadline, report)
        last = received.id
        return received.result
      },
      apart: (name, more) =>
        withDeadline(name, timeoutMs, undefined, async (own) => (await send(name, more, own)).result),
      answer: (inputRequests) => this.#respondAll(call, inputRequests, last, handlers.current),
      maxQuestions,
      touch: () => deadline.touch(),
      wait: (ms) => wait(ms, deadline.signal),
    }
  }

  /** The `Mcp-Name` header of an extension's method. */
  #nameHeader(method: string, params: JsonObject): Readonly<Record<string, string>> | undefined {
    if (!this.#options.connection.transport.hasHeaders) return undefined
    for (const { named } of this.#options.extensions) {
      const value =
        named !== undefined && Object.hasOwn(named, method) ? params[named[method] ?? ''] : undefined
      if (typeof value === 'string') return { 'mcp-name': encodeHeaderValue(value) }
    }
    return undefined
  }

  #resumeHandlers({ answers }: NonNullable<CallOptions['resume']>, method: string): ClientHandlers {
    const { era, handlers } = this.#options
    const { revision } = era.facts
    if (era.facts.era === 'session') {
      throw invalid(`Revision ${revision}, which this server speaks, cannot resume calls`)
    }
    if (methodRow(method, revision)?.asks !== true) {
      throw invalid(`${method} never requests input, so it cannot be resumed`)
    }
    return answers === undefined ? handlers.current : handlers.withHandlers(answers)
  }

  #assertAllowed(method: string): void {
    const { revision, capabilities } = this.#options.era.facts
    const reason = unsendableMethods.get(method)
    if (reason !== undefined) throw invalid(`${method} is not sent with request: ${reason}`)
    const row = rowOf(method)
    if (row === undefined) return
    if (methodRow(method, revision) === undefined) {
      throw new McpError('CAPABILITY', `Revision ${revision}, which this server speaks, has no ${method}`)
    }
    // The capability for completions came a revision later than the method.
    if (row.capability === 'completions' && !supports(revision, 'completionsCapability')) return
    if (row.capability !== undefined && capabilities[row.capability] === undefined) {
      throw new McpError(
        'CAPABILITY',
        `The server offers no ${row.capability}: it did not declare that capability, so ${method} was not sent`,
      )
    }
    if (method.endsWith('subscribe') && capabilities.resources?.subscribe !== true) {
      throw new McpError(
        'CAPABILITY',
        'The server does not support subscriptions: it did not declare "resources.subscribe"',
      )
    }
  }
}

/** A listener that ignores progress that does not increase, across all requests of a call. */
function increasingOnly(
  onProgress: CallOptions['onProgress'],
  warn: (text: string) => void,
): OnProgress | undefined {
  if (onProgress === undefined) return undefined
  const report = guardCallback(onProgress, 'onProgress', warn)
  let last = Number.NEGATIVE_INFINITY
  return (progress) => {
    if (!(progress.progress > last)) return
    last = progress.progress
    report(progress)
  }
}

function readRound({ inputRequests, requestState }: JsonObject, method: string): Round {
  if (inputRequests === undefined && requestState === undefined) {
    throw protocolError(
      `The server requested input for ${method} with no "inputRequests" and no "requestState"`,
    )
  }
  if (requestState !== undefined && typeof requestState !== 'string') {
    throw protocolError('"requestState" must be a string')
  }
  if (inputRequests !== undefined && !isObject(inputRequests))
    throw protocolError('"inputRequests" must be an object')
  return {
    ...(inputRequests !== undefined && { inputRequests }),
    ...(requestState !== undefined && { requestState }),
  }
}

function readInputRequest(value: unknown, key: string, handlers: ClientHandlers) {
  if (!isObject(value) || typeof value['method'] !== 'string') {
    throw protocolError(`The input request "${key}" is not a request`)
  }
  const { method, params = {} } = value
  if (!isObject(params)) throw protocolError(`The params of the input request "${key}" must be an object`)
  if (!handlers.canHandle(method)) {
    throw new McpError('CAPABILITY', notDeclared(method))
  }
  return { method, params }
}

function protocolError(reason: string): McpError {
  return new McpError('PROTOCOL', reason)
}
