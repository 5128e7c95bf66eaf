import { defineServer, tool } from '@jackfield/sdk'
import { z } from 'zod'

/** What was sent, for tests to look at. */
export const sent: string[] = []

const sure = { message: 'Send it?', schema: z.object({ ok: z.boolean() }) }

export const mail = defineServer({
  name: 'mail',
  version: '1.0.0',
  tools: {
    // Sends before it asks: entered again for the answer, it sends again.
    hasty: tool({
      async run(_args, ctx) {
        sent.push('draft')
        const answer = await ctx.elicit(sure)
        return answer.action
      },
    }),
    careful: tool({
      async run(_args, ctx) {
        await ctx.step('draft', () => sent.push('draft'))
        const answer = await ctx.elicit(sure)
        return answer.action
      },
    }),
  },
})
