import { execFile } from 'node:child_process'
import { randomBytes, randomUUID, scrypt } from 'node:crypto'
import { link, lstat, open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { invalid, McpError } from '../../../jsonrpc/error.ts'
import { wait } from '../../../transports/client/retry-backoff.ts'

const heartbeatMs = 1_000
const staleMs = 6_000
const firstPollMs = 5
const maxPollMs = 100

/**
 * Runs `work` while this process holds a lock file. The holder updates its time every second; a lock without an update
 * for six seconds is stale and taken over.
 */
export async function withLockFile<T>(
  path: string,
  work: () => Promise<T>,
  signal: AbortSignal = new AbortController().signal,
): Promise<T> {
  const owner = randomUUID()
  await acquire(path, owner, signal)
  const heartbeat = setInterval(() => {
    const now = new Date()
    utimes(path, now, now).catch(() => {})
  }, heartbeatMs)
  try {
    return await work()
  } finally {
    clearInterval(heartbeat)
    if ((await contentOf(path)) === owner) await rm(path, { force: true })
  }
}

async function acquire(path: string, owner: string, signal: AbortSignal): Promise<void> {
  let seen = ''
  let since = performance.now()
  for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 2, maxPollMs)) {
    signal.throwIfAborted()
    if (await create(path, owner)) return
    const state = await lockState(path)
    if (state !== seen) {
      seen = state
      since = performance.now()
    } else if (performance.now() - since > staleMs) {
      await removeStale(path, state)
      continue
    }
    await wait(pollMs * (0.5 + Math.random()), signal)
  }
}

async function create(path: string, content: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(content)
    } catch (error) {
      await rm(path, { force: true })
      throw error
    } finally {
      await file.close()
    }
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

/** Removes a stale lock, under a second lock, so that two processes do not remove each other's new one. */
async function removeStale(path: string, state: string): Promise<void> {
  const takeover = `${path}.takeover`
  if (!(await create(takeover, ''))) {
    const { mtimeMs } = await stat(takeover).catch(() => ({ mtimeMs: Date.now() }))
    // A time in the future comes from a wrong clock.
    if (Math.abs(Date.now() - mtimeMs) > staleMs) await rm(takeover, { force: true })
    return
  }
  try {
    if ((await lockState(path)) === state) await rm(path, { force: true })
  } finally {
    await rm(takeover, { force: true })
  }
}

/** Changes with the owner of the lock and with every heartbeat. */
async function lockState(path: string): Promise<string> {
  const times = await stat(path).catch(() => undefined)
  return `${times?.mtimeMs} ${await contentOf(path)}`
}

async function contentOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** The source of the key of an encrypted store. */
export interface StoreKey {
  /** The 32-byte key for a store in this folder, created on first use. Runs in one process at a time. */
  load(directory: string): Promise<Uint8Array>
}

const keyBytes = 32
const minPassphrase = 12
const cost = { N: 32_768, r: 8, p: 1, maxmem: 67_108_864 }

/** A key derived by scrypt from a passphrase of at least 12 characters and a salt in the store's folder. */
export function passphrase(text: string): StoreKey {
  if (text.length < minPassphrase) {
    throw invalid(`A passphrase must have at least ${minPassphrase} characters`)
  }
  return {
    async load(directory) {
      const salt = await readOrCreate(join(directory, 'salt'))
      return new Promise((resolve, reject) => {
        scrypt(text.normalize('NFKC'), salt, keyBytes, cost, (error, key) => {
          if (error === null) resolve(key)
          else reject(error)
        })
      })
    },
  }
}

/** A key in a file that only its owner may read, created on first use. Exclude it from backups of the store. */
export function keyFile(path: string): StoreKey {
  return { load: () => readOrCreate(path) }
}

/** Options of `keychain`. */
export interface KeychainOptions {
  /** The service name of the entry. Default `Jackfield`. */
  service?: string
  /** The account name of the entry. Default `credentials`. */
  account?: string
  /** Milliseconds to wait for the keychain, which may ask the user to unlock it. Default 60 000. */
  timeoutMs?: number
}

/**
 * Why the keychain failed, in `details` of the error: there is none, it did not respond in time, or it refused access,
 * for example because it is locked.
 */
export interface KeychainFailure {
  /** `absent`: none, `no answer`: a timeout, `refused`: no access. */
  keychain: 'absent' | 'no answer' | 'refused'
}

/**
 * A key in the system's keychain: Keychain, Credential Manager or Secret Service. Requires the package `@napi-rs/keyring`,
 * which the application installs. New keys are never stored in the Linux kernel keyring, which is lost at reboot.
 *
 * The keychain is read in a child process, which is killed if the keychain does not respond: a call to it cannot be
 * cancelled, and would keep this process alive.
 */
