import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineServer, tool } from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { sqliteTaskStore } from '@jackfield/sdk/extensions/tasks/sqlite'
import { serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'

// A server whose tasks outlive it. It writes what it does to a file, and waits for another file before it goes on.

const [, , database = '', effects = '', gate = '', lease = '600'] = process.argv
const did = (what: string): void => appendFileSync(effects, `${what}\n`)

async function untilOpen(signal: AbortSignal): Promise<void> {
  while (!existsSync(gate)) await sleep(10, undefined, { signal })
}

const extension = tasks({
  store: sqliteTaskStore(database),
  leaseMs: Number(lease),
  maxTakeovers: 2,
  pollIntervalMs: 50,
})
const server = defineServer({
  name: 'worker',
  version: '1',
  extensions: [extension],
  tools: {
    build: tool({
      task: 'required',
      async run(_args, ctx) {
        const first = await ctx.step('first', (key) => {
          did('first')
          return key
        })
        did('waits')
        ctx.signal.addEventListener('abort', () => did('stopped'))
        await untilOpen(ctx.signal)
        const second = await ctx.step('second', (key) => {
          did('second')
          return key
        })
        return `${first.split('/')[0] === second.split('/')[0]}`
      },
    }),
    confirm: tool({
      task: 'required',
      async run(_args, ctx) {
        await ctx.step('before', () => did('before'))
        const sure = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
        await ctx.step('after', () => did('after'))
        return sure.action
      },
    }),
    crash: tool({
      task: 'required',
      async run() {
        await sleep(100)
        did('crash')
        process.kill(process.pid, 'SIGKILL')
        return 'never'
      },
    }),
  },
})

const http = serveHttp(server, { keys: ['k'.repeat(32)] })
const { url } = await http.listen({ port: 0 })
console.log(url)
process.once('SIGTERM', async () => {
  await http.close()
  await extension.close()
  process.exit(0)
})
