import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import type { ServerNotification } from '../../protocol/methods.ts'
import { toBase64Url } from '../../request/encoding.ts'
import type { Exchange, Peer } from '../../request/exchange.ts'
import { limits } from '../../request/limits.ts'
import type { Journal } from '../../request/live-run.ts'
import type { Server } from '../../server/server.ts'
import { missingScopesError } from '../../server/visibility.ts'
import { unref } from '../../transports/server/options.ts'
import type { Settings, TaskEvent } from './options.ts'
import {
  answered,
  cancelled,
  completed,
  failed,
  fromRow,
  isOver,
  maySee,
  newRecord,
  ownerOf,
  type TaskRecord,
  toRow,
} from './record.ts'
import { bytesOf, type Serve, TaskRun } from './run.ts'
import type { TaskPlace } from './store.ts'

type Edit = (record: TaskRecord) => TaskRecord | undefined

const idBytes = 24
const idChars = 128
const takenAtOnce = 16
const graceMs = 1000

/** The tasks of one server: begins them, works on them, lets go of them, and takes over what others let go of. */
export class TaskEngine {
  readonly settings: Settings
  readonly #holder: string = randomText(12)
  readonly #runs = new Map<string, TaskRun>()
  readonly #watchers = new Map<string, Set<() => void>>()
  readonly #hearers = new Map<string, Set<(notification: ServerNotification) => void>>()
  #server: Server | undefined
  #serve: Serve = () => Promise.reject(new TypeError('These tasks belong to no server yet'))
  #timer: ReturnType<typeof setTimeout> | undefined
  #closed: Promise<void> | undefined

  constructor(settings: Settings) {
    this.settings = settings
  }

