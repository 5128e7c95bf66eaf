import { join, resolve } from 'node:path'
import { type SecretKey, type SecretStore, sealedCredentials, sealedSecrets } from '@jackfield/host'
import { McpError } from '@jackfield/sdk'
import type { CredentialStore } from '@jackfield/sdk/client/auth'
import type { Io } from './io.ts'
import { dataFolder } from './store.ts'

/**
 * Where the person's secrets are kept: sealed with JACKFIELD_PASSPHRASE or the file JACKFIELD_KEY_FILE where one is set,
 * else with a key in the keychain of the system.
 */
export function secretStore(io: Pick<Io, 'env' | 'cwd'>): SecretStore {
  const folder = join(dataFolder(io), 'secrets')
  const key = keyFrom(io)
  const store = sealedSecrets(folder, key)
  if (key.kind !== 'keychain') return store
  return {
    kind: store.kind,
    names: () => explained(store.names()),
    get: (name) => explained(store.get(name)),
    set: (name, value) => explained(store.set(name, value)),
    remove: (name) => explained(store.remove(name)),
  }
}

/** Where tokens are kept of servers that the person signed in at, sealed with the same key as secrets. */
export function credentialStore(io: Pick<Io, 'env' | 'cwd'>): CredentialStore {
  const store = sealedCredentials(join(dataFolder(io), 'credentials'), keyFrom(io))
  return {
    get: (key) => explained(store.get(key)),
    set: (key, value) => explained(store.set(key, value)),
    delete: (key) => explained(store.delete(key)),
    exclusive: (key, work, signal) => explained(store.exclusive(key, work, signal)),
  }
}

async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof McpError) || !/key(chain|ring)/.test(error.message)) throw error
    if (error.message.includes('JACKFIELD_PASSPHRASE')) throw error
    const how = 'Set JACKFIELD_PASSPHRASE, or JACKFIELD_KEY_FILE to a file that is made for you'
    throw new McpError(error.code, `${error.message}. ${how}.`, { cause: error })
  }
}

function keyFrom({ env, cwd }: Pick<Io, 'env' | 'cwd'>): SecretKey {
  const { JACKFIELD_PASSPHRASE: text, JACKFIELD_KEY_FILE: file } = env
  if (text !== undefined && text !== '') return { kind: 'passphrase', text }
  if (file !== undefined && file !== '') return { kind: 'key file', file: resolve(cwd, file) }
  return { kind: 'keychain' }
}
