// A server of the SDK over stdio with default options, whose tools ask for a word before they do anything: `refund`, and
// `quote`, which is annotated as idempotent.
import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

serveStdio(
  defineServer({
    name: 'shop',
    version: '1',
    tools: {
      quote: tool({
        description: 'Quotes after asking',
        annotations: { readOnlyHint: true },
        async run(_, ctx) {
          const item = await ctx.elicit({ message: 'Which item?', schema: z.object({ item: z.string() }) })
          return item.action === 'accept' ? `a quote for ${item.content.item}` : item.action
        },
      }),
      refund: tool({
        description: 'Refunds after asking',
        async run(_, ctx) {
          const sure = await ctx.elicit({ message: 'Refund it?', schema: z.object({ ok: z.boolean() }) })
          return sure.action === 'accept' ? `refunded: ${sure.content.ok}` : sure.action
        },
      }),
    },
  }),
)
