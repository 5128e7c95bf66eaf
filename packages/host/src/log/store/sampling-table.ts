import type { DatabaseSync } from 'node:sqlite'
import { rollBack } from './chain.ts'

/** One request of a server for a model's answer. */
interface SamplingUse {
  server: string
  /** Milliseconds since 1970. */
  at: number
  /** The row of the call that led to it. */
  cause: number | null
  /** Whether it offers tools. */
  tools: boolean
  /** Whether it passes without asking the person. */
  auto: boolean
  /** Used so far, with what is kept free for an answer under way. */
  tokens: number
  cost?: { cost: number; currency: string } | undefined
}

/** What one server used. */
export interface SamplingTally {
  /** Requests of the last minute, and when the first of them came. */
  requests: number
  oldest: number | undefined
  requestsToday: number
  /** Of the last 24 hours. */
  tokens: number
  autoTokens: number
  cost: Record<string, number>
  autoCost: Record<string, number>
  last: number | undefined
}

/** A look at requests or answers of a server that is left out until it is taken back. */
interface StoredSamplingGrant {
  id: string
  /** What the server is, whatever it is called. */
  identity: string
  server: string
  stage: 'request' | 'result'
  /** ISO 8601. */
  at: string
}

/** What servers used of the person's models, and the person's lasting answers about it. */
export interface SamplingTable {
  /** Does work that no other process sharing the store can come between; undone where it throws. */
  alone<T>(work: () => T): T
  tally(server: string, now: number): SamplingTally
  /** Requests with tools that the row led to. */
  rounds(cause: number): number
  add(use: SamplingUse): number
  change(id: number, use: Pick<SamplingUse, 'auto' | 'tokens' | 'cost'>): void
  /** Servers with a request since then, by name. */
  servers(since: number): string[]
  grants(): StoredSamplingGrant[]
  addGrant(grant: StoredSamplingGrant): void
  /** False where there is none of that id. */
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
    alone(work) {
      database.exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        database.exec('COMMIT')
        return result
      } catch (error) {
        rollBack(database)
        throw error
      }
    },
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
