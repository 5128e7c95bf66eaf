import { orAborted } from '../../client/call-deadline.ts'

/**
 * Keeps credentials between requests, and between runs where it is a lasting one. Values are JSON texts that hold
 * secrets; keys are short and hold none.
 */
export interface CredentialStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string): Promise<void>
  delete(key: string): Promise<void>
  /**
   * Runs `work` while nobody else who shares this store, in this process or another, runs any for the same key.
   * It may take as long as a person takes to log in. The signal gives up waiting for others.
   */
  exclusive<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

/** Work for one key at a time, in the order it came. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    let free = (): void => {}
    const mine = new Promise<void>((resolve) => {
      free = resolve
    })
    const turn = before.then(() => mine)
    this.#last.set(key, turn)
    turn.then(() => {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    })
    try {
      await (signal === undefined ? before : orAborted(before, signal))
      return await work()
    } finally {
      free()
    }
  }
}

/** Keeps credentials in memory, for as long as the process lives. */
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
