import { setTimeout as wait } from 'node:timers/promises'
import { defineServer, tool } from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { sqliteTaskStore } from '@jackfield/sdk/extensions/tasks/sqlite'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

const [file = ':memory:'] = process.argv.slice(2)
const store = tasks({ store: sqliteTaskStore(file), pollIntervalMs: 50, leaseMs: 1000 })

const bake = tool({
  description: 'Bakes a cake',
  input: z.object({ cake: z.string() }),
  async run({ cake }, ctx) {
    const sure = await ctx.elicit({ message: `Bake a ${cake} cake?`, schema: z.object({ ok: z.boolean() }) })
    if (sure.action !== 'accept' || !sure.content.ok) return 'The oven stays cold.'
    // From here on the call is a task, if the client supports tasks.
    await ctx.task()
    const dough = await ctx.step('mix', () => `dough of process ${process.pid}`)
    ctx.progress(1, 2, 'in the oven')
    await wait(500, undefined, { signal: ctx.signal })
    return `A ${cake} cake, ${dough}`
  },
})

const { closed } = serveStdio(
  defineServer({ name: 'bakery', version: '1.0.0', extensions: [store], tools: { bake } }),
)
await closed
await store.close()