  get server(): Server {
    if (this.#server === undefined) throw new TypeError('These tasks belong to no server yet')
    return this.#server
  }

  /** @throws McpError 'INVALID' for a second server: tasks belong to one */
  attach(server: Server, serve: Serve): void {
    if (this.#server !== undefined) {
      throw new McpError('INVALID', 'Tasks belong to one server: make tasks() anew for each')
    }
    this.#server = server
    this.#serve = serve
    if (this.settings.store.durable) this.#beatAfter(0)
  }

  /**
   * Makes a task of a request and begins to work on it. It is kept when the promise resolves.
   * @throws RpcError when there is no room for it
   */
  async create(exchange: Exchange, ttlMs: number, journal?: Journal): Promise<TaskRecord> {
    const { store, maxTasks, maxTasksPerPrincipal, maxTaskBytes } = this.settings
    if (this.#closed !== undefined) throw noRoom('this server is shutting down')
    const heldUntil = this.#heldUntil()
    const id = randomText(idBytes)
    const record = newRecord({ id, exchange, holder: this.#holder, heldUntil, ttlMs, journal })
    const row = toRow(record)
    if (bytesOf(row.body) > maxTaskBytes) {
      throw new RpcError(ErrorCode.InvalidParams, `Invalid params: a task may have ${maxTaskBytes} bytes`)
    }
    if (!(await store.add(row, { owner: maxTasksPerPrincipal, all: maxTasks }))) {
      throw noRoom('too many are kept. Try again when some have expired')
    }
    this.#tell('created', record, exchange.peer)
    this.#start(record)
    if (this.#timer === undefined) this.#beatAfter(this.settings.leaseMs / 3)
    return record
  }

  /**
   * A task as its owner sees it.
   * @throws RpcError -32602 for one that does not exist, or not for this peer; -32600 where it may no longer use the tool
   */
  async find(peer: Peer, id: unknown): Promise<TaskRecord> {
    if (typeof id !== 'string' || id.length > idChars) {
      throw new RpcError(ErrorCode.InvalidParams, 'Invalid params: "taskId" must be the id of a task')
    }
    const record = await this.#get(id)
    if (record !== undefined && maySee(peer, record)) {
      const refused = missingScopesError(this.server.scopesFor('tools/call', record.params), peer)
      if (refused !== undefined) throw refused
      return record
    }
    this.#hear({ type: 'refused', taskId: id, principal: peer.principal })
    throw unknownTask()
  }

  /** A peer's tasks after a place, oldest first. */
  async list(peer: Peer, after: TaskPlace | undefined, limit: number): Promise<TaskRecord[]> {
    return (await this.settings.store.list(ownerOf(peer), after, limit)).map(fromRow)
  }

  /** Says that a task was looked at. */
  read(record: TaskRecord, peer: Peer): void {
    this.#tell('read', record, peer)
  }

  /**
   * Takes answers to a task's questions; those to others are ignored.
   * @throws RpcError -32602 for an answer that does not fit its question
   */
  async answer(id: string, responses: JsonObject): Promise<void> {
    const next = await this.#change(id, (record) => {
      const after = answered(record, responses)
      return after?.running ? { ...after, holder: this.#holder, heldUntil: this.#heldUntil() } : after
    })
    if (next?.running) this.#start(next)
  }

  /** The client does not answer what a task asked, so its tool has failed, as it would have without a task. */
  async unanswered(id: string, why: string): Promise<void> {
    const result = { content: [{ type: 'text', text: why }], isError: true }
    await this.#change(id, (record) =>
      record.status === 'input_required' ? completed(record, result) : undefined,
    )
  }

  /** Cancels a task and stops its handler. False when it was over already. */
  async cancel(id: string): Promise<boolean> {
    const done = await this.#change(id, (record) => (isOver(record) ? undefined : cancelled(record)))
    if (done === undefined) return false
    this.#runs.get(id)?.stop(new McpError('CANCELLED', 'The client cancelled the task'))
    return true
  }

  /** A task as it stands, and again whenever that changes, until it is over, gone, or nobody waits any more. */
  async *follow(id: string, signal: AbortSignal): AsyncGenerator<TaskRecord> {
    let stale = true
    let wake = (): void => {}
    const look = (): void => {
      stale = true
      wake()
    }
    const leave = join(this.#watchers, id, look)
    const timer = unref(setInterval(look, this.settings.pollIntervalMs))
    signal.addEventListener('abort', look, { once: true })
    try {
      let face: string | undefined
      while (!signal.aborted) {
        stale = false
        const record = await this.#get(id)
        if (record === undefined) return
        if (faceOf(record) !== face) {
          face = faceOf(record)
          yield record
          if (isOver(record)) return
        }
        await new Promise<void>((resolve) => {
          wake = resolve
          if (stale || signal.aborted) resolve()
        })
      }
    } finally {
      clearInterval(timer)
      signal.removeEventListener('abort', look)
      leave()
    }
  }

  /** Hears of a task's progress while it is worked on here, until the returned function is called. */
  hear(id: string, hearer: (notification: ServerNotification) => void): () => void {
    return join(this.#hearers, id, hearer)
  }

  /** Stops what runs and lets go of it, so that another process can go on at once. */
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

  /** Changes a task unless `edit` gives nothing; undefined then, and where there is no such task. */
  async #change(id: string, edit: Edit): Promise<TaskRecord | undefined> {
    for (;;) {
      const record = await this.#get(id)
      const edited = record && edit(record)
      if (record === undefined || edited === undefined) return undefined
      const visible = faceOf(edited) !== faceOf(record)
      const updatedAt = visible ? Math.max(Date.now(), record.updatedAt) : record.updatedAt
      const next = { ...edited, version: record.version + 1, updatedAt }
      if (!(await this.settings.store.replace(toRow(next)))) continue
      if (visible) {
        this.#tell('changed', next)
        for (const look of this.#watchers.get(id) ?? []) look()
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
        this.#change(id, (now) => {
          const mine = this.#runs.get(id) === run && now.running && now.holder === this.#holder
          return mine ? edit(now) : undefined
        }),
      onNotice: (notification) => {
        for (const tell of this.#hearers.get(id) ?? []) tell(notification)
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

  #beatAfter(ms: number): void {
    if (this.#closed !== undefined) return
    this.#timer = unref(
      setTimeout(() => {
        this.#beat()
          .catch((error) => this.server.report(error, { method: 'tasks' }))
          .finally(() => this.#beatAfter(this.settings.leaseMs / 3))
      }, ms),
    )
  }

  /** Keeps hold of what runs here, stops what is no longer ours, and takes over what nobody holds. */
  async #beat(): Promise<void> {
    const { store } = this.settings
    const before = [...this.#runs]
    const ids = before.map(([id]) => id)
    const held = new Set(await store.renew(this.#holder, ids, this.#heldUntil()))
    for (const [id, run] of before) {
      if (!held.has(id))
        run.stop(new McpError('CANCELLED', 'The task was cancelled, taken over, or has expired'))
    }
    if (this.#closed !== undefined) return
    for (const row of await store.take(this.#holder, this.#heldUntil(), takenAtOnce)) {
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
    this.#tell('taken over', next)
    this.#start(next)
  }

  #tell(type: TaskEvent['type'], { id, status }: TaskRecord, peer?: Peer): void {
    this.#hear({ type, taskId: id, principal: peer?.principal ?? null, status })
  }

  #hear(event: TaskEvent): void {
    try {
      this.settings.onEvent(event)
    } catch (error) {
      this.server.report(error, { method: 'tasks' })
    }
  }
}

/** Says that a task does not exist, whatever the reason: nobody learns of other people's tasks. */
export function unknownTask(): RpcError {
  return new RpcError(
    ErrorCode.InvalidParams,
    'Unknown task: it never existed, has expired, or belongs to somebody else',
  )
}

function noRoom(why: string): RpcError {
  return new RpcError(ErrorCode.InternalError, `The task was not created: ${why}`)
}

/** What a client sees of a task, to tell whether it changed. */
function faceOf({ status, statusMessage, questions }: TaskRecord): string {
  return JSON.stringify([status, statusMessage, Object.keys(questions)])
}

function join<T>(groups: Map<string, Set<T>>, id: string, member: T): () => void {
  const group = groups.get(id) ?? new Set()
  group.add(member)
  groups.set(id, group)
  return () => {
    group.delete(member)
    if (group.size === 0 && groups.get(id) === group) groups.delete(id)
  }
}

function randomText(bytes: number): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(bytes)))
}
