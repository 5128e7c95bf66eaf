import { ErrorCode, invalidParams, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { MetaKey } from '../../protocol/meta.ts'
import type { ServerNotification } from '../../protocol/methods.ts'
import type { Question } from '../../protocol/server-requests.ts'
import type { Exchange, Outcome } from '../../request/exchange.ts'
import { requireExtension } from '../../server/extension.ts'
import { dialectOf, errorOf, experimentalTask } from './dialects.ts'
import { type TaskEngine, unknownTask } from './engine.ts'
import { tasksExtension } from './options.ts'
import { isFinal, type OpenQuestion, type TaskRecord } from './record.ts'

/** Handles `tasks/result` of 2025-11-25: waits for the result, forwarding questions, progress and status changes meanwhile. */
export async function awaitResult(engine: TaskEngine, exchange: Exchange): Promise<Outcome> {
  const { id, updatedAt } = await engine.find(exchange.peer, exchange.params['taskId'])
  const questions = new TaskQuestions(engine, exchange, id)
  const unsubscribe = engine.subscribe(id, (notification) => {
    // Only progress that the original request asked for.
    if (notification.method !== 'notifications/progress' || notification.params.progressToken === id) return
    const { params } = notification
    exchange.notify({ ...notification, params: { ...params, _meta: withRelatedTask(params._meta, id) } })
  })
  try {
    for await (const record of engine.follow(id, exchange.signal)) {
      if (isFinal(record)) {
        engine.read(record, exchange.peer)
        return resultOf(record, exchange, engine)
      }
      if (record.updatedAt !== updatedAt) {
        const params = experimentalTask(record, engine.settings)
        exchange.notify({ method: 'notifications/tasks/status', params })
      }
      questions.update(record)
    }
  } finally {
    unsubscribe()
    questions.close()
  }
  exchange.signal.throwIfAborted()
  throw unknownTask()
}

function resultOf(record: TaskRecord, { peer }: Exchange, { server }: TaskEngine): Outcome {
  if (record.status === 'failed') throw errorOf(record)
  if (record.result === undefined) {
    throw new RpcError(ErrorCode.InvalidParams, 'The task was cancelled, so it has no result')
  }
  const result = peer.revision.result('tools/call', record.result, server.info)
  return { type: 'complete', result: { ...result, _meta: withRelatedTask(result['_meta'], record.id) } }
}

/** The questions of one task that one client is asked. */
class TaskQuestions {
  /** Questions being asked in this process, with those who ask next: concurrent waiters do not ask the same twice. */
  static readonly #asking = new Map<string, Set<TaskQuestions>>()
  readonly #engine: TaskEngine
  readonly #exchange: Exchange
  readonly #id: string
  readonly #open = new Map<string, AbortController>()
  #closed = false

  constructor(engine: TaskEngine, exchange: Exchange, id: string) {
    this.#engine = engine
    this.#exchange = exchange
    this.#id = id
  }

  /** Asks new questions and withdraws settled ones. */
  update({ questions }: TaskRecord): void {
    for (const [key, stop] of this.#open) if (!Object.hasOwn(questions, key)) stop.abort()
    for (const [key, { question }] of Object.entries(questions)) {
      const claimKey = `${this.#id} ${key}`
      const waitingForAnswer = TaskQuestions.#asking.get(claimKey)
      waitingForAnswer?.add(this)
      if (waitingForAnswer !== undefined) continue
      const waiting = new Set<TaskQuestions>()
      TaskQuestions.#asking.set(claimKey, waiting)
      this.#ask(key, question)
        .catch((error) => this.#engine.server.report(error, { method: 'tasks/result' }))
        .finally(() => {
          TaskQuestions.#asking.delete(claimKey)
          this.#open.delete(key)
          for (const other of waiting) other.#recheck()
        })
    }
  }

  close(): void {
    this.#closed = true
    for (const waitingForAnswer of TaskQuestions.#asking.values()) waitingForAnswer.delete(this)
    for (const stop of this.#open.values()) stop.abort()
  }

  /** The other waiter is done, possibly without an answer. */
  #recheck(): void {
    if (this.#closed) return
    this.#engine.find(this.#exchange.peer, this.#id).then(
      (record) => {
        if (!this.#closed) this.update(record)
      },
      () => {},
    )
  }

  async #ask(key: string, question: OpenQuestion['question']): Promise<void> {
    const controller = new AbortController()
    this.#open.set(key, controller)
    const signal = AbortSignal.any([controller.signal, this.#exchange.signal])
    const run = this.#exchange.inputStrategy.begin({ ...this.#exchange, signal })
    try {
      const answer = await Promise.race([run.ask(withTask(question, this.#id)), run.ended])
      await this.#engine.answer(this.#id, { [key]: answer })
    } catch (error) {
      if (signal.aborted || !(error instanceof RpcError) || wasLost(error)) return
      await this.#engine.fail(this.#id, error.message)
    }
  }
}

/** Whether the question or its answer was lost, so that another waiter may still get one. */
function wasLost({ cause }: RpcError): boolean {
  return cause instanceof McpError && (cause.code === 'CONNECTION_CLOSED' || cause.code === 'OUTCOME_UNKNOWN')
}

/** A question with `related-task` in its `_meta`. */
function withTask<Q extends Question>(question: Q, id: string): Q {
  return { ...question, params: { ...question.params, _meta: withRelatedTask(question.params._meta, id) } }
}

function withRelatedTask(meta: unknown, taskId: string): JsonObject {
  return { ...(isObject(meta) ? meta : {}), [MetaKey.relatedTask]: { taskId } }
}

/** Adds tasks to a subscription: the client's own are acknowledged, and their changes are sent. */
export async function listenToTasks(
  engine: TaskEngine,
  exchange: Exchange,
  waiting: (exchange: Exchange) => Promise<Outcome>,
): Promise<Outcome> {
  const filter = exchange.params['notifications']
  if (!isObject(filter) || filter['taskIds'] === undefined) return waiting(exchange)
  requireExtension(exchange.peer, tasksExtension)
  const taskIds = await filterOwn(
    engine,
    exchange,
    parseIds(filter['taskIds'], exchange.limits.subscribedUris),
  )
  const notify = (notification: ServerNotification): void => {
    if (notification.method !== 'notifications/subscriptions/acknowledged') {
      exchange.notify(notification)
      return
    }
    const { params } = notification
    exchange.notify({
      ...notification,
      params: { ...params, notifications: { ...params.notifications, taskIds } },
    })
    for (const id of taskIds) {
      publishChanges(engine, exchange, id).catch((error) =>
        engine.server.report(error, { method: exchange.method }),
      )
    }
  }
  return waiting({ ...exchange, notify })
}

async function publishChanges(engine: TaskEngine, exchange: Exchange, id: string): Promise<void> {
  const { peer } = exchange
  const _meta = { [MetaKey.subscriptionId]: exchange.id }
  for await (const record of engine.follow(id, exchange.signal)) {
    const state = dialectOf(peer).state(record, peer, engine.server, engine.settings)
    exchange.notify({ method: 'notifications/tasks', params: { ...state, _meta } })
  }
}

function parseIds(value: unknown, max: number): string[] {
  const ids = Array.isArray(value) ? value.filter((id) => typeof id === 'string') : undefined
  if (ids === undefined || !Array.isArray(value) || ids.length < value.length) {
    throw invalidParams('"taskIds" must be a list of ids')
  }
  if (ids.length > max) {
    throw invalidParams(`at most ${max} tasks per subscription`)
  }
  return [...new Set(ids)]
}

async function filterOwn(engine: TaskEngine, { peer }: Exchange, ids: readonly string[]): Promise<string[]> {
  const own: string[] = []
  for (const id of ids) {
    const found = await engine.find(peer, id).catch((error) => {
      if (error instanceof RpcError) return undefined
      throw error
    })
    if (found !== undefined) own.push(id)
  }
  return own
}
