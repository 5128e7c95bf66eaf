import { hash } from 'node:crypto'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { ActivityFault, ActivityVerification } from '../../types/index.ts'

/** The subject of a link: the start of a row, its end, or the removal of older links. */
type LinkKind = 'row' | 'end' | 'prune'

/** A value covered by a hash: as it is written, or as the bytes read from the store. */
export type ChainField = string | number | null | Uint8Array

/** Values that were written, to be covered by one link. */
export interface Link {
  kind: LinkKind
  id: number
  fields: readonly ChainField[]
}

/** The hash chain of the activity log: each link's hash covers the written values and the previous hash. */
export interface Chain {
  /** Runs `write` and links what it wrote, atomically. */
  append(write: () => readonly Link[]): void
}

/** Rows that one statement inserts. */
const batchRows = 16

/** Inserts rows, given as one list of the values of their columns: several rows by one statement take less time. */
export function createInsert(
  database: DatabaseSync,
  table: string,
  columns: string,
): (values: readonly SQLInputValue[]) => void {
  const width = columns.split(',').length
  const row = `(${Array(width).fill('?').join(', ')})`
  const insert = (rows: number): StatementSync =>
    database.prepare(`INSERT INTO ${table} (${columns}) VALUES ${Array(rows).fill(row).join(', ')}`)
  const [insertOne, insertBatch] = [insert(1), insert(batchRows)]
  return (values) => {
    let offset = 0
    const run = (statement: StatementSync, rows: number): void => {
      statement.run(...values.slice(offset, offset + rows * width))
      offset += rows * width
    }
    while (offset + batchRows * width <= values.length) run(insertBatch, batchRows)
    while (offset < values.length) run(insertOne, 1)
  }
}

export function createChain(database: DatabaseSync): Chain {
  // The first statement writes, so that it waits for other programs and then sees their rows.
  const lock = database.prepare('UPDATE activity_head SET position = position RETURNING position, hash')
  const addLinks = createInsert(database, 'activity_chain', 'position, kind, activity, hash')
  const move = database.prepare('UPDATE activity_head SET position = ?, hash = ?')
  return {
    append: (write) =>
      atomically(database, () => {
        const head = lock.get()
        let position = Number(head?.['position'])
        let last = String(head?.['hash'])
        const values: SQLInputValue[] = []
        for (const { kind, id, fields } of write()) {
          position += 1
          last = linkHash(last, kind, id, fields)
          values.push(position, kind, id, last)
        }
        addLinks(values)
        move.run(position, last)
      }),
  }
}

/** SHA-256 over the previous hash and every stored byte, in hexadecimal. */
function linkHash(previousHash: string, kind: string, id: number, fields: readonly ChainField[]): string {
  let text = `${textOf(previousHash)}${textOf(kind)}${textOf(id)}`
  let bytes: Uint8Array[] | undefined
  for (const field of fields) {
    if (!(field instanceof Uint8Array)) {
      text += textOf(field)
      continue
    }
    bytes ??= []
    bytes.push(Buffer.from(`${text}${field.length}:`), field)
    text = ';'
  }
  return hash('sha256', bytes === undefined ? text : Buffer.concat([...bytes, Buffer.from(text)]), 'hex')
}

function textOf(field: ChainField): string {
  if (field === null) return '-;'
  const text = String(field)
  return `${Buffer.byteLength(text)}:${text};`
}

/** Runs work in a transaction, also within an open one. */
export function atomically<T>(database: DatabaseSync, work: () => T): T {
  database.exec('SAVEPOINT whole')
  try {
    const result = work()
    database.exec('RELEASE whole')
    return result
  } catch (error) {
    rollBack(database, 'ROLLBACK TO whole; RELEASE whole')
    throw error
  }
}

/** Rolls back. SQLite has done so itself if the disk is full or cannot be written. */
export function rollBack(database: DatabaseSync, statement = 'ROLLBACK'): void {
  try {
    database.exec(statement)
  } catch {
    // No transaction is open; the caller throws the error that ended it.
  }
}

const maxFaults = 20

/** The columns that the hash of each kind of link covers, in order. */
const linkColumns = {
  row: ['r.at', 'r.kind', 'r.server', 'r.summary', 'r.cause', 'r.detail'],
  end: ['e.outcome', 'e.duration_ms', 'e.detail'],
  prune: ['p.position', 'p.hash', 'p.at', 'p.before', 'p.rows'],
} as const
const numberColumns = new Set(['r.cause', 'e.duration_ms', 'p.position', 'p.rows'])

const columns = Object.values(linkColumns)
  .flat()
  .map((name) => `${numberColumns.has(name) ? name : `CAST(${name} AS BLOB)`} AS "${name}"`)
const links = `SELECT c.position, c.kind, c.activity, c.hash, r.id AS row, e.activity AS "end", p.id AS prune,
  ${columns.join(', ')}
  FROM activity_chain c
  LEFT JOIN activity r ON c.kind = 'row' AND r.id = c.activity
  LEFT JOIN activity_end e ON c.kind = 'end' AND e.activity = c.activity
  LEFT JOIN activity_prune p ON c.kind = 'prune' AND p.id = c.activity
  ORDER BY c.position`
