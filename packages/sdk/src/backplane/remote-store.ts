/**
 * Shared code of the backplanes and task stores in `@jackfield/redis` and `@jackfield/postgres`. Like `@jackfield/sdk/internal`, it
 * may change in any release.
 * @module
 */

import { retryDelay } from '../jsonrpc/promises.ts'

export { retryDelay, TimeoutError, withTimeout } from '../jsonrpc/promises.ts'

interface PendingRead {
  readonly key: string
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Combines the reads of one turn of the event loop, so that requests that arrive together cost one round trip. */
export class ReadBatches {
  readonly #read: (keys: string[]) => Promise<readonly unknown[]>
  readonly #maxKeys: number
  #pending: PendingRead[] = []

  /**
   * @param read reads the values of several keys, in the order of the keys
   * @param maxKeys maximum number of keys for one call of `read`
   */
  constructor(read: (keys: string[]) => Promise<readonly unknown[]>, maxKeys: number) {
    this.#read = read
    this.#maxKeys = maxKeys
  }

  /** Resolves with the value of a key. */
  get(key: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#pending.push({ key, resolve, reject }) === 1) setImmediate(() => this.flush())
    })
  }

  /** Begins the pending reads now. */
  flush(): void {
    const pending = this.#pending
    this.#pending = []
    for (let from = 0; from < pending.length; from += this.#maxKeys) {
      this.#send(pending.slice(from, from + this.#maxKeys))
    }
  }

  #send(reads: readonly PendingRead[]): void {
    this.#read(reads.map(({ key }) => key)).then(
      (values) => {
        for (const [at, { resolve }] of reads.entries()) resolve(values[at])
      },
      (error: unknown) => {
        for (const { reject } of reads) reject(error)
      },
    )
  }
}

const firstPauseMs = 50

/** The decoded password of a URL, which messages may contain in place of the encoded one. */
export function decodeOrRaw(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The message of an error, without texts that are secret. An AggregateError has it in its inner errors. */
export function reasonWithout(secrets: readonly string[], cause: unknown): string {
  return secrets.reduce(
    (clean, secret) => (secret === '' ? clean : clean.replaceAll(secret, '***')),
    textOf(cause),
  )
}

function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(textOf).join(', ')
  return cause.message === '' ? cause.name : cause.message
}

const maxPauseMs = 2_000

/** The events of `Reconnection`. */
export interface ReconnectionEvents {
  /** The connection was lost, with the reason. */
  readonly lost: (cause: unknown) => void
  /** There is a connection again, after these milliseconds. */
  readonly back: (afterMs: number) => void
  /** An attempt failed; another one follows. */
  readonly failed?: (error: unknown) => void
}

/** Connects again after every loss, with random pauses of up to 2 s, until it is closed. */
export class Reconnection {
  #isClosed = false
  #endPause: (() => void) | undefined

  /**
   * @param first resolves with the reason when the first connection ends
   * @param connect opens another one; its `lost` resolves in the same way
   */
  async keep(
    first: Promise<unknown>,
    connect: () => Promise<{ readonly lost: Promise<unknown> }>,
    events: ReconnectionEvents,
  ): Promise<void> {
    for (let lost = first; ; ) {
      const cause = await lost
      if (this.#isClosed) return
      events.lost(cause)
      const since = performance.now()
      for (let attempts = 0; ; attempts++) {
        await this.#pause(retryDelay(attempts, firstPauseMs, maxPauseMs))
        if (this.#isClosed) return
        try {
          lost = (await connect()).lost
          break
        } catch (error) {
          events.failed?.(error)
        }
      }
      events.back(Math.round(performance.now() - since))
    }
  }

  /** Stops connecting. */
  close(): void {
    this.#isClosed = true
    this.#endPause?.()
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/**
 * Subscribes to a topic, and tries again each second until that succeeds: for `TaskStore.changed`. `missed` is called once it is
 * subscribed, because earlier messages were missed.
 * @param isClosed whether to give up
 * @returns a function that ends the subscription
 */
export function subscribeUntilDone(
  subscribe: (receive: (message: string) => void) => Promise<() => void>,
  receive: (message: string) => void,
  missed: () => void,
  isClosed: () => boolean,
): () => void {
  let isOver = false
  let unsubscribe = (): void => {}
  const work = async (): Promise<void> => {
    while (!isOver && !isClosed()) {
      try {
        unsubscribe = await subscribe((message) => {
          if (!isOver) receive(message)
        })
        if (isOver) unsubscribe()
        else missed()
        return
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 1_000).unref())
      }
    }
  }
  work()
  return () => {
    isOver = true
    unsubscribe()
  }
}
