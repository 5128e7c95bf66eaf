import { oneLine, reasonOf } from '../../shared/text.ts'

/**
 * Why a store cannot be used. `damaged`: it is no SQLite file, or its pages are inconsistent. `full`: the disk is full. `denied`:
 * no permission, or a read-only file system. `busy`: locked by another program. `newer`: written by a newer version.
 */
export type StoreFault = 'damaged' | 'full' | 'denied' | 'busy' | 'newer' | 'other'

/** The store cannot be opened or written. The message has the file, the reason and a suggested fix. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError'
  /** The kind of failure. */
  readonly fault: StoreFault

  constructor(message: string, fault: StoreFault, options?: { cause: unknown }) {
    super(message, options)
    this.fault = fault
  }
}

/** What the user can do about each, as sentences. */
export const advice: Readonly<Record<StoreFault, string>> = {
  damaged: 'It was left as it is. Set it aside, or name another file.',
  full: 'Free some space, or name a file on another disk.',
  denied: 'Give this user read and write permission for the file and its folder, or name another file.',
  busy: 'End the other program or try again, or name another file.',
  newer: 'Use the newer version, or name another file.',
  other: 'Name another file, or repair this one.',
}

/** The fault of each SQLite result code and system error. */
const faults: Readonly<Record<string | number, StoreFault>> = {
  3: 'denied', // SQLITE_PERM
  5: 'busy', // SQLITE_BUSY
  6: 'busy', // SQLITE_LOCKED
  8: 'denied', // SQLITE_READONLY
  11: 'damaged', // SQLITE_CORRUPT
  13: 'full', // SQLITE_FULL
  23: 'denied', // SQLITE_AUTH
  26: 'damaged', // SQLITE_NOTADB
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'denied',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'full',
}

/** Why an error of SQLite or the system makes a store unusable. */
export function faultOf(error: unknown): StoreFault {
  if (error instanceof StoreError) return error.fault
  if (typeof error !== 'object' || error === null) return 'other'
  if ('errcode' in error && typeof error.errcode === 'number') return faults[error.errcode & 0xff] ?? 'other'
  return 'code' in error && typeof error.code === 'string' ? (faults[error.code] ?? 'other') : 'other'
}

/** Converts an SQLite error to a StoreError; undefined for any other error. */
export function asStoreError(error: unknown): StoreError | undefined {
  if (error instanceof StoreError) return error
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_SQLITE_ERROR') return undefined
  const fault = faultOf(error)
  return new StoreError(`The store cannot be used: ${reasonOf(error)}. ${advice[fault]}`, fault, {
    cause: error,
  })
}

/** The error of work that stops because the store cannot record it. */
export function cannotRecord(what: string, error: unknown): StoreError {
  const fault = faultOf(error)
  const reason = `it cannot be recorded: ${reasonOf(error)}. ${advice[fault]}`
  return new StoreError(`Stopped before "${oneLine(what)}", because ${reason}`, fault, { cause: error })
}
