import { createInterface } from 'node:readline'
import { ready } from './host.ts'

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, params } = JSON.parse(line)
  const content = [{ type: 'text', text: params.arguments.text }]
  process.stdout.write(
    `${JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', content } })}\n`,
  )
})
ready()
