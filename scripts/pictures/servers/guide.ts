// A server that asks the client's model for advice, and the person for a seat and for folders.
import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

const advise = tool({
  title: 'Advise on a trip',
  description: 'Asks your model when to go.',
  async run(_args, ctx) {
    const { content } = await ctx.sample({
      systemPrompt: 'You are a travel guide. Answer in one sentence.',
      messages: [
        {
          role: 'user',
          content: {
            type: 'text',
            text: 'ada@example.org wants to swim in Barcelona and to avoid crowds. Which month is best?',
          },
        },
      ],
      modelPreferences: { hints: [{ name: 'claude' }], costPriority: 0.3, intelligencePriority: 0.7 },
      maxTokens: 200,
    })
    const [first] = Array.isArray(content) ? content : [content]
    return first?.type === 'text' ? first.text : 'No advice.'
  },
})
const seat = tool({
  title: 'Choose a seat',
  description: 'Keeps a seat for you.',
  async run(_args, ctx) {
    const answer = await ctx.elicit({
      message: 'Which seat shall it be?',
      schema: z.object({ row: z.number().int().min(1).max(30), window: z.boolean() }),
    })
    if (answer.action !== 'accept') return 'No seat.'
    const { row, window } = answer.content
    return `Row ${row}${window ? ', at the window' : ''}.`
  },
})
const save = tool({
  title: 'Save a map',
  description: 'Saves a map in a folder that you opened.',
  async run(_args, ctx) {
    const [first] = await ctx.roots()
    return first === undefined ? 'No folder is open.' : `There is room in ${first.name ?? first.uri}.`
  },
})
serveStdio(defineServer({ name: 'guide', version: '1.0.0', tools: { advise, seat, save } }))
