import { type ChildProcess, spawn } from 'node:child_process'
import type { ProcessResult, RunningProcess } from './types.ts'

/** Limit per stream, so that a runaway process does not exhaust the memory. */
const maxOutputBytes = 32 * 1024 * 1024

interface ProcessOptions {
  cwd: string
  env: Record<string, string>
  /** After it, the process and all processes that it started are killed. */
  timeoutMs: number
  /** Factor for the default timeout of `waitFor`. */
  patience: number
}

/** Starts a program as the leader of a process group, and collects its output. */
export function startProcess(
  [program, ...args]: readonly [string, ...string[]],
  { cwd, env, timeoutMs, patience }: ProcessOptions,
): RunningProcess {
  const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const output = { stdout: '', stderr: '' }
  let changed = Promise.withResolvers<void>()
  const notifyOutput = (): void => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      if (output[stream].length < maxOutputBytes) output[stream] += text
      notifyOutput()
    })
  }
  child.stdin.on('error', () => {})
  let timedOut = false
  let hasEnded = false
  const timer = setTimeout(() => {
    timedOut = true
    killGroup(child)
  }, timeoutMs)
  const exit = new Promise<ProcessResult>((resolve) => {
    const finish = (code: number | null, signal: string | null): void => {
      if (hasEnded) return
      hasEnded = true
      clearTimeout(timer)
      notifyOutput()
      resolve({ code, signal, ...output, timedOut })
    }
    child.once('error', (error) => {
      output.stderr += error.message
      finish(null, null)
    })
    child.once('close', finish)
    // A grandchild that keeps the pipes open must not delay the script.
    child.once('exit', (code, signal) => setTimeout(() => finish(code, signal), 500))
  })
  return {
    get stdout() {
      return output.stdout
    },
    get stderr() {
      return output.stderr
    },
    write: (text) => void child.stdin.write(text),
    end: () => void child.stdin.end(),
    async waitFor(expected, waitMs = 10_000 * patience) {
      const deadline = performance.now() + waitMs
      const isWritten = (): boolean =>
        [output.stdout, output.stderr].some((text) =>
          typeof expected === 'string' ? text.includes(expected) : expected.test(text),
        )
      while (!isWritten()) {
        const remainingMs = deadline - performance.now()
        if (remainingMs <= 0 || hasEnded) {
          const why = hasEnded ? 'The process exited without writing' : `Not written within ${waitMs} ms:`
          throw new Error(`${why} ${expected}; its output: ${(output.stdout + output.stderr).slice(-600)}`)
        }
        await Promise.race([changed.promise, pause(Math.min(remainingMs, 250))])
      }
    },
    signal: (signal) => void child.kill(signal),
    async stop() {
      child.stdin.end()
      if (!hasEnded) child.kill('SIGTERM')
      const force = setTimeout(() => killGroup(child), 1000)
      const ran = await exit
      clearTimeout(force)
      killGroup(child)
      return ran
    },
    exit: exit,
  }
}

/** Kills a process and its group. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
