import { type CallToolResult, McpError } from '@jackfield/sdk'
import type { CallOptions, Client } from '@jackfield/sdk/client'
import { type ClientTask, type TaskState, type TasksClient, tasksClient } from '@jackfield/sdk/client/tasks'
import type { Recorder } from '../log/store/activity-log.ts'
import type { Store } from '../log/store/store.ts'
import type { TaskRow } from '../log/store/task-table.ts'
import type { ServerConnection } from '../servers/connections/connection.ts'
import type { JsonRecord } from '../shared/json.ts'
import { orAborted } from '../shared/signals.ts'
import { oneLine, reasonOf } from '../shared/text.ts'
import type { BrokeredCall, Failure, HostEvent, HostTask, TaskService } from '../types/index.ts'
import type { ActiveRequests } from './active-requests.ts'
import { detachedTask, failedCall, isTransportError } from './call-results.ts'

/** Ended tasks of this program that stay listed. */
const maxEnded = 100
/** Consecutive lost connections without a response after which a task counts as lost. */
const maxReconnects = 8
/** Milliseconds a server may take to confirm a cancelled task. */
const cancelTimeoutMs = 10_000
/** Tasks have no time limit; this is the longest timer. */
const maxTaskMs = 2_147_483_647

/** The call that may become a task. */
type TaskStart = Pick<TaskRow, 'call' | 'server' | 'identity' | 'request'>

export interface TaskDeps {
  store: Pick<Store, 'tasks' | 'owners'>
  activeRequests: ActiveRequests
  recorder: Recorder
  callTimeoutMs: number
  /** Redacts what is stored. */
  redact<T>(value: T): T
  emit(event: HostEvent): void
  /** The server with this name, if the host has it. */
  connection(server: string): ServerConnection | undefined
  /** The result released to the caller, as policy decides; `row` is that of the call. */
  releaseResult(
    call: TaskRow['request'] & { server: string },
    result: CallToolResult,
    row: number,
    signal: AbortSignal,
  ): Promise<Pick<BrokeredCall, 'result' | 'release'>>
  /** Aborted when the host closes. */
  signal: AbortSignal
  /** Delays the host's close. */
  follow(work: Promise<unknown>): void
}

/** The program ended while its server worked on the task; the next program on the store continues it. */
export class TaskDetached extends Error {
  override readonly name: string = 'TaskDetached'
}

interface FollowedTask {
  task: HostTask
  /** Stops polling and cancels the task. */
  readonly stop: AbortController
  readonly done: PromiseWithResolvers<BrokeredCall>
}

/** Calls that become tasks: each is followed to its end, across lost connections and restarts of this program. */
export class Tasks implements TaskService {
  /** For the option `extensions` of `connect`. */
  readonly extension: TasksClient = tasksClient()
  readonly #deps: TaskDeps
  readonly #followed = new Map<number, FollowedTask>()
  readonly #ended = new Map<number, FollowedTask>()

  constructor(deps: TaskDeps) {
    this.#deps = deps
  }

  /**
   * Calls a tool and waits for its result, also if the server runs it as a task.
   * @throws TaskDetached if the host is closed while the server works on the task
   */
  async call(
    client: Client,
    start: TaskStart,
    args: JsonRecord,
    options: CallOptions & { signal: AbortSignal },
  ): Promise<CallToolResult> {
    const started = await this.extension.start(client, start.request.tool, args, options)
    if ('result' in started) return started.result
    const { owners, tasks } = this.#deps.store
    const { call } = start
    const stop = new AbortController()
    // Between the server's response and this row, only a crash of this program could lose the task.
    owners.lock()
    const row: TaskRow = {
      ...start,
      request: this.#deps.redact(start.request),
      owner: owners.me,
      task: started.task.id,
      status: 'working',
      message: null,
      createdAt: new Date().toISOString(),
      expiresAt: null,
    }
    tasks.add(row)
    this.#deps.activeRequests.becameTask(start.server, call, row.task)
    const followed = { task: taskOf(row, true), stop, done: Promise.withResolvers<BrokeredCall>() }
    this.#followed.set(call, followed)
    this.#changed(call, {})
    const signal = AbortSignal.any([options.signal, stop.signal])
    return await this.#follow(client, started.task, row, args, { ...options, signal })
  }

  /** The outcome of a call of this program, for those that wait for its task. */
  settled(done: BrokeredCall): void {
    this.#ended.get(done.activity)?.done.resolve(done)
  }

