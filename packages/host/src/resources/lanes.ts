/** Lets so many pieces of work run at once; others wait their turn. */
export class Lanes {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(lanes: number) {
    this.#free = lanes
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}
