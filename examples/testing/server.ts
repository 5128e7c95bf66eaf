import { defineServer, tool } from '@jackfield/sdk'
import { z } from 'zod'

/** The sent messages, for tests. */
export const sent: string[] = []

const sure = { message: 'Send it?', schema: z.object({ ok: z.boolean() }) }

export const mail = defineServer({
  name: 'mail',
  version: '1.0.0',
  tools: {
    // A mistake: it sends before it asks, so the run after the answer sends again.
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
