import { lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { McpError } from '@jackfield/sdk'
import type { StoreKey } from '@jackfield/sdk/client/auth/node'

/** Where the key is if the system has no keychain, and how that is reported. */
export interface SystemKeyOptions {
  /** The key file used where the system has no keychain; made on first use, readable to its owner alone. */
  file: string
  /** Milliseconds that the keychain has to answer. Default 5 000. */
  timeoutMs?: number
  /** Called when the key file is made, and once when the keychain does not answer. */
  notify: (message: string) => void
}

/**
 * The key of the system's keychain, or of a file where the system has no keychain. Credentials sealed with the key in the
 * keychain stay there: without it they are not read, and nothing is written in their place. Share one between stores, so
 * that the keychain is tried once.
 */
export class SystemKey {
  readonly kind = 'system'
  readonly file: string
  readonly #options: SystemKeyOptions
  #attempt: Promise<Uint8Array | McpError> | undefined

  constructor(options: SystemKeyOptions) {
    this.file = options.file
    this.#options = options
  }

  /** The key in the keychain; it throws the same error for the rest of the run once the keychain was not available. */
  readonly inKeychain: StoreKey = {
    load: async () => {
      const key = await this.#tried()
      if (key instanceof McpError) throw key
      return key
    },
  }

  /** The key in the file. */
  readonly inFile: StoreKey = {
    load: async (directory) => {
      const isNew = (await lstat(this.file).catch(() => undefined)) === undefined
      const { keyFile } = await import('@jackfield/sdk/client/auth/node')
      const key = await keyFile(this.file).load(directory)
      if (isNew) {
        const { notify } = this.#options
        const why = (await this.#isSilent()) ? 'the keychain does not answer' : 'no keychain on this system'
        notify(`${why}: the key that seals credentials is kept in ${this.file}, readable by you alone`)
      }
      return key
    },
  }

  /**
   * Whether the keychain gives a key; false where the system has none or it does not answer.
   * @throws McpError where there is a keychain that refuses
   */
  async hasKeychain(): Promise<boolean> {
    const key = await this.#tried()
    if (!(key instanceof McpError)) return true
    const { keychain } = key.details
    if (keychain === 'absent' || keychain === 'no answer') return false
    throw key
  }

  /** Reports what cannot be read without the keychain. */
  report(message: string): void {
    this.#options.notify(message)
  }

  async #isSilent(): Promise<boolean> {
    const key = await this.#attempt
    return key instanceof McpError && key.details['keychain'] === 'no answer'
  }

  #tried(): Promise<Uint8Array | McpError> {
    this.#attempt ??= this.#load()
    return this.#attempt
  }

  async #load(): Promise<Uint8Array | McpError> {
    const { timeoutMs = 5_000, notify } = this.#options
    const { encryptedFiles, keychain } = await import('@jackfield/sdk/client/auth/node')
    const directory = dirname(this.file)
    const key = keychain({ account: 'secrets', timeoutMs })
    try {
      // Two processes that both found no key would each make one.
      return await encryptedFiles({ directory, key }).exclusive('keychain', () => key.load(directory))
    } catch (error) {
      // Where no lock can be made no key can be, and one that exists is read without it.
      if (!(error instanceof McpError)) return await key.load(directory).catch(() => Promise.reject(error))
      if (error.details['keychain'] === 'no answer') {
        notify(`the keychain did not answer within ${timeoutMs / 1000} s, so this run does without it`)
      } else if (error.details['keychain'] !== 'absent') {
        // A keychain that refused may be unlocked meanwhile.
        this.#attempt = undefined
      }
      return error
    }
  }
}
