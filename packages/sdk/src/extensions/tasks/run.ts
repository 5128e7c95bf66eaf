import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { MetaKey } from '../../protocol/meta.ts'
import type { ServerNotification } from '../../protocol/methods.ts'
import type { Exchange, HandlerRun, InputStrategy, Outcome } from '../../request/exchange.ts'
import type { RequestLimits } from '../../request/limits.ts'
import type { Journal } from '../../request/live-run.ts'
import { beginReplay } from '../../request/replay.ts'
import type { StateCodec } from '../../request/state.ts'
import type { Server } from '../../server/server.ts'
import { unref } from '../../transports/server/options.ts'
import { asked, completed, failed, peerOf, type TaskProgress, type TaskRecord, toRow } from './record.ts'

/** Has a request served. */
export type Serve = (exchange: Exchange) => Promise<Outcome>

/** What a run needs of those who started it. */
export interface RunParts {
  readonly server: Server
  /** Past the server's layers: the request went through them when it became a task. */
  readonly serve: Serve
  readonly maxTaskBytes: number
  /** Those of the requests it makes: a task outlives the request that created it. */
  readonly limits: RequestLimits
  /** Changes the task, if this run still has it to itself; undefined when it does not. */
  save(edit: (record: TaskRecord) => TaskRecord): Promise<TaskRecord | undefined>
  /** Hears of progress and log messages. */
  onNotice(notification: ServerNotification): void
}

const messageEveryMs = 250

/** How the handler of a task asks: its questions are kept with the task, and it runs again once all are answered. */
class TaskAsking implements InputStrategy {
  readonly #record: TaskRecord
  readonly #keeper: StateCodec

  constructor(record: TaskRecord, keeper: StateCodec) {
    this.#record = record
    this.#keeper = keeper
  }

  begin(exchange: Exchange): HandlerRun {
    return beginReplay(exchange, this.#keeper, this.#record.journal, this.#record.answers)
  }

  async resume(exchange: Exchange): Promise<HandlerRun> {
    return this.begin(exchange)
  }
}

/** The work on one task in this process, until it is over, waits for answers, or is taken away. */
export class TaskRun {
  /** Settles when the handler let go. Rejects when what became of it could not be kept. */
  readonly done: Promise<void>
  readonly #parts: RunParts
  readonly #controller = new AbortController()
  #journal: Journal | undefined
  #progress: TaskProgress | undefined
  #telling: ReturnType<typeof setTimeout> | undefined

  constructor(record: TaskRecord, parts: RunParts) {
    this.#parts = parts
    this.done = this.#work(record)
  }

  /** Asks the handler to stop. What it still gives means nothing. */
  stop(reason: McpError): void {
    this.#controller.abort(reason)
    clearTimeout(this.#telling)
  }

  async #work(first: TaskRecord): Promise<void> {
    let record: TaskRecord | undefined = first
    while (record?.running) {
      const settle = await this.#round(record)
      clearTimeout(this.#telling)
      this.#telling = undefined
      record = this.#stopped
        ? undefined
        : await this.#parts.save((now) => this.#bounded(now, settle({ ...now, ...this.#reported(now) })))
    }
  }

  get #stopped(): boolean {
    return this.#controller.signal.aborted
  }

  /** Runs the handler once and says what is to become of its task. */
  async #round(record: TaskRecord): Promise<(now: TaskRecord) => TaskRecord> {
    const { server, serve, limits } = this.#parts
    try {
      if (record.journal.round > limits.questions) {
        throw new Error(`A handler asked for input ${limits.questions} times without finishing`)
      }
      return this.#settling(await serve(this.#exchange(record)))
    } catch (error) {
      if (error instanceof RpcError) return (now) => failed(now, error.toObject())
      if (!this.#stopped) server.report(error, { method: 'tools/call', ...nameIn(record) })
      return (now) => failed(now, { code: ErrorCode.InternalError, message: 'Internal error' })
    }
  }

  #settling(outcome: Outcome): (now: TaskRecord) => TaskRecord {
    const journal = this.#journal
    if (outcome.type === 'complete') return (now) => completed(now, outcome.result)
    if (outcome.type === 'input_required' && journal !== undefined) {
      return (now) => asked(now, outcome.requests, journal)
    }
    throw new TypeError(`A task cannot end with a result of the type "${outcome.type}"`)
  }

  #bounded(now: TaskRecord, next: TaskRecord): TaskRecord {
    if (this.#fits(next)) return next
    const { server, maxTaskBytes } = this.#parts
    const why = `the task with all it holds is larger than the ${maxTaskBytes} bytes this server keeps of one`
    server.report(new McpError('LIMIT', why), { method: 'tools/call', ...nameIn(now) })
    return next.status === 'completed'
      ? completed(now, { content: [{ type: 'text', text: `There is no result: ${why}.` }], isError: true })
      : failed(now, { code: ErrorCode.InternalError, message: `The task was given up: ${why}` })
  }

  #fits(record: TaskRecord): boolean {
    return bytesOf(toRow(record).body) <= this.#parts.maxTaskBytes
  }

  #exchange(record: TaskRecord): Exchange {
    const meta = isObject(record.params['_meta']) ? record.params['_meta'] : {}
    return {
      id: record.id,
      method: 'tools/call',
      params: {
        ...record.params,
        // Without one progress would not be told, and it is what the task's message is made of.
        _meta: { [MetaKey.progressToken]: record.id, ...meta },
        inputResponses: record.answers,
      },
      peer: peerOf(record),
      signal: this.#controller.signal,
      inputStrategy: new TaskAsking(record, this.#keeper),
      limits: this.#parts.limits,
      notify: (notification) => this.#notice(notification),
    }
  }

  readonly #keeper: StateCodec = {
    seal: async (_exchange, journal) => {
      this.#journal = journal
      return ''
    },
    open: () => Promise.reject(new TypeError('A task keeps its state with itself')),
    keep: async (_exchange, journal) => {
      const kept = await this.#parts.save((now) => {
        const next = { ...now, journal }
        if (this.#fits(next)) return next
        throw new RpcError(ErrorCode.InternalError, 'The steps of this task hold more than this server keeps')
      })
      if (kept === undefined) throw new McpError('CANCELLED', 'The task was cancelled or taken over')
    },
  }

  #notice(notification: ServerNotification): void {
    if (this.#stopped) return
    this.#parts.onNotice(notification)
    if (notification.method !== 'notifications/progress') return
    const { progress, total, message } = notification.params
    this.#progress = {
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    }
    this.#telling ??= unref(setTimeout(() => this.#tell(), messageEveryMs))
  }

  /** The newest progress as the task keeps it. A handler that runs again reports from the start, which is no progress. */
  #reported({ progress: known }: TaskRecord): Pick<TaskRecord, 'progress' | 'statusMessage'> {
    const progress = this.#progress
    if (progress === undefined || (known !== undefined && known.progress >= progress.progress)) return {}
    return { progress, ...(progress.message === undefined ? {} : { statusMessage: progress.message }) }
  }

  /** Makes the newest progress the task's own, and its message. */
  #tell(): void {
    this.#telling = undefined
    const { server, save } = this.#parts
    save((now) => ({ ...now, ...this.#reported(now) })).catch((error) =>
      server.report(error, { method: 'tasks' }),
    )
  }
}

/** Bytes of a text in UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length
}

function nameIn({ params }: { readonly params: JsonObject }): { name?: string } {
  const { name } = params
  return typeof name === 'string' ? { name } : {}
}
