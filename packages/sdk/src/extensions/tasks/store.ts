/** A stored task: its indexed columns, and the rest as JSON. */
export interface TaskRow {
  readonly id: string
  /** Incremented by every change. */
  readonly version: number
  /** Who may access it. */
  readonly owner: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** Whether a process has to work on it. */
  readonly running: boolean
  /** The process that works on it. */
  readonly holder: string
  /** When the holder's lease ends, in milliseconds since 1970. */
  readonly heldUntil: number
  readonly body: string
}

/** A position in a list of tasks, which is sorted by creation time and id. */
export type TaskPosition = Pick<TaskRow, 'createdAt' | 'id'>

/** Most tasks per owner and in all. */
export interface TaskCapacity {
  readonly owner: number
  readonly all: number
}

/** Stores tasks. Every change is atomic, and durable when its promise resolves if the store is. Expired tasks are not returned. */
export interface TaskStore {
  /** Whether tasks survive this process, so that another one can continue them. */
  readonly durable: boolean
  /** Adds a task. False if the capacity is reached. */
  add(row: TaskRow, capacity: TaskCapacity): Promise<boolean>
  get(id: string): Promise<TaskRow | undefined>
  /** Replaces a task with its next version. False if the stored version is not the one before it. */
  replace(row: TaskRow): Promise<boolean>
  /** An owner's tasks after a position, oldest first. */
  list(owner: string, after: TaskPosition | undefined, limit: number): Promise<TaskRow[]>
  /** Renews the leases of running tasks; returns the ids of those the holder still has. */
  renew(holder: string, ids: readonly string[], heldUntil: number): Promise<string[]>
  /** Assigns running tasks with ended leases to a holder, each as its next version. */
  claim(holder: string, heldUntil: number, limit: number): Promise<TaskRow[]>
  /** Deletes expired tasks. */
  expire(): Promise<void>
  /** Closes files and connections. */
  close?(): void | Promise<void>
}

/** Stores tasks in memory, until the process ends. */
export function memoryTaskStore(): TaskStore {
  const rows = new Map<string, TaskRow>()

  const live = (id: string): TaskRow | undefined => {
    const row = rows.get(id)
    return row !== undefined && row.expiresAt > Date.now() ? row : undefined
  }
  const expire = (): void => {
    const now = Date.now()
    for (const [id, row] of rows) if (row.expiresAt <= now) rows.delete(id)
  }
  const change = (row: TaskRow, changes: Partial<TaskRow>): TaskRow => {
    const changed = { ...row, ...changes }
    rows.set(row.id, changed)
    return changed
  }

  return {
    durable: false,
    add: async (row, capacity) => {
      expire()
      const owned = [...rows.values()].filter(({ owner }) => owner === row.owner).length
      if (rows.has(row.id) || rows.size >= capacity.all || owned >= capacity.owner) return false
      rows.set(row.id, row)
      return true
    },
    get: async (id) => live(id),
    replace: async (row) => {
      if (live(row.id)?.version !== row.version - 1) return false
      rows.set(row.id, row)
      return true
    },
    list: async (owner, after, limit) =>
      [...rows.keys()]
        .flatMap((id) => live(id) ?? [])
        .filter((row) => row.owner === owner && (after === undefined || compare(row, after) > 0))
        .sort(compare)
        .slice(0, limit),
    renew: async (holder, ids, heldUntil) =>
      ids
        .flatMap((id) => live(id) ?? [])
        .filter((row) => row.running && row.holder === holder)
        .map((row) => change(row, { heldUntil }).id),
    claim: async (holder, heldUntil, limit) => {
      const now = Date.now()
      return [...rows.keys()]
        .flatMap((id) => live(id) ?? [])
        .filter((row) => row.running && row.heldUntil <= now)
        .slice(0, limit)
        .map((row) => change(row, { holder, heldUntil, version: row.version + 1 }))
    },
    expire: async () => expire(),
  }
}

function compare(a: TaskPosition, b: TaskPosition): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
