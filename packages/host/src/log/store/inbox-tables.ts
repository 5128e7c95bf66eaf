import type { DatabaseSync } from 'node:sqlite'
import type { Round } from '@jackfield/sdk/client'
import { defined, inTransaction, readJson } from '@jackfield/sdk/internal'
import { frozenCopy, type JsonRecord } from '../../shared/json.ts'
import type { Caller, Decision, HostQuestion, Inbox, InboxItem } from '../../types/index.ts'
import type { LogWriter } from './log-writer.ts'

/** A question, and the program that waits for its answer. */
export interface InboxRow extends Omit<InboxItem, 'waits' | 'resumable'> {
  /** The program that waits; null if none does. */
  readonly owner: string | null
  /** The suspended call that asked: its first activity row, and the round. */
  readonly suspended: { readonly call: number; readonly round: number } | undefined
  /** The public key for answers with secrets; absent if no other program can answer. */
  readonly address?: string
  /** Set if the stored answer is redacted: the whole answer sealed for the waiting program, or empty. */
  readonly sealed?: string
}

type NewInboxRow = Pick<InboxRow, 'question' | 'activity' | 'owner' | 'suspended' | 'address'>

export const sealedMigration: string = `
  ALTER TABLE inbox ADD COLUMN address TEXT;
  ALTER TABLE inbox ADD COLUMN sealed TEXT;
`

/** Questions to the user, each answered at most once across all programs on the store. */
export interface InboxTable {
  add(row: NewInboxRow): InboxRow
  get(id: string): InboxRow | undefined
  /** Oldest first. `limit`: maximum rows, the newest; default 1 000. */
  list(filter?: Parameters<Inbox['list']>[0]): InboxRow[]
  /** Questions of one round of a suspended call, in the order they were asked. */
  ofRound(call: number, round: number): InboxRow[]
  /** Records the answer to a question; false if it was no longer open. */
  answer(id: string, answer: { value: unknown; sealed?: string; by: string }): boolean
  /** Deletes the sealed answer to a question, once it was used. */
  deleteSealedAnswer(id: string): void
  /** Withdraws a question; false if it was no longer open. */
  withdraw(id: string, reason: string): boolean
  /** The server no longer accepts the answers of a round. */
  markLost(call: number, round: number, reason: string): void
  /** The programs that wait for an answer, or own a suspended call. */
  owners(): string[]
  /** A program ended: resumable questions stay open, the others are lost. Returns the lost ones. */
  abandon(owner: string, reason: string): InboxRow[]
  /** An activity row and the rows that caused it, directly or indirectly. */
  above(activity: number): number[]
  /** Changes when another program wrote to the store. */
  version(): number
}

const columns = `id, question, state, at, activity, owner, call, round, answer, answered_by, answered_at, reason,
  address, sealed`
/** An activity row and the rows that caused it, as `up`. */
const ancestors = `WITH RECURSIVE up (id) AS (
  SELECT ? UNION SELECT a.cause FROM activity a JOIN up ON a.id = up.id WHERE a.cause IS NOT NULL
)`
const uncertainSuffix = ' while the answer was on its way, so it is unknown whether it arrived'
const maxStoredSettled = 1_000

