interface Log {
  readonly entries: { position: number; entry: string }[]
  last: number
  expires: number
  chars: number
}

/** Logs that expire, bounded in all: where one more entry finds no room, those logs go that nobody appended to for longest. */
export class MemoryLogs {
  readonly #mostChars: number
  /** In the order of their newest entries. */
  readonly #logs = new Map<string, Log>()
  #chars = 0

  constructor(mostChars: number) {
    this.#mostChars = mostChars
  }

  append(name: string, entry: string, keep: number, expires: number, now: number): number {
    const log = this.#live(name, now) ?? { entries: [], last: 0, expires, chars: 0 }
    this.#logs.delete(name)
    this.#logs.set(name, log)
    log.last++
    log.expires = expires
    log.entries.push({ position: log.last, entry })
    this.#grow(log, entry.length)
    const tooMany = log.entries.length - keep
    if (tooMany > 0) {
      for (const { entry } of log.entries.splice(0, tooMany)) this.#grow(log, -entry.length)
    }
    for (const [other, unused] of this.#logs) {
      if (this.#chars <= this.#mostChars || unused === log) break
      this.delete(other)
    }
    return log.last
  }

  after(name: string, position: number, now: number): { position: number; entry: string }[] | undefined {
    const log = this.#logs.get(name)
    if (log === undefined || log.expires <= now) return undefined
    const oldest = log.last - log.entries.length
    if (position < oldest || position > log.last) return undefined
    return log.entries.slice(position - oldest)
  }

  delete(name: string): void {
    const log = this.#logs.get(name)
    if (log === undefined) return
    this.#logs.delete(name)
    this.#chars -= log.chars
  }

  /** Forgets what expired. */
  sweep(now: number): void {
    for (const name of [...this.#logs.keys()]) this.#live(name, now)
  }

  /** A log that has not expired; one that has is forgotten. */
  #live(name: string, now: number): Log | undefined {
    const log = this.#logs.get(name)
    if (log === undefined || log.expires > now) return log
    this.delete(name)
    return undefined
  }

  #grow(log: Log, chars: number): void {
    log.chars += chars
    this.#chars += chars
  }
}
