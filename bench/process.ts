import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A measured process of this benchmark, with an IPC channel. */
export interface Measured {
  readonly child: ChildProcess
  /** Where it listens; 0 when it does not. */
  readonly port: number
  /** CPU microseconds used so far, user and system. */
  cpu(): Promise<number>
  /** Sends a message and returns the response. Rejects after `limitMs`. */
  ask(message: object, limitMs?: number): Promise<Record<string, unknown>>
  close(): Promise<void>
}

/** Starts a file of this folder and waits until it reports that it is ready. */
export async function start(
  file: string,
  args: string[] = [],
  stdio: 'ignore' | 'pipe' = 'ignore',
  limitMs?: number,
): Promise<Measured> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    stdio: [stdio, stdio, 'inherit', 'ipc'],
  })
  const ready = await answerOf(child, undefined, file, limitMs)
  return {
    child,
    port: Number(ready['port'] ?? 0),
    ask: (message, limitMs) => answerOf(child, message, file, limitMs),
    cpu: async () => Number((await answerOf(child, 'cpu', file))['cpu']),
    close: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve()
        child.once('exit', () => resolve())
        child.kill('SIGKILL')
      }),
  }
}

/** The next message from a child, after one was sent to it. */
export function answerOf(
  child: ChildProcess,
  message: object | string | undefined,
  what: string,
  limitMs = 30_000,
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void): void => {
      clearTimeout(timer)
      child.off('message', onMessage)
      child.off('exit', onExit)
      done()
    }
    const onMessage = (answer: unknown): void => settle(() => resolve(Object(answer)))
    const onExit = (code: number | null): void =>
      settle(() => reject(new Error(`${what} ended with code ${code}`)))
    const timer = setTimeout(
      () => settle(() => reject(new Error(`${what} did not answer within ${limitMs} ms`))),
      limitMs,
    )
    child.on('message', onMessage)
    child.on('exit', onExit)
    if (message !== undefined) child.send(message)
  })
}

/** The median of each value divided by its limit; the limit of a round has the same index as its value. */
export function medianTimes(values: readonly number[], limits: readonly number[]): number {
  return median(values.map((value, round) => value / (limits[round] ?? Number.NaN)))
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}
