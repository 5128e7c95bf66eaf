import { join, resolve } from 'node:path'
import {
  type SecretKey,
  type SecretStore,
  SystemKey,
  sealedCredentials,
  sealedSecrets,
} from '@jackfield/host'
import { McpError } from '@jackfield/sdk'
import type { CredentialStore } from '@jackfield/sdk/client/auth'
import { usageError } from './exit.ts'
import { type Io, writeNote } from './io.ts'
import { dataFolder } from './store.ts'

/** Dependencies of the secret stores. */
export type SecretsIo = Pick<Io, 'env' | 'cwd' | 'stderr' | 'json'>

/**
 * Opens the user's secret store, sealed with JACKFIELD_PASSPHRASE or the file JACKFIELD_KEY_FILE if set, else with a key in the
 * system keychain. Without a keychain, the key is in a file of the data folder, unless JACKFIELD_KEYCHAIN=required. Nothing is
 * opened before the first read or write.
 */
export function secretStore(io: SecretsIo): SecretStore {
  const store = sealedSecrets(join(dataFolder(io), 'secrets'), secretKeyFrom(io))
  const isRequired = io.env.JACKFIELD_KEYCHAIN === 'required' && store.kind.includes('keychain')
  /** A missing keychain that is required is an error, not an empty store. */
  const opened = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isRequired) await withKeychainAdvice(store.ready())
    return withKeychainAdvice(work())
  }
  return {
    get kind() {
      return store.kind
    },
    ready: () => withKeychainAdvice(store.ready()),
    names: () => opened(() => store.names()),
    readable: async () => (await store.readable?.()) ?? [],
    get: (name) => opened(() => store.get(name)),
    set: (name, value) => withKeychainAdvice(store.set(name, value)),
    remove: (name) => opened(() => store.remove(name)),
  }
}

/** Opens the store of login tokens, sealed with the same key as secrets. */
export function credentialStore(io: SecretsIo): CredentialStore {
  const store = sealedCredentials(join(dataFolder(io), 'credentials'), secretKeyFrom(io))
  return {
    get: (key) => withKeychainAdvice(store.get(key)),
    set: (key, value) => withKeychainAdvice(store.set(key, value)),
    delete: (key) => withKeychainAdvice(store.delete(key)),
    exclusive: (key, work, signal) => withKeychainAdvice(store.exclusive(key, work, signal)),
  }
}

async function withKeychainAdvice<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof McpError) || error.details['keychain'] === undefined) throw error
    if (error.message.includes('JACKFIELD_PASSPHRASE')) throw error
    const how =
      'Set JACKFIELD_PASSPHRASE, or JACKFIELD_KEY_FILE to the path of a key file, which is created if missing. Without JACKFIELD_KEYCHAIN=required, a system without a keychain stores the key in a file of the data folder. Data sealed with the key in the keychain can only be read with that key'
    throw new McpError(error.code, `${error.message}. ${how}.`, { cause: error, details: error.details })
  }
}

/** One key for all stores of a run, so that the keychain is opened once. */
const systemKeys = new WeakMap<NodeJS.ProcessEnv, SystemKey>()

function secretKeyFrom(io: SecretsIo): SecretKey {
  const { JACKFIELD_PASSPHRASE: text, JACKFIELD_KEY_FILE: file, JACKFIELD_KEYCHAIN: keychain = '' } = io.env
  if (text !== undefined && text !== '') return { kind: 'passphrase', text }
  if (file !== undefined && file !== '') return { kind: 'key file', file: resolve(io.cwd, file) }
  if (keychain === 'required') return { kind: 'keychain' }
  if (keychain !== '')
    throw usageError('JACKFIELD_KEYCHAIN can only be "required". Unset it, or set it to that.')
  const known = systemKeys.get(io.env)
  if (known !== undefined) return known
  const key = new SystemKey({
    file: join(dataFolder(io), 'sealing.key'),
    notify: (message) => writeNote(io, message),
  })
  systemKeys.set(io.env, key)
  return key
}
