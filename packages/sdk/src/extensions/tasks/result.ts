import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
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
import { isOver, type OpenQuestion, type TaskRecord } from './record.ts'

/**
 * Serves `tasks/result` of 2025-11-25: waits until the task is over and gives what its request would have given.
 * Meanwhile the client is asked what the task asks, and told how it stands.
 */
export async function awaitResult(engine: TaskEngine, exchange: Exchange): Promise<Outcome> {
  const { id, updatedAt } = await engine.find(exchange.peer, exchange.params['taskId'])
  const putting = new Putting(engine, exchange, id)
  const unhear = engine.hear(id, (notification) => forward(notification, exchange, id))
  try {
    for await (const record of engine.follow(id, exchange.signal)) {
      if (isOver(record)) {
        engine.read(record, exchange.peer)
        return resultOf(record, exchange, engine)
      }
      if (record.updatedAt !== updatedAt) {
        const params = experimentalTask(record, engine.settings)
        exchange.notify({ method: 'notifications/tasks/status', params })
      }
      putting.update(record)
    }
  } finally {
    unhear()
    putting.close()
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
  return { type: 'complete', result: { ...result, _meta: related(result['_meta'], record.id) } }
}

/** Progress goes to whoever waits for the result, if the request once asked for it. */
function forward(notification: ServerNotification, exchange: Exchange, id: string): void {
  if (notification.method !== 'notifications/progress' || notification.params.progressToken === id) return
  const { params } = notification
  exchange.notify({ ...notification, params: { ...params, _meta: related(params._meta, id) } })
}

/** The questions of one task that are put to one client. */
class Putting {
  /** What is being asked in this process, so that two who wait for one task do not both ask, and who would ask it next. */
  static readonly #claimed = new Map<string, Set<Putting>>()
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

  /** Puts what is newly asked, and takes back what needs no answer any more. */
  update({ questions }: TaskRecord): void {
    for (const [key, stop] of this.#open) if (!Object.hasOwn(questions, key)) stop.abort()
    for (const [key, { question }] of Object.entries(questions)) {
      const claim = `${this.#id} ${key}`
      const others = Putting.#claimed.get(claim)
      others?.add(this)
      if (others !== undefined) continue
      const next = new Set<Putting>()
      Putting.#claimed.set(claim, next)
      this.#put(key, question)
        .catch((error) => this.#engine.server.report(error, { method: 'tasks/result' }))
        .finally(() => {
          Putting.#claimed.delete(claim)
          this.#open.delete(key)
          for (const other of next) other.#lookAgain()
        })
    }
  }

  close(): void {
    this.#closed = true
    for (const others of Putting.#claimed.values()) others.delete(this)
    for (const stop of this.#open.values()) stop.abort()
  }

  /** Whoever asked is done, and may have got no answer. */
  #lookAgain(): void {
    if (this.#closed) return
    this.#engine.find(this.#exchange.peer, this.#id).then(
      (record) => {
        if (!this.#closed) this.update(record)
      },
      () => {},
    )
  }

  async #put(key: string, question: OpenQuestion['question']): Promise<void> {
    const stop = new AbortController()
    this.#open.set(key, stop)
    const signal = AbortSignal.any([stop.signal, this.#exchange.signal])
    const round = this.#exchange.inputStrategy.begin({ ...this.#exchange, signal })
    try {
      const answer = await Promise.race([round.ask(about(question, this.#id)), round.ended])
      await this.#engine.answer(this.#id, { [key]: answer })
    } catch (error) {
      if (signal.aborted || !(error instanceof RpcError) || lostOnTheWay(error)) return
      await this.#engine.unanswered(this.#id, error.message)
    }
  }
}

/** Whether a question got no answer because it, or its answer, never arrived: whoever asks next may have more luck. */
function lostOnTheWay({ cause }: RpcError): boolean {
  return cause instanceof McpError && (cause.code === 'CONNECTION_CLOSED' || cause.code === 'OUTCOME_UNKNOWN')
}

/** A question with the task it belongs to. */
function about(question: Question, id: string): Question {
  switch (question.method) {
    case 'elicitation/create':
      return { ...question, params: { ...question.params, _meta: related(question.params._meta, id) } }
    case 'sampling/createMessage':
      return { ...question, params: { ...question.params, _meta: related(question.params._meta, id) } }
    case 'roots/list':
      return { ...question, params: { ...question.params, _meta: related(question.params._meta, id) } }
  }
}

function related(meta: unknown, taskId: string): JsonObject {
  return { ...(isObject(meta) ? meta : {}), [MetaKey.relatedTask]: { taskId } }
}

/** Adds tasks to a subscription: those that are the client's own are acknowledged, and told of whenever they change. */
export async function listenToTasks(
  engine: TaskEngine,
  exchange: Exchange,
  next: (exchange: Exchange) => Promise<Outcome>,
): Promise<Outcome> {
  const filter = exchange.params['notifications']
  if (!isObject(filter) || filter['taskIds'] === undefined) return next(exchange)
  requireExtension(exchange.peer, tasksExtension)
  const taskIds = await ownIds(engine, exchange, idsIn(filter['taskIds'], exchange.limits.subscribedUris))
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
      tell(engine, exchange, id).catch((error) => engine.server.report(error, { method: exchange.method }))
    }
  }
  return next({ ...exchange, notify })
}

async function tell(engine: TaskEngine, exchange: Exchange, id: string): Promise<void> {
  const { peer } = exchange
  const _meta = { [MetaKey.subscriptionId]: exchange.id }
  for await (const record of engine.follow(id, exchange.signal)) {
    const state = dialectOf(peer).state(record, peer, engine.server, engine.settings)
    exchange.notify({ method: 'notifications/tasks', params: { ...state, _meta } })
  }
}

function idsIn(value: unknown, most: number): string[] {
  const ids = Array.isArray(value) ? value.filter((id) => typeof id === 'string') : undefined
  if (ids === undefined || !Array.isArray(value) || ids.length < value.length) {
    throw new RpcError(ErrorCode.InvalidParams, 'Invalid params: "taskIds" must be a list of ids')
  }
  if (ids.length > most) {
    throw new RpcError(
      ErrorCode.InvalidParams,
      `Invalid params: at most ${most} tasks can be listened to at once`,
    )
  }
  return [...new Set(ids)]
}

async function ownIds(engine: TaskEngine, { peer }: Exchange, ids: readonly string[]): Promise<string[]> {
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
