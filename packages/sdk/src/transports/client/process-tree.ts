import { type ChildProcess, spawn } from 'node:child_process'
import { listProcesses, ProcessDescendants, type ProcessEntry } from './process-descendants.ts'
import { guard } from './process-guard.ts'
import { windowsEnd } from './stdio-windows.ts'

const onWindows = process.platform === 'win32'
const pollMs = 20
const running = new Set<ProcessTree>()

function endAll(): void {
  const all = listProcesses()
  for (const tree of running) tree.signal('SIGTERM', all)
}

/** A child that leads its own session and process group, with everything it started in turn. */
export class ProcessTree {
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  readonly #askToEnd: ((pid: number) => void) | undefined
  /** What it started; undefined on Windows, where another program ends it all. */
  readonly #descendants: ProcessDescendants | undefined
  #gone = false

  /** `serverId` is the value of the child's `serverIdVariable`; `askToEnd` takes the place of SIGTERM to all of it. */
  constructor(child: ChildProcess, serverId: string, askToEnd?: (pid: number) => void) {
    this.#child = child
    this.#askToEnd = askToEnd
    const { pid } = child
    this.#descendants = onWindows || pid === undefined ? undefined : new ProcessDescendants(pid, serverId)
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => {
        this.#gone = true
        this.#descendants?.leaderEnded()
        resolve()
      })
    })
    if (running.size === 0) process.once('exit', endAll)
    running.add(this)
    if (!onWindows && pid !== undefined) guard.add(pid, serverId)
  }

  /**
   * Waits until the tree has ended by itself, then sends SIGTERM to what still runs, and SIGKILL when it runs on. To be
   * called before the child is asked to end: what it started is found best while it runs.
   */
  async end(graceMs: number): Promise<void> {
    this.#descendants?.find()
    await within(this.#exited, graceMs)
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (!this.#alive()) break
      const { pid } = this.#child
      if (signal === 'SIGTERM' && this.#askToEnd !== undefined && pid !== undefined) this.#askToEnd(pid)
      else this.signal(signal)
      await this.#untilGone(graceMs, signal)
    }
    running.delete(this)
    if (this.#child.pid !== undefined) guard.delete(this.#child.pid)
    if (running.size === 0) process.off('exit', endAll)
  }

  /** `all` are the processes of this machine where they were listed already. */
  signal(signal: 'SIGTERM' | 'SIGKILL', all?: ProcessEntry[]): void {
    const { pid } = this.#child
    if (pid === undefined) return
    if (!onWindows) this.#descendants?.signal(signal, all)
    else if (!this.#gone) endOnWindows(pid)
  }

  #alive(): boolean {
    if (this.#child.pid === undefined) return false
    return !this.#gone || (this.#descendants?.isRunning() ?? false)
  }

  async #untilGone(ms: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const until = performance.now() + ms
    while (this.#alive() && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, pollMs))
      // What was started while the others were killed.
      if (signal === 'SIGKILL' && !onWindows) this.signal(signal)
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
