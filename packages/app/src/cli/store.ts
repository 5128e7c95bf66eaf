import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { createHost, type Host, type HostOptions, StoreError } from '@jackfield/host'
import { plain } from '../output/sanitize.ts'
import type { Io } from './io.ts'
import { whyUnreadable } from './unreadable.ts'

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
  const inMemory = (why: string): Host => {
    note(`! ${plain(why)} What happens now is not recorded.`)
    return createHost({ ...options, store: ':memory:' })
  }
  const { store } = options
  if (store !== undefined && store !== ':memory:') {
    const why = whyNoFolder(dirname(store))
    if (why !== undefined)
      return inMemory(
        `The store ${store} cannot be made: ${why}. Set HOME to a folder of yours, or name a file with --store.`,
      )
  }
  try {
    return createHost(options)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return inMemory(error.message)
  }
}

/** Makes a folder, one level at a time: Node's own recursion does not return where a level below /proc is missing. */
function whyNoFolder(folder: string): string | undefined {
  const missing: string[] = []
  let at = folder
  while (!existsSync(at) && dirname(at) !== at) {
    missing.push(at)
    at = dirname(at)
  }
  try {
    for (const level of missing.reverse()) mkdirSync(level, { mode: 0o700 })
    return undefined
  } catch (error) {
    return whyUnreadable(error)
  }
}
