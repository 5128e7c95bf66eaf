import cluster from 'node:cluster'
import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'

// A server with two workers. Its first argument is its fault; its second is a port.

const [fault = '', port = '0'] = process.argv.slice(2)
if (fault === 'ends early' && cluster.isWorker) process.exit(7)

const server = defineServer({
  name: 'workers',
  version: '1.0.0',
  tools: {
    process: tool({ run: () => String(process.pid) }),
    ask: tool({
      async run(_, ctx) {
        const answer = await ctx.elicit({ message: 'Which?', schema: z.object({ which: z.string() }) })
        return `${answer.action === 'accept' ? answer.content.which : answer.action} in ${process.pid}`
      },
    }),
  },
})

const handler = serveHttp(server, { onWarning: (message) => process.stderr.write(`${message}\n`) })
try {
  const listener = await handler.listen({ port: Number(port), workers: fault === 'more than auto' ? 3 : 2 })
  process.on('SIGTERM', async () => {
    await handler.drain({ settleMs: 0, graceMs: 5_000 })
    await listener.close()
    if (cluster.isPrimary) process.disconnect()
  })
  if (cluster.isPrimary) process.send?.({ port: listener.port, workers: workers() })
} catch (error) {
  if (cluster.isPrimary) process.send?.({ failure: String(error), workers: workers() })
  process.disconnect?.()
}

function workers(): (number | undefined)[] {
  return Object.values(cluster.workers ?? {}).map((worker) => worker?.process.pid)
}
