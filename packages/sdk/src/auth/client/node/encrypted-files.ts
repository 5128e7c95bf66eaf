import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { access, mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid } from '../../../jsonrpc/error.ts'
import { type CredentialStore, KeyedQueue } from '../credential-store.ts'
import { isCode, type StoreKey, withLockFile } from './store-keys.ts'

/** Options of `encryptedFiles`. */
export interface EncryptedFilesOptions {
  /** The folder of the store, created with access for its owner only. */
  directory: string
  /** The source of the key: `passphrase`, `keyFile` or `keychain`. */
  key: StoreKey
}

const magic = Buffer.from('JFC1')
const ivBytes = 12
const tagBytes = 16

/** A credential store in encrypted files. */
export interface EncryptedFiles extends CredentialStore {
  /** Whether there is a credential of this name. Does not load the key. */
  has(name: string): Promise<boolean>
  /**
   * Loads the key, or creates it, as writing the first credential does.
   * @throws McpError if credentials cannot be stored
   */
  ready(): Promise<void>
}

/**
 * Stores credentials in files, one each, encrypted with AES-256-GCM and readable by their owner only. Several processes may
 * share the folder. The key is loaded when a credential is first read or written.
 */
export function encryptedFiles({ directory, key }: EncryptedFilesOptions): EncryptedFiles {
  const turns = new KeyedQueue()
  let ready: Promise<Uint8Array> | undefined
  const secret = (): Promise<Uint8Array> => {
    ready ??= prepare(directory, key).catch((error) => {
      ready = undefined
      throw error
    })
    return ready
  }
  const pathOf = (name: string): string =>
    join(directory, createHash('sha256').update(name).digest('hex').slice(0, 40))

  return {
    async get(name) {
      const path = pathOf(name)
      const sealed = await readFile(path).catch((error) => {
        if (isCode(error, 'ENOENT')) return undefined
        throw error
      })
      return sealed === undefined ? undefined : unseal(sealed, await secret(), name, path)
    },
    async has(name) {
      try {
        await access(pathOf(name))
        return true
      } catch (error) {
        if (isCode(error, 'ENOENT')) return false
        throw error
      }
    },
    async ready() {
      await secret()
    },
    async set(name, value) {
      const bytes = await secret()
      await replace(pathOf(name), seal(value, bytes, name))
    },
    async delete(name) {
      await rm(pathOf(name), { force: true })
    },
    async exclusive(name, work, signal) {
      await makeFolder(directory)
      const path = `${pathOf(name)}.lock`
      return turns.run(name, () => withLockFile(path, work, signal), signal)
    },
  }
}

async function prepare(directory: string, key: StoreKey): Promise<Uint8Array> {
  try {
    await makeFolder(directory)
    return await withLockFile(join(directory, 'key.lock'), () => key.load(directory))
  } catch (error) {
    // A read-only folder needs no lock: an existing key can be read, and none can be created.
    if (readOnly.some((code) => isCode(error, code))) return await key.load(directory)
    // An empty folder would be mistaken for a store with credentials.
    await rmdir(directory).catch(() => {})
    throw error
  }
}

const readOnly = ['EROFS', 'EACCES', 'EPERM']

async function makeFolder(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
}

/** Replaces a file atomically. */
async function replace(path: string, content: Uint8Array): Promise<void> {
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  try {
    await writeFile(draft, content, { flag: 'wx', mode: 0o600, flush: true })
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** Authenticates the name too, so that one file cannot replace another. */
function seal(value: string, key: Uint8Array, name: string): Uint8Array {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.concat([magic, Buffer.from(name)]))
  const text = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
  return Buffer.concat([magic, iv, text, cipher.getAuthTag()])
}

function unseal(sealed: Buffer, key: Uint8Array, name: string, path: string): string {
  const textAt = magic.length + ivBytes
  const tagAt = sealed.length - tagBytes
  try {
    if (tagAt < textAt || !sealed.subarray(0, magic.length).equals(magic))
      throw new Error('not an encrypted file')
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(magic.length, textAt))
      .setAAD(Buffer.concat([magic, Buffer.from(name)]))
      .setAuthTag(sealed.subarray(tagAt))
    return decipher.update(sealed.subarray(textAt, tagAt), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    throw invalid(
      `The stored credentials in ${path} cannot be decrypted with this key. Use the passphrase or key that they were stored with, or delete the file and log in again`,
      { details: { sealed: path } },
    )
  }
}
