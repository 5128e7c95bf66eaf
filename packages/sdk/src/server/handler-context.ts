import { ErrorCode, internalError, invalid, RpcError, readableError } from '../jsonrpc/error.ts'
import { readJson } from '../jsonrpc/exact-json.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import { isAtLeast, loggingLevels, MetaKey, metaOf, type ProgressToken } from '../protocol/meta.ts'
import type { ServerNotifications } from '../protocol/methods.ts'
import type { Root } from '../protocol/server-requests.ts'
import type { Change } from '../request/changes.ts'
import {
  type Carried,
  type Exchange,
  type HandlerRun,
  InputRequired,
  type Outcome,
  type Peer,
} from '../request/exchange.ts'
import { canAsk, type InputKind } from '../request/input-support.ts'
import { defined } from '../request/object-members.ts'
import type { Context, ElicitContent, Elicited, ElicitForm, FormSchema, RequestTransport } from './context.ts'
import { ToolError } from './definitions.ts'
import { formOf } from './form.ts'
import { describedOf, validate } from './schema.ts'

/** A handler run that is created for the first input request or step, because most handlers have none. */
export interface LazyHandlerRun {
  /** Begins the handler run unless it was begun. */
  get(): HandlerRun
  /** The handler run if it was begun. */
  readonly opened: HandlerRun | undefined
  /** State and answers of the explicit form (`inputRequired`) from the run before. */
  readonly carried: Carried
  /** Ends the run with an error; what the handler returns later is ignored. */
  fail(error: unknown): void
}

/** The handler run of a request that cannot request input. */
export function withoutQuestions(what: string): LazyHandlerRun {
  return {
    get(): never {
      throw new TypeError(
        `${what} cannot ask the client: the protocol allows questions for calls, reads and prompts only`,
      )
    },
    fail: () => {},
    opened: undefined,
    carried: nothingCarried,
  }
}

/**
 * The context of one run. Its functions can be destructured. They are created by getters: closures that are properties of an
 * object per request keep the previous request in memory (`test/weight/young.test.ts`).
 */
export class HandlerContext implements Context {
  readonly #exchange: Exchange
  readonly #handlerRun: LazyHandlerRun
  readonly #notifications: LazyNotifications

  /** @param notifications those of the request, shared by all runs, because the rate is limited per request */
  constructor(exchange: Exchange, handlerRun: LazyHandlerRun, notifications: LazyNotifications) {
    this.#exchange = exchange
    this.#handlerRun = handlerRun
    this.#notifications = notifications
  }

  get peer(): Peer {
    return this.#exchange.peer
  }

  get signal(): AbortSignal {
    return this.#exchange.signal
  }

  get parked(): AbortSignal {
    return this.#handlerRun.get().parked
  }

  get transport(): RequestTransport {
    const { transport: kind, session, headers } = this.#exchange
    return { kind, sessionId: session?.id, headers: headers?.() ?? {} }
  }

  get meta(): Readonly<JsonObject> {
    return metaOf(this.#exchange.params)
  }

  get state(): unknown {
    return this.#handlerRun.carried.state
  }

  get answers(): Readonly<Record<string, unknown>> {
    return this.#handlerRun.carried.answers
  }

  get can(): (kind: InputKind) => boolean {
    return (kind) => canAsk(this.peer, kind)
  }

  get elicit(): Context['elicit'] {
    return (form) => this.#elicit(form)
  }

  get elicitUrl(): Context['elicitUrl'] {
    return async ({ message, url, key, id }) => {
      const named = id === undefined ? {} : { elicitationId: id }
      const params = { mode: 'url' as const, message, url, ...named }
      const { action } = await this.#handlerRun.get().ask({ method: 'elicitation/create', params }, key)
      return { action }
    }
  }

  get sample(): Context['sample'] {
    return async ({ key, ...params }) =>
      this.#handlerRun.get().ask({ method: 'sampling/createMessage', params }, key)
  }

  get roots(): Context['roots'] {
    return (options) => {
      const roots = this.#requestRoots(options?.key)
      // A handler may end without awaiting them; their failure is then no unhandled rejection.
      roots.catch(() => {})
      return roots
    }
  }

  async #requestRoots(key: string | undefined): Promise<Root[]> {
    try {
      const { roots } = await this.#handlerRun.get().ask({ method: 'roots/list', params: {} }, key)
      return roots
    } catch (error) {
      // As for other input on a session, the message is the result of a tool that does not catch the error.
      const { method, inputStrategy } = this.#exchange
      const isResult = method === 'tools/call' && inputStrategy.relay !== undefined
      throw isResult && error instanceof RpcError ? new ToolError(error.message, { cause: error }) : error
    }
  }

  get step(): Context['step'] {
    return (name, work) => this.#handlerRun.get().step(name, work)
  }

