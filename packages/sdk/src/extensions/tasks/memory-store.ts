import type { TaskPlace, TaskRow, TaskStore } from './store.ts'

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
