import { setTimeout as pause } from 'node:timers/promises'
import { defineServer, prompt, reply, resource, type Server, ToolError, template, tool } from '@jackfield/sdk'
import { z } from 'zod'

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const icons = [{ src: 'https://example.com/icon.png', mimeType: 'image/png', sizes: ['48x48'] }]
const cities = ['Paris', 'Porto', 'Prague', 'Rome']

/** The server every transport is tested with: one definition for each thing the protocol has. */
export function createMatrixServer(): Server {
  let aborted = 0
  let effects = 0
  const server: Server = defineServer({
    name: 'matrix',
    version: '1.0.0',
    title: 'Matrix',
    serverDescription: 'Has one of everything',
    websiteUrl: 'https://example.com',
    icons,
    instructions: 'Try all of it.',
    pageSize: 4,
    cache: { ttlMs: 60_000, cacheScope: 'public' },
    tools: {
      content: tool({
        title: 'Content',
        description: 'Gives one block of every kind',
        icons,
        annotations: { readOnlyHint: true },
        meta: { 'example.com/kind': 'all' },
        run: () => [
          { type: 'text', text: 'Grüße 🎉 \u2028 end' },
          { type: 'image', data: pixel, mimeType: 'image/png' },
          { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
          {
            type: 'resource',
            resource: { uri: 'matrix://embedded', mimeType: 'text/plain', text: 'inside' },
          },
          { type: 'resource_link', uri: 'matrix://text', name: 'text' },
        ],
      }),
      sum: tool({
        description: 'Adds numbers',
        input: z.object({ numbers: z.array(z.number()) }),
        output: z.object({ sum: z.number() }),
        run: ({ numbers }) => ({ sum: numbers.reduce((all, one) => all + one, 0) }),
      }),
      fail: tool({
        description: 'Fails',
        run: () => {
          throw new ToolError('It was meant to')
        },
      }),
      work: tool({
        description: 'Reports progress and logs',
        run: async (_args, ctx) => {
          for (const at of [1, 2, 3]) {
            ctx.progress(at, 3, `step ${at}`)
            ctx.log('info', `step ${at}`, 'matrix')
            await pause(5)
          }
          ctx.log('debug', 'done')
          return 'worked'
        },
      }),
      hang: tool({
        description: 'Runs until it is cancelled',
        run: (_args, ctx) =>
          new Promise((_, reject) => {
            ctx.progress(1)
            ctx.signal.addEventListener('abort', () => {
              aborted++
              reject(ctx.signal.reason)
            })
          }),
      }),
      aborts: tool({ description: 'How many calls were cancelled', run: () => String(aborted) }),
      form: tool({
        description: 'Asks a form',
        async run(_args, ctx) {
          if (!ctx.can('elicitation')) return 'cannot ask'
          const schema = z.object({
            name: z.string().min(1),
            age: z.number().int().optional(),
            score: z.number().optional(),
            agreed: z.boolean().default(false),
            size: z.enum(['s', 'm']).optional(),
          })
          const answer = await ctx.elicit({ message: 'Who are you?', schema })
          return answer.action === 'accept' ? JSON.stringify(answer.content) : answer.action
        },
      }),
      visit: tool({
        description: 'Sends the person to a URL',
        async run(_args, ctx) {
          if (!ctx.can('elicitation.url')) return 'cannot ask'
          const { action } = await ctx.elicitUrl({ message: 'Sign in', url: 'https://example.com/sign-in' })
          return action
        },
      }),
      sample: tool({
        description: 'Asks for a message',
        async run(_args, ctx) {
          if (!ctx.can('sampling')) return 'cannot ask'
          const answer = await ctx.sample({
            messages: [{ role: 'user', content: { type: 'text', text: 'Capital of France?' } }],
            maxTokens: 20,
            systemPrompt: 'Be brief',
          })
          return `${answer.model}: ${JSON.stringify(answer.content)}`
        },
      }),
      sampleTools: tool({
        description: 'Asks for a message and offers a tool',
        async run(_args, ctx) {
          if (!ctx.can('sampling.tools')) return 'cannot ask'
          const answer = await ctx.sample({
            messages: [{ role: 'user', content: { type: 'text', text: 'Weather?' } }],
            maxTokens: 20,
            tools: [{ name: 'weather', inputSchema: { type: 'object' } }],
            toolChoice: { mode: 'required' },
          })
          return JSON.stringify(answer.content)
        },
      }),
      roots: tool({
        description: 'Asks for the roots',
        run: async (_args, ctx) =>
          ctx.can('roots') ? (await ctx.roots()).map(({ uri }) => uri).join(' ') : 'cannot ask',
      }),
      book: tool({
        description: 'Asks twice, with an effect before and one between',
        async run(_args, ctx) {
          if (!ctx.can('elicitation')) return 'cannot ask'
          const first = await ctx.step('reserve', () => ++effects)
          const schema = z.object({ ok: z.boolean() })
          const sure = await ctx.elicit({ message: 'Sure?', schema })
          const second = await ctx.step('charge', () => ++effects)
          const happy = await ctx.elicit({ message: 'Happy?', schema })
          return `${sure.action} ${happy.action} ${second - first} of ${effects}`
        },
      }),
      meta: tool({
        description: 'Gives the request metadata back',
        run: (_args, ctx) =>
          reply({ content: 'see _meta', meta: { 'example.com/echo': ctx.meta['example.com/trace'] } }),
      }),
      echo: tool({
        description: 'Gives text back',
        input: z.object({ text: z.string() }),
        run: ({ text }) => text,
      }),
      change: tool({
        description: 'Changes a list, or a resource',
        input: z.object({ what: z.enum(['tools', 'prompts', 'resources', 'resource']) }),
        run({ what }) {
          if (what === 'resource') server.resourceUpdated('matrix://text')
          if (what === 'tools')
            server.add({ tools: { extra: tool({ description: 'Extra', run: () => 'extra' }) } })
          if (what === 'prompts')
            server.add({ prompts: { extra: prompt({ description: 'Extra', run: () => 'x' }) } })
          if (what === 'resources') {
            server.add({ resources: { extra: resource({ uri: 'matrix://extra', read: () => 'extra' }) } })
          }
          return 'changed'
        },
      }),
    },
    resources: {
      text: resource({
        uri: 'matrix://text',
        title: 'Text',
        mimeType: 'text/plain',
        size: 5,
        annotations: { audience: ['user'], priority: 1, lastModified: '2026-01-01T00:00:00Z' },
        cache: { ttlMs: 1000, cacheScope: 'private' },
        read: () => 'hello',
      }),
      bytes: resource({
        uri: 'matrix://bytes',
        mimeType: 'application/octet-stream',
        read: () => new Uint8Array([0, 1, 254, 255]),
      }),
      city: template({
        uriTemplate: 'matrix://cities/{city}{?lang}',
        title: 'City',
        complete: {
          city: (value) => cities.filter((city) => city.startsWith(value)),
          lang: (_value, { arguments: chosen }) => (chosen['city'] === 'Rome' ? ['it'] : ['en', 'fr']),
        },
        list: () => cities.map((city) => ({ uri: `matrix://cities/${city}`, name: city })),
        read: ({ city, lang }) => `${city} in ${lang ?? 'English'}`,
      }),
    },
    prompts: {
      greet: prompt({
        title: 'Greet',
        description: 'Greets somebody',
        input: z.object({ name: z.string(), tone: z.string().optional() }),
        complete: { tone: () => ['warm', 'formal'] },
        run: ({ name, tone }) => ({
          description: 'A greeting',
          messages: [
            {
              role: 'user',
              content: { type: 'text', text: `Greet ${name}${tone === undefined ? '' : `, ${tone}`}` },
            },
            { role: 'assistant', content: { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' } },
          ],
        }),
      }),
    },
  })
  return server
}
