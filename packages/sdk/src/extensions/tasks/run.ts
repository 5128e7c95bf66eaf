import { utf8 } from '../../jsonrpc/bytes.ts'
import { ErrorCode, invalid, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { MetaKey, metaOf } from '../../protocol/meta.ts'
import type { ServerNotification } from '../../protocol/methods.ts'
import type { Exchange, HandlerRun, Outcome } from '../../request/exchange.ts'
import type { RequestLimits } from '../../request/limits.ts'
import { defined } from '../../request/object-members.ts'
import { ReplayHandlerRun } from '../../request/replay.ts'
import type { Journal, StateCodec } from '../../request/state.ts'
import type { Server } from '../../server/server.ts'
import { unref } from '../../transports/server/options.ts'
import {
  bodyOf,
  completed,
  failed,
  peerOf,
  type TaskEdit,
  type TaskProgress,
  type TaskRecord,
  withQuestions,
} from './record.ts'

/** Runs a request's handler. */
export type Serve = (exchange: Exchange) => Promise<Outcome>

interface RunParts {
  readonly server: Server
  /** Bypasses middleware: it ran when the request became a task. */
  readonly serve: Serve
  readonly maxTaskBytes: number
  /** Times the handler may ask to be repeated. */
  readonly maxRetries: number
  /** Limits of the task's own requests; it outlives the request that created it. */
  readonly limits: RequestLimits
  /** Changes the task; undefined if this run no longer holds it. */
  save(edit: (record: TaskRecord) => TaskEdit): Promise<TaskRecord | undefined>
  onNotification(notification: ServerNotification): void
}

const progressSaveMs = 250

/** Runs one task in this process until it ends, waits for input or is taken over. */
export class TaskRun {
  /** Resolves when the handler has ended. Rejects if its outcome could not be saved. */
  readonly done: Promise<void>
  readonly #parts: RunParts
  readonly #controller = new AbortController()
  #journal: Journal | undefined
  #progress: TaskProgress | undefined
  #progressTimer: ReturnType<typeof setTimeout> | undefined

  constructor(record: TaskRecord, parts: RunParts) {
    this.#parts = parts
    this.done = this.#work(record)
  }

  /** Aborts the handler; its result is ignored. */
  stop(reason: McpError): void {
    this.#controller.abort(reason)
    clearTimeout(this.#progressTimer)
  }

  async #work(first: TaskRecord): Promise<void> {
    let record: TaskRecord | undefined = first
    while (record?.running && record.holder === first.holder) {
      const settle = await this.#runHandler(record)
      clearTimeout(this.#progressTimer)
      this.#progressTimer = undefined
      record = this.#isStopped
        ? undefined
        : await this.#parts.save((current) =>
            this.#limitSize(current, settle({ ...current, ...this.#newProgress(current) })),
          )
    }
  }

  get #isStopped(): boolean {
    return this.#controller.signal.aborted
  }

  /** Runs the handler once and returns the resulting change of the task. */
  async #runHandler(record: TaskRecord): Promise<(current: TaskRecord) => TaskEdit> {
    const { server, serve, limits } = this.#parts
    try {
      if (record.journal.round > limits.questions) {
        throw new Error(`A handler asked for input ${limits.questions} times without finishing`)
      }
      return this.#settle(await serve(this.#exchange(record)))
    } catch (error) {
      if (error instanceof RetryLater) return (current) => this.#repeated(current, error)
      if (error instanceof RpcError) return (current) => failed(current, error.toObject())
      if (!this.#isStopped) server.report(error, { method: 'tools/call', ...toolName(record) })
      return (current) => failed(current, { code: ErrorCode.InternalError, message: 'Internal error' })
    }
  }

  #settle(outcome: Outcome): (current: TaskRecord) => TaskRecord {
    const journal = this.#journal
    if (outcome.type === 'complete') return (current) => completed(current, outcome.result)
    if (outcome.type === 'input_required' && journal !== undefined) {
      return (current) => withQuestions(current, outcome.requests, journal)
    }
    throw new TypeError(`A task cannot end with a result of the type "${outcome.type}"`)
  }

  /** The task without a holder, for any process to claim after a while. */
  #repeated(current: TaskRecord, { delayMs, message }: RetryLater): TaskEdit {
    const { maxRetries } = this.#parts
    const retries = (current.retries ?? 0) + 1
    if (retries <= maxRetries) return { ...current, retries, holder: '', holdMs: delayMs }
    return failed(current, {
      code: ErrorCode.InternalError,
      message: `The task was repeated ${maxRetries} times without success. ${message}`,
    })
  }

  #limitSize(current: TaskRecord, next: TaskEdit): TaskEdit {
    if (this.#fits(next)) return next
    const { server, maxTaskBytes } = this.#parts
    const reason = `the task exceeds ${maxTaskBytes} bytes, the most this server stores for one`
    server.report(new McpError('LIMIT', reason), { method: 'tools/call', ...toolName(current) })
    return next.status === 'completed'
      ? completed(current, {
          content: [{ type: 'text', text: `There is no result: ${reason}.` }],
          isError: true,
        })
      : failed(current, { code: ErrorCode.InternalError, message: `The task failed: ${reason}` })
  }

  #fits(record: TaskRecord): boolean {
    return utf8(bodyOf(record)).length <= this.#parts.maxTaskBytes
  }

  #exchange(record: TaskRecord): Exchange {
    const begin = (exchange: Exchange): HandlerRun =>
      new ReplayHandlerRun(exchange, this.#stateCodec, record.journal, record.answers)
    return {
      id: record.id,
      method: 'tools/call',
      params: {
        ...record.params,
        // Without a token there is no progress, which is the source of the task's status message.
        _meta: { [MetaKey.progressToken]: record.id, ...metaOf(record.params) },
        inputResponses: record.answers,
      },
      peer: peerOf(record),
      signal: this.#controller.signal,
      // Questions are stored with the task; its handler runs again once all are answered.
      inputStrategy: { begin, resume: async (exchange) => begin(exchange) },
      limits: this.#parts.limits,
      notify: (notification) => this.#onNotification(notification),
    }
  }

  readonly #stateCodec: StateCodec = {
    seal: async (_exchange, journal) => {
      this.#journal = journal
      return ''
    },
    open: () => Promise.reject(new TypeError('A task has no requestState')),
    save: async (_exchange, journal) => {
      const saved = await this.#parts.save((current) => {
        const next = { ...current, journal }
        if (this.#fits(next)) return next
        throw new RpcError(
          ErrorCode.InternalError,
          'The steps of this task exceed the size this server stores',
        )
      })
      if (saved === undefined) throw new McpError('CANCELLED', 'The task was cancelled or taken over')
    },
  }

  #onNotification(notification: ServerNotification): void {
    if (this.#isStopped) return
    this.#parts.onNotification(notification)
    if (notification.method !== 'notifications/progress') return
    const { progress, total, message } = notification.params
    this.#progress = { progress, ...defined({ total, message }) }
    this.#progressTimer ??= unref(
      setTimeout(() => {
        this.#progressTimer = undefined
        const { server, save } = this.#parts
        save((current) => ({ ...current, ...this.#newProgress(current) })).catch((error) =>
          server.report(error, { method: 'tasks' }),
        )
      }, progressSaveMs),
    )
  }

  /** The latest progress as a change of the task. A handler that runs again starts over, so lower progress is ignored. */
  #newProgress({ progress: saved }: TaskRecord): Pick<TaskRecord, 'progress' | 'statusMessage'> {
    const progress = this.#progress
    if (progress === undefined || (saved !== undefined && saved.progress >= progress.progress)) return {}
    return { progress, ...(progress.message === undefined ? {} : { statusMessage: progress.message }) }
  }
}

