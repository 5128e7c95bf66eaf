import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

// A server that, asked its first call, writes so many bytes before it reads on, and answers after that.

const [bytes = '0', perMessage = '0'] = process.argv.slice(2)
const data = 'x'.repeat(Number(perMessage))

/** Writes all of it and does nothing else meanwhile. */
function write(message: object): void {
  const all = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  for (let at = 0; at < all.length; ) {
    try {
      at += writeSync(1, all, at)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    }
  }
}

let left = Number(bytes)
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  if (method === 'initialize') {
    const capabilities = { tools: {}, logging: {} }
    const serverInfo = { name: 'writing', version: '1' }
    write({ id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo } })
    return
  }
  for (; left > 0; left -= data.length) {
    write({ method: 'notifications/message', params: { level: 'info', data } })
  }
  write({ id, result: { content: [{ type: 'text', text: 'read' }] } })
})