  list(): HostTask[] {
    const { owners, tasks } = this.#deps.store
    const stored = tasks
      .list()
      .filter(({ call }) => !this.#followed.has(call))
      .map((row) => taskOf(row, row.owner !== null && !owners.isGone(row.owner)))
    const known = [...this.#ended.values(), ...this.#followed.values()].map(({ task }) => task)
    return [...known, ...stored].sort((one, other) => one.activity - other.activity)
  }

  async result(id: string, { signal }: { signal?: AbortSignal } = {}): Promise<BrokeredCall> {
    const { done } = this.#followed.get(Number(id)) ?? this.#ended.get(Number(id)) ?? {}
    if (done === undefined) throw this.#refusal(id)
    return await orAborted(done.promise, signal)
  }

  async cancel(id: string): Promise<void> {
    const call = Number(id)
    const followed = this.#followed.get(call)
    if (followed !== undefined) {
      followed.stop.abort(new McpError('CANCELLED', 'The task was cancelled'))
      await followed.done.promise
      return
    }
    const { tasks, owners } = this.#deps.store
    const row = tasks.list().find((task) => task.call === call)
    if (row === undefined || !this.#claim(row)) throw this.#refusal(id)
    const connection = this.#deps.connection(row.server)
    if (connection?.identity === row.identity) {
      const until = AbortSignal.any([this.#deps.signal, AbortSignal.timeout(cancelTimeoutMs)])
      const client = await connection.ready(until).catch(() => undefined)
      if (client === undefined) {
        tasks.release(call, owners.me)
        throw new McpError(
          'CONNECT_FAILED',
          `${oneLine(row.server)} is not connected, so the task was not cancelled.`,
        )
      }
      await cancelAt(this.extension.resume(client, row.task))
    }
    tasks.remove(call)
    this.#deps.emit({ type: 'task', task: { ...taskOf(row, false), status: 'cancelled' } })
  }

  /** Continues the tasks at a newly connected server whose programs have ended. */
  continueAt(connection: ServerConnection): void {
    for (const row of this.#deps.store.tasks.list()) {
      if (row.server !== connection.name || this.#followed.has(row.call) || !this.#claim(row)) continue
      const done = Promise.withResolvers<BrokeredCall>()
      const task: HostTask = { ...taskOf(row, true), continued: true }
      this.#followed.set(row.call, { task, stop: new AbortController(), done })
      this.#changed(row.call, {})
      this.#deps.follow(this.#continue(row, connection).then(done.resolve))
    }
  }

  /** The error for a task that this program neither follows nor can take over. */
  #refusal(id: string): McpError {
    const row = this.#deps.store.tasks.list().find(({ call }) => String(call) === id)
    if (row === undefined)
      return new McpError('NOT_FOUND', `There is no task ${oneLine(id)} here, or it ended too long ago.`)
    const { owner, server } = row
    return owner === null || this.#deps.store.owners.isGone(owner)
      ? new McpError('CONFLICT', `Task ${id} is continued once ${oneLine(server)} is connected.`)
      : new McpError(
          'CONFLICT',
          `Task ${id} belongs to another running program. Wait for it or cancel it there.`,
        )
  }

  /** Makes this program the one that polls a task, if no other does. */
  #claim({ call, owner }: TaskRow): boolean {
    const { owners, tasks } = this.#deps.store
    if (owner !== null && !owners.isGone(owner)) return false
    owners.lock()
    return tasks.claim(call, owner, owners.me)
  }

  async #continue(row: TaskRow, connection: ServerConnection): Promise<BrokeredCall> {
    const { recorder, activeRequests, emit, releaseResult, callTimeoutMs } = this.#deps
    const { call, server, task, request } = row
    const { tool, arguments: args, caller, decision, conversation } = request
    const within = conversation === undefined ? {} : { conversation }
    const entry = recorder.open({
      kind: 'call',
      server,
      cause: call,
      summary: `${tool} of ${server}, task continued`,
      detail: { tool, arguments: args, caller, decision, continues: call, task, ...within },
    })
    const active = { server, method: 'tools/call' as const, target: tool, arguments: args, caller, ...within }
    const endRequest = activeRequests.begin({ ...active, row: entry.id, taskId: task })
    const notice = { activity: entry.id, server, tool, caller, cause: call, ...within }
    emit({ type: 'call', state: 'begins', call: notice })
    const stop = this.#followed.get(call)?.stop ?? new AbortController()
    const signal = AbortSignal.any([this.#deps.signal, stop.signal])
    const finish = (
      outcome: string,
      passed: Pick<BrokeredCall, 'result' | 'release'>,
      error?: Failure,
    ): BrokeredCall => {
      emit({ type: 'call', state: 'ends', call: notice, outcome })
      entry.close(outcome, { result: passed.result, ...(error !== undefined && { error }) })
      return { ...passed, denied: false, decision, activity: entry.id, ...(error !== undefined && { error }) }
    }
    let requestError: unknown
    try {
      if (connection.identity !== row.identity) {
        const message = `${oneLine(server)} is not the server that began the task: its command or address changed.`
        this.#end(row, 'lost', message)
        throw new McpError('INVALID', message)
      }
      const client = await connection.ready(signal)
      const resumed = this.extension.resume(client, task, { tool, arguments: args })
      const options = {
        signal,
        timeoutMs: connection.config.callTimeoutMs ?? callTimeoutMs,
      }
      const result = await this.#follow(client, resumed, row, args, options)
      return finish(
        result.isError ? 'error' : 'ok',
        await releaseResult({ ...request, server }, result, entry.id, signal),
      )
    } catch (error) {
      requestError = error
      const failure =
        error instanceof TaskDetached ? detachedTask(server, tool) : failedCall(server, tool, error)
      return finish(failure.outcome, failure, failure.error)
    } finally {
      endRequest(requestError)
    }
  }

  /** Polls a task to its end. A lost connection does not end it: the server may still have the task. */
  async #follow(
    client: Client,
    first: ClientTask,
    row: TaskRow,
    args: JsonRecord,
    {
      signal,
      onProgress,
      timeoutMs,
    }: Pick<CallOptions, 'onProgress' | 'timeoutMs'> & { signal: AbortSignal },
  ): Promise<CallToolResult> {
    const { call, server, identity } = row
    let [task, current, reconnects] = [first, client, 0]
    const options: Parameters<ClientTask['result']>[0] = {
      signal,
      maxTotalMs: maxTaskMs,
      ...(timeoutMs !== undefined && { timeoutMs }),
      onProgress: (progress) => {
        this.#changed(call, { progress })
        onProgress?.(progress)
      },
      onState: (state) => {
        reconnects = 0
        this.#updateState(call, state)
      },
    }
    for (;;) {
      try {
        const result = await task.result(options)
        this.#end(row, 'completed')
        return result
      } catch (error) {
        if (this.#deps.signal.aborted) {
          this.#detach(row)
          throw new TaskDetached('The host was closed', { cause: error })
        }
        if (signal.aborted) {
          await cancelAt(task)
          this.#end(row, 'cancelled')
          throw error
        }
        const connection = this.#deps.connection(server)
        if (!isTransportError(error) || connection === undefined || reconnects >= maxReconnects) {
          const isCancelled = error instanceof McpError && error.code === 'CANCELLED'
          this.#end(row, isCancelled ? 'cancelled' : 'failed', reasonOf(error))
          throw error
        }
        reconnects += 1
        connection.suspect(current)
        try {
          current = await connection.ready(signal)
        } catch (problem) {
          if (signal.aborted) continue
          this.#end(row, 'lost', reasonOf(problem))
          throw error
        }
        if (connection.identity !== identity) {
          this.#end(row, 'lost', `${oneLine(server)} is another server now`)
          throw error
        }
        task = this.extension.resume(current, row.task, { tool: row.request.tool, arguments: args })
      }
    }
  }

  #updateState(call: number, { status, statusMessage, createdAt, ttlMs }: TaskState): void {
    if (status !== 'working' && status !== 'input_required') return
    const known = this.#followed.get(call)?.task
    const createdMs = Date.parse(createdAt)
    const expiresAt =
      ttlMs === null || Number.isNaN(createdMs) ? null : new Date(createdMs + ttlMs).toISOString()
    const { message: _message, ...rest } = known ?? {}
    const message = statusMessage === undefined ? undefined : oneLine(statusMessage)
    if (known?.status === status && known.message === message && known.expiresAt === expiresAt) return
    this.#changed(call, { ...rest, status, expiresAt, ...(message !== undefined && { message }) })
    try {
      this.#deps.store.tasks.setStatus(call, status, message ?? null)
    } catch {
      // The state is shown even if it cannot be stored; the task's id is stored already.
    }
  }

  #changed(call: number, change: Partial<HostTask>): void {
    const followed = this.#followed.get(call)
    if (followed === undefined) return
    followed.task = { ...followed.task, ...change }
    this.#deps.emit({ type: 'task', task: followed.task })
  }

  #end({ call }: TaskRow, status: HostTask['status'], message?: string): void {
    this.#changed(call, {
      status,
      followed: false,
      ...(message !== undefined && { message: oneLine(message) }),
    })
    const followed = this.#followed.get(call)
    this.#followed.delete(call)
    if (followed !== undefined) this.#ended.set(call, followed)
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > maxEnded && oldest !== undefined) this.#ended.delete(oldest)
    try {
      this.#deps.store.tasks.remove(call)
    } catch (error) {
      process.emitWarning(`The end of a task could not be stored: ${reasonOf(error)}`)
    }
  }

  #detach({ call }: TaskRow): void {
    const { tasks, owners } = this.#deps.store
    try {
      tasks.release(call, owners.me)
    } catch {
      // The next program sees from the lock that this one ended.
    }
  }
}

/** A task outlives its request only if its server is unreachable, so a failure is not reported. */
async function cancelAt(task: ClientTask): Promise<void> {
  await task.cancel({ timeoutMs: cancelTimeoutMs }).catch(() => {})
}

function taskOf(row: TaskRow, followed: boolean): HostTask {
  const { call, server, task, request, status, message, createdAt, expiresAt } = row
  const { tool, arguments: args, caller, conversation } = request
  return {
    id: String(call),
    server,
    tool,
    arguments: args,
    caller,
    activity: call,
    taskId: task,
    status,
    createdAt,
    expiresAt,
    followed,
    ...(conversation !== undefined && { conversation }),
    ...(message !== null && { message }),
  }
}
