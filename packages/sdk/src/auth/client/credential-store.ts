import { deferred, orAborted } from '../../jsonrpc/promises.ts'

/**
 * Stores credentials between requests, and between runs if it is persistent. Values are JSON that contains secrets; keys
 * are short and contain none.
 */
export interface CredentialStore {
  /** The stored value; undefined if there is none. */
  get(key: string): Promise<string | undefined>
  /** Stores a value, in place of the one before. */
  set(key: string, value: string): Promise<void>
  /** Deletes a value, if it exists. */
  delete(key: string): Promise<void>
  /**
   * Runs `work` under a lock per key, shared with all users of the store in this process and others. `work` may take as
   * long as a user takes to log in. The signal ends the wait for the lock.
   */
  exclusive<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

/** Runs work for the same key one after the other, in the order of the calls. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const mine = deferred()
    const turn = before.then(() => mine.promise)
    this.#last.set(key, turn)
    turn.then(() => {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    })
    try {
      await (signal === undefined ? before : orAborted(before, signal))
      return await work()
    } finally {
      mine.resolve()
    }
  }
}

/** A store in memory, for the lifetime of the process. */
export function memoryStore(): CredentialStore {
  const values = new Map<string, string>()
  const turns = new KeyedQueue()
  return {
    get: async (key) => values.get(key),
    set: async (key, value) => {
      values.set(key, value)
    },
    delete: async (key) => {
      values.delete(key)
    },
    exclusive: (key, work, signal) => turns.run(key, work, signal),
  }
}
