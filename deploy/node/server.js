import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { redisBackplane } from '@jackfield/redis'
import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'

// One node: replace the tools with yours. Configured by environment variables, which README.md lists.

const {
  PORT = '3000',
  HOST = '0.0.0.0',
  REDIS_URL = 'redis://127.0.0.1:6379',
  KEYS_DIR = '/run/secrets/mcp-keys',
  ALLOWED_HOSTS = '',
  SETTLE_MS = '5000',
} = process.env

/** Keys in the order of their file names: the first encrypts, all decrypt. */
const keys = readdirSync(KEYS_DIR)
  .filter((name) => !name.startsWith('.'))
  .sort()
  .map((name) => readFileSync(join(KEYS_DIR, name), 'utf8').trim())
if (keys.length === 0) throw new Error(`${KEYS_DIR} has no keys. Put a file with at least 32 bytes there.`)

const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: {
    look: tool({
      description: 'Looks an order up.',
      input: z.object({ order: z.string() }),
      run: ({ order }) => `Order ${order} is packed.`,
    }),
    refund: tool({
      description: 'Refunds an order, if the person confirms it.',
      input: z.object({ order: z.string() }),
      async run({ order }, ctx) {
        const sure = await ctx.elicit({ message: `Refund ${order}?`, schema: z.object({ ok: z.boolean() }) })
        if (sure.action !== 'accept' || !sure.content.ok) return `Order ${order} was not refunded.`
        return ctx.step('refund', (key) => `Order ${order} was refunded under ${key}.`)
      },
    }),
  },
})

const backplane = await redisBackplane({ url: REDIS_URL })
const handler = serveHttp(server, {
  keys,
  backplane,
  allowedHosts: ALLOWED_HOSTS.split(',').filter(Boolean),
  health: '/healthz',
})
const listener = await handler.listen({ port: Number(PORT), host: HOST })
console.log(`Listening on ${listener.url}`)

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, async () => {
    await handler.drain({ settleMs: Number(SETTLE_MS), graceMs: 25_000 })
    await listener.close()
    await backplane.close()
    process.exit()
  })
}
