import { expect, vi } from 'vitest'
import type { Offer } from '../offer.ts'
import { type Case, calling, does, given, textOf } from './case.ts'
import type { Setting } from './index.ts'

/** Sessions over HTTP: streams that end early, and sessions the server forgot. */
export function sessionCases(offer: Offer, { kind, transport }: Setting): Case[] {
  if (transport !== 'http') return []
  return [
    ...given(offer.letGo, ({ call, text }) => [
      does('fetches responses whose streams the server released, three at once', async (bench) => {
        const client = await bench.able()
        const results = await Promise.all([1, 2, 3].map(() => calling(client, call)))
        expect(results.map(textOf)).toEqual([text, text, text])
        expect(bench.tapOf(client).resumed).toBeGreaterThanOrEqual(3)
      }),
    ]),
    ...(kind.ours ? given(offer.forgetSessions, (call) => renewalCases(offer, call)) : []),
  ]
}

function renewalCases(offer: Offer, forget: NonNullable<Offer['forgetSessions']>): Case[] {
  return [
    does('starts a new session if the server lost the old one', async (bench) => {
      const client = await bench.open()
      await calling(client, forget)
      expect((await client.tools()).map(({ name }) => name)).toEqual(expect.arrayContaining([...offer.tools]))
      await expect(Promise.all([client.ping(), client.ping(), client.ping()])).resolves.toBeDefined()
      expect(bench.tapOf(client).asked.get('initialize')).toBe(2)
    }),
    ...given(offer.form, ({ call, accept, outcome }) => [
      does('answers input requests in the new session too', async (bench) => {
        const client = await bench.open()
        bench.answers.person = () => ({ action: 'accept', content: accept })
        await calling(client, forget)
        expect(await calling(client, call)).toMatchObject(outcome('accept'))
        expect(bench.tapOf(client).asked.get('initialize')).toBe(2)
      }),
    ]),
    ...given(offer.changes?.tools, ({ call }) => [
      does('stays subscribed in the new session', async (bench) => {
        const client = await bench.open()
        const stop = await client.watch({ tools: true })
        await calling(client, forget)
        await client.ping()
        client.notifications.changes.length = 0
        await calling(client, call)
        await vi.waitFor(() => expect(client.notifications.changes).toContain('tools'), { timeout: 5000 })
        await stop()
      }),
    ]),
  ]
}
