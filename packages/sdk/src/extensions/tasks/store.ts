/** A stored task: its indexed columns, and the rest as JSON. All times are by the store's clock, in milliseconds since 1970. */
export interface TaskRow {
  /** Id of the task. */
  readonly id: string
  /** Incremented by every change except a renewed lease. */
  readonly version: number
  /** Who may access it. */
  readonly owner: string
  /** When the task was added. */
  readonly createdAt: number
  /** When the task may be deleted. */
  readonly expiresAt: number
  /** Whether a process has to work on it. */
  readonly running: boolean
  /** The process that works on it; empty if none does, so that any may claim it. */
  readonly holder: string
  /** When the holder's lease ends. Without a holder: when a process may claim the task. */
  readonly heldUntil: number
  /** The rest of the task as JSON: arguments, answers, status and result. */
  readonly body: string
}

/** A task to add. */
export interface NewTask extends Pick<TaskRow, 'owner' | 'holder' | 'body'> {
  /** Random. A store may extend it, for example to find the task again. */
  readonly id: string
  /** Milliseconds until the task expires. */
  readonly ttlMs: number
  /** Milliseconds of the holder's lease. Without a holder: milliseconds before a process may claim the task. */
  readonly holdMs: number
}

/** The next version of a task. */
export interface TaskUpdate extends Pick<TaskRow, 'id' | 'version' | 'running' | 'holder' | 'body'> {
  /** As in `NewTask`; absent if `heldUntil` stays. */
  readonly holdMs?: number | undefined
}

/** A task that a process took over, with the previous holder: a process that ended unexpectedly, or empty if it had none. */
export interface ClaimedTask extends TaskRow {
  /** The holder before; empty if it had none. */
  readonly previousHolder: string
}

/** The tasks to claim: one, or those that wait longest, due for at least `overdueMs` milliseconds (default 0). */
export type ClaimScope =
  | { readonly id: string }
  | { readonly limit: number; readonly overdueMs?: number | undefined }

/** A change of a task, for its followers and for processes that may claim it. */
export interface TaskChange extends Pick<TaskRow, 'id' | 'version' | 'running' | 'holder'> {
  /** Milliseconds before a process may claim it, if it has no holder. */
  readonly delayMs: number
}

/** A position in a list of tasks, which is sorted by creation time and id. */
export type TaskPosition = Pick<TaskRow, 'createdAt' | 'id'>

/** Maximum tasks per owner and in all. */
export interface TaskCapacity {
  /** Maximum tasks of one owner. */
  readonly owner: number
  /** Maximum tasks in all. */
  readonly all: number
}

/**
 * Stores tasks. Every change is atomic, and durable when its promise resolves if the store is. Expired tasks are not returned.
 * `taskStoreContract` of `@jackfield/sdk/testing` tests an implementation.
 */
export interface TaskStore {
  /** Whether tasks survive this process, so that another one can continue them. */
  readonly durable: boolean
  /** Adds a running task, as version 1. Undefined if the capacity is reached. */
  add(task: NewTask, capacity: TaskCapacity): Promise<TaskRow | undefined>
  /** The task of this id; undefined if there is none or it has expired. */
  get(id: string): Promise<TaskRow | undefined>
  /** Replaces a task with its next version. False if the stored version is not the one before it. */
  replace(update: TaskUpdate): Promise<boolean>
  /** An owner's tasks after a position, oldest first. */
  list(owner: string, after: TaskPosition | undefined, limit: number): Promise<TaskRow[]>
  /** Renews the leases of running tasks; returns the ids of those the holder still has. */
  renew(holder: string, ids: readonly string[], leaseMs: number): Promise<string[]>
  /** Assigns running tasks with an ended lease, or without a holder, to a holder, each as its next version. */
  claim(holder: string, leaseMs: number, scope: ClaimScope): Promise<ClaimedTask[]>
  /** Deletes expired tasks. */
  expire(): Promise<void>
  /**
   * Calls `listener` after every change except renewed leases, in any process, and after a task without a holder was added;
   * without an argument if changes may have been missed. Returns a function that unsubscribes. Absent if the store cannot
   * notify: then it is polled.
   */
  changed?(listener: (change?: TaskChange) => void): () => void
  /** Closes files and connections. */
  close?(): void | Promise<void>
}

