import { ExitCode, Interruption } from './cli/exit.ts'
import { writeErrorReason } from './cli/file-errors.ts'
import { jsonNote } from './cli/io.ts'
import { run, wantsJson } from './cli/program.ts'

const stop = new AbortController()
const listeners: (() => void)[] = []
function end(signal: NodeJS.Signals): void {
  const interruption = new Interruption(signal)
  // A second signal exits without waiting for servers to close.
  if (stop.signal.aborted) process.exit(interruption.exitCode)
  stop.abort(interruption)
  // A command that reads from a pipe would wait for its end.
  if (!process.stdin.isTTY) process.stdin.destroy()
}
function interrupt(): void {
  const listener = listeners.at(-1)
  if (listener === undefined) end('SIGINT')
  else listener()
}
process.on('SIGINT', interrupt)
process.on('SIGTERM', end)
process.on('SIGHUP', end)
// The reader of a pipe may exit before everything is written. Everything else, such as a full disk, is a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  const message = `Cannot write to stdout: ${writeErrorReason(error)}.`
  const json = wantsJson(process.argv.slice(2))
  process.stderr.write(json ? `${JSON.stringify({ error: { message } })}\n` : `${message}\n`)
  process.exit(ExitCode.usage)
})
if (wantsJson(process.argv.slice(2))) {
  process.removeAllListeners('warning')
  process.on('warning', ({ message }) => process.stderr.write(jsonNote(`! ${message}`)))
}
// If stderr cannot be written, the failure cannot be reported.
process.stderr.on('error', () => {})

// A terminal without a known size reports 0 columns and 0 rows.
for (const stream of [process.stdout, process.stderr])
  if (stream.isTTY && stream.columns === 0) Object.assign(stream, { columns: 80, rows: 24 })

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
      const index = listeners.lastIndexOf(listener)
      if (index !== -1) listeners.splice(index, 1)
    }
  },
})
// A terminal that was read from would keep the process alive.
if (process.stdin.isTTY) process.stdin.unref()
// After a signal the process exits, even with open handles.
if (stop.signal.aborted) process.exit()
