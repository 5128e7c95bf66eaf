import type { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@jackfield/sdk/internal'

/** One sampling request of a server. */
interface SamplingUse {
  server: string
  /** Milliseconds since 1970. */
  at: number
  /** The row of the call that caused it. */
  cause: number | null
  /** Whether it offers tools. */
  tools: boolean
  /** Whether it is not reviewed by the user. */
  auto: boolean
  /** Usage so far, plus the reservation for a running request. */
  tokens: number
  cost?: { cost: number; currency: string } | undefined
}

/** The usage of one server. */
export interface SamplingTally {
  /** Requests of the last minute, and the time of the first. */
  requests: number
  oldest: number | undefined
  requestsToday: number
  /** In the last 24 hours. */
  tokens: number
  autoTokens: number
  cost: Record<string, number>
  autoCost: Record<string, number>
  last: number | undefined
}

/** A grant of the user: requests or results of a server are not reviewed, until it is revoked. */
interface StoredSamplingGrant {
  id: string
  /** The server's identity. */
  identity: string
  server: string
  stage: 'request' | 'result'
  /** ISO 8601. */
  at: string
}

/** Sampling usage of servers, and the user's lasting grants. */
export interface SamplingTable {
  /** Runs work in an exclusive transaction; rolled back if it throws. */
  alone<T>(work: () => T): T
  tally(server: string, now: number): SamplingTally
  /** Requests with tools caused by the row. */
  rounds(cause: number): number
  add(use: SamplingUse): number
  change(id: number, use: Pick<SamplingUse, 'auto' | 'tokens' | 'cost'>): void
  /** Servers with a request since then, by name. */
  servers(since: number): string[]
  grants(): StoredSamplingGrant[]
  addGrant(grant: StoredSamplingGrant): void
  /** False if there is none with that id. */
  removeGrant(id: string): boolean
}

export const samplingMigration = `
  CREATE TABLE sampling_use (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    server TEXT NOT NULL,
    at INTEGER NOT NULL,
    cause INTEGER,
    tools INTEGER NOT NULL,
    auto INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost REAL,
    currency TEXT
  ) STRICT;
  CREATE INDEX sampling_use_server ON sampling_use (server, at);
  CREATE INDEX sampling_use_cause ON sampling_use (cause) WHERE cause IS NOT NULL;
  CREATE TABLE sampling_grant (
    id TEXT PRIMARY KEY,
    identity TEXT NOT NULL,
    server TEXT NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('request', 'result')),
    at TEXT NOT NULL,
    UNIQUE (identity, server, stage)
  ) STRICT;
`

const minuteMs = 60_000
const dayMs = 86_400_000
const retentionMs = 31 * dayMs

export function createSamplingTable(database: DatabaseSync): SamplingTable {
  const minute = database.prepare(
    'SELECT COUNT(*) AS requests, MIN(at) AS oldest FROM sampling_use WHERE server = ? AND at > ?',
  )
  const day = database.prepare(
    `SELECT currency, auto, COUNT(*) AS requests, SUM(tokens) AS tokens, SUM(cost) AS cost, MAX(at) AS last
     FROM sampling_use WHERE server = ? AND at > ? GROUP BY currency, auto`,
  )
  const rounds = database.prepare('SELECT COUNT(*) AS rounds FROM sampling_use WHERE cause = ? AND tools = 1')
  const add = database.prepare(
    `INSERT INTO sampling_use (server, at, cause, tools, auto, tokens, cost, currency)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
  )
  const change = database.prepare(
    'UPDATE sampling_use SET auto = ?, tokens = ?, cost = ?, currency = ? WHERE id = ?',
  )
  const forget = database.prepare('DELETE FROM sampling_use WHERE at < ?')
  const servers = database.prepare('SELECT DISTINCT server FROM sampling_use WHERE at > ? ORDER BY server')
  const grants = database.prepare(
    'SELECT id, identity, server, stage, at FROM sampling_grant ORDER BY at, rowid',
  )
  const addGrant = database.prepare(
    `INSERT INTO sampling_grant (id, identity, server, stage, at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  )
  const removeGrant = database.prepare('DELETE FROM sampling_grant WHERE id = ?')
  return {
    alone: (work) => inTransaction(database, work),
    tally(server, now) {
      const recent = minute.get(server, now - minuteMs)
      const tally: SamplingTally = {
        requests: Number(recent?.['requests']),
        oldest: typeof recent?.['oldest'] === 'number' ? recent['oldest'] : undefined,
        requestsToday: 0,
        tokens: 0,
        autoTokens: 0,
        cost: {},
        autoCost: {},
        last: undefined,
      }
      for (const row of day.all(server, now - dayMs)) {
        const auto = row['auto'] === 1
        const tokens = Number(row['tokens'])
        tally.requestsToday += Number(row['requests'])
        tally.tokens += tokens
        if (auto) tally.autoTokens += tokens
        tally.last = Math.max(tally.last ?? 0, Number(row['last']))
        const { currency, cost } = row
        if (typeof currency !== 'string' || typeof cost !== 'number') continue
        tally.cost[currency] = (tally.cost[currency] ?? 0) + cost
        if (auto) tally.autoCost[currency] = (tally.autoCost[currency] ?? 0) + cost
      }
      return tally
    },
    rounds: (cause) => Number(rounds.get(cause)?.['rounds']),
    add({ server, at, cause, tools, auto, tokens, cost }) {
      forget.run(at - retentionMs)
      // `get` would stop at the returned row and hide an error of the commit.
      const [row] = add.all(
        server,
        at,
        cause,
        tools ? 1 : 0,
        auto ? 1 : 0,
        tokens,
        cost?.cost ?? null,
        cost?.currency ?? null,
      )
      return Number(row?.['id'])
    },
    change(id, { auto, tokens, cost }) {
      change.run(auto ? 1 : 0, tokens, cost?.cost ?? null, cost?.currency ?? null, id)
    },
    servers: (since) => servers.all(since).map((row) => String(row['server'])),
    grants: () =>
      grants.all().map((row) => ({
        id: String(row['id']),
        identity: String(row['identity']),
        server: String(row['server']),
        stage: row['stage'] === 'request' ? 'request' : 'result',
        at: String(row['at']),
      })),
    addGrant({ id, identity, server, stage, at }) {
      addGrant.run(id, identity, server, stage, at)
    },
    removeGrant: (id) => removeGrant.run(id).changes === 1,
  }
}
