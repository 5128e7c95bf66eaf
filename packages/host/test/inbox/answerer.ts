// A program that shares the store $STORE: answers the questions that it receives, one JSON line each.
import { createInterface } from 'node:readline'
import { createHost } from '../../src/host.ts'

const host = createHost({ servers: {}, models: [], store: process.env['STORE'] ?? '' })
console.log('ready')
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, answer } = JSON.parse(line)
    try {
      host.inbox.answer(id, answer, 'another program')
      console.log('answered')
    } catch (error) {
      console.log(error instanceof Error ? error.message : String(error))
    }
  })
  .on('close', () => host.close())
