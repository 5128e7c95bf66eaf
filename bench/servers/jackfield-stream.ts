import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'
import { port, ready } from './host.ts'

const count = tool({
  description: 'Counts',
  input: z.object({ to: z.number() }),
  run: ({ to }, { progress }) => {
    for (let n = 1; n <= to; n++) progress(n, to, 'counting')
    return 'done'
  },
})
const server = defineServer({ name: 'jackfield-bench', version: '1.0.0', tools: { count } })
const keys = [crypto.getRandomValues(new Uint8Array(32))]

const listening = await serveHttp(server, { keys, path: '/' }).listen({ port })
ready(listening.port)
