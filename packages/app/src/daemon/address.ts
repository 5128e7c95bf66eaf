import { createHash, randomUUID } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { CliError, ExitCode } from '../cli/exit.ts'
import type { Io } from '../cli/io.ts'
import { dataFolder, storeFile } from '../cli/store.ts'
import type { ConfigChoice } from '../cli/target.ts'

/** Length of a Unix socket path, in bytes, that every system supports. */
const maxSocketPathBytes = 100

/** The settings that identify a host process. Commands with equal settings share it. */
export interface HostChoice extends ConfigChoice {
  /** The store, if not the default one. */
  store?: string
}

/** Where the host process is found. */
export interface DaemonAddress {
  /** Identifies the store, the working folder and the configuration. */
  readonly key: string
  readonly socket: string
  /** A JSON file with the process id and the token for clients. */
  readonly file: string
  /** A file that is locked while the host process runs. */
  readonly lock: string
  /** Log of the host process. */
  readonly log: string
}

/** The browser session file of the web server for an address. */
export function sessionsFile({ file }: Pick<DaemonAddress, 'file'>): string {
  return file.replace(/\.json$/, '.web.db')
}

/** The content of `DaemonAddress.file`. */
export interface DaemonRecord {
  readonly pid: number
  readonly token: string
  readonly build: string
  /** ISO 8601. */
  readonly since: string
  readonly workspace: string
  readonly store: string
}

/**
 * The address for these settings. The folder is private to this user.
 * @throws CliError if the folder belongs to another user or others may write to it
 */
export function daemonAddress(choice: HostChoice, io: Pick<Io, 'env' | 'cwd'>): DaemonAddress {
  const { config, profile, discover, startWhatThisFolderNames } = choice
  const parts = [
    storeFile(choice.store, io),
    io.cwd,
    config === undefined ? null : [config].flat(),
    profile ?? null,
    discover === true,
    startWhatThisFolderNames === true,
  ]
  const key = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
  const folder = privateFolder(join(dataFolder(io), 'hosts'))
  const named = (extension: string): string => join(folder, `${key}.${extension}`)
  return { key, socket: socketPath(key, folder), file: named('json'), lock: named('lock'), log: named('log') }
}

function socketPath(key: string, folder: string): string {
  if (process.platform === 'win32') return `\\\\.\\pipe\\jackfield-${key}`
  const path = join(folder, `${key}.sock`)
  if (Buffer.byteLength(path) <= maxSocketPathBytes) return path
  // Socket paths have a length limit; for a longer data folder, the socket is in a private temporary folder.
  const { uid } = userInfo()
  return join(privateFolder(join(tmpdir(), `jackfield-${uid}`)), `${key}.sock`)
}

function privateFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  if (process.platform === 'win32') return path
  const { uid, mode } = lstatSync(path)
  if (uid !== userInfo().uid)
    throw new CliError(
      ExitCode.usage,
      `The folder ${path} belongs to another user. Run with --no-daemon, or set XDG_DATA_HOME to a folder of your own.`,
    )
  if ((mode & 0o077) !== 0) chmodSync(path, 0o700)
  return path
}

/** The record of the host process; undefined if it is missing or unreadable. */
export function readRecord({ file }: DaemonAddress): DaemonRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

/** Writes the record atomically, readable by this user only. */
export function writeRecord({ file }: DaemonAddress, record: DaemonRecord): void {
  const draft = join(dirname(file), `.${randomUUID()}`)
  writeFileSync(draft, JSON.stringify(record), { mode: 0o600 })
  renameSync(draft, file)
}

export function removeRecord({ file }: DaemonAddress): void {
  rmSync(file, { force: true })
}
