const MiB = 1024 * 1024

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

/**
 * Milliseconds of CPU for which work holds the event loop up, to within about 10: the garbage collector beside it does not block
 * up.
 */
export function loopMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** The middle of several measures, which one slow moment of the machine does not move. */
export function median(times: number, measure: () => number): number {
  const found = Array.from({ length: times }, measure).sort((a, b) => a - b)
  return found[Math.floor(times / 2)] ?? Number.NaN
}

/**
 * How much more time something takes for twice its size: measured at three sizes, each twice the one before, the least of
 * some measures of each, since whatever else the machine does only adds to them. What looks dearer than `enough` is
 * measured on, up to three times as often.
 */
export function perDoubling(times: number, enough: number, timeOf: (scale: number) => number): number {
  const scales = [1, 2, 4]
  const least = scales.map(() => Number.POSITIVE_INFINITY)
  let ratio = Number.POSITIVE_INFINITY
  for (let round = 0; round < times || (round < 3 * times && ratio > enough); round++) {
    for (const [at, scale] of scales.entries()) least[at] = Math.min(least[at] ?? 0, timeOf(scale))
    const [first = Number.NaN, , last = Number.NaN] = least
    ratio = Math.sqrt(last / Math.max(first, 0.1))
  }
  return ratio
}

/** Bytes that are still in use after everything that can go is gone. */
export function heldBytes(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/**
 * Measures the peak memory of the process, until it is stopped. Each sample follows a garbage collection, since when V8 does
 * that by itself shows nothing about the program.
 */
export function watchBytes(everyMs = 10): () => number {
  let most = process.memoryUsage.rss()
  let collected = most
  const timer = setInterval(() => {
    // Less than this is not worth the time of a collection, and counts as in use.
    if (process.memoryUsage.rss() < collected + 2 * MiB) return
    globalThis.gc?.()
    collected = process.memoryUsage.rss()
    most = Math.max(most, collected)
  }, everyMs)
  return () => {
    clearInterval(timer)
    return Math.max(most, process.memoryUsage.rss())
  }
}

/** Prints what was measured for the campaign. */
export function report(found: Readonly<Record<string, number>>): void {
  process.stdout.write(JSON.stringify(found))
}