export function keychain({
  service = 'Jackfield',
  account = 'credentials',
  timeoutMs = 60_000,
}: KeychainOptions = {}): StoreKey {
  return {
    async load() {
      const answer = await askKeychain(service, account, timeoutMs)
      if (answer.key !== undefined)
        return checkKey(Buffer.from(answer.key, 'base64'), 'The key in the keychain')
      if (answer.missing === true) {
        const message = `No keychain of this system responds. Start its service (on Linux a Secret Service such as gnome-keyring or KWallet), ${otherKeySources}`
        throw failure('CONNECT_FAILED', message, 'absent', answer.reason)
      }
      const message = `The keychain of this system refuses access. Unlock it, ${otherKeySources}`
      throw failure('CONNECT_FAILED', message, 'refused', answer.reason)
    },
  }
}

const otherKeySources = 'or use a passphrase or a key file'

interface KeychainAnswer {
  /** Base64. */
  key?: string
  /** There is no keychain. */
  missing?: boolean
  reason?: string
}

/**
 * The program of the child process. "Platform failure" is how the package reports a missing Secret Service; a locked one
 * fails differently. Earlier versions stored the key in the kernel keyring if there was no Secret Service.
 */
const program = `
const [path, service, account] = process.argv.slice(1)
const { AsyncEntry } = require(path)
const entry = (store) => new AsyncEntry(service, account, { linux: { store } })
const load = async () => {
  try {
    const chain = entry('secret-service')
    const saved = await chain.getPassword()
    if (typeof saved === 'string') return { key: saved }
    const key = require('node:crypto').randomBytes(${keyBytes}).toString('base64')
    await chain.setPassword(key)
    return { key }
  } catch (error) {
    const reason = String(error.message)
    if (process.platform !== 'linux' || !reason.startsWith('Platform failure:')) return { reason }
    const older = await (async () => entry('keyutils').getPassword())().catch(() => undefined)
    return typeof older === 'string' ? { key: older } : { missing: true, reason }
  }
}
load().then((answer) => process.stdout.write(JSON.stringify(answer)))
`

function askKeychain(service: string, account: string, timeoutMs: number): Promise<KeychainAnswer> {
  const words = ['-e', program, '--', packagePath(), service, account]
  const env = { ...process.env, ELECTRON_RUN_AS_NODE: '1', NODE_OPTIONS: '' }
  const options = { env, timeout: timeoutMs, killSignal: 'SIGKILL' as const, windowsHide: true }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, words, options, (error, stdout, stderr) => {
      if (error?.killed === true) {
        const message = `The keychain of this system did not respond within ${timeoutMs / 1000} s. Unlock it if it shows a dialog, restart its service, ${otherKeySources}`
        reject(failure('TIMEOUT', message, 'no answer'))
      } else if (error !== null) {
        const message = `Storing the key in the keychain requires the package @napi-rs/keyring, which does not work on this system. Reinstall it, ${otherKeySources}`
        reject(failure('INVALID', message, 'absent', stderr.trim() || error))
      } else {
        resolve(answerIn(stdout))
      }
    })
  })
}

function answerIn(stdout: string): KeychainAnswer {
  const read: unknown = JSON.parse(stdout)
  if (typeof read !== 'object' || read === null) return { reason: 'no result was written' }
  return {
    ...('key' in read && typeof read.key === 'string' && { key: read.key }),
    ...('missing' in read && { missing: read.missing === true }),
    ...('reason' in read && { reason: String(read.reason) }),
  }
}

function packagePath(): string {
  try {
    return createRequire(import.meta.url).resolve('@napi-rs/keyring')
  } catch (cause) {
    const message = `Storing the key in the keychain requires the package @napi-rs/keyring, which is not installed. Install it, ${otherKeySources}`
    throw failure('INVALID', message, 'absent', cause)
  }
}

function failure(
  code: 'CONNECT_FAILED' | 'TIMEOUT' | 'INVALID',
  message: string,
  keychain: KeychainFailure['keychain'],
  cause?: unknown,
): McpError {
  const details = { keychain } satisfies KeychainFailure
  return new McpError(code, message, { cause, details })
}

/** Random bytes in a file, which the first process creates atomically. */
async function readOrCreate(path: string): Promise<Uint8Array> {
  const existing = await read(path)
  if (existing !== undefined) return existing
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  await writeFile(draft, randomBytes(keyBytes), { mode: 0o600, flag: 'wx' })
  try {
    await link(draft, path)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  } finally {
    await rm(draft, { force: true })
  }
  const created = await read(path)
  if (created !== undefined) return created
  throw invalid(`The key file ${path} disappeared while it was created`)
}

async function read(path: string): Promise<Uint8Array | undefined> {
  try {
    const { mode } = await lstat(path)
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw invalid(`Other users can read ${path}. Restrict it: chmod 600 ${path}`)
    }
    return checkKey(await readFile(path), path)
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function checkKey(key: Uint8Array, what: string): Uint8Array {
  if (key.length === keyBytes) return key
  throw invalid(`${what} does not contain ${keyBytes} bytes. Delete it to create a new one`)
}
