import { fromBase64Url, toBase64Url } from '../../core/base64url.ts'
import type { Caller, Exchange, Outcome } from '../../core/exchange.ts'
import { ErrorCode, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { MetaKey } from '../../protocol/meta.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'
import type { Extension, ExtensionMethod } from '../../server/extension.ts'
import type { Middleware } from '../../server/server.ts'
import { dialectOf, experimentalTask } from './dialects.ts'
import { TaskEngine } from './engine.ts'
import { listenToTasks } from './listen.ts'
import { tasksExtension } from './names.ts'
import { settingsOf, type TasksOptions } from './options.ts'
import { isAnonymous, ownerOf, type TaskRecord } from './record.ts'
import { awaitResult } from './result.ts'
import type { TaskPlace } from './store.ts'

/** The tasks of one server. */
export interface Tasks extends Extension {
  /**
   * Stops what runs, within 1 s, and lets go of it and of the store. Tasks in a durable store go on in another process
   * at once, or in the next one that opens it.
   */
  close(): Promise<void>
}

const onlyHere =
  'tasks are kept in the memory of the process that created them, and no other process finds them. Give tasks() a store ' +
  'that all processes share, such as sqliteTaskStore of @jackfield/sdk/extensions/tasks/sqlite.'
const pageSize = 100
const first = '2025-11-25'

/**
 * Lets tools run as tasks: the client gets a handle at once and comes back for the result. Give it to `defineServer`
 * and say `task` in a tool, or call `ctx.task()` in its handler. Serves the extension of 2026-07-28 and the
 * experimental tasks of 2025-11-25.
 *
 * A task belongs to the principal whose request it was. Where nobody authenticates it is found by its id alone, which
 * cannot be guessed, and listed only for whoever owns both ends of the connection.
 */
export function tasks(options: TasksOptions = {}): Tasks {
  const settings = settingsOf(options)
  const engine = new TaskEngine(settings)
  return {
    id: tasksExtension,
    ...(settings.store.durable ? {} : { memoryOnly: onlyHere }),
    methods: methodsOf(engine),
    use: layerOf(engine),
    capabilities: capabilitiesOn,
    attach: (server, serve) => engine.attach(server, serve),
    close: () => engine.close(),
  }
}

/** What 2025-11-25 had as a capability. */
function capabilitiesOn(version: ProtocolVersion, caller?: Caller): JsonObject {
  if (version !== first) return {}
  const list = caller !== undefined && isKnown(caller) ? { list: {} } : {}
  return { tasks: { ...list, cancel: {}, requests: { tools: { call: {} } } } }
}

/** Whether a caller can be told from others, so that a list of its tasks shows nobody else's. */
function isKnown(caller: Pick<Caller, 'principal' | 'scopes'>): boolean {
  return !isAnonymous(ownerOf(caller))
}

function methodsOf(engine: TaskEngine): Readonly<Record<string, ExtensionMethod>> {
  const { settings } = engine
  // Who may ask depends on the task here, so it is found out below.
  const shared = { since: first, named: 'taskId', open: true } as const
  const found = async ({ peer, params }: Exchange): Promise<TaskRecord> => {
    const record = await engine.find(peer, params['taskId']).catch((error) => {
      dialectOf(peer).allow(peer, undefined)
      throw error
    })
    dialectOf(peer).allow(peer, record)
    return record
  }
  return {
    'tasks/get': {
      ...shared,
      async handle(exchange) {
        const record = await found(exchange)
        const { peer } = exchange
        engine.read(record, peer)
        notifyProgress(record, exchange)
        return complete(dialectOf(peer).state(record, peer, engine.server, settings))
      },
    },
    'tasks/cancel': {
      ...shared,
      async handle(exchange) {
        const { id } = await found(exchange)
        const done = await engine.cancel(id)
        const record = await engine.find(exchange.peer, id)
        return complete(dialectOf(exchange.peer).cancelled(record, done, settings))
      },
    },
    'tasks/update': {
      ...shared,
      since: '2026-07-28',
      async handle(exchange) {
        const { id } = await found(exchange)
        const { inputResponses } = exchange.params
        if (!isObject(inputResponses)) throw invalid('"inputResponses" must be an object')
        await engine.answer(id, inputResponses)
        return complete({})
      },
    },
    'tasks/result': { ...shared, until: first, handle: (exchange) => awaitResult(engine, exchange) },
    'tasks/list': { since: first, until: first, open: true, handle: (exchange) => list(engine, exchange) },
  }
}

/** Reports how far a task got to a client that asks for progress when it looks at the task. */
function notifyProgress({ progress }: TaskRecord, { params, notify }: Exchange): void {
  const meta = params['_meta']
  const token = isObject(meta) ? meta[MetaKey.progressToken] : undefined
  if (progress === undefined || (typeof token !== 'string' && typeof token !== 'number')) return
  notify({ method: 'notifications/progress', params: { progressToken: token, ...progress } })
}

/** Makes tasks of calls, says which tools can be such, and adds tasks to subscriptions. */
function layerOf(engine: TaskEngine): Middleware {
  return async (exchange, next) => {
    switch (exchange.method) {
      case 'tools/call':
        return call(engine, exchange, next)
      case 'tools/list':
        return dialectOf(exchange.peer).marks ? marked(engine, await next(exchange)) : next(exchange)
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
  const admitted = dialect.admit(exchange, support, settings)
  if (admitted.as === 'task') {
    return dialect.created(await engine.create(exchange, admitted.ttlMs), settings)
  }
  if (!admitted.mayLeave) return next(exchange)
  return next({
    ...exchange,
    takeOver: async (journal) =>
      dialect.created(await engine.create(exchange, settings.ttlMs, journal), settings),
  })
}

/** A list of tools in which those say so that can run as tasks. */
function marked(engine: TaskEngine, outcome: Outcome): Outcome {
  if (outcome.type !== 'complete' || !Array.isArray(outcome.result['tools'])) return outcome
  const tools = outcome.result['tools'].map((tool: unknown) => {
    if (!isObject(tool) || typeof tool['name'] !== 'string') return tool
    const taskSupport = engine.server.taskSupport(tool['name'])
    return taskSupport === undefined ? tool : { ...tool, execution: { taskSupport } }
  })
  return complete({ ...outcome.result, tools })
}

/** Serves `tasks/list` of 2025-11-25. */
async function list(engine: TaskEngine, { peer, params, limits }: Exchange): Promise<Outcome> {
  if (!isKnown(peer)) {
    throw new RpcError(
      ErrorCode.MethodNotFound,
      'Method not found: tasks are listed only for callers that can be told apart',
    )
  }
  const records = await engine.list(peer, placeIn(params['cursor'], limits.cursorChars), pageSize + 1)
  const shown = records.slice(0, pageSize)
  const last = shown.at(-1)
  const more = records.length > pageSize && last !== undefined ? { nextCursor: cursorOf(last) } : {}
  return complete({ tasks: shown.map((record) => experimentalTask(record, engine.settings)), ...more })
}

function cursorOf({ createdAt, id }: TaskPlace): string {
  return toBase64Url(new TextEncoder().encode(`${createdAt} ${id}`))
}

function placeIn(cursor: unknown, maxChars: number): TaskPlace | undefined {
  if (cursor === undefined || cursor === '') return undefined
  const bytes = typeof cursor === 'string' && cursor.length <= maxChars ? fromBase64Url(cursor) : undefined
  const [createdAt, id] = bytes === undefined ? [] : new TextDecoder().decode(bytes).split(' ')
  if (createdAt === undefined || id === undefined || !Number.isSafeInteger(Number(createdAt))) {
    throw invalid('the cursor is not one of this list. Start without one')
  }
  return { createdAt: Number(createdAt), id }
}

function complete(result: JsonObject): Outcome {
  return { type: 'complete', result }
}

function invalid(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}