  get task(): Context['task'] {
    return async () => {
      if (this.#exchange.takeOver !== undefined) await this.#handlerRun.get().continueAsTask()
    }
  }

  get progress(): Context['progress'] {
    return (progress, total, message) => {
      if (this.#replaying) return
      this.#progressAndLogs?.progress({ progress, ...defined({ total, message }) })
    }
  }

  get log(): Context['log'] {
    return (level, data, logger) => {
      if (!this.#replaying) this.#progressAndLogs?.log(level, data, logger)
    }
  }

  get detach(): () => void {
    return () => this.#exchange.detach?.()
  }

  get #progressAndLogs(): ProgressAndLogs | undefined {
    if (!this.#notifications.isOver)
      this.#notifications.progressAndLogs ??= new ProgressAndLogs(this.#exchange)
    return this.#notifications.isOver ? undefined : this.#notifications.progressAndLogs
  }

  get #replaying(): boolean {
    return this.#handlerRun.opened?.replaying ?? false
  }

  async #elicit<S extends FormSchema>(question: ElicitForm<S>): Promise<Elicited<ElicitContent<S>>> {
    const { message, schema, key } = question
    const form = formOf(schema, question)
    if (!form.ok) return this.#end(new TypeError(form.reason))
    const params = { mode: 'form' as const, message, requestedSchema: form.schema }
    const { action, content = {} } = await this.#handlerRun
      .get()
      .ask({ method: 'elicitation/create', params }, key)
    if (action !== 'accept') return { action }
    const described = describedOf(schema)
    const checked =
      described === undefined ? { ok: true as const, value: content } : await validate(described, content)
    if (!checked.ok) return this.#end(new ToolError(`The answer cannot be used: ${checked.reason}`))
    // The content was validated against the schema that its type is inferred from.
    return { action, content: checked.value as ElicitContent<S> }
  }

  /** Ends the run. The promise never settles, so that the handler does not continue. */
  #end(error: Error): Promise<never> {
    this.#handlerRun.fail(error)
    return new Promise(() => {})
  }
}

const burst = 100
const perSecond = 20

type Progress = Omit<ServerNotifications['notifications/progress'], 'progressToken'>

/** The progress and log notifications of one request. Created on first use, because most requests have none. */
export interface LazyNotifications {
  progressAndLogs: ProgressAndLogs | undefined
  /** Whether the request has ended, so that nothing more is sent. */
  isOver: boolean
}

/** Progress and log notifications of one request: rate-limited; progress only increases, and its newest value is always sent. */
export class ProgressAndLogs {
  readonly #exchange: Exchange
  #last = Number.NEGATIVE_INFINITY
  #tokens = burst
  #refilled = 0
  #delayed: Progress | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #dropped = 0
  #closed = false

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  progress(report: Progress): void {
    const { progress } = report
    if (this.#closed || this.#token === undefined || !(progress > this.#last)) return
    // JSON has no Infinity and no NaN.
    if (!Number.isFinite(progress)) return
    this.#last = progress
    if (this.#timer === undefined && this.#takeToken()) {
      this.#send(report)
      return
    }
    this.#delayed = report
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      if (this.#delayed !== undefined && !this.#closed) this.#send(this.#delayed)
    }, 1000 / perSecond)
  }

  log(level: LoggingLevel, data: unknown, logger: string | undefined): void {
    if (this.#closed || !isAtLeast(level, this.#exchange.peer.logLevel)) return
    if (!this.#takeToken()) {
      this.#dropped++
      return
    }
    const params = { level, ...(logger === undefined ? {} : { logger }), data: loggable(data) }
    this.#exchange.notify({ method: 'notifications/message', params })
  }

  /** Sends delayed progress, and ignores everything from then on. */
  close(): void {
    clearTimeout(this.#timer)
    if (this.#delayed !== undefined) this.#send(this.#delayed)
    const wanted = this.#exchange.peer.logLevel
    if (this.#dropped > 0 && wanted !== undefined) {
      const level = isAtLeast('warning', wanted) ? 'warning' : wanted
      const data = `${this.#dropped} log messages were left out: at most ${perSecond} a second are sent`
      this.#exchange.notify({ method: 'notifications/message', params: { level, data } })
    }
    this.#closed = true
  }

  #send(report: Progress): void {
    this.#delayed = undefined
    const progressToken = this.#token
    if (progressToken === undefined) return
    const { total, ...rest } = report
    const known = total !== undefined && Number.isFinite(total) ? { total } : {}
    this.#exchange.notify({ method: 'notifications/progress', params: { progressToken, ...rest, ...known } })
  }

  get #token(): ProgressToken | undefined {
    const token = metaOf(this.#exchange.params)[MetaKey.progressToken]
    return typeof token === 'string' || (typeof token === 'number' && Number.isSafeInteger(token))
      ? token
      : undefined
  }

  #takeToken(): boolean {
    const now = performance.now()
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilled) * perSecond) / 1000)
    this.#refilled = now
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }
}

/**
 * A log message outside of a request, with a copy of its data.
 * @throws McpError 'INVALID' for an unknown level
 */
export function logOf(level: LoggingLevel, data: unknown, logger: string | undefined): Change {
  if (!loggingLevels.includes(level)) {
    throw invalid(`There is no log level ${JSON.stringify(level)}: use one of ${loggingLevels.join(', ')}`)
  }
  return { type: 'log', level, data: readJson(JSON.stringify(loggable(data))), logger }
}

