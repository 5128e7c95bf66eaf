import { expect, vi } from 'vitest'
import type { Bench } from '../bench.ts'
import type { Offer } from '../offer.ts'
import type { ModelQuestion, TestClient } from '../test-client.ts'
import { type Case, calling, does, given } from './case.ts'

/** Questions to the client's model, and its folders. */
export function modelCases(offer: Offer): Case[] {
  return [
    ...given(offer.model, ({ call, asks, outcome }) => [
      does('samples with its model, with the content of the server', async (bench) => {
        const asked: ModelQuestion[] = []
        bench.answers.model = (question) => {
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
      does('samples with its model and tools', async (bench) => {
        const asked: (string[] | undefined)[] = []
        bench.answers.model = (question) => {
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
    ...given(offer.folders, folderCases),
  ]
}

const home = 'file:///home/ada'
const other = 'file:///tmp/a%20b'

function folderCases({ call, outcome, follows, existing }: NonNullable<Offer['folders']>): Case[] {
  const [first, second] = existing ?? [home, other]
  const opens = async (bench: Bench, client: TestClient, uris: readonly string[]): Promise<void> => {
    bench.answers.folders = uris.map((uri, at) => (at === 0 ? { uri, name: 'first' } : { uri }))
    if (follows || bench.revision < '2026-07-28') await client.rootsChanged()
    await vi.waitFor(async () => expect(await calling(client, call)).toMatchObject(outcome(uris)), {
      timeout: 5000,
    })
  }
  return [
    does('lists its roots', async (bench) => {
      await opens(bench, await bench.able(), [first, second])
    }),
    does(existing ? 'opens another folder later' : 'opens another folder later, and none', async (bench) => {
      const client = await bench.able()
      await opens(bench, client, [second])
      if (!existing) await opens(bench, client, [])
    }),
  ]
}
