import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

let charges = 0

const order = tool({
  description: 'Orders a pizza',
  async run(_args, ctx) {
    const size = await ctx.elicit({
      message: 'Which size?',
      schema: z.object({ size: z.enum(['small', 'large']) }),
    })
    if (size.action !== 'accept') return 'Nothing was ordered.'
    // Runs once, even though the handler runs again for every answer.
    const number = await ctx.step('charge', () => ++charges)
    const sure = await ctx.elicit({
      message: `A ${size.content.size} pizza is paid. Ring the bell when it is there?`,
      schema: z.object({ ring: z.boolean() }),
    })
    const ring = sure.action === 'accept' && sure.content.ring ? 'We ring.' : 'We knock.'
    return `One ${size.content.size} pizza, charge ${number}. ${ring}`
  },
})
serveStdio(defineServer({ name: 'pizzeria', version: '1.0.0', tools: { order } }))
