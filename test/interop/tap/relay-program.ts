import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import process from 'node:process'
import type { Readable, Writable } from 'node:stream'

/**
 * Stands between a client and a server on standard streams and writes every line of both to a file:
 * `relay-program.ts <file> <command> [arguments]`. It ends when the server does, and the server when it does.
 */
const [file = '', command = '', ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })

function pass(from: 'client' | 'server', input: Readable, output: Writable): void {
  let text = ''
  input.setEncoding('utf8')
  input.on('data', (chunk: string) => {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) appendFileSync(file, `${JSON.stringify({ from, line })}\n`)
    output.write(chunk)
  })
  input.on('end', () => output.end())
  output.on('error', () => {})
}

pass('client', process.stdin, child.stdin)
pass('server', child.stdout, process.stdout)
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === null ? 0 : 1)
  process.stdin.destroy()
})
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal))