export function createInboxTable(
  database: DatabaseSync,
  writer: LogWriter,
  version: () => number,
): InboxTable {
  const insert = database.prepare(
    `INSERT INTO inbox (id, server, question, state, at, activity, owner, call, round, address)
     VALUES (?, ?, ?, 'open', ?, ?, ?, ?, ?, ?) RETURNING ${columns}`,
  )
  const prune = database.prepare(
    `DELETE FROM inbox WHERE state <> 'open' AND seq <=
       (SELECT seq FROM inbox WHERE state <> 'open' ORDER BY seq DESC LIMIT 1 OFFSET ${maxStoredSettled})`,
  )
  const selectRow = database.prepare(`SELECT ${columns} FROM inbox WHERE id = ?`)
  const ofRound = database.prepare(`SELECT ${columns} FROM inbox WHERE call = ? AND round = ? ORDER BY seq`)
  const answer = database.prepare(
    `UPDATE inbox SET state = 'answered', answer = ?, sealed = ?, answered_by = ?, answered_at = ?
     WHERE id = ? AND state = 'open'`,
  )
  const deleteSealed = database.prepare(`UPDATE inbox SET sealed = '' WHERE id = ? AND sealed <> ''`)
  const withdraw = database.prepare(
    `UPDATE inbox SET state = 'withdrawn', reason = ? WHERE id = ? AND state = 'open'`,
  )
  const markLost = database.prepare(
    `UPDATE inbox SET state = 'lost', reason = ? WHERE call = ? AND round = ? AND state IN ('open', 'answered')`,
  )
  const owners = database.prepare(
    `SELECT owner FROM inbox WHERE state = 'open' AND owner IS NOT NULL
     UNION SELECT owner FROM parked_call WHERE owner IS NOT NULL`,
  )
  const loseOwned = database.prepare(
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
  const releaseStatements = [
    database.prepare(`UPDATE inbox SET owner = NULL WHERE owner = ? AND state = 'open'`),
    database.prepare('DELETE FROM parked_call WHERE owner = ? AND sent = 1'),
    database.prepare('UPDATE parked_call SET owner = NULL WHERE owner = ?'),
  ]
  const selectAncestors = database.prepare(`${ancestors} SELECT id FROM up`)
  return {
    add({ question, activity, owner, suspended, address }) {
      // `get` would stop at the returned row and hide an error of the commit.
      const [row] = insert.all(
        question.id,
        question.cause.server,
        JSON.stringify(question),
        new Date().toISOString(),
        activity,
        owner,
        suspended?.call ?? null,
        suspended?.round ?? null,
        address ?? null,
      )
      prune.run()
      return toRow(row ?? {})
    },
    get(id) {
      const row = selectRow.get(id)
      return row && toRow(row)
    },
    list({ state = 'open', server, limit = 1_000 } = {}) {
      const wanted = Object.entries(defined({ state: state === 'all' ? undefined : state, server }))
      const where = wanted.map(([column], n) => ` ${n === 0 ? 'WHERE' : 'AND'} ${column} = ?`).join('')
      const newest = database
        .prepare(`SELECT ${columns} FROM inbox${where} ORDER BY seq DESC LIMIT ?`)
        .all(...wanted.map(([, value]) => value), Math.max(0, Math.trunc(limit)))
      return newest.reverse().map(toRow)
    },
    ofRound: (call, round) => ofRound.all(call, round).map(toRow),
    answer: (id, { value, sealed, by }) =>
      Number(answer.run(JSON.stringify(value), sealed ?? null, by, new Date().toISOString(), id).changes) ===
      1,
    deleteSealedAnswer: (id) => void deleteSealed.run(id),
    withdraw: (id, reason) => Number(withdraw.run(reason, id).changes) === 1,
    markLost: (call, round, reason) => void markLost.run(reason, call, round),
    owners: () => owners.all().map((row) => String(row['owner'])),
    abandon: (owner, reason) =>
      inTransaction(database, () => {
        const lost = [...loseOwned.all(reason, owner), ...loseSent.all(`${reason}${uncertainSuffix}`, owner)]
        for (const statement of releaseStatements) statement.run(owner)
        return lost.map(toRow)
      }),
    above(activity) {
      writer.flush()
      return selectAncestors.all(activity).map(({ id }) => Number(id))
    },
    version,
  }
}

function toRow(row: Record<string, unknown>): InboxRow {
  const question = frozenCopy<HostQuestion>(readJson(String(row['question'])))
  const { call, round, activity, owner, reason, answer, address, sealed } = row
  return {
    id: question.id,
    question,
    state: stateOf(row['state']),
    at: String(row['at']),
    activity: typeof activity === 'number' ? activity : null,
    owner: typeof owner === 'string' ? owner : null,
    suspended: typeof call === 'number' && typeof round === 'number' ? { call, round } : undefined,
    ...(typeof answer === 'string' && {
      answer: { value: readJson(answer), by: String(row['answered_by']), at: String(row['answered_at']) },
    }),
    ...(typeof reason === 'string' && { reason }),
    ...(typeof address === 'string' && { address }),
    ...(typeof sealed === 'string' && { sealed }),
  }
}

function stateOf(state: unknown): InboxItem['state'] {
  return state === 'answered' || state === 'withdrawn' || state === 'lost' ? state : 'open'
}

/** Where a secret was removed from a value, and how it is restored. */
export interface Hole {
  /** The path of member names and indexes. */
  at: readonly (string | number)[]
  /** Texts, and names in the secret store; absent if the value is among the sealed ones. */
  parts?: readonly (string | { secret: string })[]
}

/** A call as it was sent, and its cause. */
interface SuspendedRequest {
  server: string
  tool: string
  arguments: JsonRecord
  caller: Caller
  conversation?: string
  decision: Decision
  /** Where secrets were removed from the call and the input requests: paths start with `request` or `asked`. */
  holes?: readonly Hole[]
}

/** A call that waits for input while its server keeps no state: any program with the answers can continue it. */
export interface SuspendedCall {
  /** The activity row of the call. */
  readonly call: number
  /** The identity of the server. */
  readonly identity: string
  readonly request: SuspendedRequest
  /** Number of rounds. */
  readonly round: number
  readonly asked: Round
  /** The answers may have been sent. */
  readonly sent: boolean
  /** The program that continues it; null if none does. */
  readonly owner: string | null
}

export interface SuspendedCallTable {
  /** Stores the newest round of a call. */
  put(call: Pick<SuspendedCall, 'call' | 'identity' | 'request' | 'asked'>, owner: string): void
  get(call: number): SuspendedCall | undefined
  /** The suspended call that caused an activity row, directly or indirectly. */
  above(activity: number): { call: number; round: number } | undefined
  /** Marks the answers of the round as being sent. */
  sending(call: number, owner: string): void
  /** Takes ownership of a call without an owner whose answers were not sent; false if there is none. */
  claim(call: number, owner: string): boolean
  /** Releases the ownership of the call. */
  release(call: number, owner: string): void
  /** Deletes the call. False if this program does not own it. */
  end(call: number, owner: string): boolean
  /** The row of the user's approval of a call, else of the call itself. */
  approvalOf(call: number): number
  count(): number
  /** Deletes the oldest call without an owner; undefined if there is none. */
  forgetOldest(): { call: number; round: number } | undefined
}

const callColumns = 'call, owner, identity, request, round, asked, sent'

export function createSuspendedCallTable(database: DatabaseSync, writer: LogWriter): SuspendedCallTable {
  const upsert = database.prepare(
    `INSERT INTO parked_call (call, owner, identity, request, round, asked, sent, at) VALUES (?, ?, ?, ?, 1, ?, 0, ?)
     ON CONFLICT DO UPDATE SET round = round + 1, asked = excluded.asked, sent = 0, owner = excluded.owner`,
  )
  const selectCall = database.prepare(`SELECT ${callColumns} FROM parked_call WHERE call = ?`)
  const selectAncestor = database.prepare(
    `${ancestors} SELECT p.call, p.round FROM parked_call p JOIN up ON p.call = up.id`,
  )
  const sending = database.prepare('UPDATE parked_call SET sent = 1 WHERE call = ? AND owner = ?')
  const claim = database.prepare(
    'UPDATE parked_call SET owner = ? WHERE call = ? AND owner IS NULL AND sent = 0',
  )
  const release = database.prepare(
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
    put({ call, identity, request, asked }, owner) {
      const texts = [JSON.stringify(request), JSON.stringify(asked)] as const
      upsert.run(call, owner, identity, ...texts, new Date().toISOString())
    },
    get(call) {
      const row = selectCall.get(call)
      return row && toCall(row)
    },
    above(activity) {
      writer.flush()
      const row = selectAncestor.get(activity)
      return row && { call: Number(row['call']), round: Number(row['round']) }
    },
    sending: (call, owner) => void sending.run(call, owner),
    claim: (call, owner) => Number(claim.run(owner, call).changes) === 1,
    release: (call, owner) => void release.run(call, owner),
    end: (call, owner) => Number(end.run(call, owner).changes) === 1,
    approvalOf(call) {
      writer.flush()
      return Number(approval.get(call)?.['id'] ?? call)
    },
    count: () => Number(count.get()?.['count']),
    forgetOldest() {
      // `get` would stop at the returned row and hide an error of the commit.
      const [row] = forget.all()
      return row && { call: Number(row['call']), round: Number(row['round']) }
    },
  }
}

function toCall(row: Record<string, unknown>): SuspendedCall {
  const request: SuspendedRequest = readJson(String(row['request']))
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

/** The kind of the question whether a server may be started was `install` in earlier versions. */
export const startMigration: string = `
  UPDATE inbox SET question = json_set(question, '$.kind', 'start') WHERE json_extract(question, '$.kind') = 'install';
`

/** `reason` of the models of a sampling question was `why` in earlier versions. */
export const choiceReasonMigration: string = `
  UPDATE inbox SET question = json_set(json_remove(question, '$.choice.why'),
    '$.choice.reason', json_extract(question, '$.choice.why'),
    '$.choice.ranking', json((
      SELECT json_group_array(json_set(json_remove(value, '$.why'), '$.reason', json_extract(value, '$.why')))
      FROM json_each(question, '$.choice.ranking')
    )))
  WHERE json_type(question, '$.choice.why') = 'text';
`
