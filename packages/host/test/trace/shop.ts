// A server on stdio that speaks every revision: it echoes, counts, asks and fails.
import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

let count = 0
const echo = tool({
  description: 'Gives back its text',
  input: z.object({ text: z.string() }),
  run: ({ text }) => text,
})
const next = tool({ description: 'Another number each time', run: () => String(++count) })
const refund = tool({
  description: 'Refunds an order',
  input: z.object({ order: z.string() }),
  async run({ order }, ctx) {
    const sure = await ctx.elicit({ message: `Refund ${order}?`, schema: z.object({ ok: z.boolean() }) })
    return sure.action === 'accept' && sure.content.ok ? `Refunded ${order}.` : 'Nothing was refunded.'
  },
})
const fail = tool({
  description: 'Fails',
  run: () => {
    process.stderr.write('it is broken\n')
    throw new Error('as it should')
  },
})
serveStdio(defineServer({ name: 'shop', version: '1.0.0', tools: { echo, next, refund, fail } }))
