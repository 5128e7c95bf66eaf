import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'

// Reports progress right before its result.

const report = tool({
  async run(_args, ctx) {
    await new Promise((resolve) => setImmediate(resolve))
    ctx.progress(1, 2)
    ctx.progress(2, 2)
    return 'done'
  },
})

serveStdio(defineServer({ name: 'reports', version: '1.0.0', tools: { report } }))
