import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { McpError } from '@jackfield/sdk'
import { type CredentialStore, memoryStore } from '@jackfield/sdk/client/auth'
import { encryptedFiles, keychain, keyFile, passphrase, type StoreKey } from '@jackfield/sdk/client/auth/node'
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
  const store = memoryStore()
  return secretStore(() => store, 'memory, until this program ends')
}

/**
 * Secrets in sealed files in this folder. Each kind of key has its own files, since none reads another's. Nothing is
 * opened before it is needed.
 */
export function sealedSecrets(folder: string, key: SecretKey): SecretStore {
  const directory = join(folder, key.kind.replace(' ', '-'))
  let store: CredentialStore | undefined
  const open = (): CredentialStore => {
    store ??= encryptedFiles({ directory, key: sealedWith(key) })
    return store
  }
  return secretStore(open, kinds[key.kind])
}

/**
 * Tokens in sealed files in this folder, kept as secrets are. The folder is made with the first token, and until then
 * no key is looked for.
 */
export function sealedCredentials(folder: string, key: SecretKey): CredentialStore {
  const directory = join(folder, key.kind.replace(' ', '-'))
  let store: CredentialStore | undefined
  const open = (): CredentialStore => {
    store ??= encryptedFiles({ directory, key: sealedWith(key) })
    return store
  }
  return {
    get: async (name) => (store !== undefined || existsSync(directory) ? open().get(name) : undefined),
    set: (name, value) => open().set(name, value),
    delete: async (name) => {
      if (store !== undefined || existsSync(directory)) await open().delete(name)
    },
    exclusive: (name, work, signal) => open().exclusive(name, work, signal),
  }
}

const kinds: Readonly<Record<SecretKey['kind'], string>> = {
  keychain: 'files sealed with a key in the keychain',
  passphrase: 'files sealed with a passphrase',
  'key file': 'files sealed with a key file',
}

function sealedWith(key: SecretKey): StoreKey {
  switch (key.kind) {
    case 'keychain':
      return keychain({ account: 'secrets' })
    case 'passphrase':
      return passphrase(key.text)
    case 'key file':
      return keyFile(key.file)
  }
}

function secretStore(open: () => CredentialStore, kind: string): SecretStore {
  const names = async (): Promise<string[]> => {
    const kept: unknown = JSON.parse((await open().get(listName)) ?? '[]')
    return Array.isArray(kept) ? kept.filter((name) => typeof name === 'string') : []
  }
  return {
    kind,
    names,
    get: async (name) => open().get(keyOf(name)),
    set: async (name, value) =>
      open().exclusive(listName, async () => {
        refuseUnfit(name, value)
        const known = await names()
        if (!known.includes(name) && known.length >= maxNames)
          throw new McpError('LIMIT', `There are ${maxNames} secrets already. Remove some first`)
        await open().set(keyOf(name), value)
        await open().set(listName, JSON.stringify([...new Set([...known, name])].sort()))
      }),
    remove: async (name) =>
      open().exclusive(listName, async () => {
        const known = await names()
        if (!known.includes(name)) return false
        await open().set(listName, JSON.stringify(known.filter((other) => other !== name)))
        await open().delete(keyOf(name))
        return true
      }),
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
