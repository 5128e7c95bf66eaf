import { expect, vi } from 'vitest'
import type { Offer } from '../offer.ts'
import { type Case, calling, does, given } from './case.ts'

/** Lists that change while a client is connected. */
export function changeCases({ changes = {} }: Offer): Case[] {
  return [
    ...given(changes.tools, ({ call, name, undo }) => [
      does('is notified of changed tools, and lists the new ones', async (bench) => {
        const guest = await bench.able()
        await guest.tools()
        const stop = await guest.watch({ tools: true })
        await calling(guest, call)
        await vi.waitFor(() => expect(guest.notifications.changes).toContain('tools'), { timeout: 5000 })
        expect((await guest.tools()).map((tool) => tool.name)).toContain(name)
        if (undo) {
          await calling(guest, undo)
          await vi.waitFor(async () =>
            expect((await guest.tools()).map((tool) => tool.name)).not.toContain(name),
          )
        }
        await stop()
      }),
    ]),
    ...given(changes.prompts, ({ call, name }) => [
      does('is notified of changed prompts, and lists the new ones', async (bench) => {
        const guest = await bench.able()
        await guest.prompts()
        const stop = await guest.watch({ prompts: true })
        await calling(guest, call)
        await vi.waitFor(() => expect(guest.notifications.changes).toContain('prompts'), { timeout: 5000 })
        expect((await guest.prompts()).map((prompt) => prompt.name)).toContain(name)
        await stop()
      }),
    ]),
    ...given(changes.resources, ({ call, uri }) => [
      does('is notified of changed resources, and lists the new ones', async (bench) => {
        const guest = await bench.able()
        await guest.resources()
        const stop = await guest.watch({ resources: true })
        await calling(guest, call)
        await vi.waitFor(() => expect(guest.notifications.changes).toContain('resources'), { timeout: 5000 })
        expect((await guest.resources()).map((resource) => resource.uri)).toContain(uri)
        await stop()
      }),
    ]),
  ]
}
