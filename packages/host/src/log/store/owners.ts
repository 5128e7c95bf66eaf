import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'

/** Detects which of the programs on one store are still running. */
export interface Owners {
  /** This program's id, unique to each start. */
  readonly me: string
  /** Whether other programs can use the store. */
  readonly shared: boolean
  /** Lets other programs detect that this program runs, until it ends in any way. */
  lock(): void
  /** Whether that program has ended. */
  isGone(owner: string): boolean
  /** Releases the lock of this program. */
  close(): void
}

/** The folder beside a store with the files of the programs that use it. */
export function runningFolder(store: string): string {
  return `${store}.running`
}

const ownerPattern = /^[0-9a-f-]{36}$/
/** Milliseconds to wait for programs that create, check or delete a lock at this moment. */
const lockTimeoutMs = 5000

/**
 * A running program holds a lock on its own file next to the store. The system releases the lock when the program ends in any
 * way, so neither clocks nor reused process ids matter.
 */
export function createOwners(store: string): Owners {
  const me = randomUUID()
  const shared = store !== ':memory:'
  const folder = runningFolder(store)
  const fileOf = (owner: string): string => join(folder, `${owner}.lock`)
  let lockDatabase: DatabaseSync | undefined

  /** Runs work under a lock, since a lock that is being created looks like an abandoned one. Undefined if the lock is unavailable. */
  const withGate = <T>(work: () => T): T | undefined => {
    const gate = lockOn(join(folder, 'gate'), lockTimeoutMs)
    try {
      return gate && work()
    } finally {
      gate?.close()
    }
  }

  /** Whether that program has ended; its file is then deleted. */
  const removeIfEnded = (owner: string): boolean => {
    if (owner === me) return false
    if (!ownerPattern.test(owner) || !existsSync(fileOf(owner))) return true
    const lock = lockOn(fileOf(owner))
    if (lock === undefined) return false
    lock.close()
    rmSync(fileOf(owner), { force: true })
    return true
  }

  return {
    me,
    shared,
    isGone(owner) {
      if (owner === me) return false
      if (!shared || !ownerPattern.test(owner) || !existsSync(fileOf(owner))) return true
      return withGate(() => removeIfEnded(owner)) ?? false
    },
    lock() {
      if (!shared || lockDatabase !== undefined) return
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      lockDatabase = withGate(() => {
        for (const name of readdirSync(folder)) removeIfEnded(name.replace(/\.lock$/, ''))
        return lockOn(fileOf(me))
      })
      if (lockDatabase === undefined) {
        throw new Error(`Other programs kept ${folder} locked for ${lockTimeoutMs / 1000} s: try again`)
      }
    },
    close() {
      if (lockDatabase === undefined) return
      lockDatabase.close()
      lockDatabase = undefined
      withGate(() => rmSync(fileOf(me), { force: true }))
    },
  }
}

/** Locks a file for as long as it stays open; undefined if another program holds it longer than the wait. */
function lockOn(file: string, waitMs = 0): DatabaseSync | undefined {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const lock = new DatabaseSync(file)
  try {
    lock.exec(`PRAGMA busy_timeout = ${waitMs}; BEGIN EXCLUSIVE`)
    return lock
  } catch {
    lock.close()
    return undefined
  }
}
