// Stands between a client and a server on stdio and writes every line that passes into a file.
import { spawn } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [file = '', command = '', ...args] = process.argv.slice(2)
writeFileSync(file, '')
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const pass = (direction: 'sent' | 'received', to: NodeJS.WritableStream) => (line: string) => {
  appendFileSync(file, `${JSON.stringify({ direction, message: JSON.parse(line) })}\n`)
  to.write(`${line}\n`)
}
createInterface({ input: process.stdin })
  .on('line', pass('sent', server.stdin))
  .on('close', () => server.stdin.end())
createInterface({ input: server.stdout }).on('line', pass('received', process.stdout))
server.once('exit', (code) => process.exit(code ?? 1))
