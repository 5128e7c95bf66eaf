import { utf8 } from '../../jsonrpc/bytes.ts'
import { ErrorCode, invalid, invalidParams, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { MetaKey, metaOf } from '../../protocol/meta.ts'
import {
  latestSessionVersion,
  latestVersion,
  type ProtocolVersion,
  type ServerNotification,
} from '../../protocol/methods.ts'
import { supports } from '../../protocol/revision.ts'
import type { Question } from '../../protocol/server-requests.ts'
import { fromBase64Url, toBase64Url } from '../../request/encoding.ts'
import type { Caller, Exchange, Outcome } from '../../request/exchange.ts'
import { type Extension, type ExtensionMethod, requireExtension } from '../../server/extension.ts'
import type { Middleware, Server } from '../../server/server.ts'
import { dialectOf, errorOf, experimentalTask } from './dialects.ts'
import { TaskEngine, type TaskRound, unknownTask } from './engine.ts'
import { resolveSettings, type TasksOptions, tasksExtension } from './options.ts'
import { isAnonymous, isFinal, type OpenQuestion, ownerOf, type TaskRecord } from './record.ts'
import type { TaskPosition } from './store.ts'

/** The tasks extension of one server. */
export interface Tasks extends Extension {
  /**
   * Runs one task until it is over, waits for answers of its client, or has to be run again later: what a `runner` calls. If
   * another process runs the task, this returns `later`, so it may be called at any time and from several processes.
   * Rejects if the store fails.
   */
  run(id: string): Promise<TaskRound>
  /**
   * Stops running tasks within 1 s and closes the store. Tasks in a durable store continue in another process, or in the
   * next one that opens it.
   */
  close(): Promise<void>
}

/** A process that runs tasks and serves no clients. */
export interface TaskWorker {
  /**
   * Claims no more tasks, waits at most `graceMs` milliseconds (default 25 000) for those that run, then releases the others
   * for other processes and closes the store.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>
}

export type { TaskRound } from './engine.ts'

const engines = new WeakMap<Server, TaskEngine>()

const onlyHere =
  'tasks are kept in the memory of the process that created them, and no other process finds them. Give tasks() a store ' +
  'that all processes share: redisTaskStore of @jackfield/redis, postgresTaskStore of @jackfield/postgres, or on one machine ' +
  'sqliteTaskStore of @jackfield/sdk/extensions/tasks/sqlite.'
const pageSize = 100
/** The only revision with tasks as a part of the protocol, and the first one with task methods. */
const coreTasksVersion = latestSessionVersion

/**
 * Lets tools run as tasks: the client gets a handle at once and polls for the result. Pass it to `defineServer` and set
 * `task` on a tool, or call `ctx.task()` in its handler. Implements the extension of 2026-07-28 and the experimental tasks of
 * 2025-11-25.
 *
 * A task belongs to the principal that requested it. Without authentication it is accessible by its unguessable id, and listed
 * only for the owner of both ends of the connection.
 */
export function tasks(options: TasksOptions = {}): Tasks {
  const settings = resolveSettings(options)
  const engine = new TaskEngine(settings)
  return {
    id: tasksExtension,
    ...(settings.store.durable ? {} : { memoryOnly: onlyHere }),
    methods: methodsOf(engine),
    use: middlewareOf(engine),
    capabilities: capabilitiesOn,
    attach: (server, serve) => {
      engine.attach(server, serve)
      engines.set(server, engine)
    },
    run: (id) => engine.run(id),
    close: () => engine.close(),
  }
}

/**
 * Runs the tasks of a server in this process, without serving clients. They are created by processes with the same tools and
 * the same store, which run none themselves with `tasks({ work: false })`. Keeps the process alive until `close`.
 * @throws McpError 'INVALID' for a server without tasks that this process can run
 */
export function serveTasks(server: Server): TaskWorker {
  const engine = engines.get(server)
  if (engine === undefined || !engine.isWorker || !engine.settings.store.durable) {
    throw invalid(
      'serveTasks() needs a server with tasks({ store }), where the store is shared with other processes and neither "work: false" nor "runner" is set',
    )
  }
  const alive = setInterval(() => {}, 2 ** 30)
  return {
    close: async ({ graceMs = 25_000 } = {}) => {
      await engine.drain(graceMs)
      await engine.close()
      clearInterval(alive)
    },
  }
}

/** The `tasks` capability of 2025-11-25. */
function capabilitiesOn(version: ProtocolVersion, caller?: Caller): JsonObject {
  if (!supports(version, 'coreTasks')) return {}
  const list = caller !== undefined && isIdentified(caller) ? { list: {} } : {}
  return { tasks: { ...list, cancel: {}, requests: { tools: { call: {} } } } }
}

/** Whether a caller is identified, so that its list of tasks contains only its own. */
function isIdentified(caller: Pick<Caller, 'principal' | 'scopes'>): boolean {
  return !isAnonymous(ownerOf(caller))
}

function methodsOf(engine: TaskEngine): Readonly<Record<string, ExtensionMethod>> {
  const { settings } = engine
  // Access depends on the task and is checked in findAllowed.
  const common = { since: coreTasksVersion, named: 'taskId', open: true } as const
  const findAllowed = async ({ peer, params }: Exchange): Promise<TaskRecord> => {
    const record = await engine.find(peer, params['taskId']).catch((error) => {
      dialectOf(peer).authorize(peer, undefined)
      throw error
    })
    dialectOf(peer).authorize(peer, record)
    return record
  }
  return {
    'tasks/get': {
      ...common,
      async handle(exchange) {
        const record = await findAllowed(exchange)
        const { peer } = exchange
        engine.read(record, peer)
        notifyProgress(record, exchange)
        return complete(dialectOf(peer).state(record, peer, engine.server, settings))
      },
    },
    'tasks/cancel': {
      ...common,
      async handle(exchange) {
        const { id } = await findAllowed(exchange)
        const done = await engine.cancel(id)
        const record = await engine.find(exchange.peer, id)
        return complete(dialectOf(exchange.peer).cancelled(record, done, settings))
      },
    },
    'tasks/update': {
      ...common,
      since: latestVersion,
      async handle(exchange) {
        const { id } = await findAllowed(exchange)
        const { inputResponses } = exchange.params
        if (!isObject(inputResponses)) throw invalidParams('"inputResponses" must be an object')
        await engine.answer(id, inputResponses)
        return complete({})
      },
    },
    'tasks/result': {
      ...common,
      until: coreTasksVersion,
      handle: (exchange) => awaitResult(engine, exchange),
    },
    'tasks/list': {
      since: coreTasksVersion,
      until: coreTasksVersion,
      open: true,
      handle: (exchange) => list(engine, exchange),
    },
  }
}

/** Sends the latest progress to a client whose `tasks/get` has a progress token. */
function notifyProgress({ progress }: TaskRecord, { params, notify }: Exchange): void {
  const token = metaOf(params)[MetaKey.progressToken]
  if (progress === undefined || (typeof token !== 'string' && typeof token !== 'number')) return
  notify({ method: 'notifications/progress', params: { progressToken: token, ...progress } })
}

/** Runs calls as tasks, adds `taskSupport` to listed tools and tasks to subscriptions. */
function middlewareOf(engine: TaskEngine): Middleware {
  return async (exchange, next) => {
    switch (exchange.method) {
      case 'tools/call':
        return call(engine, exchange, next)
      case 'tools/list':
        return dialectOf(exchange.peer).listsTaskSupport
          ? withTaskSupport(engine, await next(exchange))
          : next(exchange)
      case 'subscriptions/listen':
        return listenToTasks(engine, exchange, next)
      default:
        return next(exchange)
    }
  }
}

async function call(
  engine: TaskEngine,
  exchange: Exchange,
  next: (exchange: Exchange) => Promise<Outcome>,
): Promise<Outcome> {
  const { settings } = engine
  const { name } = exchange.params
  const dialect = dialectOf(exchange.peer)
  const support = typeof name === 'string' ? engine.server.taskSupport(name) : undefined
  const admission = dialect.admit(exchange, support, settings)
  if (admission.as === 'task') {
    return dialect.created(await engine.create(exchange, admission.ttlMs), settings)
  }
  if (!admission.mayBecomeTask) return next(exchange)
  return next({
    ...exchange,
    takeOver: async (journal) =>
      dialect.created(await engine.create(exchange, settings.ttlMs, journal), settings),
  })
}

function withTaskSupport(engine: TaskEngine, outcome: Outcome): Outcome {
  if (outcome.type !== 'complete' || !Array.isArray(outcome.result['tools'])) return outcome
  const tools = outcome.result['tools'].map((tool: unknown) => {
    if (!isObject(tool) || typeof tool['name'] !== 'string') return tool
    const taskSupport = engine.server.taskSupport(tool['name'])
    return taskSupport === undefined ? tool : { ...tool, execution: { taskSupport } }
  })
  return complete({ ...outcome.result, tools })
}

async function list(engine: TaskEngine, { peer, params, limits }: Exchange): Promise<Outcome> {
  if (!isIdentified(peer)) {
    throw new RpcError(
      ErrorCode.MethodNotFound,
      'Method not found: tasks are listed only for authenticated callers',
    )
  }
  const records = await engine.list(peer, parseCursor(params['cursor'], limits.cursorChars), pageSize + 1)
  const page = records.slice(0, pageSize)
  const last = page.at(-1)
  const cursor = records.length > pageSize && last !== undefined ? { nextCursor: cursorOf(last) } : {}
  return complete({ tasks: page.map((record) => experimentalTask(record, engine.settings)), ...cursor })
}

function cursorOf({ createdAt, id }: TaskPosition): string {
  return toBase64Url(utf8(`${createdAt} ${id}`))
}

function parseCursor(cursor: unknown, maxChars: number): TaskPosition | undefined {
  if (cursor === undefined || cursor === '') return undefined
  const bytes = typeof cursor === 'string' && cursor.length <= maxChars ? fromBase64Url(cursor) : undefined
  const [createdAt, id] = bytes === undefined ? [] : new TextDecoder().decode(bytes).split(' ')
  if (createdAt === undefined || id === undefined || !Number.isSafeInteger(Number(createdAt))) {
    throw invalidParams('unknown cursor for this list. Start again without a cursor')
  }
  return { createdAt: Number(createdAt), id }
}

function complete(result: JsonObject): Outcome {
  return { type: 'complete', result }
}

/** Handles `tasks/result` of 2025-11-25: waits for the result, forwarding questions, progress and status changes meanwhile. */
async function awaitResult(engine: TaskEngine, exchange: Exchange): Promise<Outcome> {
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
  /** Questions being asked in this process, with the next waiters: concurrent waiters do not ask the same question twice. */
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
async function listenToTasks(
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
    const task = await engine.find(peer, id).catch((error) => {
      if (error instanceof RpcError) return undefined
      throw error
    })
    if (task !== undefined) own.push(id)
  }
  return own
}
