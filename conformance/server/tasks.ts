import { setTimeout as sleep } from 'node:timers/promises'
import { RpcError, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'

const confirmation = z.object({ confirm: z.boolean() })
const named = z.object({ name: z.string() })

/** Tools that run as tasks, and one that does not. */
export const taskTools = {
  greet: tool({
    description: 'Greets without a task',
    input: z.object({ name: z.string() }),
    run: ({ name }) => `Hello, ${name}!`,
  }),
  slow_compute: tool({
    description: 'Waits for some seconds',
    task: 'optional',
    input: z.object({ seconds: z.number(), label: z.string().optional() }),
    async run({ seconds, label = 'job' }, ctx) {
      await sleep(seconds * 1000, undefined, { signal: ctx.signal })
      return `${label} took ${seconds} s`
    },
  }),
  failing_job: tool({
    description: 'Fails with a tool error',
    task: 'required',
    run() {
      throw new ToolError('This job always fails')
    },
  }),
  protocol_error_job: tool({
    description: 'Fails with a protocol error',
    task: 'required',
    run() {
      throw new RpcError(-32603, 'This job always breaks')
    },
  }),
  confirm_delete: tool({
    description: 'Asks for confirmation before a simulated deletion',
    task: 'required',
    input: z.object({ filename: z.string() }),
    async run({ filename }, ctx) {
      const answer = await ctx.elicit({
        key: 'confirm',
        message: `Delete ${filename}?`,
        schema: confirmation,
      })
      return answer.action === 'accept' && answer.content.confirm ? `Deleted ${filename}` : `Kept ${filename}`
    },
  }),
  multi_input: tool({
    description: 'Sends two input requests at once',
    task: 'required',
    async run(_args, ctx) {
      const answers = await Promise.all([
        ctx.elicit({ key: 'first', message: 'What is the first name?', schema: named }),
        ctx.elicit({ key: 'second', message: 'What is the second name?', schema: named }),
      ])
      return answers.map((answer) => (answer.action === 'accept' ? answer.content.name : '-')).join(' and ')
    },
  }),
  test_tool_with_task: tool({
    description: 'Asks for a name, then continues as a task',
    async run(_args, ctx) {
      const answer = await ctx.elicit({ key: 'user_name', message: 'What is your name?', schema: named })
      await ctx.task()
      return answer.action === 'accept' ? `Hello, ${answer.content.name}` : 'Hello'
    },
  }),
}
