import { defineServer, RpcError, type Server, ToolError, tool } from '@jackfield/sdk'
import { telemetry } from '@jackfield/sdk/telemetry'
import { propagation } from '@opentelemetry/api'
import { z } from 'zod'
import { takeSpans, within } from './tracing.ts'

const order = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] } as const
const ok = z.object({ ok: z.boolean() })

/** A server that is traced, with tools that end in every way. */
export function createShop(options: Parameters<typeof telemetry>[0] = {}): Server {
  return defineServer({
    name: 'shop',
    version: '1.0.0',
    use: [telemetry(options)],
    onError: () => {},
    tools: {
      price: tool({
        input: order,
        run: ({ order }) => within('lookup', async () => `The price of ${order}`),
      }),
      refund: tool({
        input: order,
        async run(_args, ctx) {
          const sure = await ctx.elicit({ message: 'Sure?', schema: ok, key: 'sure' })
          return sure.action
        },
      }),
      broken: tool({
        run() {
          throw new ToolError('Out of paper')
        },
      }),
      forbidden: tool({
        run() {
          throw new RpcError(-32001, 'Not today')
        },
      }),
      slow: tool({
        run(_args, ctx) {
          ctx.progress(1)
          return new Promise<string>((_, reject) => {
            ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
          })
        },
      }),
      baggage: tool({
        run: () => propagation.getActiveBaggage()?.getEntry('tenant')?.value ?? 'none',
      }),
      spans: tool({ run: () => JSON.stringify(takeSpans()) }),
    },
  })
}
