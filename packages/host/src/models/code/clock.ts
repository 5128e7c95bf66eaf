/** Time that runs out, save while it is stopped. */
export interface Clock {
  /** Stops it; the returned function lets it go on, once every stop is over. */
  pause(): () => void
  /** Ends it for good. */
  clear(): void
}

/** Calls `out` once `ms` have passed, without the time in which it was stopped. */
export function createClock(ms: number, out: () => void): Clock {
  let left = ms
  let since = performance.now()
  let stops = 0
  let timer: NodeJS.Timeout | undefined = setTimeout(out, left)
  return {
    pause() {
      stops += 1
      if (stops === 1 && timer !== undefined) {
        clearTimeout(timer)
        left -= performance.now() - since
      }
      let over = false
      return () => {
        if (over) return
        over = true
        stops -= 1
        if (stops > 0 || timer === undefined) return
        since = performance.now()
        timer = setTimeout(out, Math.max(0, left))
      }
    },
    clear() {
      clearTimeout(timer)
      timer = undefined
    },
  }
}
