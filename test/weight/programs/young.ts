import { defineServer, prompt, resource, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'
import { inUse } from './heap.ts'

// Serves what can be asked for over HTTP or on stdio, and reports to its parent how many bytes of heap are in use.

const echo = tool({
  description: 'Says it again',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => String(text),
})
const server = defineServer({
  name: 'young',
  version: '1.0.0',
  tools: { echo },
  prompts: { greet: prompt({ input: z.object({ who: z.string() }), run: ({ who }) => `Greet ${who}` }) },
  resources: { note: resource({ uri: 'note://one', read: () => 'one' }) },
})

process.on('message', (which) => process.send?.(inUse(which)))
process.on('disconnect', () => process.exit())

if (process.argv[2] === 'http') {
  const { url } = await serveHttp(server, { keys: ['k'.repeat(32)] }).listen()
  process.send?.(url)
} else {
  serveStdio(server)
  process.send?.('')
}
