import type { DatabaseSync } from 'node:sqlite'
import type { Round } from '@jackfield/sdk/client'
import { readJson } from '@jackfield/sdk/internal'
import type { JsonRecord } from '../json.ts'
import type { Caller, Decision } from '../types/index.ts'

/** A place in a value where a secret was, and how the text there is put together again. */
export interface Hole {
  /** The members that lead there. */
  at: readonly (string | number)[]
  /** Texts, and names in the store of secrets; absent where the value is among those that are sealed. */
  parts?: readonly (string | { secret: string })[]
}

/** A call as it was sent, and why it was. */
export interface ParkedRequest {
  server: string
  tool: string
  arguments: JsonRecord
  caller: Caller
  conversation?: string
  decision: Decision
  /** Where secrets were taken out of the call and of what its server asked: places begin with `request` or `asked`. */
  holes?: readonly Hole[]
}

/** A call whose server asked back and keeps nothing itself: whoever has the answers can go on with it. */
export interface ParkedCall {
  /** The activity row of the call. */
  readonly call: number
  /** What the server is, whatever it is called. */
  readonly identity: string
  readonly request: ParkedRequest
  /** How often the server asked back. */
  readonly round: number
  readonly asked: Round
  /** The answers may have gone out. */
  readonly sent: boolean
  /** The program that goes on with it; null where none does. */
  readonly owner: string | null
}

export interface ParkedTable {
  /** Keeps the newest round of a call. */
  keep(call: Pick<ParkedCall, 'call' | 'identity' | 'request' | 'asked'>, owner: string): void
  get(call: number): ParkedCall | undefined
  /** The parked call that led to an activity row, through whatever lies between. */
  above(activity: number): { call: number; round: number } | undefined
  /** The answers of the round go out now. */
  sending(call: number, owner: string): void
  /** Takes a call that no program goes on with, and whose answers have not gone out; false where there is none. */
  claim(call: number, owner: string): boolean
  /** Another program may go on with the call. */
  leave(call: number, owner: string): void
  /** The call is over. False where this program does not go on with it. */
  end(call: number, owner: string): boolean
  /** The row of the person's consent to a call, else of the call itself. */
  approvalOf(call: number): number
  count(): number
  /** Gives up the oldest call that no program goes on with; undefined where there is none. */
  forgetOldest(): { call: number; round: number } | undefined
}

const columns = 'call, owner, identity, request, round, asked, sent'

export function createParkedTable(database: DatabaseSync): ParkedTable {
  const keep = database.prepare(
    `INSERT INTO parked_call (call, owner, identity, request, round, asked, sent, at) VALUES (?, ?, ?, ?, 1, ?, 0, ?)
     ON CONFLICT DO UPDATE SET round = round + 1, asked = excluded.asked, sent = 0, owner = excluded.owner`,
  )
  const one = database.prepare(`SELECT ${columns} FROM parked_call WHERE call = ?`)
  const above = database.prepare(
    `WITH RECURSIVE up (id) AS (
       SELECT ? UNION SELECT a.cause FROM activity a JOIN up ON a.id = up.id WHERE a.cause IS NOT NULL
     ) SELECT p.call, p.round FROM parked_call p JOIN up ON p.call = up.id`,
  )
  const sending = database.prepare('UPDATE parked_call SET sent = 1 WHERE call = ? AND owner = ?')
  const claim = database.prepare(
    'UPDATE parked_call SET owner = ? WHERE call = ? AND owner IS NULL AND sent = 0',
  )
  const leave = database.prepare(
    'UPDATE parked_call SET owner = NULL WHERE call = ? AND owner = ? AND sent = 0',
  )
  const end = database.prepare('DELETE FROM parked_call WHERE call = ? AND owner = ?')
  const approval = database.prepare(
    `SELECT a.id FROM activity a JOIN activity_end e ON e.activity = a.id
     WHERE a.cause = ? AND a.kind = 'approval' AND e.outcome = 'allowed' ORDER BY a.id LIMIT 1`,
  )
  const count = database.prepare('SELECT count(*) AS count FROM parked_call')
  const forget = database.prepare(
    `DELETE FROM parked_call WHERE call = (SELECT call FROM parked_call WHERE owner IS NULL ORDER BY call LIMIT 1)
     RETURNING call, round`,
  )
  return {
    keep({ call, identity, request, asked }, owner) {
      const texts = [JSON.stringify(request), JSON.stringify(asked)] as const
      keep.run(call, owner, identity, ...texts, new Date().toISOString())
    },
    get(call) {
      const row = one.get(call)
      return row && toCall(row)
    },
    above(activity) {
      const row = above.get(activity)
      return row && { call: Number(row['call']), round: Number(row['round']) }
    },
    sending: (call, owner) => {
      sending.run(call, owner)
    },
    claim: (call, owner) => Number(claim.run(owner, call).changes) === 1,
    leave: (call, owner) => {
      leave.run(call, owner)
    },
    end: (call, owner) => Number(end.run(call, owner).changes) === 1,
    approvalOf: (call) => Number(approval.get(call)?.['id'] ?? call),
    count: () => Number(count.get()?.['count']),
    forgetOldest() {
      const row = forget.get()
      return row && { call: Number(row['call']), round: Number(row['round']) }
    },
  }
}

function toCall(row: Record<string, unknown>): ParkedCall {
  const request: ParkedRequest = readJson(String(row['request']))
  const asked: Round = readJson(String(row['asked']))
  return {
    call: Number(row['call']),
    identity: String(row['identity']),
    request,
    round: Number(row['round']),
    asked,
    sent: row['sent'] === 1,
    owner: typeof row['owner'] === 'string' ? row['owner'] : null,
  }
}
