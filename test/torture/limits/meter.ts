/** What a program of this folder was given. */
export function input<T>(read: (given: Readonly<Record<string, unknown>>) => T): T {
  return read(JSON.parse(process.argv[2] ?? '{}'))
}

/** A number a program was given. */
export function numberIn(given: Readonly<Record<string, unknown>>, name: string): number {
  const value = given[name]
  if (typeof value !== 'number') throw new Error(`${name} must be a number`)
  return value
}

/** Milliseconds of this process's own time that work takes. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The middle of several measures, which one slow moment of the machine does not move. */
export function median(times: number, measure: () => number): number {
  const found = Array.from({ length: times }, measure).sort((a, b) => a - b)
  return found[Math.floor(times / 2)] ?? Number.NaN
}

/** Bytes that are still in use after everything that can go is gone. */
export function heldBytes(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Watches the most bytes the process holds, until it is stopped. */
export function watchBytes(everyMs = 5): () => number {
  let most = process.memoryUsage().rss
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, everyMs)
  return () => {
    clearInterval(timer)
    return Math.max(most, process.memoryUsage().rss)
  }
}

/** Tells the campaign what was measured. */
export function report(found: Readonly<Record<string, number>>): void {
  process.stdout.write(JSON.stringify(found))
}
