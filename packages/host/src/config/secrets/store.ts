import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { McpError } from '@jackfield/sdk'
import type { CredentialStore } from '@jackfield/sdk/client/auth'
import type { EncryptedFiles, StoreKey } from '@jackfield/sdk/client/auth/node'
import type { SecretStore } from '../../types/index.ts'
import type { SystemKey } from './system-key.ts'

/** The source of the key that seals the secrets. */
export type SecretKey =
  /** The system keychain; needs the package `@napi-rs/keyring`. */
  | { kind: 'keychain' }
  /** At least 12 characters. */
  | { kind: 'passphrase'; text: string }
  /** A file created on first use, readable by its owner only. */
  | { kind: 'key file'; file: string }
  /** The system keychain, or a file if there is none. */
  | SystemKey

const listName = 'names'
const maxNames = 1_000
const maxChars = 65_536

/** Secrets in memory, for the lifetime of the process. */
export function memorySecrets(): SecretStore {
  const store = lazily(async () => (await import('@jackfield/sdk/client/auth')).memoryStore())
  return { ...secretStore(store, 'memory, until this program ends'), ready: async () => {} }
}

/** Secrets in sealed files in this folder. Each kind of key has its own files. Nothing is opened before first use. */
export function sealedSecrets(folder: string, key: SecretKey): SecretStore {
  if (key.kind !== 'system') {
    const files = sealedFiles(folder, key)
    const ready = async (): Promise<void> => (await files.open()).ready()
    const secrets = secretStore(files.open, kindTexts[key.kind])
    return {
      ...secrets,
      ready,
      get: async (name) => (await secrets.get(name)) ?? checkOtherKeys(folder, name),
      set: async (name, value) => {
        // Checked first, so that no folder is created for an unavailable key.
        await ready()
        await secrets.set(name, value)
      },
      readable: async () => (key.kind === 'keychain' ? [] : readableIn(files, key)),
    }
  }
  const folders = keyFolders(folder, key)
  const inKeychain = secretStore(folders.inKeychain.open, kindTexts.keychain)
  const inFile = secretStore(folders.inFile.open, kindTexts['key file'])
  /** The location of a secret; undefined if there is none with that name. */
  const storeOf = async (name: string): Promise<Secrets | undefined> => {
    if (await folders.inKeychain.has(keyOf(name))) return inKeychain
    return (await folders.inFile.has(keyOf(name))) ? inFile : undefined
  }
  const namesInKeychain = async (): Promise<string[]> => {
    if (await key.hasKeychain()) return inKeychain.names()
    key.report('secrets that are sealed with the key in the keychain are left out of the list')
    return []
  }
  return {
    get kind() {
      const used = [
        ...(folders.inKeychain.isThere() ? [inKeychain.kind] : []),
        ...(folders.inFile.isThere() ? [inFile.kind] : []),
      ]
      if (used.length > 0) return used.join(', and ')
      return 'files sealed with a key in the keychain, or with a key file where there is none'
    },
    ready: async () => {
      const place = (await key.hasKeychain()) ? folders.inKeychain : folders.inFile
      await (await place.open()).ready()
    },
    names: async () => {
      const sealed = (await folders.inKeychain.has(listName)) ? namesInKeychain() : []
      return [...new Set([...(await sealed), ...(await inFile.names())])].sort()
    },
    readable: () => readableIn(folders.inFile, key),
    get: async (name) => (await (await storeOf(name))?.get(name)) ?? checkOtherKeys(folder, name),
    set: async (name, value) => {
      checkSecret(name, value)
      const place = (await storeOf(name)) ?? ((await key.hasKeychain()) ? inKeychain : inFile)
      await place.set(name, value)
    },
    remove: async (name) => (await (await storeOf(name))?.remove(name)) ?? false,
  }
}

