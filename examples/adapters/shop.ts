import assert from 'node:assert/strict'
import type { Server as HttpServer } from 'node:http'
import { defineServer, tool } from '@jackfield/sdk'
import { connect, type Fetch, http } from '@jackfield/sdk/client'
import { z } from 'zod'

// The server that every example of this folder serves, and the check that each of them runs.

/** A server with a tool that reports progress and asks before it acts. */
export const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: {
    refund: tool({
      description: 'Refund an order',
      input: z.object({ order: z.string() }),
      async run({ order }, ctx) {
        ctx.progress(1, 2, 'order found')
        const sure = await ctx.elicit({ message: `Refund ${order}?`, schema: z.object({ ok: z.boolean() }) })
        return sure.action === 'accept' && sure.content.ok ? `Refunded ${order}.` : 'Nothing was refunded.'
      },
    }),
  },
})

/** Encrypts `requestState`. Load your key from your secret store; it is the same on every node. */
export const keys: readonly Uint8Array[] = [crypto.getRandomValues(new Uint8Array(32))]

/** Calls the tool on both eras. */
export async function check(url: string, fetch?: Fetch): Promise<void> {
  for (const revision of ['2026-07-28', '2025-11-25'] as const) {
    const client = await connect(http(url, fetch && { fetch }), {
      revisions: [revision],
      onElicit: () => ({ action: 'accept', content: { ok: true } }),
    })
    const received: (string | undefined)[] = []
    const { content } = await client.call(
      'refund',
      { order: '42' },
      { onProgress: ({ message }) => received.push(message) },
    )
    assert.deepEqual(content, [{ type: 'text', text: 'Refunded 42.' }])
    assert.ok(received.includes('order found'))
    await client.close()
    console.log(`${revision}: Refunded 42.`)
  }
}

/** The same for a listening server, which is closed afterwards. */
export async function checkListening(listening: HttpServer, path: string): Promise<void> {
  const address = listening.address()
  assert.ok(typeof address === 'object' && address !== null)
  await check(`http://127.0.0.1:${address.port}${path}`)
  listening.close()
  listening.closeAllConnections()
}
