import { defineServer, prompt, RpcError, reply, resource, type Server, template, tool } from '@jackfield/sdk'
import { z } from 'zod'

const sure = z.object({ ok: z.boolean() })

/** A server with one of everything a proxy has to pass on. `log` contains what its handlers did. */
export function createUpstream(): { server: Server; log: string[] } {
  const log: string[] = []
  let stock = 1
  const server: Server = defineServer({
    name: 'upstream',
    version: '3.2.1',
    instructions: 'Mind the gap.',
    pageSize: 3,
    onError: () => {},
    tools: {
      add: tool({
        description: 'Adds',
        input: z.object({ a: z.number(), b: z.number() }),
        output: z.object({ sum: z.number() }),
        run: ({ a, b }) => ({ sum: a + b }),
      }),
      regional: tool({
        description: 'Has a mirrored argument',
        input: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) }),
        run: ({ region }) => `in ${region}`,
      }),
      refund: tool({
        description: 'Asks, then has an effect',
        input: z.object({ order: z.string() }),
        async run({ order }, ctx) {
          await ctx.step('look up', () => log.push(`looked up ${order}`))
          const first = await ctx.elicit({ message: `Refund ${order}?`, schema: sure })
          if (first.action !== 'accept' || !first.content.ok) return `kept: ${first.action}`
          const second = await ctx.elicit({ message: `Really refund ${order}?`, schema: sure })
          if (second.action !== 'accept' || !second.content.ok) return `kept at last: ${second.action}`
          await ctx.step('refund', () => log.push(`refunded ${order}`))
          return `refunded ${order}`
        },
      }),
      everything: tool({
        description: 'Asks three things at once',
        async run(_, ctx) {
          const [form, sampled, roots] = await Promise.all([
            ctx.elicit({ message: 'Name?', schema: z.object({ name: z.string() }) }),
            ctx.sample({ messages: [{ role: 'user', content: { type: 'text', text: 'Q' } }], maxTokens: 9 }),
            ctx.roots(),
          ])
          const name = form.action === 'accept' ? form.content.name : form.action
          return JSON.stringify([name, sampled.model, roots.map(({ uri }) => uri)])
        },
      }),
      visit: tool({
        description: 'Sends the person away',
        async run(_, ctx) {
          const { action } = await ctx.elicitUrl({ message: 'Go', url: 'https://example.com/in', id: 'v1' })
          return action
        },
      }),
      visited: tool({
        description: 'Tells that the person is back',
        run: () => server.elicitationComplete('v1'),
      }),
      can: tool({
        description: 'Says what can be asked',
        run: (_, { peer, can }) => {
          const kinds = (['elicitation', 'elicitation.url', 'sampling', 'roots'] as const).filter(can)
          return JSON.stringify({ kinds, client: peer.info?.name, principal: peer.principal })
        },
      }),
      work: tool({
        description: 'Tells of progress and logs',
        run(_, ctx) {
          ctx.progress(1, 3, 'one')
          ctx.log('debug', 'fine')
          ctx.log('warning', { hot: true }, 'engine')
          ctx.progress(2, 3, 'two')
          return 'worked'
        },
      }),
      meta: tool({
        description: 'Gives back the metadata it got',
        run: (_, ctx) =>
          reply({
            content: JSON.stringify(ctx.meta),
            meta: { 'example.com/kept': 1, 'io.modelcontextprotocol/other': 2 },
          }),
      }),
      refuse: tool({
        description: 'Refuses by protocol',
        run: () => {
          throw new RpcError(-32000, 'not today', { why: 'rain' })
        },
      }),
      crash: tool({
        description: 'Fails',
        run: () => {
          throw new Error('a secret of the upstream')
        },
      }),
      done: tool({ description: 'Tells what was done', run: () => JSON.stringify(log) }),
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
        description: 'Changes everything',
        run() {
          stock++
          server.add({
            tools: { extra: tool({ description: `Stock ${stock}`, run: () => 'extra' }) },
            prompts: { offer: prompt({ description: `Stock ${stock}`, run: () => 'Buy!' }) },
          })
          server.resourceUpdated('shop://stock')
          return 'restocked'
        },
      }),
    },
    resources: {
      stock: resource({
        uri: 'shop://stock',
        cache: { ttlMs: 9000, cacheScope: 'public' },
        read: () => `${stock}`,
      }),
      guarded: resource({
        uri: 'shop://guarded',
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
      pitch: prompt({
        input: z.object({ item: z.string() }),
        complete: { item: (value) => [`${value}!`] },
        run: ({ item }) => `Sell me ${item}`,
      }),
      briefing: prompt({
        async run(ctxArguments, ctx) {
          const answer = await ctx.elicit({ message: 'About?', schema: z.object({ topic: z.string() }) })
          return `About ${answer.action === 'accept' ? answer.content.topic : Object.keys(ctxArguments ?? {}).join()}`
        },
      }),
    },
  })
  return { server, log }
}