/** Tokens in sealed files in this folder, like secrets. The key is loaded on first use. */
export function sealedCredentials(folder: string, key: SecretKey): CredentialStore {
  if (key.kind !== 'system') {
    const files = sealedFiles(folder, key)
    return {
      get: async (name) => (files.isThere() ? (await files.open()).get(name) : undefined),
      set: async (name, value) => (await files.open()).set(name, value),
      delete: async (name) => {
        if (files.isThere()) await (await files.open()).delete(name)
      },
      exclusive: async (name, work, signal) => (await files.open()).exclusive(name, work, signal),
    }
  }
  const { inKeychain, inFile } = keyFolders(folder, key)
  const storeOf = async (name: string): Promise<SealedFiles | undefined> => {
    if (await inKeychain.has(name)) return inKeychain
    return (await inFile.has(name)) ? inFile : undefined
  }
  return {
    get: async (name) => (await (await storeOf(name))?.open())?.get(name),
    set: async (name, value) => {
      const place = (await storeOf(name)) ?? ((await key.hasKeychain()) ? inKeychain : inFile)
      await (await place.open()).set(name, value)
    },
    delete: async (name) => {
      for (const place of [inKeychain, inFile])
        if (await place.has(name)) await (await place.open()).delete(name)
    },
    // Locks are in one common folder, for all keys.
    exclusive: async (name, work, signal) => (await inFile.open()).exclusive(name, work, signal),
  }
}

const kindTexts = {
  keychain: 'files sealed with a key in the keychain',
  passphrase: 'files sealed with a passphrase',
  'key file': 'files sealed with a key file',
} as const

/** Sealed files in one folder, opened on first use. */
interface SealedFiles {
  /** Whether the folder exists. */
  isThere(): boolean
  has(name: string): Promise<boolean>
  open(): Promise<EncryptedFiles>
}

/** The folder of each key. `key file` has a user-chosen key, so its files are separate. */
function keyFolders(folder: string, key: SystemKey): { inKeychain: SealedFiles; inFile: SealedFiles } {
  return {
    inKeychain: filesIn(join(folder, 'keychain'), async () => key.inKeychain),
    inFile: filesIn(join(folder, 'own-key-file'), async () => key.inFile),
  }
}

/** Each kind of key has its own folder. */
function sealedFiles(folder: string, key: Exclude<SecretKey, SystemKey>): SealedFiles {
  return filesIn(join(folder, key.kind.replace(' ', '-')), async () => {
    const { keychain, keyFile, passphrase } = await import('@jackfield/sdk/client/auth/node')
    switch (key.kind) {
      case 'keychain':
        return keychain({ account: 'secrets' })
      case 'passphrase':
        return passphrase(key.text)
      case 'key file':
        return keyFile(key.file)
    }
  })
}

function filesIn(directory: string, key: () => Promise<StoreKey>): SealedFiles {
  const store = lazily(async () => {
    const { encryptedFiles } = await import('@jackfield/sdk/client/auth/node')
    return encryptedFiles({ directory, key: await key() })
  })
  const isThere = (): boolean => existsSync(directory)
  return {
    isThere,
    has: async (name) => isThere() && (await store()).has(name),
    open: store,
  }
}

/** A lazily created store; after a failure, the next call tries again. */
function lazily<T>(create: () => Promise<T>): () => Promise<T> {
  let store: Promise<T> | undefined
  return () => {
    store ??= create().catch((error: unknown) => {
      store = undefined
      throw error
    })
    return store
  }
}

/** The secrets in a folder; none if it or its key file does not exist, so that reading creates nothing. */
async function readableIn(
  files: SealedFiles,
  key: Exclude<SecretKey, { kind: 'keychain' }>,
): Promise<{ name: string; value: string }[]> {
  if (!files.isThere() || (key.kind !== 'passphrase' && !existsSync(key.file))) return []
  const store = await files.open()
  const entries = await Promise.all(
    (await namesIn(store)).map(async (name) => ({ name, value: await store.get(keyOf(name)) })),
  )
  return entries.flatMap(({ name, value }) => (value === undefined ? [] : [{ name, value }]))
}