const unlinked = (table: string, id: string, kind: string): string =>
  `SELECT ${id} AS id FROM ${table} WHERE NOT EXISTS
   (SELECT 1 FROM activity_chain c WHERE c.kind = '${kind}' AND c.activity = ${table}.${id}) LIMIT ${maxFaults}`

/** Verifies the whole log and reports the faults. */
export function checkChain(database: DatabaseSync, expectedHead?: string): ActivityVerification {
  return atomically(database, () => {
    const faults: ActivityFault[] = []
    const addFault = (position: number | null, activity: number | null, message: string): void => {
      if (faults.length < maxFaults) faults.push({ position, activity, message })
    }
    const head = headOf(database)
    const last = database.prepare('SELECT * FROM activity_prune ORDER BY id DESC LIMIT 1').get()
    const pruned = last === undefined ? undefined : prunedOf(last)
    let { position: lastPosition, hash: previousHash } = pruned ?? { position: 0, hash: '' }
    let hasHead = expectedHead === undefined || expectedHead === previousHash
    let checked = 0
    for (const link of database.prepare(links).iterate()) {
      const position = Number(link['position'])
      const activity = Number(link['activity'])
      const hash = String(link['hash'])
      if (position !== lastPosition + 1) addFault(position, activity, missingEntries(lastPosition, position))
      const problem = problemWith(link, previousHash)
      if (problem !== undefined) addFault(position, activity, problem)
      checked += 1
      lastPosition = position
      previousHash = hash
      hasHead ||= hash === expectedHead
    }
    if (head.position !== lastPosition || head.hash !== previousHash) {
      const reason =
        head.position > lastPosition
          ? `The newest ${head.position - lastPosition} entries were removed`
          : 'The chain does not end at the recorded entry'
      addFault(
        head.position,
        null,
        `${reason}: it ends at entry ${lastPosition}, and entry ${head.position} was the last.`,
      )
    }
    if (head.pruned !== (pruned?.position ?? 0)) {
      addFault(head.pruned, null, 'The entries removed at the beginning differ from the record of pruning.')
    }
    const linkedTables = [
      ['activity', 'id', 'row', 'Row'],
      ['activity_end', 'activity', 'end', 'The end of row'],
      ['activity_prune', 'id', 'prune', 'The record of pruning'],
    ] as const
    for (const [table, id, kind, name] of linkedTables) {
      for (const row of database.prepare(unlinked(table, id, kind)).all()) {
        addFault(
          null,
          Number(row['id']),
          `${name} ${Number(row['id'])} is not in the chain: another program added it.`,
        )
      }
    }
    if (!hasHead && expectedHead !== undefined) {
      const cut = pruned === undefined ? '' : ', unless it was pruned'
      addFault(
        null,
        null,
        `The given hash ${expectedHead} is not in the chain: entries up to it were changed or removed${cut}.`,
      )
    }
    return {
      sound: faults.length === 0,
      checked,
      head: { position: head.position, hash: head.hash },
      ...(pruned !== undefined && { pruned }),
      faults,
    }
  })
}

type Row = Record<string, unknown>

function problemWith(link: Row, previousHash: string): string | undefined {
  const activity = Number(link['activity'])
  const kind = kindOf(link['kind'])
  if (kind === undefined) return `The entry has the unknown kind ${String(link['kind'])}.`
  const name =
    kind === 'end'
      ? `The end of row ${activity}`
      : kind === 'row'
        ? `Row ${activity}`
        : 'The record of pruning'
  if (link[kind] === null) return `${name} is missing.`
  const fields = linkColumns[kind].map((column) => field(link[column]))
  if (linkHash(previousHash, kind, activity, fields) === link['hash']) return undefined
  return `${name}, or an entry before it, was changed.`
}

function kindOf(value: unknown): keyof typeof linkColumns | undefined {
  return value === 'row' || value === 'end' || value === 'prune' ? value : undefined
}

function field(value: unknown): ChainField {
  return value instanceof Uint8Array || typeof value === 'number' ? value : null
}

function missingEntries(lastPosition: number, position: number): string {
  const count = position - lastPosition - 1
  if (count === 1) return `Entry ${lastPosition + 1} is missing.`
  return count > 1
    ? `Entries ${lastPosition + 1} to ${position - 1} are missing.`
    : `Entry ${position} does not belong here.`
}

/** The recorded end of the chain, and the position up to which it was pruned. */
export function headOf(database: DatabaseSync): { position: number; hash: string; pruned: number } {
  const row = database.prepare('SELECT position, hash, pruned FROM activity_head').get()
  return {
    position: Number(row?.['position'] ?? 0),
    hash: String(row?.['hash'] ?? ''),
    pruned: Number(row?.['pruned'] ?? 0),
  }
}

function prunedOf(row: Row): NonNullable<ActivityVerification['pruned']> {
  return {
    position: Number(row['position']),
    hash: String(row['hash']),
    at: String(row['at']),
    before: String(row['before']),
    rows: Number(row['rows']),
  }
}
