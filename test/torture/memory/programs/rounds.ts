import { defineServer, tool } from '@jackfield/sdk'
import { HttpConnection } from './http-connection.ts'
import { modernHeaders, post, served } from './served.ts'
import { planIn, soak } from './soak.ts'

// Calls that ask back, with more remembered than a request may carry, and clients that never come again. The
// clocks are moved on until nothing of them counts any more.

const plan = planIn(process.argv[2])
const concurrency = 8
const stateTtlMs = 600_000

let ahead = 0
const { now } = Date
Date.now = () => now() + ahead
const passed = performance.now.bind(performance)
performance.now = () => passed() + ahead

const server = defineServer({
  name: 'rounds',
  version: '1.0.0',
  tools: {
    order: tool({
      run: async (_, ctx) => {
        const offer = await ctx.step('offer', () => 'x'.repeat(80_000))
        const sure = await ctx.elicit({
          message: `An offer of ${offer.length} characters. Sure?`,
          schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
        })
        return sure.action
      },
    }),
  },
})
const { port, listeners } = await served(server, {
  limits: { stateTtlMs, rememberedChars: 268_435_456 },
  // All clients here have one address.
  clientAddress: () => undefined,
})
const free = Array.from({ length: concurrency }, () => new HttpConnection(port))

const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'rounds', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

async function askedBack(n: number): Promise<void> {
  const connection = free.pop()
  if (connection === undefined) throw new Error('More is put at once than there are lanes')
  const params = { name: 'order', arguments: {}, _meta }
  const body = JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params })
  const { text } = await connection.exchange(post(body, modernHeaders('tools/call', 'order')))
  if (!text.includes('"requestState"')) throw new Error(text.slice(0, 500))
  free.push(connection)
}

/** Settles when the questions have expired, and one more call has removed them. */
async function settled(): Promise<void> {
  ahead += 2 * stateTtlMs
  await askedBack(0)
}

await soak({ runRequest: askedBack, concurrency, listeners, settled }, plan)
