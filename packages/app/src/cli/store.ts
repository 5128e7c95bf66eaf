import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { Io } from './io.ts'

/**
 * The store of the activity log and of remembered decisions: the file of `--store`, `:memory:` with `--no-store`, or a file in
 * the data folder of this user.
 */
export function storeFile(option: string | undefined, io: Pick<Io, 'env' | 'cwd'>): string {
  if (option === ':memory:') return option
  if (option !== undefined) return resolve(io.cwd, option)
  const { XDG_DATA_HOME: data, HOME: home } = io.env
  // A relative folder is to be ignored, as the XDG specification says.
  const base = data !== undefined && isAbsolute(data) ? data : join(home ?? homedir(), '.local', 'share')
  return join(base, 'jackfield', 'activity.db')
}

/** The store for a command that only reads: reading creates none, and one that does not exist is empty. */
export function storeToRead(file: string): string {
  if (file === ':memory:') return file
  // Unlike existsSync, this fails where the folder may not be searched.
  return statSync(file, { throwIfNoEntry: false }) === undefined ? ':memory:' : file
}
