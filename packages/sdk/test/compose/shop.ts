import { defineServer, prompt, resource, template, tool } from '@jackfield/sdk'
import { z } from 'zod'

/** A tool that returns one text. */
export const constant = (text: string) => tool({ description: text, run: () => text })

/** A server of tools, resources, a template and a prompt, all named after it. */
export function shop(name: string, scheme = name) {
  return defineServer({
    name,
    version: '1.0.0',
    instructions: `How to use ${name}.`,
    pageSize: 2,
    tools: {
      hello: constant(`hello from ${name}`),
      regional: tool({
        description: 'Mirrors an argument',
        input: z.object({ region: z.string().meta({ 'x-mcp-header': `${name}-Region` }) }),
        run: ({ region }) => region,
      }),
      ask: tool({
        description: 'Asks',
        async run(_, ctx) {
          const answer = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
          return `${name}: ${answer.action}`
        },
      }),
    },
    resources: {
      menu: resource({ uri: `${scheme}://menu`, read: () => `menu of ${name}` }),
      drinks: resource({ uri: `${scheme}://drinks`, read: () => `drinks of ${name}` }),
      dish: template({
        uriTemplate: `${scheme}://dishes/{dish}`,
        complete: { dish: (value) => [`${name} ${value}`] },
        read: ({ dish }) => (dish === 'none' ? undefined : `${dish} of ${name}`),
      }),
    },
    prompts: {
      order: prompt({
        input: z.object({ what: z.string() }),
        complete: { what: (value) => [`${value} from ${name}`] },
        run: ({ what }) => `Order ${what} from ${name}`,
      }),
    },
  })
}
