import { defineServer, tool } from '@jackfield/sdk'
import { stdio } from '@jackfield/sdk/client/stdio'
import { compose, proxy } from '@jackfield/sdk/compose'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

const notes: string[] = []
const desk = defineServer({
  name: 'desk',
  version: '1.0.0',
  instructions: 'Note what was agreed.',
  tools: {
    note: tool({
      description: 'Note something down',
      input: z.object({ text: z.string() }),
      run: ({ text }) => `Note ${notes.push(text)}: ${text}`,
    }),
  },
})
const shop = await proxy(stdio({ command: 'node', args: ['examples/quickstart/server.ts'] }))

// One server of two: `desk__note` is defined here, `shop__refund` runs in another process.
const { closed } = serveStdio(compose({ name: 'office', version: '1.0.0', servers: { desk, shop } }))
await closed
await shop.close()
