import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { frozenCopy } from '../json.ts'
import type { HostQuestion, InboxItem } from '../types/index.ts'

/** A question, and who waits for its answer. */
export interface InboxRow extends Omit<InboxItem, 'waits' | 'resumable'> {
  /** The program that waits; null where none does. */
  readonly owner: string | null
  /** The parked call that asked, by its first activity row, and which of its rounds. */
  readonly parked: { readonly call: number; readonly round: number } | undefined
}

export type NewInboxRow = Pick<InboxRow, 'question' | 'activity' | 'owner' | 'parked'>

export interface InboxFilter {
  state?: InboxItem['state'] | 'all'
  server?: string
  /** The newest so many. Default 1 000. */
  limit?: number
}

/** Questions to the person, each of them answered at most once whatever programs are on the store. */
export interface InboxTable {
  add(row: NewInboxRow): InboxRow
  get(id: string): InboxRow | undefined
  /** Oldest first. */
  list(filter?: InboxFilter): InboxRow[]
  /** Questions of one round of a parked call, in the order they were put. */
  ofRound(call: number, round: number): InboxRow[]
  /** Whether this answer counts: false where the question was no longer open. */
  answer(id: string, answer: { value: unknown; by: string }): boolean
  /** Whether it was open until now. */
  withdraw(id: string, reason: string): boolean
  /** The server no longer takes the answers of a round. */
  lose(call: number, round: number, reason: string): void
  /** How many questions a program waits for. */
  countOf(owner: string): number
  /** The programs that wait for an answer, or for a parked call. */
  owners(): string[]
  /** A program ended: what can be taken up again stays open, the rest is lost. Gives what is lost. */
  abandon(owner: string, reason: string): InboxRow[]
  /** Changes whenever another program wrote to the store. */
  version(): number
}

const columns = `id, question, state, at, activity, owner, call, round, answer, answered_by, answered_at, reason`
const onItsWay = ' while the answer was on its way, so nobody knows whether it arrived'
/** Settled questions that are kept. */
const keptSettled = 1_000

export function createInboxTable(database: DatabaseSync): InboxTable {
  const insert = database.prepare(
    `INSERT INTO inbox (id, server, question, state, at, activity, owner, call, round)
     VALUES (?, ?, ?, 'open', ?, ?, ?, ?, ?) RETURNING ${columns}`,
  )
  const prune = database.prepare(
    `DELETE FROM inbox WHERE state <> 'open' AND seq <=
       (SELECT seq FROM inbox WHERE state <> 'open' ORDER BY seq DESC LIMIT 1 OFFSET ${keptSettled})`,
  )
  const one = database.prepare(`SELECT ${columns} FROM inbox WHERE id = ?`)
  const ofRound = database.prepare(`SELECT ${columns} FROM inbox WHERE call = ? AND round = ? ORDER BY seq`)
  const answer = database.prepare(
    `UPDATE inbox SET state = 'answered', answer = ?, answered_by = ?, answered_at = ?
     WHERE id = ? AND state = 'open'`,
  )
  const withdraw = database.prepare(
    `UPDATE inbox SET state = 'withdrawn', reason = ? WHERE id = ? AND state = 'open'`,
  )
  const lose = database.prepare(
    `UPDATE inbox SET state = 'lost', reason = ? WHERE call = ? AND round = ? AND state IN ('open', 'answered')`,
  )
  const countOf = database.prepare(`SELECT count(*) AS count FROM inbox WHERE owner = ? AND state = 'open'`)
  const owners = database.prepare(
    `SELECT owner FROM inbox WHERE state = 'open' AND owner IS NOT NULL
     UNION SELECT owner FROM parked_call WHERE owner IS NOT NULL`,
  )
  const loseOf = database.prepare(
    `UPDATE inbox SET state = 'lost', reason = ? WHERE owner = ? AND state = 'open' AND NOT EXISTS
       (SELECT 1 FROM parked_call p WHERE p.call = inbox.call AND p.round = inbox.round AND p.sent = 0)
     RETURNING ${columns}`,
  )
  const loseSent = database.prepare(
    `UPDATE inbox SET state = 'lost', reason = ? WHERE state = 'answered' AND EXISTS
       (SELECT 1 FROM parked_call p
        WHERE p.call = inbox.call AND p.round = inbox.round AND p.sent = 1 AND p.owner = ?)
     RETURNING ${columns}`,
  )
  const free = [
    database.prepare(`UPDATE inbox SET owner = NULL WHERE owner = ? AND state = 'open'`),
    database.prepare('DELETE FROM parked_call WHERE owner = ? AND sent = 1'),
    database.prepare('UPDATE parked_call SET owner = NULL WHERE owner = ?'),
  ]
  const version = database.prepare('PRAGMA data_version')
  return {
    add({ question, activity, owner, parked }) {
      const row = insert.get(
        question.id,
        question.cause.server,
        JSON.stringify(question),
        new Date().toISOString(),
        activity,
        owner,
        parked?.call ?? null,
        parked?.round ?? null,
      )
      prune.run()
      return toRow(row ?? {})
    },
    get(id) {
      const row = one.get(id)
      return row && toRow(row)
    },
    list({ state = 'open', server, limit = 1_000 } = {}) {
      const conditions: string[] = []
      const values: SQLInputValue[] = []
      if (state !== 'all') {
        conditions.push('state = ?')
        values.push(state)
      }
      if (server !== undefined) {
        conditions.push('server = ?')
        values.push(server)
      }
      const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
      const newest = database
        .prepare(`SELECT ${columns} FROM inbox${where} ORDER BY seq DESC LIMIT ?`)
        .all(...values, Math.max(0, Math.trunc(limit)))
      return newest.reverse().map(toRow)
    },
    ofRound: (call, round) => ofRound.all(call, round).map(toRow),
    answer: (id, { value, by }) =>
      Number(answer.run(JSON.stringify(value), by, new Date().toISOString(), id).changes) === 1,
    withdraw: (id, reason) => Number(withdraw.run(reason, id).changes) === 1,
    lose: (call, round, reason) => {
      lose.run(reason, call, round)
    },
    countOf: (owner) => Number(countOf.get(owner)?.['count']),
    owners: () => owners.all().map((row) => String(row['owner'])),
    abandon(owner, reason) {
      database.exec('BEGIN IMMEDIATE')
      try {
        const lost = [...loseOf.all(reason, owner), ...loseSent.all(`${reason}${onItsWay}`, owner)].map(toRow)
        for (const statement of free) statement.run(owner)
        database.exec('COMMIT')
        return lost
      } catch (error) {
        database.exec('ROLLBACK')
        throw error
      }
    },
    version: () => Number(version.get()?.['data_version']),
  }
}

function toRow(row: Record<string, unknown>): InboxRow {
  const question = frozenCopy<HostQuestion>(JSON.parse(String(row['question'])))
  const { call, round, activity, owner, reason, answer } = row
  return {
    id: question.id,
    question,
    state: stateOf(row['state']),
    at: String(row['at']),
    activity: typeof activity === 'number' ? activity : null,
    owner: typeof owner === 'string' ? owner : null,
    parked: typeof call === 'number' && typeof round === 'number' ? { call, round } : undefined,
    ...(typeof answer === 'string' && {
      answer: { value: JSON.parse(answer), by: String(row['answered_by']), at: String(row['answered_at']) },
    }),
    ...(typeof reason === 'string' && { reason }),
  }
}

function stateOf(state: unknown): InboxItem['state'] {
  return state === 'answered' || state === 'withdrawn' || state === 'lost' ? state : 'open'
}
