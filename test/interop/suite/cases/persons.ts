import { expect, vi } from 'vitest'
import type { Offer } from '../offer.ts'
import type { PersonQuestion } from '../test-client.ts'
import { type Case, calling, does, expectRefusal, failureOf, given, textOf } from './case.ts'
import type { Setting } from './index.ts'

const refusals = ['decline', 'cancel'] as const

/** Questions to the person: forms and URLs. */
export function personCases(offer: Offer, _setting: Setting): Case[] {
  return [
    ...given(offer.form, formCases),
    ...given(offer.choices, ({ call, accept, properties, outcome }) => [
      does('shows a form with every kind of field, and sends the chosen values', async (bench) => {
        const asked: PersonQuestion[] = []
        bench.answers.person = (question) => {
          asked.push(question)
          return { action: 'accept', content: accept }
        }
        const result = await calling(await bench.able(), call)
        expect(asked).toMatchObject([{ requestedSchema: { properties } }])
        expect(result).toMatchObject(outcome)
      }),
    ]),
    ...given(offer.explicit, ({ call, accept, text }) => [
      does('returns the state together with its answer', async (bench) => {
        bench.answers.person = () => ({ action: 'accept', content: accept })
        expect(textOf(await calling(await bench.able(), call))).toBe(text)
      }),
    ]),
    ...given(offer.twice, ({ call }) => [
      does('answers one question after the other', async (bench) => {
        const asked: string[] = []
        bench.answers.person = ({ message }) => {
          asked.push(message)
          return {
            action: 'accept',
            content: message.includes('name') ? { name: 'Ada' } : { color: 'blue' },
          }
        }
        expect(textOf(await calling(await bench.able(), call))).toBe('Ada likes blue')
        expect(asked).toHaveLength(2)
      }),
      does('separates the questions of concurrent calls', async (bench) => {
        bench.answers.person = ({ message }) => ({
          action: 'accept',
          content: message.includes('name') ? { name: 'Ada' } : { color: 'green' },
        })
        const client = await bench.able()
        const results = await Promise.all([1, 2, 3].map(() => calling(client, call)))
        expect(results.map(textOf)).toEqual(['Ada likes green', 'Ada likes green', 'Ada likes green'])
      }),
    ]),
    ...given(offer.together, ({ call }) => [
      does('answers a person, a model and a list of folders in one turn', async (bench) => {
        bench.answers.person = () => ({ action: 'accept', content: { name: 'Ada' } })
        bench.answers.model = () => ({
          role: 'assistant',
          model: 'm',
          stopReason: 'endTurn',
          content: { type: 'text', text: 'Welcome' },
        })
        bench.answers.folders = [{ uri: 'file:///home/ada', name: 'home' }]
        expect(textOf(await calling(await bench.able(), call))).toBe('Welcome Ada, 1 folders')
      }),
    ]),
    ...given(offer.urlElicitation, ({ call, url, outcome }) => [
      ...(['accept', ...refusals] as const).map((action) =>
        does(`is asked to visit a URL, with the answer ${action}`, async (bench) => {
          const asked: PersonQuestion[] = []
          bench.answers.person = (question) => {
            asked.push(question)
            return { action }
          }
          const result = await calling(await bench.able(), call)
          expect(asked).toMatchObject([{ mode: 'url', url }])
          expect(result).toMatchObject(outcome(action))
        }),
      ),
    ]),
    ...given(offer.urlElicitationRequired, ({ call, url }) => [
      does('gets an error for a call that requires a URL first, with the URL', async (bench) => {
        const failed = await failureOf(bench, calling(await bench.able(), call))
        expect(failed).toMatchObject({
          kind: 'rpc',
          code: -32042,
          data: { elicitations: [{ mode: 'url', url }] },
        })
      }),
    ]),
    ...given(offer.urlElicitationComplete, ({ call }) => [
      does('is notified that a URL elicitation is complete', async (bench) => {
        const client = await bench.able()
        bench.answers.person = () => ({ action: 'accept' })
        const id = textOf(await calling(client, call))
        await vi.waitFor(() => expect(client.notifications.completed).toEqual([id]), { timeout: 5000 })
      }),
    ]),
    ...given(offer.promptAsks, ({ name, accept, outcome }) => [
      does('gets a prompt that requires input', async (bench) => {
        bench.answers.person = () => ({ action: 'accept', content: accept })
        expect(await (await bench.able()).prompt(name)).toMatchObject([outcome])
      }),
    ]),
    ...given(offer.cannotAsk, ({ call, refusal }) => [
      does('gets no request that it cannot answer', async (bench) => {
        await expectRefusal(bench, refusal, calling(await bench.mute(), call))
      }),
    ]),
  ]
}

function formCases({ call, accept, shows, outcome }: NonNullable<Offer['form']>): Case[] {
  return [
    does('shows a form and sends its values', async (bench) => {
      const asked: PersonQuestion[] = []
      bench.answers.person = (question) => {
        asked.push(question)
        return { action: 'accept', content: accept }
      }
      expect(await calling(await bench.able(), call)).toMatchObject(outcome('accept'))
      expect(asked).toMatchObject(shows)
    }),
    ...refusals.map((action) =>
      does(`has its ${action} understood`, async (bench) => {
        bench.answers.person = () => ({ action })
        expect(await calling(await bench.able(), call)).toMatchObject(outcome(action))
      }),
    ),
  ]
}
