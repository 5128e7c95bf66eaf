import { run } from './cli/program.ts'

const stop = new AbortController()
const listeners: (() => void)[] = []
let interrupts = 0
function interrupt(): void {
  const listener = listeners.at(-1)
  if (listener !== undefined) {
    listener()
    return
  }
  interrupts += 1
  stop.abort(new Error('Interrupted'))
  // Someone who presses it again does not want to wait for a tidy end.
  if (interrupts > 1) process.exit(130)
}
process.on('SIGINT', interrupt)
process.on('SIGTERM', () => stop.abort(new Error('Ended')))
// The reader of a pipe may leave before everything is written.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await run(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  signal: stop.signal,
  interrupt,
  onInterrupt(listener) {
    listeners.push(listener)
    return () => {
      const at = listeners.lastIndexOf(listener)
      if (at !== -1) listeners.splice(at, 1)
    }
  },
})
// A terminal that was read from would keep the process waiting.
if (process.stdin.isTTY) process.stdin.unref()
