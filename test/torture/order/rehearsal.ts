import { expect, onTestFinished, vi } from 'vitest'

const clocks = ['setTimeout', 'clearTimeout', 'performance'] as const
const intervals = ['setInterval', 'clearInterval'] as const

/** Tries orders of events by a clock of the test. Fails if a rejection is unhandled. */
export async function rehearsed(work: () => Promise<void>, hasIntervals = false): Promise<void> {
  const unhandled: unknown[] = []
  const receive = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', receive)
  onTestFinished(() => void process.off('unhandledRejection', receive))
  vi.useFakeTimers({ toFake: hasIntervals ? [...clocks, ...intervals] : [...clocks] })
  try {
    await work()
  } finally {
    vi.useRealTimers()
  }
  expect(unhandled).toEqual([])
}
