import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { usageError } from './exit.ts'
import { readErrorReason } from './file-errors.ts'
import type { Io } from './io.ts'

/**
 * The store of the activity log and grants: the file of `--store`, `:memory:` with `--no-store`, or a file in the user's data
 * folder.
 */
export function storeFile(option: string | undefined, io: Pick<Io, 'env' | 'cwd'>): string {
  if (option === ':memory:') return option
  if (option !== undefined) return resolve(io.cwd, option)
  const { HOME: home } = io.env
  // Creating a folder below a missing one in /proc never returns in Node, so the home folder is checked first.
  const problem = isXdg(io) || home === undefined ? undefined : folderProblem(home)
  if (problem !== undefined)
    throw usageError(
      `HOME is "${home}", which cannot be used: ${problem}. Set HOME to your home folder, or name a file with --store. To run without a store, where a command offers it: --no-store.`,
    )
  return join(dataFolder(io), 'activity.db')
}

/** Where server bundles are unpacked. */
export function bundleFolder(io: Pick<Io, 'env' | 'cwd'>): string {
  return join(dirname(storeFile(undefined, io)), 'bundles')
}

/** The data folder of this user. */
export function dataFolder(io: Pick<Io, 'env'>): string {
  const { XDG_DATA_HOME: data = '', HOME: home } = io.env
  return join(isXdg(io) ? data : join(home ?? homedir(), '.local', 'share'), 'jackfield')
}

/** The XDG specification requires relative paths to be ignored. */
function isXdg({ env }: Pick<Io, 'env'>): boolean {
  return env.XDG_DATA_HOME !== undefined && isAbsolute(env.XDG_DATA_HOME)
}

function folderProblem(path: string): string | undefined {
  try {
    return statSync(path).isDirectory() ? undefined : 'it is not a folder'
  } catch (error) {
    return readErrorReason(error)
  }
}

/** The store for a read-only command: it is not created, and a missing one counts as empty. */
export function storeToRead(file: string): string {
  if (file === ':memory:') return file
  // Unlike existsSync, this throws if the folder may not be searched.
  return statSync(file, { throwIfNoEntry: false }) === undefined ? ':memory:' : file
}
