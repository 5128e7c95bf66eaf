import { ask, defineServer, inputRequired, RpcError, type Server, ToolError, tool } from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { z } from 'zod'

const sure = z.object({ ok: z.boolean() })

/** A server whose tools can run as tasks, or have to. */
export function createTasksServer(): Server {
  const gates = new Map<string, () => void>()
  let aborted = 0
  return defineServer({
    name: 'tasks',
    version: '1.0.0',
    onError: () => {},
    tools: {
      plain: tool({ run: () => 'at once' }),
      optional: tool({ task: 'optional', run: () => 'optional' }),
      required: tool({ task: 'required', run: () => 'required' }),
      sum: tool({
        task: 'optional',
        input: z.object({ a: z.number(), b: z.number() }),
        output: z.object({ sum: z.number() }),
        run: ({ a, b }) => ({ sum: a + b }),
      }),
      fails: tool({
        task: 'optional',
        run: () => {
          throw new ToolError('out of paper')
        },
      }),
      breaks: tool({
        task: 'optional',
        run: () => {
          throw new RpcError(77, 'no such ledger', { ledger: 7 })
        },
      }),
      asks: tool({
        task: 'required',
        async run(_args, ctx) {
          ctx.progress(1, 3, 'Asking')
          const both = await Promise.all([
            ctx.elicit({ key: 'one', message: 'One?', schema: sure }),
            ctx.elicit({ key: 'two', message: 'Two?', schema: sure }),
          ])
          ctx.progress(2, 3, 'Asked twice')
          const last = await ctx.elicit({ key: 'one', message: 'Three?', schema: sure })
          return [...both, last].map(({ action }) => action).join(' ')
        },
      }),
      repeats: tool({
        task: 'optional',
        description: 'Calls two questions, one after the other, by the same key',
        run(_args, ctx) {
          const round = typeof ctx.state === 'number' ? ctx.state : 0
          if (round === 2) return 'answered'
          const schema = { type: 'object' as const, properties: { ok: { type: 'boolean' as const } } }
          const again = ask.elicit({ message: `${round}?`, schema })
          return inputRequired({ requests: { again }, state: round + 1 })
        },
      }),
      asksFirst: tool({
        description: 'Asks, and becomes a task when it was answered',
        async run(_args, ctx) {
          const { action } = await ctx.elicit({ message: 'Sure?', schema: sure })
          await ctx.task()
          return action
        },
      }),
      waits: tool({
        task: 'required',
        description: 'Works until its gate is opened, and reports progress then',
        input: z.object({ gate: z.string() }),
        async run({ gate }, ctx) {
          ctx.signal.addEventListener('abort', () => aborted++)
          ctx.progress(1, 3, 'Waiting')
          ctx.log('emergency', 'waiting')
          await new Promise<void>((resolve) => gates.set(gate, resolve))
          ctx.progress(2, 3, 'Going on')
          return 'waited'
        },
      }),
      open: tool({
        description: 'Opens a gate, once there is one',
        input: z.object({ gate: z.string() }),
        async run({ gate }) {
          while (!gates.has(gate)) await new Promise((resolve) => setImmediate(resolve))
          gates.get(gate)?.()
          return 'open'
        },
      }),
      aborted: tool({ run: () => String(aborted) }),
    },
    extensions: [tasks({ pollIntervalMs: 20, maxTtlMs: 7_200_000, maxTasksPerPrincipal: 1000 })],
  })
}
