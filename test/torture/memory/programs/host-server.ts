import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { serveStdio } from '@jackfield/sdk/stdio'

// A server for a host: on its standard streams, or over HTTP if requested, on a port that it reports on a channel.

const input = {
  type: 'object' as const,
  properties: { text: { type: 'string' as const } },
  required: ['text'] as const,
}
const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: { echo: tool({ description: 'Says it again', input, run: ({ text }: { text: string }) => text }) },
})
if (process.argv[2] === 'http') {
  const handler = serveHttp(server, { keys: ['k'.repeat(32)], onWarning: () => {} })
  const { url } = await handler.listen()
  process.on('disconnect', () => process.exit(0))
  process.send?.(url)
} else {
  serveStdio(server)
}
