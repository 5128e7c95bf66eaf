import { randomBytes, scrypt } from 'node:crypto'
import { link, lstat, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { McpError } from '../../../jsonrpc/error.ts'
import { isCode } from './lock-file.ts'

/** Where the key of an encrypted store comes from. */
export interface StoreKey {
  /** The key, 32 bytes, for a store in this folder; made on first use. Runs in one process at a time. */
  load(directory: string): Promise<Uint8Array>
}

const keyBytes = 32
const minPassphrase = 12
const cost = { N: 32_768, r: 8, p: 1, maxmem: 67_108_864 }

/** A key derived from a passphrase of at least 12 characters, by scrypt with a salt kept in the store's folder. */
export function passphrase(text: string): StoreKey {
  if (text.length < minPassphrase) {
    throw new McpError('INVALID', `A passphrase must have at least ${minPassphrase} characters`)
  }
  return {
    async load(directory) {
      const salt = await readOrMake(join(directory, 'salt'))
      return new Promise((resolve, reject) => {
        scrypt(text.normalize('NFKC'), salt, keyBytes, cost, (error, key) => {
          if (error === null) resolve(key)
          else reject(error)
        })
      })
    },
  }
}

/** A key kept in a file only its owner may read; made on first use. Keep it apart from backups of the store. */
export function keyFile(path: string): StoreKey {
  return { load: () => readOrMake(path) }
}

/** Under which name a key is kept in the system's own key store, and how long to wait for it. */
export interface KeychainOptions {
  /** The name the key is kept under. Default `Jackfield`. */
  service?: string
  /** The account the key is kept for. Default `credentials`. */
  account?: string
  /** Milliseconds to wait for the keychain, which may be asking the user to unlock it. Default 60 000. */
  timeoutMs?: number
}

/**
 * Why no key came from the keychain, in `details` of the error: the system has none, it did not answer in time, or it
 * refused, as one does that is locked.
 */
export interface KeychainFailure {
  keychain: 'absent' | 'no answer' | 'refused'
}

/**
 * A key kept in the keychain of the system: Keychain, Credential Manager or Secret Service. Needs the package
 * `@napi-rs/keyring`, which the application installs. A new key is never put into the keyring of the Linux kernel, which
 * loses it at the next boot.
 *
 * A call to a keychain that does not answer cannot be cancelled, and keeps the process alive: end it with
 * `process.exit()` after an error with the code `TIMEOUT`.
 */
export function keychain({
  service = 'Jackfield',
  account = 'credentials',
  timeoutMs = 60_000,
}: KeychainOptions = {}): StoreKey {
  let pending: Promise<Uint8Array> | undefined
  return {
    load() {
      pending ??= fromKeychain(service, account).finally(() => {
        pending = undefined
      })
      return withinTime(pending, timeoutMs)
    },
  }
}

const otherKeys = 'or use a passphrase or a key file'

async function fromKeychain(service: string, account: string): Promise<Uint8Array> {
  const { AsyncEntry } = await keyring()
  try {
    // Only Linux has stores to choose from; elsewhere the option is ignored.
    const entry = new AsyncEntry(service, account, { linux: { store: 'secret-service' } })
    const saved = await entry.getPassword()
    if (typeof saved === 'string') return decoded(saved)
    const key = randomBytes(keyBytes)
    await entry.setPassword(key.toString('base64'))
    return key
  } catch (cause) {
    if (cause instanceof McpError) throw cause
    // "Platform failure" is how the package reports a missing service; a locked keychain fails differently.
    const isAbsent =
      process.platform === 'linux' && cause instanceof Error && /^Platform failure:/.test(cause.message)
    if (!isAbsent) {
      const message = `The keychain of this system refuses access. Unlock it, ${otherKeys}`
      throw failure('CONNECT_FAILED', message, 'refused', cause)
    }
    const saved = await inKernel(service, account)
    if (saved !== undefined) return decoded(saved)
    const message = `This system has no keychain that answers. Start its service (on Linux a Secret Service such as gnome-keyring or KWallet), ${otherKeys}`
    throw failure('CONNECT_FAILED', message, 'absent', cause)
  }
}

/** A key of the kernel's keyring, where earlier versions put it if there was no Secret Service. */
async function inKernel(service: string, account: string): Promise<string | undefined> {
  const { AsyncEntry } = await keyring()
  try {
    const entry = new AsyncEntry(service, account, { linux: { store: 'keyutils' } })
    return (await entry.getPassword()) ?? undefined
  } catch {
    // A container often has no access to it, so nothing was put there either.
    return undefined
  }
}

async function withinTime(key: Promise<Uint8Array>, timeoutMs: number): Promise<Uint8Array> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const message = `The keychain of this system did not answer within ${timeoutMs / 1000} s. Unlock it if it shows a dialog, restart its service, ${otherKeys}`
      reject(failure('TIMEOUT', message, 'no answer'))
    }, timeoutMs)
  })
  try {
    return await Promise.race([key, timeout])
  } finally {
    clearTimeout(timer)
  }
}

function decoded(saved: string): Uint8Array {
  return checked(Buffer.from(saved, 'base64'), 'The key in the keychain')
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

async function keyring(): Promise<typeof import('@napi-rs/keyring')> {
  try {
    return await import('@napi-rs/keyring')
  } catch (cause) {
    const message =
      'Keeping the key in the keychain needs the package @napi-rs/keyring, which is not installed or not built for this system. Install it, or use a passphrase or a key file'
    throw failure('INVALID', message, 'absent', cause)
  }
}

/** Random bytes kept in a file; the first process to come makes it, whole. */
async function readOrMake(path: string): Promise<Uint8Array> {
  const kept = await read(path)
  if (kept !== undefined) return kept
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  await writeFile(draft, randomBytes(keyBytes), { mode: 0o600, flag: 'wx' })
  try {
    await link(draft, path)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  } finally {
    await rm(draft, { force: true })
  }
  const made = await read(path)
  if (made !== undefined) return made
  throw new McpError('INVALID', `The key file ${path} vanished while it was made`)
}

async function read(path: string): Promise<Uint8Array | undefined> {
  try {
    const { mode } = await lstat(path)
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new McpError('INVALID', `Others may read ${path}. Make it yours alone: chmod 600 ${path}`)
    }
    return checked(await readFile(path), path)
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function checked(key: Uint8Array, what: string): Uint8Array {
  if (key.length === keyBytes) return key
  throw new McpError('INVALID', `${what} does not hold ${keyBytes} bytes. Delete it to begin anew`)
}
