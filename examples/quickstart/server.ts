import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

const refund = tool({
  description: 'Refund an order',
  input: z.object({ order: z.string() }),
  async run({ order }, ctx) {
    const sure = await ctx.elicit({ message: `Refund ${order}?`, schema: z.object({ ok: z.boolean() }) })
    return sure.action === 'accept' && sure.content.ok ? `Refunded ${order}.` : 'Nothing was refunded.'
  },
})
serveStdio(defineServer({ name: 'shop', version: '1.0.0', tools: { refund } }))
