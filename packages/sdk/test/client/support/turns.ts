import { vi } from 'vitest'

/** Waits for socket events by turns of the event loop, whatever the fake clock shows. */
export async function inTurns(so: () => boolean): Promise<void> {
  const end = Date.now() + 20_000
  while (!so()) {
    if (Date.now() > end) throw new Error(`not so: ${so}`)
    await new Promise((resolve) => setImmediate(resolve))
    // Work that is deferred to the next turn ends eventually.
    if (vi.isFakeTimers()) await vi.advanceTimersByTimeAsync(0)
  }
}

/** Lets the clock of the test go on, slowly enough for sockets to keep up, until something is so. */
export async function passing(so: () => boolean, stepMs = 10): Promise<void> {
  for (let steps = 0; !so(); steps++) {
    if (steps === 10_000) throw new Error(`not so after ${steps * stepMs} ms: ${so}`)
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(stepMs)
  }
}

/** Runs a test with fake timers; at the end, pending work gets a minute of fake time. */
export async function withOwnTime(run: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  try {
    await run()
    await vi.advanceTimersByTimeAsync(60_000)
  } finally {
    vi.useRealTimers()
  }
}
