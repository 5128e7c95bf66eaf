import type { DatabaseSync } from 'node:sqlite'
import type { GivenConsent } from '../../types/index.ts'

/** A consent to start one server as one file defines it. */
interface Consent extends GivenConsent {
  /** One hash of the file and everything that defines the started server. */
  identity: string
}

export interface ConsentTable {
  has(identity: string): boolean
  /** Consents, by file and server name. */
  last(file: string, server: string): Consent | undefined
  put(consent: Consent): void
  list(): Consent[]
  /** Removes every consent for a server of a file; returns their number. */
  remove(file: string, server: string): number
}

export const consentMigration = `
  CREATE TABLE consents (
    identity TEXT PRIMARY KEY,
    file TEXT NOT NULL,
    server TEXT NOT NULL,
    command TEXT NOT NULL,
    at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX consents_server ON consents (file, server);
`

export function createConsentTable(database: DatabaseSync): ConsentTable {
  const has = database.prepare('SELECT 1 FROM consents WHERE identity = ?')
  const last = database.prepare(
    'SELECT * FROM consents WHERE file = ? AND server = ? ORDER BY at DESC, rowid DESC LIMIT 1',
  )
  const selectAll = database.prepare('SELECT * FROM consents ORDER BY at, rowid')
  const insert = database.prepare(
    'INSERT OR REPLACE INTO consents (identity, file, server, command, at) VALUES (?, ?, ?, ?, ?)',
  )
  const remove = database.prepare('DELETE FROM consents WHERE file = ? AND server = ?')
  return {
    has: (identity) => has.get(identity) !== undefined,
    last(file, server) {
      const row = last.get(file, server)
      return row === undefined ? undefined : consentOf(row)
    },
    put({ identity, file, server, command, at }) {
      insert.run(identity, file, server, command, at)
    },
    list: () => selectAll.all().map(consentOf),
    remove: (file, server) => Number(remove.run(file, server).changes),
  }
}

function consentOf(row: Record<string, unknown>): Consent {
  return {
    identity: String(row['identity']),
    file: String(row['file']),
    server: String(row['server']),
    command: String(row['command']),
    at: String(row['at']),
  }
}

/** Identities of servers with variables in their command or address, as last resolved. */
export interface IdentityTable {
  get(template: string): string | undefined
  /** Stores one; beyond 1 000, the oldest are removed. */
  put(template: string, identity: string): void
}

export const identityMigration: string = `
  CREATE TABLE identities (
    template TEXT PRIMARY KEY,
    identity TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
`

const maxStoredIdentities = 1_000

export function createIdentityTable(database: DatabaseSync): IdentityTable {
  const get = database.prepare('SELECT identity FROM identities WHERE template = ?')
  const insert = database.prepare(
    'INSERT OR REPLACE INTO identities (template, identity, at) VALUES (?, ?, ?)',
  )
  const trim = database.prepare(
    `DELETE FROM identities WHERE template NOT IN (
       SELECT template FROM identities ORDER BY at DESC, rowid DESC LIMIT ${maxStoredIdentities}
     )`,
  )
  return {
    get(template) {
      const identity = get.get(template)?.['identity']
      return typeof identity === 'string' ? identity : undefined
    },
    put(template, identity) {
      insert.run(template, identity, Date.now())
      trim.run()
    },
  }
}

/** The detected era of a server. */
interface KnownEra {
  era: 'session' | 'stateless'
  /** The server's version, as it reports it. */
  version: string | undefined
}

/** The detected eras of servers, by identity. */
export interface EraTable {
  get(identity: string): KnownEra | undefined
  put(identity: string, known: KnownEra): void
  forget(identity: string): void
}

export const eraMigration = `
  CREATE TABLE eras (
    identity TEXT PRIMARY KEY,
    era TEXT NOT NULL CHECK (era IN ('session', 'stateless')),
    version TEXT,
    at INTEGER NOT NULL
  ) STRICT;
`

const eraRetentionMs = 7 * 86_400_000

export function createEraTable(database: DatabaseSync): EraTable {
  const get = database.prepare('SELECT era, version, at FROM eras WHERE identity = ?')
  const insert = database.prepare(
    'INSERT OR REPLACE INTO eras (identity, era, version, at) VALUES (?, ?, ?, ?)',
  )
  const forget = database.prepare('DELETE FROM eras WHERE identity = ?')
  return {
    get(identity) {
      const row = get.get(identity)
      if (row === undefined || Date.now() - Number(row['at']) > eraRetentionMs) return undefined
      const version = row['version']
      return {
        era: row['era'] === 'session' ? 'session' : 'stateless',
        version: typeof version === 'string' ? version : undefined,
      }
    },
    put: (identity, { era, version }) => {
      insert.run(identity, era, version ?? null, Date.now())
    },
    forget: (identity) => {
      forget.run(identity)
    },
  }
}

/** The cached lists of a server, as JSON text. */
interface Manifest {
  lists: string
  /** When they were fetched, in milliseconds since 1970. */
  atMs: number
}

/** Cached lists by server and principal, because a server may show different things to different users. */
export interface ManifestTable {
  /** Undefined also if it is older than 30 days. */
  get(identity: string, principal: string): Manifest | undefined
  /** Ignores lists of more than 8 million characters. */
  put(identity: string, principal: string, lists: string): void
  /** Removes the cached lists of a server for all principals. */
  forget(identity: string): void
}

export const manifestMigration = `
  CREATE TABLE manifests (
    identity TEXT NOT NULL,
    principal TEXT NOT NULL,
    lists TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (identity, principal)
  ) STRICT;
`

const manifestRetentionMs = 30 * 86_400_000
const maxChars = 8_000_000

export function createManifestTable(database: DatabaseSync): ManifestTable {
  const get = database.prepare('SELECT lists, at FROM manifests WHERE identity = ? AND principal = ?')
  const insert = database.prepare(
    'INSERT OR REPLACE INTO manifests (identity, principal, lists, at) VALUES (?, ?, ?, ?)',
  )
  const forget = database.prepare('DELETE FROM manifests WHERE identity = ?')
  const prune = database.prepare('DELETE FROM manifests WHERE at < ?')
  return {
    get(identity, principal) {
      const row = get.get(identity, principal)
      const atMs = Number(row?.['at'])
      return row === undefined || Date.now() - atMs > manifestRetentionMs
        ? undefined
        : { lists: String(row['lists']), atMs }
    },
    put(identity, principal, lists) {
      prune.run(Date.now() - manifestRetentionMs)
      if (lists.length <= maxChars) insert.run(identity, principal, lists, Date.now())
    },
    forget: (identity) => {
      forget.run(identity)
    },
  }
}
