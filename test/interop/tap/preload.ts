import { appendFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import process from 'node:process'

/**
 * Loaded into a server before its program (`node --import preload.ts?<file>`): writes every line that reaches its
 * standard input or leaves its standard output to a file, and changes nothing.
 */
// The same few programs are started again and again.
enableCompileCache()

const file = decodeURIComponent(new URL(import.meta.url).search.slice(1))

function writer(from: 'client' | 'server'): (chunk: unknown) => void {
  const decoder = new TextDecoder()
  let text = ''
  return (chunk) => {
    if (typeof chunk === 'string') text += chunk
    else if (chunk instanceof Uint8Array) text += decoder.decode(chunk, { stream: true })
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) appendFileSync(file, `${JSON.stringify({ from, line })}\n`)
  }
}

const { stdin, stdout } = process
const received = writer('client')
const recordOutput = writer('server')

const push = stdin.push.bind(stdin)
stdin.push = (chunk: unknown, encoding?: BufferEncoding) => {
  received(chunk)
  return push(chunk, encoding)
}

const write = stdout.write.bind(stdout)
Object.assign(stdout, {
  write: (...args: Parameters<typeof write>) => {
    recordOutput(args[0])
    return write(...args)
  },
})
