import { type ChildProcess, spawn } from 'node:child_process'
import { isGroupRunning } from './process-group.ts'
import { guard } from './process-guard.ts'
import { windowsEnd } from './stdio-windows.ts'

const onWindows = process.platform === 'win32'
const pollMs = 20
const running = new Set<ProcessTree>()

function endAll(): void {
  for (const tree of running) tree.signal('SIGTERM')
}

/** A child that leads its own process group, with everything it started in turn. */
export class ProcessTree {
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  readonly #askToEnd: ((pid: number) => void) | undefined
  #gone = false

  /** `askToEnd` takes the place of SIGTERM to the group. */
  constructor(child: ChildProcess, askToEnd?: (pid: number) => void) {
    this.#child = child
    this.#askToEnd = askToEnd
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => {
        this.#gone = true
        resolve()
      })
    })
    if (running.size === 0) process.once('exit', endAll)
    running.add(this)
    if (!onWindows && child.pid !== undefined) guard.add(child.pid)
  }

  /** Waits until the tree has ended by itself, then ends it: politely, and then not. */
  async end(graceMs: number): Promise<void> {
    await within(this.#exited, graceMs)
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (!this.#alive()) break
      const { pid } = this.#child
      if (signal === 'SIGTERM' && this.#askToEnd !== undefined && pid !== undefined) this.#askToEnd(pid)
      else this.signal(signal)
      await this.#untilGone(graceMs)
    }
    running.delete(this)
    if (this.#child.pid !== undefined) guard.delete(this.#child.pid)
    if (running.size === 0) process.off('exit', endAll)
  }

  signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    const { pid } = this.#child
    if (pid === undefined) return
    if (onWindows) {
      if (!this.#gone) endOnWindows(pid)
      return
    }
    try {
      process.kill(-pid, signal)
    } catch {
      // The group ended in the meantime.
    }
  }

  #alive(): boolean {
    const { pid } = this.#child
    if (pid === undefined) return false
    if (onWindows) return !this.#gone
    return !this.#gone || isGroupRunning(pid)
  }

  async #untilGone(ms: number): Promise<void> {
    const until = performance.now() + ms
    while (this.#alive() && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }
}

function endOnWindows(pid: number): void {
  const { command, args } = windowsEnd(pid, process.env)
  const kill = spawn(command, args, { windowsHide: true, stdio: 'ignore' })
  kill.on('error', () => {})
}

/** Waits for a promise, but no longer than this. */
export async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}
