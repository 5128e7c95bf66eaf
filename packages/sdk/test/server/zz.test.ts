import { z } from 'zod'
import { tool } from '../../src/index.ts'
tool({ run: (_, ctx) => [{ type: 'text', text: String(ctx) }] })
tool({ run: async (_, ctx) => [{ type: 'text', text: String(ctx) }] })
tool({ input: z.object({ a: z.string() }), run: async ({ a }) => [{ type: 'text', text: a }] })
tool({ input: z.object({ a: z.string() }), async run({ a }) { return { type: 'text', text: a } } })
tool({ async run() { return { type: 'text', text: 'a' } } })
tool({ run: async () => [{ type: 'text', text: 'a' }] })
const k = z.object({ kind: z.enum(['a', 'b']) })
tool({ output: k, run: () => ({ kind: 'a' }) })
tool({ output: k, run: async () => ({ kind: 'a' }) })
tool({ output: k, run: (_, ctx) => ({ kind: ctx ? 'a' : 'b' }) })
tool({ output: k, async run() { return { kind: 'a' } } })
