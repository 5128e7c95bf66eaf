import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { redisBackplane } from '@jackfield/redis'
import { type Backplane, tool } from '@jackfield/sdk'
import { sqliteTaskStore } from '@jackfield/sdk/extensions/tasks/sqlite'
import { type HttpHandler, serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'
import { authenticate, wordOf } from '../sessions/callers.ts'
import { vault } from '../sessions/vault.ts'

// One node of a vault on Redis. It prints its port once it receives the messages of the others, takes one order a line, and prints a line when
// each is done. The effects of its handlers are in the ledger.

interface Input {
  redis: string
  /** Folder that all nodes share. */
  folder: string
  keys: string[]
  redisTimeoutMs: number
}

type Order = { open: true } | { keys: string[] } | { changed: string } | { completed: string }

const { redis, folder, keys, redisTimeoutMs }: Input = JSON.parse(process.argv[2] ?? '{}')
const plane = await redisBackplane({ url: redis, timeoutMs: redisTimeoutMs, onWarning: () => {} })
/** Resolves when both mounts have subscribed to the changes of the other nodes. */
const subscribed = Promise.withResolvers<void>()
let subscriptions = 0
const backplane: Backplane = {
  ...plane,
  subscribe: async (...topic) => {
    const unsubscribe = await plane.subscribe(...topic)
    if (topic[0].startsWith('changes:') && ++subscriptions === 2) subscribed.resolve()
    return unsubscribe
  },
}
const { server, accepted, open } = vault(sqliteTaskStore(`${folder}/tasks.db`), wordOf)
const enter = (line: string): void => appendFileSync(`${folder}/ledger`, `${line}\n`)

const paying = (preparation: number) =>
  tool({
    input: z.object({ order: z.string() }),
    async run({ order }, ctx) {
      const receipt = await ctx.step('prepare', () => 'x'.repeat(preparation))
      const { action } = await ctx.elicit({
        message: `Pay ${receipt.length}?`,
        schema: z.object({ ok: z.boolean() }),
      })
      if (action === 'accept') enter(`paid ${order}`)
      return `${action} ${order}`
    },
  })
const payByUrl = tool({
  async run(_args, ctx) {
    const id = await ctx.step('id', () => crypto.randomUUID())
    return (await ctx.elicitUrl({ message: 'Pay there', url: 'https://pay.example/7', id })).action
  },
})
server.add({ tools: { pay: paying(10), payMuch: paying(80_000), payByUrl } })

const { push } = accepted
accepted.push = (...who) => {
  for (const one of who) enter(`accepted ${one}`)
  return push.apply(accepted, who)
}

const mount = (keys: string[], limits = {}): HttpHandler =>
  serveHttp(server, { keys, backplane, authenticate, limits, onWarning: () => {} })
let handler = mount(keys)
/** States of this one go bad soon. */
const brief = serveHttp(server, {
  keys,
  backplane,
  authenticate,
  path: '/brief',
  limits: { stateTtlMs: 50 },
  onWarning: () => {},
})

const web = createServer((request, response) => {
  if (request.url === '/brief') brief.node(request, response)
  else handler.node(request, response)
})
web.listen(0, '127.0.0.1', async () => {
  await subscribed.promise
  const address = web.address()
  const port = typeof address === 'object' ? address?.port : undefined
  process.stdout.write(`${port}\n`)
})

for await (const line of createInterface(process.stdin)) {
  const order: Order = JSON.parse(line)
  if ('open' in order) open()
  else if ('keys' in order) handler = mount(order.keys)
  else if ('completed' in order) server.elicitationComplete(order.completed)
  else server.resourceUpdated(order.changed)
  process.stdout.write('done\n')
}
process.exit()
