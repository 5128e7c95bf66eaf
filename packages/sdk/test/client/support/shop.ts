import { ask, defineServer, inputRequired, prompt, RpcError, resource, template, tool } from '@jackfield/sdk'
import { z } from 'zod'

/** A server with every feature that a client can use. `log` records its handlers. */
export function shop() {
  const log: string[] = []
  let stock = 1
  const server = defineServer({
    name: 'shop',
    version: '1.2.3',
    instructions: 'Ask before you buy.',
    cache: { ttlMs: 60_000 },
    pageSize: 5,
    onError: () => {},
    tools: {
      add: tool({
        description: 'Adds',
        input: z.object({ a: z.number(), b: z.number().default(1) }),
        output: z.object({ sum: z.number() }),
        run: ({ a, b }) => ({ sum: a + b }),
      }),
      fail: tool({
        description: 'Fails',
        run: () => {
          throw new Error('secret')
        },
      }),
      refuse: tool({
        description: 'Refuses by protocol',
        run: () => {
          throw new RpcError(-32000, 'not today', { why: 'rain' })
        },
      }),
      buy: tool({
        description: 'Asks, then buys',
        input: z.object({ item: z.string() }),
        async run({ item }, ctx) {
          const sure = await ctx.elicit({
            message: `Buy ${item}?`,
            schema: z.object({ ok: z.boolean(), note: z.string().default('none') }),
          })
          if (sure.action !== 'accept') return sure.action
          await ctx.step('buy', () => log.push(`bought ${item}`))
          return `ok=${sure.content.ok} note=${sure.content.note}`
        },
      }),
      visit: tool({
        description: 'Sends the person away',
        async run(_, ctx) {
          return (await ctx.elicitUrl({ message: 'Sign in', url: 'https://example.com/in' })).action
        },
      }),
      think: tool({
        description: 'Asks the model',
        async run(_, ctx) {
          const answer = await ctx.sample({
            messages: [{ role: 'user', content: { type: 'text', text: 'Q' } }],
            maxTokens: 10,
          })
          return JSON.stringify(answer.content)
        },
      }),
      where: tool({
        description: 'Asks for roots',
        async run(_, ctx) {
          return (await ctx.roots()).map((root) => root.uri).join()
        },
      }),
      both: tool({
        description: 'Asks two things at once',
        async run(_, ctx) {
          const one = (name: string) => ctx.elicit({ message: name, schema: z.object({ v: z.string() }) })
          const answers = await Promise.all([one('first'), one('second')])
          return answers.map((answer) => (answer.action === 'accept' ? answer.content.v : '-')).join()
        },
      }),
      forever: tool({
        description: 'Asks without end',
        run(_, ctx) {
          const n = Number(ctx.state ?? 0)
          const schema = { type: 'object' as const, properties: { v: { type: 'string' as const } } }
          return inputRequired({ requests: { q: ask.elicit({ message: `${n}`, schema }) }, state: n + 1 })
        },
      }),
      work: tool({
        description: 'Reports progress, then waits',
        input: z.object({ steps: z.number(), ms: z.number() }),
        async run({ steps, ms }, ctx) {
          for (let i = 1; i <= steps; i++) {
            ctx.progress(i, steps, `step ${i}`)
            ctx.log('info', { step: i })
            await new Promise((resolve) => setTimeout(resolve, ms))
          }
          return 'done'
        },
      }),
      hang: tool({
        description: 'Ends only when it is cancelled',
        run: (_, ctx) =>
          new Promise<string>((resolve) => {
            log.push('hanging')
            ctx.signal.addEventListener('abort', () => {
              log.push('stopped')
              resolve('stopped')
            })
          }),
      }),
      restock: tool({
        description: 'Changes things',
        run: () => {
          stock++
          server.add({ tools: { [`extra${stock}`]: tool({ description: 'New', run: () => 'new' }) } })
          server.resourceUpdated('shop://stock')
          return 'restocked'
        },
      }),
    },
    resources: {
      stock: resource({
        uri: 'shop://stock',
        cache: { ttlMs: 60_000 },
        read: () => {
          log.push('read stock')
          return `${stock}`
        },
      }),
      guarded: resource({
        uri: 'shop://guarded',
        cache: { ttlMs: 60_000 },
        async read(ctx) {
          const answer = await ctx.elicit({ message: 'Password?', schema: z.object({ word: z.string() }) })
          return answer.action === 'accept' ? `opened with ${answer.content.word}` : 'closed'
        },
      }),
      item: template({
        uriTemplate: 'shop://items/{name}',
        complete: { name: (value) => ['apple', 'apricot', 'pear'].filter((name) => name.startsWith(value)) },
        read: ({ name }) => `item ${name}`,
      }),
    },
    prompts: {
      pitch: prompt({ input: z.object({ item: z.string() }), run: ({ item }) => `Sell me ${item}` }),
    },
  })
  return { server, log }
}
