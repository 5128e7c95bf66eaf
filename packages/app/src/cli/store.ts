import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { createHost, type Host, type HostOptions, StoreError } from '@jackfield/host'
import { plain } from '../output/sanitize.ts'
import type { Io } from './io.ts'

/** Where activity and remembered answers are kept: the file of `--store`, or the person's own data folder. */
export function storeFile(option: string | undefined, io: Pick<Io, 'env' | 'cwd'>): string {
  if (option === ':memory:') return option
  if (option !== undefined) return resolve(io.cwd, option)
  const { XDG_DATA_HOME: data, HOME: home } = io.env
  // A relative folder is to be ignored, as the XDG specification says.
  const base = data !== undefined && isAbsolute(data) ? data : join(home ?? homedir(), '.local', 'share')
  return join(base, 'jackfield', 'activity.db')
}

/** Makes a host. Where its store cannot be opened, `note` is told and everything is kept in memory. */
export function hostWithStore(options: HostOptions, note: (text: string) => void): Host {
  try {
    return createHost(options)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    note(`! ${plain(error.message)} What happens now is not recorded.`)
    return createHost({ ...options, store: ':memory:' })
  }
}
