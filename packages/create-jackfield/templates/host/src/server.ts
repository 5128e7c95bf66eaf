import { defineServer, tool } from '@jackfield/sdk'
import { z } from 'zod'

/** A new server with a list of notes in memory. */
export function createServer() {
  const notes: string[] = []
  return defineServer({
    name: '{{name}}',
    version: '0.1.0',
    instructions: 'Keeps short notes. Call list before you change anything.',
    tools: {
      add: tool({
        description: 'Add a note',
        input: { text: z.string().min(1).max(1000).describe('The text of the note') },
        run({ text }) {
          notes.push(text)
          return `Added note ${notes.length}: ${text}`
        },
      }),
      list: tool({
        description: 'List all notes',
        annotations: { readOnlyHint: true },
        output: { notes: z.array(z.string()) },
        run: () => ({ notes }),
      }),
      clear: tool({
        description: 'Delete all notes, after the person agreed',
        annotations: { destructiveHint: true },
        async run(_args, ctx) {
          const answer = await ctx.elicit({
            message: `Delete ${notes.length} notes?`,
            schema: z.object({ confirm: z.boolean() }),
          })
          if (answer.action !== 'accept' || !answer.content.confirm) return 'Nothing was deleted.'
          notes.length = 0
          return 'All notes were deleted.'
        },
      }),
    },
  })
}
