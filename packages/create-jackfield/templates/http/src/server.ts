import { defineServer, tool } from '@jackfield/sdk'
import { z } from 'zod'

/** A new server with a list of notes for each user, in memory. */
export function createServer() {
  const notes = new Map<string | null, string[]>()
  return defineServer({
    name: '{{name}}',
    version: '0.1.0',
    instructions: 'Keeps short notes of the user who is signed in.',
    tools: {
      add: tool({
        description: 'Add a note',
        scopes: ['notes:write'],
        input: { text: z.string().min(1).max(1000).describe('The text of the note') },
        run({ text }, { peer }) {
          const own = notes.get(peer.principal) ?? []
          notes.set(peer.principal, [...own, text])
          return `Added note ${own.length + 1}: ${text}`
        },
      }),
      list: tool({
        description: 'List your notes',
        scopes: ['notes:read'],
        annotations: { readOnlyHint: true },
        output: { notes: z.array(z.string()) },
        run: (_args, { peer }) => ({ notes: notes.get(peer.principal) ?? [] }),
      }),
    },
  })
}
