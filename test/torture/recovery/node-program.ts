import { appendFileSync } from 'node:fs'
import { defineServer, resource, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'

// One node of a service: it prints its port, and appends each payment to the file it is given.

const [, , ledger = ''] = process.argv

const server = defineServer({
  name: 'node',
  version: '1',
  tools: {
    look: tool({ run: () => 'seen' }),
    pay: tool({
      input: z.object({ order: z.number() }),
      run: ({ order }) => {
        appendFileSync(ledger, `${order}\n`)
        return 'paid'
      },
    }),
  },
  resources: { terms: resource({ uri: 'shop://terms', read: () => 'be kind' }) },
})

const { port } = await serveHttp(server, { onWarning: () => {} }).listen()
process.stdout.write(`${port}\n`)
