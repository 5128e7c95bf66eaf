import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'

/** Tells which of the programs on one store still run. */
export interface Owners {
  /** This program's own name, another one each time it runs. */
  readonly me: string
  /** Whether other programs can be on the store. */
  readonly shared: boolean
  /** From here on others see that this program runs, until it ends in whatever way. */
  lock(): void
  /** Whether that program has ended. */
  isGone(owner: string): boolean
  close(): void
}

const own = /^[0-9a-f-]{36}$/
/** Milliseconds to wait for programs that make, look at or take away a lock at this moment. */
const lockTimeoutMs = 5000

/**
 * A program that runs holds a lock on a file of its own beside the store. The system lets go of the lock when the
 * program ends, however that happens, so no clock and no process number can tell a wrong story.
 */
export function createOwners(store: string): Owners {
  const me = randomUUID()
  const shared = store !== ':memory:'
  const folder = `${store}.running`
  const fileOf = (owner: string): string => join(folder, `${owner}.lock`)
  let held: DatabaseSync | undefined

  /** One program at a time: a lock that is just being made looks like one that was left. Undefined where that is not to be had. */
  const alone = <T>(work: () => T): T | undefined => {
    const gate = lockOn(join(folder, 'gate'), lockTimeoutMs)
    try {
      return gate && work()
    } finally {
      gate?.close()
    }
  }

  /** Whether that program has ended; its file is taken away then. */
  const clearOf = (owner: string): boolean => {
    if (owner === me) return false
    if (!own.test(owner) || !existsSync(fileOf(owner))) return true
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
      if (!shared || !own.test(owner) || !existsSync(fileOf(owner))) return true
      return alone(() => clearOf(owner)) ?? false
    },
    lock() {
      if (!shared || held !== undefined) return
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      held = alone(() => {
        for (const name of readdirSync(folder)) clearOf(name.replace(/\.lock$/, ''))
        return lockOn(fileOf(me))
      })
      if (held === undefined) {
        throw new Error(`Other programs kept ${folder} locked for ${lockTimeoutMs / 1000} s: try again`)
      }
    },
    close() {
      if (held === undefined) return
      held.close()
      held = undefined
      alone(() => rmSync(fileOf(me), { force: true }))
    },
  }
}

/** Locks a file for as long as it stays open; undefined where another program holds it for longer than one waits. */
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
