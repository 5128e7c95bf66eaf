import { defineServer, tool } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { child } from './support/child.ts'

const circular: { self?: unknown } = {}
circular.self = { again: circular }
const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: {
    add: tool({ input: { type: 'object' }, run: () => 'added' }),
    ask: tool({
      run: async (_, ctx) => {
        const { model } = await ctx.sample({
          messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
          maxTokens: 5,
        })
        return model
      },
    }),
  },
})
const childCode = `each((message) => {
  if (message.method === 'server/discover') modern(message)
  if (message.method === 'tools/call') send({ id: message.id, result: done('added') })
})`

/** What to connect to, over each kind of transport. */
const targets = {
  memory: async () => server,
  stdio: async () => child(childCode),
  http: async () => {
    const handler = serveHttp(server, { onWarning: () => {} })
    onTestFinished(() => handler.close())
    return (await handler.listen()).url
  },
}

describe.each(Object.entries(targets))('arguments that JSON cannot carry (%s)', (_, target) => {
  it.each<[string, Record<string, unknown>, string]>([
    ['a BigInt', { items: [{ id: 1n }] }, '"arguments.items[0].id" is a BigInt'],
    [
      'a circular value',
      { circular },
      '"arguments.circular.self.again" is a reference to an object that contains it',
    ],
  ])('are rejected before anything is sent, with their path: %s', async (_, args, why) => {
    const client = await connect(await target())
    onTestFinished(() => client.close())
    await expect(client.call('add', args)).rejects.toMatchObject({
      name: 'McpError',
      code: 'INVALID',
      message: expect.stringContaining(why),
    })
    await expect(client.call('add', {}, { meta: { id: 1n } })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('"_meta.id" is a BigInt'),
    })
    expect(await client.call('add', { fine: true })).toMatchObject({ content: [{ text: 'added' }] })
  })
})

describe.each(['2025-11-25', '2026-07-28'] as const)(
  'a handler response that JSON cannot represent (%s)',
  (revision) => {
    it('fails its call without delay', async () => {
      const warnings: string[] = []
      const client = await connect(server, {
        revisions: [revision],
        onWarning: (text) => warnings.push(text),
        onSample: () => ({
          role: 'assistant',
          model: 'm',
          content: { type: 'text', text: 'A', _meta: { n: 1n } },
        }),
      })
      onTestFinished(() => client.close())
      const ended = await client.call('ask').catch((error: unknown) => error)
      if (revision === '2025-11-25') {
        expect(ended).toHaveProperty('isError', true)
        expect(warnings).toContainEqual(expect.stringContaining('"content._meta.n" is a BigInt'))
      } else {
        expect(ended).toMatchObject({
          code: 'INVALID',
          message: expect.stringContaining('"content._meta.n" is a BigInt'),
        })
      }
    })
  },
)
