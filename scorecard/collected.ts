import { type ChildProcess, spawn } from 'node:child_process'
import type { Ran, Running } from './types.ts'

/** What is kept of each stream; a tool that writes more is not believed to mean it. */
const keptBytes = 32 * 1024 * 1024

interface Surroundings {
  cwd: string
  env: Record<string, string>
  /** Past it the program and all it started are killed. */
  limitMs: number
  /** By how much waiting without a time of its own is longer. */
  patience: number
}

/** Starts a program as the leader of a group of its own and collects what it writes. */
export function collect(
  [program, ...args]: readonly [string, ...string[]],
  { cwd, env, limitMs, patience }: Surroundings,
): Running {
  const begun = performance.now()
  const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const written = { stdout: '', stderr: '' }
  let changed = Promise.withResolvers<void>()
  const more = (): void => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      if (written[stream].length < keptBytes) written[stream] += text
      more()
    })
  }
  child.stdin.on('error', () => {})
  let timedOut = false
  let over = false
  const timer = setTimeout(() => {
    timedOut = true
    endGroup(child)
  }, limitMs)
  const ended = new Promise<Ran>((resolve) => {
    const finish = (code: number | null, signal: string | null): void => {
      if (over) return
      over = true
      clearTimeout(timer)
      more()
      resolve({ code, signal, ...written, ms: Math.round(performance.now() - begun), timedOut })
    }
    child.once('error', (error) => {
      written.stderr += error.message
      finish(null, null)
    })
    child.once('close', finish)
    // A grandchild that keeps the pipes open must not keep the script waiting.
    child.once('exit', (code, signal) => setTimeout(() => finish(code, signal), 500))
  })
  return {
    pid: child.pid ?? 0,
    get stdout() {
      return written.stdout
    },
    get stderr() {
      return written.stderr
    },
    write: (text) => void child.stdin.write(text),
    end: () => void child.stdin.end(),
    async until(shown, withinMs = 10_000 * patience) {
      const deadline = performance.now() + withinMs
      const isThere = (): boolean =>
        [written.stdout, written.stderr].some((text) =>
          typeof shown === 'string' ? text.includes(shown) : shown.test(text),
        )
      while (!isThere()) {
        const leftMs = deadline - performance.now()
        if (leftMs <= 0 || over) {
          const why = over ? 'It ended without writing' : `Not written within ${withinMs} ms:`
          throw new Error(`${why} ${shown}; it wrote: ${(written.stdout + written.stderr).slice(-600)}`)
        }
        await Promise.race([changed.promise, pause(Math.min(leftMs, 250))])
      }
    },
    signal: (signal) => void child.kill(signal),
    async stop() {
      child.stdin.end()
      if (!over) child.kill('SIGTERM')
      const force = setTimeout(() => endGroup(child), 1000)
      const ran = await ended
      clearTimeout(force)
      endGroup(child)
      return ran
    },
    ended,
  }
}

/** Kills a program and what it started in its group. */
function endGroup(child: ChildProcess): void {
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
