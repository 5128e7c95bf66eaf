import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'

// A server of very many sessions on a given port: it reports when it listens, and its memory each time it is
// asked. Run with --expose-gc and a channel.

const [, , port, room = '100'] = process.argv
const server = defineServer({ name: 'crowded', version: '1', tools: { noop: tool({ run: () => '' }) } })
const limits = { sessions: 2 * Number(room), listenStreams: 2 * Number(room) }
await serveHttp(server, { limits, onWarning: () => {} }).listen({ port: Number(port) })

process.on('message', () => {
  globalThis.gc?.()
  process.send?.(process.memoryUsage().heapUsed)
})
process.on('disconnect', () => process.exit(0))
process.send?.('there')
