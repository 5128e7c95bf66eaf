import { postgresBackplane } from '@jackfield/postgres'
import { redisBackplane } from '@jackfield/redis'
import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'

// One node of a shop on Redis or PostgreSQL. It prints its port when it is ready, and drains on SIGTERM.

interface Input {
  redis?: string
  postgres?: string
  port: number
  settleMs: number
}

const { redis, postgres, port, settleMs }: Input = JSON.parse(process.argv[2] ?? '{}')
const onWarning = (): void => {}
const backplane =
  postgres === undefined
    ? await redisBackplane({ url: redis ?? '', onWarning })
    : await postgresBackplane({ url: postgres, onWarning })
const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: {
    look: tool({ input: z.object({ order: z.string() }), run: ({ order }) => `seen ${order}` }),
    buy: tool({
      input: z.object({ order: z.string() }),
      async run({ order }, ctx) {
        const { action } = await ctx.elicit({
          message: `Buy ${order}?`,
          schema: z.object({ ok: z.boolean() }),
        })
        return `${action} ${order}`
      },
    }),
    pack: tool({
      input: z.object({ order: z.string() }),
      async run({ order }, ctx) {
        for (let step = 1; step <= 4; step++) {
          ctx.progress(step)
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        return `packed ${order}`
      },
    }),
    ship: tool({
      input: z.object({ order: z.string() }),
      async run({ order }, ctx) {
        ctx.progress(1)
        await new Promise((resolve) => setTimeout(resolve, 600_000))
        return `shipped ${order}`
      },
    }),
  },
  onError: () => {},
})
const handler = serveHttp(server, {
  keys: ['k'.repeat(32)],
  backplane,
  health: '/healthz',
  onWarning: () => {},
})
const listener = await handler.listen({ port })
process.once('SIGTERM', async () => {
  await handler.drain({ settleMs, graceMs: 20_000 })
  await listener.close()
  await backplane.close()
  process.exit()
})
process.stdout.write(`${listener.port}\n`)
