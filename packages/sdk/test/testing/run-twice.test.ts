import { ask, defineServer, inputRequired, tool } from '@jackfield/sdk'
import { runTwice } from '@jackfield/sdk/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const done: string[] = []
const counts = { mails: 0 }
const schema = z.object({ ok: z.boolean() })

const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  onError: () => {},
  tools: {
    careful: tool({
      description: 'Keeps its effects in steps and after its questions',
      async run(_, ctx) {
        await ctx.step('reserve', () => done.push('reserved'))
        const first = await ctx.elicit({ message: 'Sure?', schema })
        const second = await ctx.elicit({ message: 'Really?', schema })
        done.push('bought')
        return `${first.action} ${second.action}`
      },
    }),
    careless: tool({
      description: 'Reserves and mails before it asks',
      async run(_, ctx) {
        done.push('reserved')
        counts.mails++
        await ctx.elicit({ message: 'Sure?', schema })
        return 'ok'
      },
    }),
    hasty: tool({
      description: 'Goes on without an answer',
      run(_, ctx) {
        if (ctx.state === undefined) {
          const form = { type: 'object' as const, properties: { ok: { type: 'boolean' as const } } }
          return inputRequired({ requests: { q: ask.elicit({ message: 'Sure?', schema: form }) }, state: 1 })
        }
        return `bought, answer: ${JSON.stringify(ctx.answers['q'])}`
      },
    }),
    plain: tool({
      description: 'Asks nothing',
      run: () => {
        done.push('plain')
        return 'ok'
      },
    }),
  },
})

const onElicit = () => ({ action: 'accept' as const, content: { ok: true } })
const effects = () => ({ done, counts })

describe('runTwice', () => {
  it('reports nothing if effects are in steps or after the last question', async () => {
    const { once, again, differences } = await runTwice(server, { tool: 'careful', effects, onElicit })
    expect(differences).toEqual([])
    expect(once).toMatchObject({ revision: '2025-11-25', effects: { done: ['reserved', 'bought'] } })
    expect(again).toMatchObject({
      revision: '2026-07-28',
      result: { content: [{ text: 'accept accept' }] },
      effects: { done: ['reserved', 'bought'] },
    })
  })

  it('names the repeated effects', async () => {
    const { again, differences } = await runTwice(server, { tool: 'careless', effects, onElicit })
    expect(again.effects).toMatchObject({ done: ['reserved', 'reserved', 'reserved'], counts: { mails: 3 } })
    expect(differences).toEqual([
      'effects.done: happened again when the handler ran again: "reserved"',
      'effects.done: happened again when the handler ran again: "reserved"',
      'effects.counts.mails: 1 on a session, 3 when the handler ran again',
    ])
  })

  it('reports a handler that continues without its answer', async () => {
    const { differences } = await runTwice(server, { tool: 'hasty', effects, onElicit })
    expect(differences.join()).toMatch(/result/)
  })

  it('reports nothing for a tool without questions', async () => {
    const { differences, again } = await runTwice(server, { tool: 'plain', effects })
    expect(differences).toEqual([])
    expect(again.effects).toMatchObject({ done: ['plain'] })
  })
})
