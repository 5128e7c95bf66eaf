import { expect, vi } from 'vitest'
import type { Offer } from '../offer.ts'
import { type Case, calling, does, given } from './case.ts'

/** Lists that change while a client is connected. */
export function changeCases({ changes = {} }: Offer): Case[] {
  return [
    ...given(changes.tools, ({ call, name, undo }) => [
      does('is notified of changed tools, and lists the new ones', async (bench) => {
        const client = await bench.able()
        await client.tools()
        const stop = await client.watch({ tools: true })
        await calling(client, call)
        await vi.waitFor(() => expect(client.notifications.changes).toContain('tools'), { timeout: 5000 })
        expect((await client.tools()).map((tool) => tool.name)).toContain(name)
        if (undo) {
          await calling(client, undo)
          await vi.waitFor(async () =>
            expect((await client.tools()).map((tool) => tool.name)).not.toContain(name),
          )
        }
        await stop()
      }),
    ]),
    ...given(changes.prompts, ({ call, name }) => [
      does('is notified of changed prompts, and lists the new ones', async (bench) => {
        const client = await bench.able()
        await client.prompts()
        const stop = await client.watch({ prompts: true })
        await calling(client, call)
        await vi.waitFor(() => expect(client.notifications.changes).toContain('prompts'), { timeout: 5000 })
        expect((await client.prompts()).map((prompt) => prompt.name)).toContain(name)
        await stop()
      }),
    ]),
    ...given(changes.resources, ({ call, uri }) => [
      does('is notified of changed resources, and lists the new ones', async (bench) => {
        const client = await bench.able()
        await client.resources()
        const stop = await client.watch({ resources: true })
        await calling(client, call)
        await vi.waitFor(() => expect(client.notifications.changes).toContain('resources'), { timeout: 5000 })
        expect((await client.resources()).map((resource) => resource.uri)).toContain(uri)
        await stop()
      }),
    ]),
  ]
}
