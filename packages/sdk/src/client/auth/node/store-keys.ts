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

/** Under which name a key is kept in the system's own key store. */
export interface KeychainOptions {
  /** The name the key is kept under. Default `Jackfield`. */
  service?: string
  /** The account the key is kept for. Default `credentials`. */
  account?: string
}

/**
 * A key kept in the keychain of the system: Keychain, Credential Manager or Secret Service. Needs the package
 * `@napi-rs/keyring`, which the application installs.
 */
export function keychain({ service = 'Jackfield', account = 'credentials' }: KeychainOptions = {}): StoreKey {
  return {
    async load() {
      const { AsyncEntry } = await keyring()
      try {
        const entry = new AsyncEntry(service, account)
        const kept = await entry.getPassword()
        if (typeof kept === 'string') return checked(Buffer.from(kept, 'base64'), 'The key in the keychain')
        const key = randomBytes(keyBytes)
        await entry.setPassword(key.toString('base64'))
        return key
      } catch (cause) {
        if (cause instanceof McpError) throw cause
        throw new McpError(
          'CONNECT_FAILED',
          'The keychain of this system does not answer. Unlock it, or start its service (on Linux a Secret Service such as gnome-keyring or KWallet), or use a passphrase or a key file',
          { cause },
        )
      }
    },
  }
}

async function keyring(): Promise<typeof import('@napi-rs/keyring')> {
  try {
    return await import('@napi-rs/keyring')
  } catch (cause) {
    throw new McpError(
      'INVALID',
      'Keeping the key in the keychain needs the package @napi-rs/keyring, which is not installed or not built for this system. Install it, or use a passphrase or a key file',
      { cause },
    )
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
