import { utf8 } from '../../jsonrpc/bytes.ts'
import { ErrorCode, invalid, invalidParams, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { maxTimerMs } from '../../jsonrpc/promises.ts'
import type { ServerNotification } from '../../protocol/methods.ts'
import { randomText } from '../../request/encoding.ts'
import type { Exchange, Peer } from '../../request/exchange.ts'
import { limits } from '../../request/limits.ts'
import type { Journal } from '../../request/state.ts'
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
  newTask,
  ownerOf,
  type TaskEdit,
  type TaskRecord,
  toUpdate,
  withAnswers,
} from './record.ts'
import { type Serve, TaskRun } from './run.ts'
import type { ClaimedTask, TaskChange, TaskPosition } from './store.ts'

type Edit = (record: TaskRecord) => TaskEdit | undefined

/** The result of one run of a task. */
export type TaskRound =
  /** The task has ended, or does not exist. */
  | { readonly type: 'over' }
  /** The task waits for responses of its client. */
  | { readonly type: 'waiting' }
  /** The task must run again after this many milliseconds. */
  | { readonly type: 'later'; readonly afterMs: number }

const idBytes = 24
const idChars = 128
const claimBatch = 16
/** Milliseconds between the reads of a follower, of a store that also notifies of changes. */
const fallbackPollMs = 10_000

