import { ErrorCode, invalid, invalidParams, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { MetaKey, metaOf } from '../../protocol/meta.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'
import { latestLegacy as lastWithCoreTasks, latest, supports } from '../../protocol/revision.ts'
import { fromBase64Url, toBase64Url } from '../../request/encoding.ts'
import type { Caller, Exchange, Outcome } from '../../request/exchange.ts'
import type { Extension, ExtensionMethod } from '../../server/extension.ts'
import type { Middleware, Server } from '../../server/server.ts'
import { dialectOf, experimentalTask } from './dialects.ts'
import { TaskEngine, type TaskRound } from './engine.ts'
import { resolveSettings, type TasksOptions, tasksExtension } from './options.ts'
import { isAnonymous, ownerOf, type TaskRecord } from './record.ts'
import { awaitResult, listenToTasks } from './result.ts'
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
   * Takes no more tasks, waits for those that run at most `graceMs` milliseconds (default 25 000), then releases the others
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
const first = lastWithCoreTasks

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
 * the same store, which may leave the work to this one with `tasks({ work: false })`. Keeps the process alive until `close`.
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
  const common = { since: first, named: 'taskId', open: true } as const
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
      since: latest,
      async handle(exchange) {
        const { id } = await findAllowed(exchange)
        const { inputResponses } = exchange.params
        if (!isObject(inputResponses)) throw invalidParams('"inputResponses" must be an object')
        await engine.answer(id, inputResponses)
        return complete({})
      },
    },
    'tasks/result': { ...common, until: first, handle: (exchange) => awaitResult(engine, exchange) },
    'tasks/list': { since: first, until: first, open: true, handle: (exchange) => list(engine, exchange) },
  }
}

/** Sends the latest progress to a client that asks for it in `tasks/get`. */
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
  return toBase64Url(new TextEncoder().encode(`${createdAt} ${id}`))
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
