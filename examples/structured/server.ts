import { defineServer, tool } from '@jackfield/sdk'
import { z } from 'zod'

/** A server whose type describes the arguments and results of its tools to clients. */
export const weather = defineServer({
  name: 'weather',
  version: '1.0.0',
  tools: {
    forecast: tool({
      description: 'The weather in a city',
      input: z.object({ city: z.string(), days: z.number().int().min(1).max(7).default(1) }),
      output: z.object({ city: z.string(), highs: z.array(z.number()) }),
      run: ({ city, days }) => ({ city, highs: Array.from({ length: days }, (_, day) => 20 + day) }),
    }),
  },
})