/** The data, or a text for what JSON cannot represent. */
function loggable(data: unknown): unknown {
  if (data instanceof Error) return `${data.name}: ${data.message}`
  try {
    return JSON.stringify(data) === undefined ? String(data) : data
  } catch {
    return String(data)
  }
}

/**
 * Runs a handler until there is an outcome, with a new context for each run.
 * @param finish converts the handler's return value to the complete result
 */
export function runHandler(
  exchange: Exchange,
  handler: (ctx: Context) => unknown,
  finish: (returned: unknown) => JsonObject | Promise<JsonObject>,
): Promise<Outcome> {
  const notifications: LazyNotifications = { progressAndLogs: undefined, isOver: false }
  return runToOutcome<unknown>(
    exchange,
    (handlerRun) => handler(new HandlerContext(exchange, handlerRun, notifications)),
    finish,
    notifications,
  )
}

const nothingCarried: Carried = { state: undefined, answers: {} }

/**
 * Runs a handler, as often as its input strategy needs, until there is an outcome. The handler's return races
 * `HandlerRun.ended`: where a question ends the run, what the handler still returns is ignored.
 * @param finish converts the handler's return value to the complete result
 * @param notifications ended before the outcome is returned
 */
export async function runToOutcome<T>(
  exchange: Exchange,
  run: (handlerRun: LazyHandlerRun) => T | InputRequired | Promise<T | InputRequired>,
  finish: (value: T) => JsonObject | Promise<JsonObject>,
  notifications: LazyNotifications = { progressAndLogs: undefined, isOver: false },
): Promise<Outcome> {
  const { params, inputStrategy, limits } = exchange
  try {
    const isRetry = params['requestState'] !== undefined || params['inputResponses'] !== undefined
    let handlerRun = isRetry ? await inputStrategy.resume(exchange) : undefined
    let carried = handlerRun?.carried ?? nothingCarried
    for (let count = 1; ; count++) {
      // An aborted signal emits no further `abort` event, so a handler that waits for it would never end.
      if (exchange.signal.aborted) {
        throw internalError('The request was cancelled before its handler ran')
      }
      const lazy = new HandlerRunOnDemand(exchange, handlerRun, carried)
      const returned = run(lazy)
      // A synchronous handler without input requests cannot end early.
      const end = lazy.isUsed || isThenable(returned) ? await lazy.race(returned) : returned
      if (end instanceof EndedEarly) return end.outcome
      if (!(end instanceof InputRequired)) {
        const result = finish(end)
        return { type: 'complete', result: result instanceof Promise ? await result : result }
      }
      handlerRun = lazy.get()
      const next = await Promise.race([handlerRun.require(end), handlerRun.ended])
      if ('type' in next) return next
      if (count >= limits.questions) {
        throw new Error(`A handler asked for input ${limits.questions} times without finishing`)
      }
      carried = next
    }
  } catch (error) {
    throw readableError(error)
  } finally {
    notifications.isOver = true
    notifications.progressAndLogs?.close()
  }
}

/** The handler run ended before its handler returned. */
class EndedEarly {
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    this.outcome = outcome
  }
}

class HandlerRunOnDemand implements LazyHandlerRun {
  readonly carried: Carried
  opened: HandlerRun | undefined
  /** Whether the run was begun or failed. */
  isUsed: boolean
  readonly #exchange: Exchange
  #failure: { readonly error: unknown } | undefined
  #settle: { resolve(end: EndedEarly): void; reject(error: unknown): void } | undefined

  constructor(exchange: Exchange, handlerRun: HandlerRun | undefined, carried: Carried) {
    this.#exchange = exchange
    this.opened = handlerRun
    this.isUsed = handlerRun !== undefined
    this.carried = carried
  }

  get(): HandlerRun {
    if (this.opened === undefined) {
      this.isUsed = true
      this.opened = this.#exchange.inputStrategy.begin(this.#exchange)
      this.#follow()
    }
    return this.opened
  }

  fail(error: unknown): void {
    this.isUsed = true
    this.#failure ??= { error }
    this.#settle?.reject(error)
  }

  /** Waits until the handler returns, or the handler run ends. */
  race<T>(returned: T | Promise<T>): Promise<T | EndedEarly> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      if (this.#failure !== undefined) reject(this.#failure.error)
      this.#follow()
      Promise.resolve(returned).then(resolve, reject)
    })
  }

  #follow(): void {
    const settle = this.#settle
    if (settle === undefined) return
    this.opened?.ended.then((outcome) => settle.resolve(new EndedEarly(outcome)), settle.reject)
  }
}

function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** Rethrows an error; the message of a `ToolError` outside of tools becomes that of a JSON-RPC error with this code. */
export function rethrowForPeer(error: unknown, code: number = ErrorCode.InvalidParams): never {
  throw error instanceof ToolError ? new RpcError(code, error.message) : error
}
