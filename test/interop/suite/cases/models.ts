import { expect, vi } from 'vitest'
import type { ModelQuestion } from '../guest.ts'
import type { Offer } from '../offer.ts'
import { type Case, calling, does, given } from './case.ts'

/** Questions to the client's model, and its folders. */
export function modelCases(offer: Offer): Case[] {
  return [
    ...given(offer.model, ({ call, asks, outcome }) => [
      does('lends its model, which sees what the server asks for', async (bench) => {
        const asked: ModelQuestion[] = []
        bench.desk.model = (question) => {
          asked.push(question)
          return {
            role: 'assistant',
            model: 'm1',
            stopReason: 'endTurn',
            content: { type: 'text', text: 'Earl Grey ☕' },
          }
        }
        expect(await calling(await bench.able(), call)).toMatchObject(outcome('Earl Grey ☕'))
        expect(asked).toMatchObject([asks])
      }),
    ]),
    ...given(offer.modelTools, ({ call, tools, outcome }) => [
      does('lends its model with tools', async (bench) => {
        const asked: (string[] | undefined)[] = []
        bench.desk.model = (question) => {
          asked.push(question.tools?.map(({ name }) => name))
          return {
            role: 'assistant',
            model: 'm1',
            stopReason: 'toolUse',
            content: [{ type: 'tool_use', id: 'use-1', name: 'brew', input: { cups: 2 } }],
          }
        }
        expect(await calling(await bench.able(), call)).toMatchObject(outcome)
        expect(asked).toEqual([tools])
      }),
    ]),
    ...given(offer.folders, ({ call, outcome, follows }) => [
      does('opens its folders', async (bench) => {
        const guest = await bench.able()
        bench.desk.folders = [{ uri: 'file:///home/ada', name: 'home' }, { uri: 'file:///tmp/a%20b' }]
        if (follows) await guest.rootsChanged()
        await vi.waitFor(
          async () =>
            expect(await calling(guest, call)).toMatchObject(
              outcome(['file:///home/ada', 'file:///tmp/a%20b']),
            ),
          { timeout: 5000 },
        )
      }),
      does('opens other folders later, and none', async (bench) => {
        const guest = await bench.able()
        for (const uris of [['file:///srv/one'], []]) {
          bench.desk.folders = uris.map((uri) => ({ uri }))
          if (bench.revision < '2026-07-28') await guest.rootsChanged()
          await vi.waitFor(async () => expect(await calling(guest, call)).toMatchObject(outcome(uris)), {
            timeout: 5000,
          })
        }
      }),
    ]),
  ]
}