/** The tasks of one server: creates, runs, releases and takes over tasks. */
export class TaskEngine {
  readonly settings: TaskSettings
  readonly #holder: string = randomText(12)
  readonly #runs = new Map<string, TaskRun>()
  /** The newest version of a task that its run wrote, or began with. */
  readonly #ownVersions = new WeakMap<TaskRun, number>()
  readonly #followers = new Map<string, Set<(version?: number) => void>>()
  readonly #listeners = new Map<string, Set<(notification: ServerNotification) => void>>()
  #server: Server | undefined
  #serve: Serve = () => Promise.reject(new TypeError('tasks() is not attached to a server'))
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Timers of tasks that this process will claim. */
  readonly #due = new Set<ReturnType<typeof setTimeout>>()
  #unsubscribe: (() => void) | undefined
  /** Tasks that are being claimed. */
  #claiming = 0
  /** Whether tasks may wait for room in this process. */
  #hasWaiting = false
  #draining = false
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
    if (this.settings.store.durable) this.#begin(0)
  }

  /** Whether this process claims tasks from the store. */
  get isWorker(): boolean {
    return this.settings.work && this.settings.runner === undefined
  }

  get #room(): number {
    if (!this.isWorker || this.#draining || this.#closed !== undefined) return 0
    return Math.max(0, this.settings.maxRunning - this.#runs.size - this.#claiming)
  }

  /**
   * Creates a task from a request and starts it. It is stored when the promise resolves.
   * @throws RpcError if the capacity is reached
   */
  async create(exchange: Exchange, ttlMs: number, journal?: Journal): Promise<TaskRecord> {
    const { store, maxTasks, maxTasksPerPrincipal, maxTaskBytes } = this.settings
    if (this.#closed !== undefined) throw notCreated('this server is shutting down')
    const reserved = Math.min(1, this.#room)
    const holder = reserved > 0 ? this.#holder : ''
    const holdMs = reserved > 0 ? this.settings.leaseMs : 0
    const task = newTask({ id: randomText(idBytes), exchange, holder, holdMs, ttlMs, journal })
    if (utf8(task.body).length > maxTaskBytes) {
      throw invalidParams(`a task may have at most ${maxTaskBytes} bytes`)
    }
    this.#claiming += reserved
    const capacity = { owner: maxTasksPerPrincipal, all: maxTasks }
    const row = await store.add(task, capacity).finally(() => {
      this.#claiming -= reserved
    })
    if (row === undefined) throw notCreated('too many are stored. Try again when some have expired')
    const record = fromRow(row)
    this.#emitFor('created', record, exchange.peer)
    this.#begin(this.settings.leaseMs / 3)
    this.#startOrOffer(record)
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
      if (!after?.running) return after
      return this.#room > 0
        ? { ...after, holder: this.#holder, holdMs: this.settings.leaseMs }
        : { ...after, holder: '', holdMs: 0 }
    })
    if (next?.running) this.#startOrOffer(next)
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
    let seen = 0
    let wakeUp = (): void => {}
    const refresh = (): void => {
      stale = true
      wakeUp()
    }
    const unfollow = addToGroup(this.#followers, id, (version) => {
      if (version === undefined || version > seen) refresh()
    })
    const { store, pollIntervalMs } = this.settings
    const pollMs = store.changed === undefined ? pollIntervalMs : Math.max(pollIntervalMs, fallbackPollMs)
    const timer = unref(setInterval(refresh, pollMs))
    signal.addEventListener('abort', refresh, { once: true })
    try {
      let lastState: string | undefined
      while (!signal.aborted) {
        stale = false
        const record = await this.#get(id)
        if (record === undefined) return
        seen = record.version
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

  /**
   * Runs a task that no other process runs, until it is over, waits, or has to be repeated: for a runner.
   * @throws what the store throws
   */
  async run(id: string): Promise<TaskRound> {
    const { store, leaseMs } = this.settings
    if (this.#closed !== undefined || this.#draining) return { type: 'later', afterMs: 1000 }
    this.#begin(leaseMs / 3)
    const [claimed] = await store.claim(this.#holder, leaseMs, { id })
    if (claimed === undefined) {
      const record = await this.#get(id)
      return record === undefined ? { type: 'over' } : this.#roundOf(record)
    }
    const { record, delayMs } = await this.#accept(claimed)
    if (record?.running !== true) return { type: 'over' }
    if (delayMs > 0) return { type: 'later', afterMs: delayMs }
    await this.#start(record)
    const after = await this.#get(id)
    return after === undefined ? { type: 'over' } : this.#roundOf(after)
  }

  /** What remains to be done for a task that this process does not run. */
  #roundOf({ running, status, holder, heldUntil }: TaskRecord): TaskRound {
    if (!running) return { type: status === 'input_required' ? 'waiting' : 'over' }
    // By the clock of this process, which may differ from that of the store, which decides when the task is run again.
    const afterMs = holder === '' ? Math.max(0, heldUntil - Date.now()) : this.settings.leaseMs / 3
    return { type: 'later', afterMs: Math.ceil(afterMs) }
  }

  /** Claims no more tasks and waits for those that run, at most `graceMs` milliseconds. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true
    const runs = Promise.allSettled([...this.#runs.values()].map(({ done }) => done))
    await Promise.race([runs, new Promise((resolve) => unref(setTimeout(resolve, graceMs)))])
  }

  /** Stops and releases running tasks, so that another process can continue them. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer)
    for (const timer of this.#due) clearTimeout(timer)
    this.#unsubscribe?.()
    const { store } = this.settings
    const reason = new McpError('CONNECTION_CLOSED', 'The server is shutting down')
    const runs = [...this.#runs]
    for (const [, run] of runs) run.stop(reason)
    const grace = new Promise((resolve) => unref(setTimeout(resolve, 1000)))
    await Promise.race([Promise.allSettled(runs.map(([, { done }]) => done)), grace])
    const released = runs.map(([id]) => this.#release(id, 0))
    for (const result of await Promise.allSettled(released)) {
      if (result.status === 'rejected') this.server.report(result.reason, { method: 'tasks' })
    }
    await store.close?.()
  }

  /** Releases a task of this process, for any process to claim after a delay. Undefined if this process does not hold it. */
  #release(id: string, delayMs: number, more: Partial<TaskRecord> = {}): Promise<TaskRecord | undefined> {
    return this.#change(id, (record) =>
      record.running && record.holder === this.#holder
        ? { ...record, ...more, holder: '', holdMs: delayMs }
        : undefined,
    )
  }

  async #get(id: string): Promise<TaskRecord | undefined> {
    const row = await this.settings.store.get(id)
    return row && fromRow(row)
  }

  /** Changes a task unless `edit` returns undefined; undefined then, and if there is no such task. */
  async #change(id: string, edit: Edit): Promise<TaskEdit | undefined> {
    for (;;) {
      const record = await this.#get(id)
      const edited = record && edit(record)
      if (record === undefined || edited === undefined) return undefined
      const isVisible = visibleState(edited) !== visibleState(record)
      const updatedAt = isVisible ? Math.max(Date.now(), record.updatedAt) : record.updatedAt
      const next = { ...edited, version: record.version + 1, updatedAt }
      if (!(await this.settings.store.replace(toUpdate({ ...edited, updatedAt })))) continue
      if (isVisible) {
        this.#emitFor('changed', next)
        for (const refresh of this.#followers.get(id) ?? []) refresh(next.version)
      }
      return next
    }
  }

  /** Starts a task that this process holds, or offers it to other processes. */
  #startOrOffer(record: TaskRecord): void {
    if (record.holder === this.#holder) this.#start(record)
    else if (this.settings.runner !== undefined) this.#enqueue(record.id, 0)
    else this.#hasWaiting = true
  }

  /** Passes a task to the runner. If that fails, it is repeated when the task has been due for the time of a lease. */
  #enqueue(id: string, delayMs: number): void {
    const { runner } = this.settings
    Promise.resolve()
      .then(() => runner?.start(id, delayMs))
      .catch((error) => this.server.report(error, { method: 'tasks' }))
  }

  /** Runs a task that this process holds; resolves when its handler has ended. */
  #start(record: TaskRecord): Promise<void> {
    const { id } = record
    /** The version that this run wrote last; undefined if it is not known whether it wrote one. */
    let written: number | undefined = record.version
    let saving: Promise<unknown> = Promise.resolve()
    const save = async (edit: (current: TaskRecord) => TaskEdit): Promise<TaskEdit | undefined> => {
      const known = written
      written = undefined
      const next = await this.#change(id, (current) => {
        const isOwn = this.#runs.get(id) === run && current.running && current.holder === this.#holder
        // With another version, another process took and released the task meanwhile: it may run here again from the stored state.
        if (!isOwn || (known !== undefined && current.version !== known)) return undefined
        const edited = edit(current)
        this.#ownVersions.set(run, current.version + 1)
        return edited
      })
      written = next?.version ?? known
      if (next === undefined) run.stop(lost())
      if (next?.running && next.holder === '') this.#claimLater(id, next.holdMs ?? 0)
      return next
    }
    const run: TaskRun = new TaskRun(record, {
      server: this.server,
      serve: this.#serve,
      maxTaskBytes: this.settings.maxTaskBytes,
      maxRetries: this.settings.retry.most,
      limits: { ...limits, questions: this.settings.maxQuestions },
      save: (edit) => {
        const saved = saving.then(() => save(edit))
        saving = saved.catch(() => {})
        return saved
      },
      onNotification: (notification) => {
        for (const listener of this.#listeners.get(id) ?? []) listener(notification)
      },
    })
    this.#runs.set(id, run)
    this.#ownVersions.set(run, record.version)
    return run.done
      .catch((error) => this.server.report(error, { method: 'tasks' }))
      .finally(() => {
        if (this.#runs.get(id) === run) this.#runs.delete(id)
        if (this.#hasWaiting) this.#inBackground(this.#claimWaiting())
      })
  }

  /** Begins to renew leases and to claim tasks. */
  #begin(ms: number): void {
    if (this.#timer !== undefined || this.#closed !== undefined) return
    this.#scheduleHeartbeat(ms, 0)
    this.#unsubscribe = this.settings.store.changed?.((change) => this.#onChanged(change))
  }

  #scheduleHeartbeat(ms: number, renewedAt: number): void {
    if (this.#closed !== undefined) return
    const { leaseMs, pollIntervalMs, store } = this.settings
    const isPolling = this.isWorker && store.durable && store.changed === undefined
    const beatMs = leaseMs / 3
    this.#timer = unref(
      setTimeout(() => {
        const now = performance.now()
        const isBeat = !isPolling || now - renewedAt >= beatMs
        const work = isBeat ? this.#heartbeat() : this.#claimWaiting()
        const nextMs = isPolling ? Math.min(beatMs, pollIntervalMs) : beatMs
        this.#inBackground(work).finally(() => this.#scheduleHeartbeat(nextMs, isBeat ? now : renewedAt))
      }, ms),
    )
  }

  /** Renews the leases of running tasks, stops those lost, and takes over abandoned ones. */
  async #heartbeat(): Promise<void> {
    const { store, leaseMs } = this.settings
    const before = [...this.#runs]
    const ids = before.map(([id]) => id)
    if (ids.length > 0) {
      const renewed = new Set(await store.renew(this.#holder, ids, leaseMs))
      for (const [id, run] of before) {
        if (!renewed.has(id)) run.stop(lost())
      }
    }
    await this.#claimWaiting()
    if (this.settings.runner !== undefined) await this.#enqueueForgotten()
    if (this.#closed === undefined) await store.expire()
  }

  #onChanged(change: TaskChange | undefined): void {
    if (change === undefined) {
      for (const group of this.#followers.values()) for (const refresh of group) refresh()
      this.#inBackground(this.#heartbeat())
      return
    }
    const { id, version, running, holder, delayMs } = change
    for (const refresh of this.#followers.get(id) ?? []) refresh(version)
    const run = this.#runs.get(id)
    if (run !== undefined) {
      const isLost = !running || holder !== this.#holder
      if (isLost && version > (this.#ownVersions.get(run) ?? version)) run.stop(lost())
    } else if (running && holder === '' && delayMs === 0) {
      this.#inBackground(this.#claimOne(id))
    }
  }

  async #claimOne(id: string): Promise<void> {
    if (this.#room === 0) {
      this.#hasWaiting = this.isWorker
      return
    }
    const { store, leaseMs } = this.settings
    await this.#startClaimed(1, () => store.claim(this.#holder, leaseMs, { id }))
  }

  /** Claims a released task of this process after a delay; other processes do so with their next heartbeat. */
  #claimLater(id: string, delayMs: number): void {
    if (!this.isWorker || this.#closed !== undefined) return
    const timer = unref(
      setTimeout(
        () => {
          this.#due.delete(timer)
          this.#inBackground(this.#claimOne(id))
        },
        Math.min(delayMs + 1, maxTimerMs),
      ),
    )
    this.#due.add(timer)
  }

  /** Claims waiting tasks, up to `maxRunning`. */
  async #claimWaiting(): Promise<void> {
    const { store, leaseMs } = this.settings
    for (;;) {
      const limit = Math.min(this.#room, claimBatch)
      if (limit === 0) return
      const claimed = await this.#startClaimed(limit, () => store.claim(this.#holder, leaseMs, { limit }))
      this.#hasWaiting = claimed === limit
      if (!this.#hasWaiting) return
    }
  }

  /** Starts the tasks that were claimed, and returns their number. */
  async #startClaimed(limit: number, claim: () => Promise<ClaimedTask[]>): Promise<number> {
    this.#claiming += limit
    try {
      const all = await claim()
      for (const claimed of all) {
        await this.#inBackground(
          this.#accept(claimed).then(({ record, delayMs }) => {
            if (record?.running !== true) return
            if (delayMs > 0) this.#claimLater(record.id, delayMs)
            else this.#start(record)
          }),
        )
      }
      return all.length
    } finally {
      this.#claiming -= limit
    }
  }

  /**
   * Counts an unexpected end of a task's process, after which the task fails or is released for a while.
   * @returns the task, and the delay for which it is released
   */
  async #accept(claimed: ClaimedTask): Promise<{ record: TaskRecord | undefined; delayMs: number }> {
    const { previousHolder, ...row } = claimed
    const { maxTakeovers, retry } = this.settings
    const record = fromRow(row)
    if (previousHolder === '') return { record, delayMs: 0 }
    const { takeovers } = record
    if (takeovers >= maxTakeovers) {
      const message = `The server stopped ${maxTakeovers + 1} times while it worked on this task`
      const error = { code: ErrorCode.InternalError, message }
      const isOwn = (current: TaskRecord): boolean => current.running && current.holder === this.#holder
      const next = await this.#change(row.id, (current) =>
        isOwn(current) ? failed(current, error) : undefined,
      )
      return { record: next, delayMs: 0 }
    }
    const delayMs = Math.min(retry.longestMs, retry.firstMs * 2 ** takeovers)
    const next = await this.#release(row.id, delayMs, { takeovers: takeovers + 1 })
    if (next !== undefined) this.#emitFor('taken over', next)
    return { record: next, delayMs }
  }

  /** Passes overdue tasks to the runner again. */
  async #enqueueForgotten(): Promise<void> {
    const { store, leaseMs, work } = this.settings
    if (!work || this.#closed !== undefined) return
    const scope = { limit: claimBatch, overdueMs: leaseMs }
    for (const claimed of await store.claim(this.#holder, leaseMs, scope)) {
      const { record, delayMs } = await this.#accept(claimed)
      if (record?.running !== true) continue
      if (record.holder !== '') await this.#release(record.id, 0)
      this.#enqueue(record.id, delayMs)
    }
  }

  async #inBackground(work: Promise<unknown>): Promise<void> {
    await work.catch((error) => {
      if (this.#closed === undefined) this.server.report(error, { method: 'tasks' })
    })
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

/** Why a handler is stopped whose task this process no longer holds. */
function lost(): McpError {
  return new McpError('CANCELLED', 'The task was cancelled, taken over, or has expired')
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
