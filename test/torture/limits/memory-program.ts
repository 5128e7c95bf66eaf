import process from 'node:process'
import { defineServer, resource, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'

/** A server with 512 MB of heap that memory attacks are made on. Its clients authenticate by their own name. */
const answer = 'x'.repeat(3_400_000)
let running = 0

const server = defineServer({
  name: 'attacked',
  version: '1.0.0',
  resources: { note: resource({ uri: 'note://one', read: () => 'one' }) },
  tools: {
    echo: tool({ run: () => 'echo' }),
    /** A large answer. */
    large: tool({ run: () => answer }),
    /** A large answer that is there at once, as events. */
    events: tool({
      run: async (_, ctx) => {
        for (let sent = 0; sent < 80; sent++) await ctx.log('info', 'x'.repeat(50_000))
        return 'done'
      },
    }),
    /** Waits for a second, however it is cancelled. */
    stubborn: tool({
      input: z.object({ ms: z.number().default(1000) }),
      run: async ({ ms }) => {
        running++
        await new Promise((resolve) => setTimeout(resolve, ms))
        running--
        return 'done'
      },
    }),
    /** Asks a question, and reports it. */
    asks: tool({
      run: async (_, ctx) => {
        await ctx.roots()
        return 'asked'
      },
    }),
  },
})

const authenticated = process.argv[2] !== 'anonymous'
const handler = serveHttp(server, {
  keys: ['k'.repeat(32)],
  onWarning: () => {},
  ...(authenticated
    ? { authenticate: async (request) => ({ principal: request.header('authorization') ?? 'none' }) }
    : { clientAddress: (request) => request.header('x-forwarded-for') }),
})
const { port } = await handler.listen()
process.on('message', () => {
  const { rss, heapUsed } = process.memoryUsage()
  process.send?.({ rss, heapUsed, running })
})
process.on('disconnect', () => process.exit())
process.send?.({ port })
