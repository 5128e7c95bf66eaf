interface Waiting<T> {
  take(value: T): void
  failed(error: unknown): void
}

/** A part of the program that is loaded when it is first needed. Whoever waits for it has it in the order of asking. */
export class Later<T> {
  readonly #load: () => Promise<T>
  readonly #waiting: Waiting<T>[] = []
  #loaded: { readonly value: T } | undefined
  #loading: Promise<void> | undefined

  /** @param load loads it; called again at the next need where it fails */
  constructor(load: () => Promise<T>) {
    this.#load = load
  }

  /** It, once it was loaded. */
  get value(): T | undefined {
    return this.#loaded?.value
  }

  /** How many wait for it. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Settles when nobody waits for it any more; undefined where nobody does. */
  get settled(): Promise<void> | undefined {
    return this.#waiting.length === 0 ? undefined : this.#loading
  }

  /**
   * Hands it over: at once where it is there.
   * @param failed told when it cannot be loaded, or `take` throws
   */
  use(take: (value: T) => void, failed: (error: unknown) => void): void {
    const waiting = { take, failed }
    if (this.#loaded !== undefined && this.#waiting.length === 0) {
      hand(this.#loaded.value, waiting)
      return
    }
    this.#waiting.push(waiting)
    this.#loading ??= this.#fetch()
  }

  /** The same as a promise. */
  get(): Promise<T> {
    return new Promise((resolve, reject) => this.use(resolve, reject))
  }

  async #fetch(): Promise<void> {
    try {
      this.#loaded = { value: await this.#load() }
      for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
        hand(this.#loaded.value, next)
        // Only now, so that what is asked for meanwhile waits for its turn.
        this.#waiting.shift()
      }
    } catch (error) {
      for (const { failed } of this.#waiting.splice(0)) failed(error)
    } finally {
      this.#loading = undefined
    }
  }
}

function hand<T>(value: T, { take, failed }: Waiting<T>): void {
  try {
    take(value)
  } catch (error) {
    failed(error)
  }
}
