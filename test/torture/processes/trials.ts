/** Makes trials 0 to `trials` - 1, some at a time, and names the one that fails. */
export async function inParallel(
  trials: number,
  atOnce: number,
  make: (trial: number) => Promise<void>,
): Promise<void> {
  let next = 0
  let failed = false
  const lane = async (): Promise<void> => {
    while (next < trials && !failed) {
      const trial = next++
      try {
        await make(trial)
      } catch (error) {
        failed = true
        throw new Error(`Trial ${trial} failed: ${String(error)}`, { cause: error })
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}

/** What a promise settles with. One that is still open after so many milliseconds counts as hung. */
export async function untilSettled<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const hung = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} was still open after ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, hung])
  } finally {
    clearTimeout(timer)
  }
}
