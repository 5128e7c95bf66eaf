// A server of the SDK over stdio whose tool `refund` asks for a word before it does anything.
import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

serveStdio(
  defineServer({
    name: 'shop',
    version: '1',
    tools: {
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