function toolName({ params }: { readonly params: JsonObject }): { name?: string } {
  const { name } = params
  return typeof name === 'string' ? { name } : {}
}

const maxDelayMs = 86_400_000

/** Thrown by a handler to run again later. Outside of a task, the client gets it as an error with `data.retryAfterMs`. */
export class RetryLater extends RpcError {
  /** Milliseconds before the handler runs again. */
  readonly delayMs: number

  constructor(delayMs: number, reason: string) {
    super(ErrorCode.InternalError, `${reason}. Try again in ${delayMs} ms`, { retryAfterMs: delayMs })
    this.delayMs = delayMs
  }
}

/**
 * An error that a handler throws so that its task runs again, in any process, after `delayMs` milliseconds (at most a day).
 * Finished steps do not run again. A task may be repeated `retry.most` times; then it fails. Other errors are results.
 * @param reason for the client, if it is not repeated
 * @throws McpError 'INVALID' for a delay that is not a number from 0 to 86 400 000
 */
export function retryLater(delayMs: number, reason = 'This cannot be done now'): RetryLater {
  if (!(delayMs >= 0 && delayMs <= maxDelayMs)) {
    throw invalid(
      `The delay of retryLater must be a number of milliseconds from 0 to ${maxDelayMs}, got ${delayMs}`,
    )
  }
  return new RetryLater(Math.ceil(delayMs), reason)
}