/** Stores tasks in memory, until the process ends. */
export function memoryTaskStore(): TaskStore {
  const rows = new Map<string, TaskRow>()
  const owned = new Map<string, number>()
  const listeners = new Set<(change?: TaskChange) => void>()

  const live = (id: string): TaskRow | undefined => {
    const row = rows.get(id)
    return row !== undefined && row.expiresAt > Date.now() ? row : undefined
  }
  const expire = (): void => {
    const now = Date.now()
    for (const { id, owner, expiresAt } of rows.values()) {
      if (expiresAt > now) continue
      rows.delete(id)
      const others = (owned.get(owner) ?? 1) - 1
      if (others === 0) owned.delete(owner)
      else owned.set(owner, others)
    }
  }
  const isFull = (owner: string, capacity: TaskCapacity): boolean =>
    rows.size >= capacity.all || (owned.get(owner) ?? 0) >= capacity.owner
  const write = <T extends TaskRow>(row: T): T => {
    const { id, version, owner, createdAt, expiresAt, running, holder, heldUntil, body } = row
    rows.set(id, { id, version, owner, createdAt, expiresAt, running, holder, heldUntil, body })
    return row
  }
  const notify = ({ id, version, running, holder, heldUntil }: TaskRow): void => {
    const delayMs = Math.max(0, heldUntil - Date.now())
    for (const listener of listeners) listener({ id, version, running, holder, delayMs })
  }
  const claimed = (row: TaskRow, holder: string, leaseMs: number): ClaimedTask => {
    const heldUntil = Date.now() + leaseMs
    const next = write({
      ...row,
      holder,
      heldUntil,
      version: row.version + 1,
      previousHolder: row.holder,
    })
    notify(next)
    return next
  }

  return {
    durable: false,
    add: async ({ id, owner, ttlMs, holder, holdMs, body }, capacity) => {
      if (isFull(owner, capacity)) expire()
      if (rows.has(id) || isFull(owner, capacity)) return undefined
      const now = Date.now()
      const times = { createdAt: now, expiresAt: now + ttlMs, heldUntil: now + holdMs }
      const row = write({ id, version: 1, owner, running: true, holder, body, ...times })
      owned.set(owner, (owned.get(owner) ?? 0) + 1)
      if (holder === '') notify(row)
      return row
    },
    get: async (id) => live(id),
    replace: async ({ id, version, running, holder, holdMs, body }) => {
      const row = live(id)
      if (row?.version !== version - 1) return false
      const heldUntil = holdMs === undefined ? row.heldUntil : Date.now() + holdMs
      notify(write({ ...row, version, running, holder, heldUntil, body }))
      return true
    },
    list: async (owner, after, limit) =>
      [...rows.keys()]
        .flatMap((id) => live(id) ?? [])
        .filter((row) => row.owner === owner && (after === undefined || compare(row, after) > 0))
        .sort(compare)
        .slice(0, limit),
    renew: async (holder, ids, leaseMs) =>
      ids
        .flatMap((id) => live(id) ?? [])
        .filter((row) => row.running && row.holder === holder)
        .map((row) => write({ ...row, heldUntil: Date.now() + leaseMs }).id),
    claim: async (holder, leaseMs, scope) => {
      const overdueMs = 'id' in scope ? 0 : (scope.overdueMs ?? 0)
      return ('id' in scope ? [scope.id] : [...rows.keys()])
        .flatMap((id) => live(id) ?? [])
        .filter(({ running, heldUntil }) => running && heldUntil + overdueMs <= Date.now())
        .sort((a, b) => a.heldUntil - b.heldUntil)
        .slice(0, 'id' in scope ? 1 : scope.limit)
        .map((row) => claimed(row, holder, leaseMs))
    },
    expire: async () => expire(),
    changed: (listener) => {
      const added = (change?: TaskChange): void => listener(change)
      listeners.add(added)
      return () => listeners.delete(added)
    },
  }
}

function compare(a: TaskPosition, b: TaskPosition): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
