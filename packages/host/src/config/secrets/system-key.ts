import { lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { McpError } from '@jackfield/sdk'
import type { StoreKey } from '@jackfield/sdk/client/auth/node'

/** The key file for systems without a keychain, and how its use is reported. */
export interface SystemKeyOptions {
  /** The key file for systems without a keychain; created on first use, readable by its owner only. */
  file: string
  /** Milliseconds the keychain has to respond. Default 5 000. */
  timeoutMs?: number
  /** Called when the key file is created, and once when the keychain does not respond. */
  notify: (message: string) => void
}

/**
 * The key from the system keychain, or from a file if there is no keychain. Credentials sealed with the keychain's key are
 * neither read nor replaced without it. Share one instance between stores, so that the keychain is opened once.
 */
export class SystemKey {
  readonly kind = 'system'
  /** The absolute path of the key file, which is used without a keychain. */
  readonly file: string
  readonly #options: SystemKeyOptions
  #attempt: Promise<Uint8Array | McpError> | undefined

  constructor(options: SystemKeyOptions) {
    this.file = options.file
    this.#options = options
  }

  /** The keychain's key; once the keychain was unavailable, it throws the same error for the rest of the run. */
  readonly inKeychain: StoreKey = {
    load: async () => {
      const key = await this.#keyOrError()
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
        const reason = (await this.#isUnresponsive())
          ? 'the keychain does not answer'
          : 'no keychain on this system'
        notify(`${reason}: the key that seals credentials is stored in ${this.file}, readable by you alone`)
      }
      return key
    },
  }

  /**
   * Whether the keychain returns a key; false if there is none or it does not respond.
   * @throws McpError if the keychain refuses access
   */
  async hasKeychain(): Promise<boolean> {
    const key = await this.#keyOrError()
    if (!(key instanceof McpError)) return true
    const { keychain } = key.details
    if (keychain === 'absent' || keychain === 'no answer') return false
    throw key
  }

  /** Reports what cannot be read without the keychain. */
  report(message: string): void {
    this.#options.notify(message)
  }

  async #isUnresponsive(): Promise<boolean> {
    const key = await this.#attempt
    return key instanceof McpError && key.details['keychain'] === 'no answer'
  }

  #keyOrError(): Promise<Uint8Array | McpError> {
    this.#attempt ??= this.#load()
    return this.#attempt
  }

  async #load(): Promise<Uint8Array | McpError> {
    const { timeoutMs = 5_000, notify } = this.#options
    const { encryptedFiles, keychain } = await import('@jackfield/sdk/client/auth/node')
    const directory = dirname(this.file)
    const key = keychain({ account: 'secrets', timeoutMs })
    try {
      // Without the lock, two processes could each create a key.
      return await encryptedFiles({ directory, key }).exclusive('keychain', () => key.load(directory))
    } catch (error) {
      // If no lock can be created, no key can be either, and an existing one is read without it.
      if (!(error instanceof McpError)) return await key.load(directory).catch(() => Promise.reject(error))
      if (error.details['keychain'] === 'no answer') {
        notify(`the keychain did not answer within ${timeoutMs / 1000} s, so this run does not use it`)
      } else if (error.details['keychain'] !== 'absent') {
        // A keychain that refused may be unlocked later.
        this.#attempt = undefined
      }
      return error
    }
  }
}
