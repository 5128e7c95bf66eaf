// A server over stdio with a tool that answers, and one that asks first.
import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

serveStdio(
  defineServer({
    name: 'kill',
    version: '1.0.0',
    tools: {
      echo: tool({ input: z.object({ text: z.string() }), run: ({ text }) => text }),
      ask: tool({
        input: z.object({ text: z.string() }),
        async run({ text }, ctx) {
          const answer = await ctx.elicit({ message: text, schema: z.object({ word: z.string() }) })
          return JSON.stringify(answer)
        },
      }),
    },
  }),
)
