/** One task as a store keeps it: what it is found by, and the rest as text that only this extension reads. */
export interface TaskRow {
  readonly id: string
  /** Grows by one with every change. */
  readonly version: number
  /** Who may see it. */
  readonly owner: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Milliseconds since 1970 from which on it does not exist any more. */
  readonly expiresAt: number
  /** Whether somebody has to be at work on it. */
  readonly running: boolean
  /** Who is at work on it. */
  readonly holder: string
  /** Milliseconds since 1970 until when nobody else may take it. */
  readonly heldUntil: number
  readonly body: string
}

/** A place in a list of tasks, which is sorted by the time of creation and then by id. */
export type TaskPlace = Pick<TaskRow, 'createdAt' | 'id'>

/** How many tasks there may be, of one owner and in all. */
export interface TaskRoom {
  readonly owner: number
  readonly all: number
}

/**
 * Where tasks are kept. Every change is atomic, and durable when its promise resolves as far as the store is at all.
 * A task that has expired is never given.
 */
export interface TaskStore {
  /** Whether tasks outlive this process, so that another one can go on with them. */
  readonly durable: boolean
  /** Adds a task. False when there is no room for it. */
  add(row: TaskRow, room: TaskRoom): Promise<boolean>
  get(id: string): Promise<TaskRow | undefined>
  /** Replaces a task by its next version. False when another version than the one before it stands there, or none. */
  replace(row: TaskRow): Promise<boolean>
  /** An owner's tasks after a place, oldest first. */
  list(owner: string, after: TaskPlace | undefined, limit: number): Promise<TaskRow[]>
  /** Holds running tasks until another time, and gives the ids of those the holder still has. */
  renew(holder: string, ids: readonly string[], heldUntil: number): Promise<string[]>
  /** Gives running tasks that nobody holds any more to a holder, each as its next version. */
  take(holder: string, heldUntil: number, limit: number): Promise<TaskRow[]>
  /** Forgets what has expired. */
  expire(): Promise<void>
  /** Lets go of files and connections. */
  close?(): void | Promise<void>
}

/** Keeps tasks in this process: they end with it. */
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
  const change = (row: TaskRow, more: Partial<TaskRow>): TaskRow => {
    const changed = { ...row, ...more }
    rows.set(row.id, changed)
    return changed
  }

  return {
    durable: false,
    add: async (row, room) => {
      expire()
      const owned = [...rows.values()].filter(({ owner }) => owner === row.owner).length
      if (rows.has(row.id) || rows.size >= room.all || owned >= room.owner) return false
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
    take: async (holder, heldUntil, limit) => {
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

function compare(a: TaskPlace, b: TaskPlace): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
