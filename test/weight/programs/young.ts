import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { serveStdio } from '@jackfield/sdk/stdio'

// Serves an echo over HTTP or on stdio, and tells its parent how many bytes of heap are in use: after a full collection,
// which makes all there is old, and later after collections of what is young.

setFlagsFromString('--expose-gc')
const gc: NodeJS.GCFunction = runInNewContext('gc')

const echo = tool({
  description: 'Says it again',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => String(text),
})
const server = defineServer({ name: 'young', version: '1.0.0', tools: { echo } })

process.on('message', (which) => {
  if (which === 'old') gc()
  gc({ type: 'minor' })
  gc({ type: 'minor' })
  process.send?.(process.memoryUsage().heapUsed)
})
process.on('disconnect', () => process.exit())

if (process.argv[2] === 'http') {
  const { url } = await serveHttp(server, { keys: ['k'.repeat(32)] }).listen()
  process.send?.(url)
} else {
  serveStdio(server)
  process.send?.('')
}
