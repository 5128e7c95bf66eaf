import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { userKey, type WebUser } from './users.ts'

/** Milliseconds for which a login link is valid. */
const loginKeyMs = 60_000
/** Bytes of the key of a login link. */
const loginKeyBytes = 16
/** Bytes of a cookie and of a page key. */
const secretBytes = 32
/** Milliseconds for which a session lasts by default. */
const defaultSessionMs = 2_592_000_000
/** Maximum numbers for each user; older ones are removed. */
const maxLoginKeys = 16
const maxSessions = 32
/** Milliseconds to wait for another process that writes. */
const busyMs = 5_000

const schema = `
  CREATE TABLE IF NOT EXISTS login_keys (hash BLOB PRIMARY KEY, expires INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, cookie_hash BLOB NOT NULL, page_key_hash BLOB NOT NULL,
    created INTEGER NOT NULL, used INTEGER NOT NULL, expires INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS ports (name TEXT PRIMARY KEY, port INTEGER NOT NULL);`
/** Columns that were added to the schema later. `user`: JSON; `user_key`: '' for the only user of a local server. */
const addedColumns: readonly (readonly [table: string, column: string])[] = [
  ['login_keys', "user_key TEXT NOT NULL DEFAULT ''"],
  ['login_keys', 'user TEXT'],
  ['login_keys', 'browser_hash BLOB'],
  ['sessions', "user_key TEXT NOT NULL DEFAULT ''"],
  ['sessions', 'user TEXT'],
]

/** A browser that is logged in. */
export interface WebSession {
  readonly id: string
  /** `Firefox on lapis`. */
  readonly name: string
  /** ISO 8601. */
  readonly created: string
  /** ISO 8601; the last connection. */
  readonly used: string
  /** ISO 8601. */
  readonly expires: string
  /** Who is signed in; undefined for the person whose machine this is. */
  readonly user?: WebUser
}

/** The two secrets of a new session. Both are needed to use it; the store has only their hashes. */
export interface Login {
  readonly session: WebSession
  readonly cookie: string
  readonly pageKey: string
}

/**
 * `preferred`: the port to use again. `apps`: the port of the pages of apps. `listening`: the port of the running server; a process
 * that was killed leaves it behind, so it is valid only while the file is locked.
 */
type PortName = 'preferred' | 'listening' | 'apps'

interface SessionRow {
  readonly id: string
  readonly name: string
  readonly cookieHash: Uint8Array
  readonly pageKeyHash: Uint8Array
  readonly created: number
  readonly used: number
  readonly expires: number
  readonly user: WebUser | undefined
}

/** The user and the browser that a login key is for. */
export interface LoginKeyOptions {
  readonly user: WebUser
  /** A secret of the browser that signed in, without which the key is worthless. */
  readonly browser: string
}

/** Login keys, sessions and ports of one web server, in a SQLite file that only its owner can read. */
export class SessionStore {
  readonly #database: DatabaseSync
  /** Milliseconds for which a session lasts. */
  readonly sessionMs: number

