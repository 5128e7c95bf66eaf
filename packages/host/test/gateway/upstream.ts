import {
  defineServer,
  type Exchange,
  type Outcome,
  prompt,
  reply,
  resource,
  template,
  tool,
} from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { onTestFinished } from 'vitest'

const form = (name: string) => ({
  type: 'object' as const,
  properties: { [name]: { type: 'string' as const } },
  required: [name],
})

/** A server at an address, and what went over its wire of states. */
export interface Upstream {
  url: string
  /** Every state it gave out, and every one it got back, in order. */
  issued: string[]
  returned: unknown[]
  /** What its tools saw. */
  seen: unknown[]
  server: ReturnType<typeof serverOf>
}

function serverOf(
  seen: unknown[],
  use: (exchange: Exchange, next: (own: Exchange) => Promise<Outcome>) => Promise<Outcome>,
) {
  return defineServer({
    name: 'upstream',
    version: '1.0.0',
    instructions: 'Book with two_step.',
    use: [use],
    tools: {
      two_step: tool({
        description: 'Asks twice',
        annotations: { destructiveHint: false },
        run: async (_args, ctx) => {
          const who = await ctx.elicit({ message: 'Who?', schema: form('who') })
          const where = await ctx.elicit({ message: 'Where?', schema: form('where') })
          return JSON.stringify([who, where])
        },
      }),
      think: tool({
        run: async (_args, ctx) => {
          const { content } = await ctx.sample({
            messages: [{ role: 'user', content: { type: 'text', text: 'Think' } }],
            maxTokens: 10,
          })
          return JSON.stringify(content)
        },
      }),
      folders: tool({ run: async (_args, ctx) => JSON.stringify(await ctx.roots()) }),
      echo: tool({
        input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
        output: { type: 'object', properties: { text: { type: 'string' } } },
        run: (args) => reply({ content: JSON.stringify(args), structured: args }),
      }),
      slow: tool({
        run: async (_args, ctx) => {
          for (let step = 1; step <= 3; step++) ctx.progress(step, 3, `step ${step}`)
          seen.push('slow began')
          await new Promise<void>((resolve) => {
            ctx.signal.addEventListener('abort', () => resolve(), { once: true })
            if (ctx.meta['short'] === true) resolve()
          })
          seen.push('slow cancelled')
          return 'over'
        },
      }),
      wipe: tool({ run: () => 'wiped' }),
    },
    resources: {
      note: resource({ uri: 'note://one', mimeType: 'text/plain', read: () => 'one note' }),
      any: template({ uriTemplate: 'note://any/{name}', read: ({ name }) => `note ${name}` }),
    },
    prompts: {
      greet: prompt({
        input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        complete: { name: (value) => ['Ada', 'Alan'].filter((name) => name.startsWith(value)) },
        run: ({ name }) => `Greet ${String(name)}`,
      }),
    },
  })
}

/** Starts one on a port of its own. */
export async function upstream(): Promise<Upstream> {
  const issued: string[] = []
  const returned: unknown[] = []
  const seen: unknown[] = []
  const server = serverOf(seen, async (exchange, next) => {
    const { requestState } = exchange.params
    if (requestState !== undefined) returned.push(requestState)
    const outcome = await next(exchange)
    if (outcome.type === 'input_required' && outcome.state !== undefined) issued.push(outcome.state)
    return outcome
  })
  const handler = serveHttp(server, { keys: ['k'.repeat(32)] })
  const listener = await handler.listen()
  onTestFinished(() => listener.close())
  return { url: listener.url, issued, returned, seen, server }
}
