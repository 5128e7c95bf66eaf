/** Rows of a topic by key, in insertion order. Rows are JSON values. */
export type View<Row> = ReadonlyMap<string, Row>

/** One change of a view. */
export type Change<Row> =
  /** Adds a row, or replaces the one with this key. */
  | { readonly set: string; readonly row: Row }
  | { readonly remove: string }
  /** Appends to a text of one row, so that growing text is not resent with every piece. */
  | { readonly append: string; readonly field: string; readonly text: string }

/** Applies changes to rows in place. A change of a missing row is ignored. */
export function applyChanges<Row>(rows: Map<string, Row>, changes: readonly Change<Row>[]): void {
  for (const change of changes) {
    if ('set' in change) rows.set(change.set, change.row)
    else if ('remove' in change) rows.delete(change.remove)
    else {
      const row = rows.get(change.append)
      if (row === undefined) continue
      const before: unknown = Object.getOwnPropertyDescriptor(row, change.field)?.value
      const text = `${typeof before === 'string' ? before : ''}${change.text}`
      rows.set(change.append, { ...row, [change.field]: text })
    }
  }
}

/** The view after these changes, as a copy. */
export function changed<Row>(view: View<Row>, changes: readonly Change<Row>[]): View<Row> {
  const rows = new Map(view)
  applyChanges(rows, changes)
  return rows
}

/** The changes from one view to another. */
export function difference<Row>(before: View<Row>, after: View<Row>): Change<Row>[] {
  const changes: Change<Row>[] = []
  for (const key of before.keys()) if (!after.has(key)) changes.push({ remove: key })
  for (const [key, row] of after) {
    const known = before.get(key)
    if (known === undefined || JSON.stringify(known) !== JSON.stringify(row)) changes.push({ set: key, row })
  }
  return changes
}
