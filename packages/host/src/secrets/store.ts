import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { McpError } from '@jackfield/sdk'
import type { CredentialStore } from '@jackfield/sdk/client/auth'
import type { SecretStore } from '../types/index.ts'

/** Where the key that seals the secrets comes from. */
export type SecretKey =
  /** The keychain of the system; needs the package `@napi-rs/keyring`. */
  | { kind: 'keychain' }
  /** At least 12 characters. */
  | { kind: 'passphrase'; text: string }
  /** A file that is made on first use, readable to its owner alone. */
  | { kind: 'key file'; file: string }

const listName = 'names'
const maxNames = 1_000
const maxChars = 65_536

/** Secrets in memory, for as long as the process lives. */
export function memorySecrets(): SecretStore {
  const store = onFirstUse(async () => (await import('@jackfield/sdk/client/auth')).memoryStore())
  return secretStore(store.get, 'memory, until this program ends')
}

/**
 * Secrets in sealed files in this folder. Each kind of key has its own files, since none reads another's. Nothing is
 * opened before it is needed.
 */
export function sealedSecrets(folder: string, key: SecretKey): SecretStore {
  const directory = folderOf(folder, key)
  const store = onFirstUse(() => sealedFiles(directory, key))
  return secretStore(store.get, kinds[key.kind])
}

/**
 * Tokens in sealed files in this folder, kept as secrets are. The folder is made with the first token, and until then
 * no key is looked for.
 */
export function sealedCredentials(folder: string, key: SecretKey): CredentialStore {
  const directory = folderOf(folder, key)
  const store = onFirstUse(() => sealedFiles(directory, key))
  const isThere = (): boolean => store.isUsed() || existsSync(directory)
  return {
    get: async (name) => (isThere() ? (await store.get()).get(name) : undefined),
    set: async (name, value) => (await store.get()).set(name, value),
    delete: async (name) => {
      if (isThere()) await (await store.get()).delete(name)
    },
    exclusive: async (name, work, signal) => (await store.get()).exclusive(name, work, signal),
  }
}

const kinds: Readonly<Record<SecretKey['kind'], string>> = {
  keychain: 'files sealed with a key in the keychain',
  passphrase: 'files sealed with a passphrase',
  'key file': 'files sealed with a key file',
}

/** Each kind of key has a folder of its own. */
function folderOf(folder: string, key: SecretKey): string {
  return join(folder, key.kind.replace(' ', '-'))
}

async function sealedFiles(directory: string, key: SecretKey): Promise<CredentialStore> {
  const { encryptedFiles, keychain, keyFile, passphrase } = await import('@jackfield/sdk/client/auth/node')
  switch (key.kind) {
    case 'keychain':
      return encryptedFiles({ directory, key: keychain({ account: 'secrets' }) })
    case 'passphrase':
      return encryptedFiles({ directory, key: passphrase(key.text) })
    case 'key file':
      return encryptedFiles({ directory, key: keyFile(key.file) })
  }
}

/** A store that is made when it is first wanted; where that fails, it is tried again with the next wish. */
function onFirstUse(make: () => Promise<CredentialStore>): {
  isUsed: () => boolean
  get: () => Promise<CredentialStore>
} {
  let store: Promise<CredentialStore> | undefined
  return {
    isUsed: () => store !== undefined,
    get: () => {
      store ??= make().catch((error: unknown) => {
        store = undefined
        throw error
      })
      return store
    },
  }
}

function secretStore(open: () => Promise<CredentialStore>, kind: string): SecretStore {
  const names = async (): Promise<string[]> => {
    const kept: unknown = JSON.parse((await (await open()).get(listName)) ?? '[]')
    return Array.isArray(kept) ? kept.filter((name) => typeof name === 'string') : []
  }
  return {
    kind,
    names,
    get: async (name) => (await open()).get(keyOf(name)),
    set: async (name, value) => {
      const store = await open()
      await store.exclusive(listName, async () => {
        refuseUnfit(name, value)
        const known = await names()
        if (!known.includes(name) && known.length >= maxNames)
          throw new McpError('LIMIT', `There are ${maxNames} secrets already. Remove some first`)
        await store.set(keyOf(name), value)
        await store.set(listName, JSON.stringify([...new Set([...known, name])].sort()))
      })
    },
    remove: async (name) => {
      const store = await open()
      return store.exclusive(listName, async () => {
        const known = await names()
        if (!known.includes(name)) return false
        await store.set(listName, JSON.stringify(known.filter((other) => other !== name)))
        await store.delete(keyOf(name))
        return true
      })
    },
  }
}

function keyOf(name: string): string {
  return `secret ${name}`
}

function refuseUnfit(name: string, value: string): void {
  if (name.trim() === '' || name.length > 500 || /[\p{Cc}}]/u.test(name))
    throw new McpError('INVALID', 'The name of a secret is a short text without control characters and }')
  if (value === '') throw new McpError('INVALID', `The secret ${name} is empty`)
  if (value.length > maxChars) throw new McpError('LIMIT', `A secret has at most ${maxChars} characters`)
}
