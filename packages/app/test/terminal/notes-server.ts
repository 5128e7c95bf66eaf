// A server on stdio with one note that its tool `write` changes, a tool `grow` that adds another tool, and a prompt of
// several arguments.
import { defineServer, prompt, resource, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

const uri = 'note://today'
let text = 'Oslo is cold. The boat leaves at nine. Bring a coat.'

const server = defineServer({
  name: 'notes',
  version: '1.0.0',
  resources: { today: resource({ uri, title: 'Today', mimeType: 'text/plain', read: () => text }) },
  tools: {
    write: tool({
      input: z.object({ text: z.string() }),
      run: ({ text: next }) => {
        text = next
        server.resourceUpdated(uri)
        return 'Written.'
      },
    }),
    grow: tool({
      run: () => {
        server.add({ tools: { prune: tool({ run: () => 'Pruned.' }) } })
        return 'Grown.'
      },
    }),
  },
  prompts: {
    'write-letter': prompt({
      title: 'A letter',
      input: z.object({
        to: z.string(),
        password: z.string(),
        tone: z.string().optional(),
        length: z.string().optional(),
      }),
      complete: { to: (value) => ['Ada', 'Grace'].filter((one) => one.startsWith(value)) },
      run: ({ to, tone = 'plain', length = 'short' }) =>
        `Write a ${length} letter to ${to}, ${tone} in tone.`,
    }),
  },
})

await serveStdio(server)
