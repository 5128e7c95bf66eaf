import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { postgresBackplane } from '@jackfield/postgres'
import { redisBackplane } from '@jackfield/redis'
import { type Backplane, type Context, defineServer, resource, tool } from '@jackfield/sdk'
import { type HttpCaller, serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'
import { type Mistake, mistaken } from './mistakes.ts'
import { type NodeRecord, now, principals, uris } from './records.ts'

// One node of a service whose handlers enter what they do into a ledger. It prints its port when it is ready, makes the mistake that a line
// of its input names, and drains on SIGTERM.

export interface NodeInput {
  /** URL of the Redis or the PostgreSQL that the nodes share. */
  readonly store: string
  readonly port: number
  readonly settleMs: number
  readonly ledger: string
  /** A number of this process. */
  readonly node: number
  readonly lifeMs: number
}

const { store, port, settleMs, ledger, node, lifeMs }: NodeInput = JSON.parse(process.argv[2] ?? '{}')
let mistake: Mistake | undefined
type Entered<T> = T extends unknown ? Omit<T, 'node'> : never
const enter = (record: Entered<NodeRecord>): void =>
  appendFileSync(ledger, `${JSON.stringify({ node, ...record })}\n`)
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const settings = { url: store, timeoutMs: 2_000, onWarning: () => {} }
const isRedis = store.startsWith('redis:')
const plane: Backplane = isRedis ? await redisBackplane(settings) : await postgresBackplane(settings)
/** Enters failures of the store, of which the test may not know: a machine under load is late. */
const noted = <T extends unknown[], R>(operation: (...args: T) => Promise<R>) => {
  return async (...args: T): Promise<R> => {
    try {
      return await operation(...args)
    } catch (error) {
      enter({ type: 'failed', at: now() })
      throw error
    }
  }
}
const watched: Backplane = {
  ...plane,
  get: noted(plane.get),
  set: noted(plane.set),
  add: noted(plane.add),
  swap: noted(plane.swap),
  delete: noted(plane.delete),
  append: noted(plane.append),
  read: noted(plane.read),
}
const faulty = isRedis ? await mistaken(watched, store, () => mistake) : watched
const backplane: Backplane = {
  ...faulty,
  append: async (log, entry, ...rest) => {
    const position = await faulty.append(log, entry, ...rest)
    if (log.startsWith('events:')) enter({ type: 'stored', log, position, entry })
    return position
  },
}

const input = z.object({ op: z.string() })
const form = z.object({ nonce: z.string() })
const whose = (ctx: Context): string => `for ${String(ctx.peer.claims['name'] ?? ctx.peer.principal)}`

async function ask(ctx: Context, op: string, nth: number): Promise<void> {
  const { action, ...answer } = await ctx.elicit({ message: `q${nth} ${op} ${whose(ctx)}`, schema: form })
  if (action !== 'accept' || !('content' in answer)) throw new Error('The question was not accepted')
  // On 2026-07-28 the handler runs again with the same answers.
  await ctx.step(`used ${nth}`, () => enter({ type: 'used', op, nth, nonce: answer.content.nonce }))
}

async function effect(ctx: Context, op: string, step: string): Promise<void> {
  const work = (key: string): void => enter({ type: 'effect', op, step, key })
  await ctx.step(step, work)
  if (mistake === 'steps run twice') work(crypto.randomUUID())
}

const server = defineServer({
  name: 'history',
  version: '1.0.0',
  tools: {
    short: tool({ input, run: ({ op }, ctx) => `short ${op} ${whose(ctx)}` }),
    slow: tool({
      input,
      async run({ op }, ctx) {
        for (let step = 1; step <= 5; step++) {
          ctx.progress(step, 5, `${step} of ${op} ${whose(ctx)}`)
          await wait(40)
        }
        return `slow ${op} ${whose(ctx)}`
      },
    }),
    effect: tool({
      input,
      async run({ op }, ctx) {
        enter({ type: 'effect', op })
        await wait(60)
        return `effect ${op} ${whose(ctx)}`
      },
    }),
    ask: tool({
      input,
      async run({ op }, ctx) {
        await ask(ctx, op, 1)
        await effect(ctx, op, 'book')
        return `ask ${op} ${whose(ctx)}`
      },
    }),
    askTwice: tool({
      input,
      async run({ op }, ctx) {
        await ask(ctx, op, 1)
        await ask(ctx, op, 2)
        await effect(ctx, op, 'book')
        return `askTwice ${op} ${whose(ctx)}`
      },
    }),
    steps: tool({
      input,
      async run({ op }, ctx) {
        await effect(ctx, op, 'reserve')
        ctx.progress(1, 3, `reserved ${op}`)
        await ask(ctx, op, 1)
        ctx.progress(2, 3, `asked ${op}`)
        await effect(ctx, op, 'book')
        return `steps ${op} ${whose(ctx)}`
      },
    }),
    long: tool({
      input,
      async run({ op }, ctx) {
        ctx.progress(1, 2, `${op} ${whose(ctx)}`)
        await wait(2_500)
        return `long ${op} ${whose(ctx)}`
      },
    }),
    wait: tool({
      input,
      async run({ op }, ctx) {
        ctx.progress(1, 2, `${op} ${whose(ctx)}`)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 8_000)
          ctx.signal.addEventListener('abort', () => {
            clearTimeout(timer)
            resolve()
          })
        })
        return `wait ${op} ${whose(ctx)}`
      },
    }),
    touch: tool({
      input: z.object({ uri: z.string() }),
      run({ uri }) {
        server.resourceUpdated(uri)
        return 'touched'
      },
    }),
  },
  resources: Object.fromEntries(
    uris.map((uri) => [uri.replace('note://', 'note'), resource({ uri, read: () => uri })]),
  ),
  onError: () => {},
})

let rememberedCaller = { principal: '', until: 0 }
/** Accepts the name of a principal as its token. */
async function authenticate(request: HttpCaller) {
  const token = request.header('authorization')?.replace('Bearer ', '')
  const principal = principals.find((one) => one === token)
  if (principal === undefined) return { status: 401, body: '{}' }
  if (mistake === 'sessions belong to everybody')
    return { principal: 'everybody', claims: { name: principal } }
  if (mistake !== 'the caller of an address is remembered') return { principal }
  const time = performance.now()
  if (rememberedCaller.until < time) rememberedCaller = { principal, until: time + 50 }
  return { principal: rememberedCaller.principal }
}

const handler = serveHttp(server, {
  keys: ['k'.repeat(32)],
  backplane,
  authenticate,
  health: '/healthz',
  limits: { storedEventsMs: lifeMs, sessionIdleMs: lifeMs },
  onWarning: () => {},
})
const listener = await handler.listen({ port })
process.once('SIGTERM', async () => {
  await handler.drain({ settleMs, graceMs: 20_000 })
  await listener.close()
  process.exit()
})
process.stdout.write(`${listener.port}\n`)
for await (const line of createInterface(process.stdin)) {
  const order: { mistake: Mistake | null } = JSON.parse(line)
  mistake = order.mistake ?? undefined
  process.stdout.write('done\n')
}