  /** `sessionMs`: how long a session lasts, 30 days by default. @throws Error if the file cannot be used */
  constructor(file: string, { sessionMs = defaultSessionMs }: { sessionMs?: number } = {}) {
    this.sessionMs = sessionMs
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      closeSync(openSync(file, 'a', 0o600))
      if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
      this.#database = new DatabaseSync(file, { timeout: busyMs })
      this.#database.exec(schema)
      for (const [table, column] of addedColumns) addColumn(this.#database, table, column)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new Error(
        `Cannot use ${file} for the sessions of the web server: ${reason}. Remove the file to begin a new one; every browser then logs in again.`,
        { cause },
      )
    }
  }

  /** Creates a login key, valid once, for 60 s. Without options it is that of a login link, for any browser. */
  addLoginKey(options?: LoginKeyOptions): string {
    const key = newSecret(loginKeyBytes)
    const owner = options === undefined ? '' : userKey(options.user)
    this.#removeExpired()
    this.#database
      .prepare('INSERT INTO login_keys (hash, expires, user_key, user, browser_hash) VALUES (?, ?, ?, ?, ?)')
      .run(
        hashOf(key),
        Date.now() + loginKeyMs,
        owner,
        options === undefined ? null : JSON.stringify(options.user),
        options === undefined ? null : hashOf(options.browser),
      )
    this.#database
      .prepare(
        `DELETE FROM login_keys WHERE user_key = ? AND rowid NOT IN
           (SELECT rowid FROM login_keys WHERE user_key = ? ORDER BY rowid DESC LIMIT ?)`,
      )
      .run(owner, owner, maxLoginKeys)
    return key
  }

  /**
   * Redeems a login key and returns both secrets of a session; undefined if the key is wrong, used or expired.
   * `currentSession`: the session that the browser has; it is renewed if it is of the same user, so that a browser has one
   * session. `browsers`: the secrets that the browser sent, for a key that is bound to one.
   */
  login(
    key: string,
    name: string,
    {
      currentSession,
      browsers = [],
    }: { currentSession?: WebSession | undefined; browsers?: readonly string[] } = {},
  ): Login | undefined {
    const redeemedKey = this.#redeemLoginKey(key, browsers)
    if (redeemedKey === undefined) return undefined
    const { user } = redeemedKey
    const owner = user === undefined ? '' : userKey(user)
    const isSame =
      currentSession !== undefined &&
      (currentSession.user === undefined ? '' : userKey(currentSession.user)) === owner
    const [cookie, pageKey, id] = [
      newSecret(secretBytes),
      newSecret(secretBytes),
      isSame ? currentSession.id : newSecret(loginKeyBytes),
    ]
    const now = Date.now()
    this.#database
      .prepare(
        `INSERT INTO sessions (id, name, cookie_hash, page_key_hash, created, used, expires, user_key, user)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, cookie_hash = excluded.cookie_hash,
           page_key_hash = excluded.page_key_hash, used = excluded.used, expires = excluded.expires, user = excluded.user`,
      )
      .run(
        ...[id, name, hashOf(cookie), hashOf(pageKey), now, now, now + this.sessionMs, owner],
        user === undefined ? null : JSON.stringify(user),
      )
    this.#database
      .prepare(
        `DELETE FROM sessions WHERE user_key = ? AND id NOT IN
           (SELECT id FROM sessions WHERE user_key = ? ORDER BY used DESC LIMIT ?)`,
      )
      .run(owner, owner, maxSessions)
    const session = this.find(id)
    return session === undefined ? undefined : { session, cookie, pageKey }
  }

  /** Finds the session of a cookie. The cookie alone gives no access to the host. */
  sessionOfCookie(cookie: string): WebSession | undefined {
    const hash = hashOf(cookie)
    const row = this.#rows('cookie_hash = ?', hash).find(({ cookieHash }) =>
      timingSafeEqual(cookieHash, hash),
    )
    return row === undefined ? undefined : sessionOf(row)
  }

  /** Finds a valid session by its id. */
  find(id: string): WebSession | undefined {
    const [row] = this.#rows('id = ?', id)
    return row === undefined ? undefined : sessionOf(row)
  }

  /** Whether a page key is the second secret of a session. */
  isPageKey(id: string, pageKey: string): boolean {
    const [row] = this.#rows('id = ?', id)
    return row !== undefined && timingSafeEqual(row.pageKeyHash, hashOf(pageKey))
  }

  /** Sets the time at which a session was last used to now. */
  markUsed(id: string): void {
    this.#database.prepare('UPDATE sessions SET used = ? WHERE id = ?').run(Date.now(), id)
  }

  /** The sessions that are valid now: all, or those of a user. */
  list(user?: WebUser): WebSession[] {
    return (user === undefined ? this.#rows() : this.#rows('user_key = ?', userKey(user))).map(sessionOf)
  }

  /** Ends the sessions of users who may no longer sign in, and those without a user. */
  removeDisallowed(isAllowed: (user: WebUser) => boolean): void {
    for (const { id, user } of this.list()) if (user === undefined || !isAllowed(user)) this.remove(id)
  }

  /** Ends a session; false if there is no such session. */
  remove(id: string): boolean {
    return this.#database.prepare('DELETE FROM sessions WHERE id = ?').run(id).changes > 0
  }

  /** The stored port; undefined if there is none. */
  port(name: PortName): number | undefined {
    const port = this.#database.prepare('SELECT port FROM ports WHERE name = ?').get(name)?.['port']
    return typeof port === 'number' ? port : undefined
  }

  /** Stores a port, or removes it if it is undefined. */
  setPort(name: PortName, port: number | undefined): void {
    if (port === undefined) this.#database.prepare('DELETE FROM ports WHERE name = ?').run(name)
    else this.#database.prepare('INSERT OR REPLACE INTO ports (name, port) VALUES (?, ?)').run(name, port)
  }

  close(): void {
    this.#database.close()
  }

  #redeemLoginKey(key: string, browsers: readonly string[]): { user: WebUser | undefined } | undefined {
    const hash = hashOf(key)
    const now = Date.now()
    // A key that would last longer than keys do was made before the clock was set back.
    const rows = this.#database
      .prepare('SELECT * FROM login_keys WHERE expires > ? AND expires <= ?')
      .all(now, now + loginKeyMs)
    const row = rows.find(
      (candidate) => candidate['hash'] instanceof Uint8Array && timingSafeEqual(candidate['hash'], hash),
    )
    if (row === undefined) return undefined
    const { browser_hash: browserHash, user } = row
    // A request of another browser does not use up the key.
    if (
      browserHash instanceof Uint8Array &&
      !browsers.some((browser) => timingSafeEqual(browserHash, hashOf(browser)))
    )
      return undefined
    // Of several requests with one key, also in other processes, the one that removes it logs in.
    const isFirst = this.#database.prepare('DELETE FROM login_keys WHERE hash = ?').run(hash).changes > 0
    return isFirst ? { user: parseUser(user) } : undefined
  }

  #removeExpired(): void {
    for (const table of ['login_keys', 'sessions'])
      this.#database.prepare(`DELETE FROM ${table} WHERE expires <= ?`).run(Date.now())
  }

  #rows(condition = 'TRUE', ...values: (string | Buffer)[]): SessionRow[] {
    return this.#database
      .prepare(`SELECT * FROM sessions WHERE expires > ? AND ${condition} ORDER BY created`)
      .all(Date.now(), ...values)
      .flatMap((row) => {
        const { id, name, cookie_hash: cookieHash, page_key_hash: pageKeyHash, created, used, expires } = row
        const isRow =
          typeof id === 'string' &&
          typeof name === 'string' &&
          cookieHash instanceof Uint8Array &&
          pageKeyHash instanceof Uint8Array &&
          typeof created === 'number' &&
          typeof used === 'number' &&
          typeof expires === 'number'
        if (!isRow) return []
        return [{ id, name, cookieHash, pageKeyHash, created, used, expires, user: parseUser(row['user']) }]
      })
  }
}

function addColumn(database: DatabaseSync, table: string, column: string): void {
  const [name] = column.split(' ')
  const existing = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all()
  if (!existing.some((row) => row['name'] === name))
    database.exec(`ALTER TABLE ${table} ADD COLUMN ${column}`)
}

/** Parses the user of a row, which this server has written. */
function parseUser(json: unknown): WebUser | undefined {
  if (typeof json !== 'string') return undefined
  const user: WebUser = JSON.parse(json)
  return user
}

/**
 * Locks a file of sessions for the server that runs with it; the system releases the lock when the process ends, however it
 * ends. Undefined if another server holds it.
 */
export function lockSessions(file: string): Disposable | undefined {
  const path = `${file}.lock`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return { [Symbol.dispose]: () => database.close() }
  } catch {
    database.close()
    return undefined
  }
}

function sessionOf({ id, name, created, used, expires, user }: SessionRow): WebSession {
  return {
    ...{ id, name, created: isoTime(created), used: isoTime(used), expires: isoTime(expires) },
    ...(user !== undefined && { user }),
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

function newSecret(bytes: number): string {
  return randomBytes(bytes).toString('base64url')
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
