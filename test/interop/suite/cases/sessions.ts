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
        const guest = await bench.able()
        const results = await Promise.all([1, 2, 3].map(() => calling(guest, call)))
        expect(results.map(textOf)).toEqual([text, text, text])
        expect(bench.tapOf(guest).resumed).toBeGreaterThanOrEqual(3)
      }),
    ]),
    ...(kind.ours ? given(offer.forgetSessions, (call) => renewalCases(offer, call)) : []),
  ]
}

function renewalCases(offer: Offer, forget: NonNullable<Offer['forgetSessions']>): Case[] {
  return [
    does('starts a new session if the server lost the old one', async (bench) => {
      const guest = await bench.open()
      await calling(guest, forget)
      expect((await guest.tools()).map(({ name }) => name)).toEqual(expect.arrayContaining([...offer.tools]))
      await expect(Promise.all([guest.ping(), guest.ping(), guest.ping()])).resolves.toBeDefined()
      expect(bench.tapOf(guest).asked.get('initialize')).toBe(2)
    }),
    ...given(offer.form, ({ call, accept, outcome }) => [
      does('answers input requests in the new session too', async (bench) => {
        const guest = await bench.open()
        bench.answers.person = () => ({ action: 'accept', content: accept })
        await calling(guest, forget)
        expect(await calling(guest, call)).toMatchObject(outcome('accept'))
        expect(bench.tapOf(guest).asked.get('initialize')).toBe(2)
      }),
    ]),
    ...given(offer.changes?.tools, ({ call }) => [
      does('stays subscribed in the new session', async (bench) => {
        const guest = await bench.open()
        const stop = await guest.watch({ tools: true })
        await calling(guest, forget)
        await guest.ping()
        guest.notifications.changes.length = 0
        await calling(guest, call)
        await vi.waitFor(() => expect(guest.notifications.changes).toContain('tools'), { timeout: 5000 })
        await stop()
      }),
    ]),
  ]
}
