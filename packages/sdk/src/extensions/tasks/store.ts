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
