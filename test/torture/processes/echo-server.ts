import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'

// Answers each call with what it was given. A client that reads nothing is given up after a second.

const [queueBytes = '0'] = process.argv.slice(2)
const echo = tool({
  description: 'Says it again',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => String(text),
})
serveStdio(defineServer({ name: 'echo', version: '1', tools: { echo } }), {
  limits: { streamQueueBytes: Number(queueBytes), streamStallMs: 1_000, inFlight: 1_000_000 },
})
