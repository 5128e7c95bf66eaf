import { expect, vi } from 'vitest'
import type { Offer } from '../offer.ts'
import { type Case, calling, does, failureOf, given } from './case.ts'

/** Resources, templates and subscriptions. */
export function resourceCases(offer: Offer): Case[] {
  return [
    ...given(offer.resources, ({ uris, reads, missing, shown }) => [
      does('lists resources', async (bench) => {
        const listed = await (await bench.able()).resources()
        expect(listed.map(({ uri }) => uri)).toEqual(expect.arrayContaining([...uris]))
        for (const { name } of listed) expect(name).not.toBe('')
      }),
      ...given(shown, ({ uri, as }) => [
        does('gets the description of a resource', async (bench) => {
          const listed = await (await bench.able()).resources()
          expect(listed.find((resource) => resource.uri === uri)).toMatchObject(as)
        }),
      ]),
      ...reads.map(({ kind, uri, contents }) => reading(kind, uri, contents)),
      ...given(missing, ({ uri, codes }) => [
        does('gets an error for an unknown resource', async (bench) => {
          const failed = await failureOf(bench, (await bench.able()).read(uri))
          expect(failed.kind).toBe('rpc')
          expect(codes).toContain(failed.code)
        }),
      ]),
    ]),
    ...given(offer.templates, ({ uriTemplate, reads }) => [
      does('lists resource templates', async (bench) => {
        const listed = await (await bench.able()).templates()
        expect(listed).toContainEqual(expect.objectContaining({ uriTemplate }))
      }),
      ...reads.map(({ kind, uri, contents }) => reading(kind, uri, contents)),
    ]),
    ...given(offer.subscribe, ({ uri, update }) => [
      does('is notified that a subscribed resource changed', async (bench) => {
        const client = await bench.able()
        const stop = await client.watch({ uris: [uri] })
        await calling(client, update)
        await vi.waitFor(() => expect(client.notifications.changes).toContain(uri), { timeout: 5000 })
        await stop()
      }),
      does('gets no notification after it unsubscribed', async (bench) => {
        const [client, other] = await Promise.all([bench.able(), bench.mute()])
        const stop = await client.watch({ uris: [uri] })
        await stop()
        const stopOther = await other.watch({ uris: [uri] })
        await calling(other, update)
        if ('command' in bench.address) await calling(client, update)
        await vi.waitFor(() => expect(other.notifications.changes).toContain(uri), { timeout: 5000 })
        await client.tools()
        expect(client.notifications.changes).toEqual([])
        await stopOther()
      }),
    ]),
  ]
}

function reading(kind: string, uri: string, contents: readonly object[]): Case {
  return does(`reads ${kind}`, async (bench) => {
    const read = await (await bench.able()).read(uri)
    expect(read).toHaveLength(contents.length)
    expect(read).toMatchObject(contents)
  })
}
