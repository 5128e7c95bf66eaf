import { vi } from 'vitest'

/** Lets virtual time pass until something is done, for a thousand seconds at most. */
export async function during<T>(doing: Promise<T>): Promise<T> {
  let over = false
  const done = (): void => {
    over = true
  }
  doing.then(done, done)
  for (let tries = 0; !over; tries++) {
    if (tries === 10_000) throw new Error('It is never done')
    await vi.advanceTimersByTimeAsync(100)
  }
  return doing
}