async function namesIn(store: CredentialStore): Promise<string[]> {
  const names: unknown = JSON.parse((await withKeyHint(store.get(listName), 'The list of secrets')) ?? '[]')
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
}

type Secrets = Omit<SecretStore, 'ready'>

/** Adapts a credential store to secrets. */
function secretStore(open: () => Promise<CredentialStore>, kind: string): Secrets {
  const names = async (): Promise<string[]> => namesIn(await open())
  return {
    kind,
    names,
    get: async (name) => {
      const store = await open()
      return withKeyHint(store.get(keyOf(name)), `The secret "${name}"`)
    },
    set: async (name, value) => {
      const store = await open()
      await store.exclusive(listName, async () => {
        checkSecret(name, value)
        const storedNames = await names()
        if (!storedNames.includes(name) && storedNames.length >= maxNames)
          throw new McpError('LIMIT', `There are ${maxNames} secrets already. Remove some first`)
        await store.set(keyOf(name), value)
        await store.set(listName, JSON.stringify([...new Set([...storedNames, name])].sort()))
      })
    },
    remove: async (name) => {
      const store = await open()
      return store.exclusive(listName, async () => {
        const storedNames = await names()
        if (!storedNames.includes(name)) return false
        await store.set(listName, JSON.stringify(storedNames.filter((other) => other !== name)))
        await store.delete(keyOf(name))
        return true
      })
    },
  }
}

/** Wraps reading: a value sealed with another key gives an error that names the key and the fix. */
async function withKeyHint(reading: Promise<string | undefined>, what: string): Promise<string | undefined> {
  try {
    return await reading
  } catch (error) {
    const file = error instanceof McpError ? error.details['sealed'] : undefined
    if (typeof file !== 'string') throw error
    throw new McpError(
      'INVALID',
      `${what} is sealed with another key than the one in use. Use the passphrase or key file that it was stored with; if that is lost, delete the folder ${dirname(file)} and set its secrets again`,
      { cause: error, details: { sealed: file } },
    )
  }
}

/** Each folder of sealed files, with the setting needed to read it. */
const keyHints = [
  ['passphrase', 'a passphrase', 'Set JACKFIELD_PASSPHRASE to it'],
  ['key-file', 'a key file', 'Set JACKFIELD_KEY_FILE to it'],
  [
    'own-key-file',
    'the key file of this system',
    'Unset JACKFIELD_PASSPHRASE, JACKFIELD_KEY_FILE and JACKFIELD_KEYCHAIN',
  ],
  ['keychain', 'the key in the keychain', 'Unset JACKFIELD_PASSPHRASE and JACKFIELD_KEY_FILE'],
] as const

/** @throws McpError 'INVALID' if the secret exists but is sealed with another key */
function checkOtherKeys(folder: string, name: string): undefined {
  // The file name depends only on the name of the secret.
  const file = createHash('sha256').update(keyOf(name)).digest('hex').slice(0, 40)
  const keyHint = keyHints.find(([place]) => existsSync(join(folder, place, file)))
  if (keyHint === undefined) return undefined
  const [place, sealedWith, advice] = keyHint
  throw new McpError(
    'INVALID',
    `The secret "${name}" is stored under another key: it is sealed with ${sealedWith}. ${advice}, or set it under the key in use`,
    { details: { sealed: join(folder, place, file) } },
  )
}

function keyOf(name: string): string {
  return `secret ${name}`
}

function checkSecret(name: string, value: string): void {
  if (name.trim() === '' || name.length > 500 || /[\p{Cc}}]/u.test(name))
    throw new McpError(
      'INVALID',
      'The name of a secret must be a short text without control characters and }',
    )
  if (value === '') throw new McpError('INVALID', `The secret ${name} is empty`)
  if (value.length > maxChars) throw new McpError('LIMIT', `A secret has at most ${maxChars} characters`)
}
