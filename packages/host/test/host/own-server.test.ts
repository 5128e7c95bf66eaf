import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { scripted, started, textOf, until } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const cli = { caller: 'cli' } as const
const rules = [{ id: 'all', verdict: 'allow' as const }]

async function shop() {
  const steps: string[] = []
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: {
      refund: tool({
        description: 'Refunds an order',
        input: z.object({ order: z.string() }),
        async run({ order }, ctx) {
          const sure = await ctx.elicit({
            message: `Refund ${order}?`,
            schema: z.object({ ok: z.boolean() }),
          })
          if (sure.action !== 'accept' || !sure.content.ok) return 'Kept.'
          await ctx.step('refund', () => {
            steps.push(order)
            return 'done'
          })
          const note = await ctx.sample({
            messages: [{ role: 'user', content: { type: 'text', text: `Apologise for ${order}` } }],
            maxTokens: 30,
          })
          const { content } = note
          return Array.isArray(content) || content.type !== 'text' ? 'Refunded.' : `Refunded: ${content.text}`
        },
      }),
    },
  })
  const listener = await serveHttp(server, { keys: ['k'.repeat(32)] }).listen()
  onTestFinished(() => listener.close())
  return { server, url: listener.url, steps }
}

it('a handler that asks twice gets both answers from the user, and its step runs once', async () => {
  const { url, steps } = await shop()
  const surface = person({
    elicitation: () => ({ action: 'accept', content: { ok: true } }),
    'sampling-request': () => ({ verdict: 'allow' }),
    'sampling-result': ({ result }) => ({
      verdict: 'allow',
      result: { ...result, content: { type: 'text', text: 'We are sorry.' } },
    }),
  })
  const host = await started({ servers: { shop: { url } }, rules, surface, models: [scripted('m', 'meh')] })
  const call = await host.call('shop__refund', { order: 'A-1' }, cli)
  expect(textOf(call)).toBe('Refunded: We are sorry.')
  expect(steps).toEqual(['A-1'])
  expect(surface.asked.map(({ kind, cause }) => [kind, cause.tool, cause.arguments])).toEqual([
    ['elicitation', 'refund', { order: 'A-1' }],
    ['sampling-request', 'refund', { order: 'A-1' }],
    ['sampling-result', 'refund', { order: 'A-1' }],
  ])
  const rows = host.activity()
  expect(rows.filter((row) => row.cause === call.activity).map((row) => row.kind)).toEqual([
    'elicitation',
    'sampling',
  ])
})

it.each<[string, Parameters<typeof person>[0], string]>([
  ['declines', { elicitation: () => ({ action: 'decline' }) }, 'Kept.'],
  [
    'cannot be shown the form',
    { elicitation: () => Promise.reject(new Error('gone')) },
    'could not be shown',
  ],
  ['is not there', {}, 'elicitation'],
])('nothing happens when the user %s', async (_how, manners, expected) => {
  const { url, steps } = await shop()
  const host = await started({ servers: { shop: { url } }, rules, surface: person(manners) })
  const call = await host.call('shop__refund', { order: 'A-1' }, cli)
  expect(textOf(call)).toContain(expected)
  expect(steps).toEqual([])
})

it('the catalog follows a server that changes', async () => {
  const { url, server } = await shop()
  const host = await started({ servers: { shop: { url } } })
  server.add({ tools: { track: tool({ description: 'Tracks', run: () => 'on its way' }) } })
  await until(() => host.trust.server('shop').items.some(({ name }) => name === 'track'), 'added')
  host.trust.accept('shop')
  expect(host.tools().map(({ name }) => name)).toContain('shop__track')
  server.remove({ tools: ['refund'] })
  await until(() => host.tools().length === 1, 'removed')
})
