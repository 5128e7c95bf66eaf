import { ErrorCode, invalid, invalidParams, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import type { ServerNotification } from '../../protocol/methods.ts'
import { randomText } from '../../request/encoding.ts'
import type { Exchange, Peer } from '../../request/exchange.ts'
import { limits } from '../../request/limits.ts'
import type { Journal } from '../../request/live-run.ts'
import type { Server } from '../../server/server.ts'
import { missingScopesError } from '../../server/visibility.ts'
import { unref } from '../../transports/server/options.ts'
import type { TaskEvent, TaskSettings } from './options.ts'
import {
  cancelled,
  canSee,
  completed,
  failed,
  fromRow,
  isFinal,
  newRecord,
  ownerOf,
  type TaskRecord,
  toRow,
  withAnswers,
} from './record.ts'
import { bytesOf, type Serve, TaskRun } from './run.ts'
import type { TaskPosition } from './store.ts'

type Edit = (record: TaskRecord) => TaskRecord | undefined

const idBytes = 24
const idChars = 128
const claimBatch = 16
const graceMs = 1000

/** The tasks of one server: creates, runs, releases and takes over tasks. */
export class TaskEngine {
  readonly settings: TaskSettings
  readonly #holder: string = randomText(12)
  readonly #runs = new Map<string, TaskRun>()
  readonly #followers = new Map<string, Set<() => void>>()
  readonly #listeners = new Map<string, Set<(notification: ServerNotification) => void>>()
  #server: Server | undefined
  #serve: Serve = () => Promise.reject(new TypeError('tasks() is not attached to a server'))
  #timer: ReturnType<typeof setTimeout> | undefined
  #closed: Promise<void> | undefined

  constructor(settings: TaskSettings) {
    this.settings = settings
  }

  get server(): Server {
    if (this.#server === undefined) throw new TypeError('tasks() is not attached to a server')
    return this.#server
  }

  /** @throws McpError 'INVALID' for a second server */
  attach(server: Server, serve: Serve): void {
    if (this.#server !== undefined) {
      throw invalid('tasks() is already attached to a server: create one for each server')
    }
    this.#server = server
    this.#serve = serve
    if (this.settings.store.durable) this.#scheduleHeartbeat(0)
  }

  /**
   * Creates a task from a request and starts it. It is stored when the promise resolves.
   * @throws RpcError if the capacity is reached
   */
  async create(exchange: Exchange, ttlMs: number, journal?: Journal): Promise<TaskRecord> {
    const { store, maxTasks, maxTasksPerPrincipal, maxTaskBytes } = this.settings
    if (this.#closed !== undefined) throw notCreated('this server is shutting down')
    const heldUntil = this.#heldUntil()
    const id = randomText(idBytes)
    const record = newRecord({ id, exchange, holder: this.#holder, heldUntil, ttlMs, journal })
    const row = toRow(record)
    if (bytesOf(row.body) > maxTaskBytes) {
      throw invalidParams(`a task may have at most ${maxTaskBytes} bytes`)
    }
    if (!(await store.add(row, { owner: maxTasksPerPrincipal, all: maxTasks }))) {
      throw notCreated('too many are stored. Try again when some have expired')
    }
    this.#emitFor('created', record, exchange.peer)
    this.#start(record)
    if (this.#timer === undefined) this.#scheduleHeartbeat(this.settings.leaseMs / 3)
    return record
  }

  /**
   * Finds a task for a peer.
   * @throws RpcError -32602 if it does not exist or the peer may not access it; -32600 if the peer lacks a scope of the tool
   */
  async find(peer: Peer, id: unknown): Promise<TaskRecord> {
    if (typeof id !== 'string' || id.length > idChars) {
      throw invalidParams('"taskId" must be the id of a task')
    }
    const record = await this.#get(id)
    if (record !== undefined && canSee(peer, record)) {
      const missingScope = missingScopesError(this.server.scopesFor('tools/call', record.params), peer)
      if (missingScope !== undefined) throw missingScope
      return record
    }
    this.#emit({ type: 'refused', taskId: id, principal: peer.principal })
    throw unknownTask()
  }

  /** A peer's tasks after a position, oldest first. */
  async list(peer: Peer, after: TaskPosition | undefined, limit: number): Promise<TaskRecord[]> {
    return (await this.settings.store.list(ownerOf(peer), after, limit)).map(fromRow)
  }

  read(record: TaskRecord, peer: Peer): void {
    this.#emitFor('read', record, peer)
  }

  /**
   * Answers open questions of a task, ignoring others.
   * @throws RpcError -32602 for an answer that does not match its question
   */
  async answer(id: string, responses: JsonObject): Promise<void> {
    const next = await this.#change(id, (record) => {
      const after = withAnswers(record, responses)
      return after?.running ? { ...after, holder: this.#holder, heldUntil: this.#heldUntil() } : after
    })
    if (next?.running) this.#start(next)
  }

  /** Ends a task with a tool error because its client does not answer its question. */
  async fail(id: string, reason: string): Promise<void> {
    const result = { content: [{ type: 'text', text: reason }], isError: true }
    await this.#change(id, (record) =>
      record.status === 'input_required' ? completed(record, result) : undefined,
    )
  }

  /** Cancels a task and stops its handler. False if it was final. */
  async cancel(id: string): Promise<boolean> {
    const done = await this.#change(id, (record) => (isFinal(record) ? undefined : cancelled(record)))
    if (done === undefined) return false
    this.#runs.get(id)?.stop(new McpError('CANCELLED', 'The client cancelled the task'))
    return true
  }

  /** The task now and after every change, until it is final, gone, or `signal` is aborted. */
  async *follow(id: string, signal: AbortSignal): AsyncGenerator<TaskRecord> {
    let stale = true
    let wakeUp = (): void => {}
    const refresh = (): void => {
      stale = true
      wakeUp()
    }
    const unfollow = addToGroup(this.#followers, id, refresh)
    const timer = unref(setInterval(refresh, this.settings.pollIntervalMs))
    signal.addEventListener('abort', refresh, { once: true })
    try {
      let lastState: string | undefined
      while (!signal.aborted) {
        stale = false
        const record = await this.#get(id)
        if (record === undefined) return
        if (visibleState(record) !== lastState) {
          lastState = visibleState(record)
          yield record
          if (isFinal(record)) return
        }
        await new Promise<void>((resolve) => {
          wakeUp = resolve
          if (stale || signal.aborted) resolve()
        })
      }
    } finally {
      clearInterval(timer)
      signal.removeEventListener('abort', refresh)
      unfollow()
    }
  }

  /** Subscribes to the notifications of a task that runs here. Returns a function to unsubscribe. */
  subscribe(id: string, listener: (notification: ServerNotification) => void): () => void {
    return addToGroup(this.#listeners, id, listener)
  }

  /** Stops and releases running tasks, so that another process can continue them. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer)
    const { store } = this.settings
    const reason = new McpError('CONNECTION_CLOSED', 'The server is shutting down')
    const runs = [...this.#runs.values()]
    const held = [...this.#runs.keys()]
    for (const run of runs) run.stop(reason)
    const grace = new Promise((resolve) => unref(setTimeout(resolve, graceMs)))
    await Promise.race([Promise.allSettled(runs.map(({ done }) => done)), grace])
    await store.renew(this.#holder, held, 0)
    await store.close?.()
  }

  async #get(id: string): Promise<TaskRecord | undefined> {
    const row = await this.settings.store.get(id)
    return row && fromRow(row)
  }

  /** Changes a task unless `edit` returns undefined; undefined then, and if there is no such task. */
  async #change(id: string, edit: Edit): Promise<TaskRecord | undefined> {
    for (;;) {
      const record = await this.#get(id)
      const edited = record && edit(record)
      if (record === undefined || edited === undefined) return undefined
      const isVisible = visibleState(edited) !== visibleState(record)
      const updatedAt = isVisible ? Math.max(Date.now(), record.updatedAt) : record.updatedAt
      const next = { ...edited, version: record.version + 1, updatedAt }
      if (!(await this.settings.store.replace(toRow(next)))) continue
      if (isVisible) {
        this.#emitFor('changed', next)
        for (const refresh of this.#followers.get(id) ?? []) refresh()
      }
      return next
    }
  }

  #start(record: TaskRecord): void {
    const { id } = record
    const run: TaskRun = new TaskRun(record, {
      server: this.server,
      serve: this.#serve,
      maxTaskBytes: this.settings.maxTaskBytes,
      limits: { ...limits, questions: this.settings.maxQuestions },
      save: (edit) =>
        this.#change(id, (current) => {
          const isOwn = this.#runs.get(id) === run && current.running && current.holder === this.#holder
          return isOwn ? edit(current) : undefined
        }),
      onNotification: (notification) => {
        for (const listener of this.#listeners.get(id) ?? []) listener(notification)
      },
    })
    this.#runs.set(id, run)
    run.done
      .catch((error) => this.server.report(error, { method: 'tasks' }))
      .finally(() => {
        if (this.#runs.get(id) === run) this.#runs.delete(id)
      })
  }

  #heldUntil(): number {
    return Date.now() + this.settings.leaseMs
  }

  #scheduleHeartbeat(ms: number): void {
    if (this.#closed !== undefined) return
    this.#timer = unref(
      setTimeout(() => {
        this.#heartbeat()
          .catch((error) => this.server.report(error, { method: 'tasks' }))
          .finally(() => this.#scheduleHeartbeat(this.settings.leaseMs / 3))
      }, ms),
    )
  }

  /** Renews the leases of running tasks, stops those lost, and takes over abandoned ones. */
  async #heartbeat(): Promise<void> {
    const { store } = this.settings
    const before = [...this.#runs]
    const ids = before.map(([id]) => id)
    const held = new Set(await store.renew(this.#holder, ids, this.#heldUntil()))
    for (const [id, run] of before) {
      if (!held.has(id))
        run.stop(new McpError('CANCELLED', 'The task was cancelled, taken over, or has expired'))
    }
    if (this.#closed !== undefined) return
    for (const row of await store.claim(this.#holder, this.#heldUntil(), claimBatch)) {
      await this.#takeOver(row.id).catch((error) => this.server.report(error, { method: 'tasks' }))
    }
    await store.expire()
  }

  async #takeOver(id: string): Promise<void> {
    const { maxTakeovers } = this.settings
    const message = `The server stopped ${maxTakeovers + 1} times while it worked on this task`
    const next = await this.#change(id, (record) =>
      record.takeovers >= maxTakeovers
        ? failed(record, { code: ErrorCode.InternalError, message })
        : { ...record, takeovers: record.takeovers + 1 },
    )
    if (!next?.running) return
    this.#emitFor('taken over', next)
    this.#start(next)
  }

  #emitFor(type: TaskEvent['type'], { id, status }: TaskRecord, peer?: Peer): void {
    this.#emit({ type, taskId: id, principal: peer?.principal ?? null, status })
  }

  #emit(event: TaskEvent): void {
    try {
      this.settings.onEvent(event)
    } catch (error) {
      this.server.report(error, { method: 'tasks' })
    }
  }
}

/** The same error whatever the reason, so that no task of another owner is revealed. */
export function unknownTask(): RpcError {
  return new RpcError(
    ErrorCode.InvalidParams,
    'Unknown task: it does not exist, has expired, or belongs to another caller',
  )
}

function notCreated(reason: string): RpcError {
  return new RpcError(ErrorCode.InternalError, `The task was not created: ${reason}`)
}

/** The part of a task that clients see, to detect changes. */
function visibleState({ status, statusMessage, questions }: TaskRecord): string {
  return JSON.stringify([status, statusMessage, Object.keys(questions)])
}

function addToGroup<T>(groups: Map<string, Set<T>>, id: string, member: T): () => void {
  const group = groups.get(id) ?? new Set()
  group.add(member)
  groups.set(id, group)
  return () => {
    group.delete(member)
    if (group.size === 0 && groups.get(id) === group) groups.delete(id)
  }
}
