import { appendFileSync } from 'node:fs'
import { defineServer, tool } from '@jackfield/sdk'
import { sqliteBackplane } from '@jackfield/sdk/backplane/sqlite'
import { serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'

// A server that appends each payment to a file. It is killed and restarted with the same keys.

const [kind = '', file = '', paid = ''] = process.argv.slice(2)
const server = defineServer({
  name: 'payments',
  version: '1.0.0',
  tools: {
    pay: tool({
      input: z.object({ order: z.string() }),
      async run({ order }, ctx) {
        const sure = await ctx.elicit({ message: `Pay ${order}?`, schema: z.object({ ok: z.boolean() }) })
        if (sure.action !== 'accept' || !sure.content.ok) return 'Not paid.'
        appendFileSync(paid, `${order}\n`)
        return 'Paid.'
      },
    }),
  },
})

const warnings: string[] = []
const { port } = await serveHttp(server, {
  ...(kind === 'keyless' ? {} : { keys: ['a secret that stays the same over restarts'] }),
  onWarning: (message) => warnings.push(message),
  ...(kind === 'sqlite' ? { backplane: sqliteBackplane(file) } : {}),
  ...(kind === 'accepting' ? { acceptUnknownStates: true } : {}),
  ...(kind === 'refusing' ? { acceptUnknownStates: false } : {}),
}).listen()
process.send?.({ port })
process.on('message', () => process.send?.({ warnings }))
