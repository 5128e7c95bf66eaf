import {
  ask,
  type CreateMessageParams,
  defineServer,
  inputRequired,
  type Questions,
  tool,
} from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { liveInput } from '../../src/request/live-run.ts'
import { type eras, eras as everyEra, exchange, request, text } from './support.ts'

const base = { name: 'shop', version: '1.0.0' }
type Era = keyof typeof eras
const both: Era[] = ['live', 'replay']
const answer: Questions['sampling/createMessage']['answer'] = {
  role: 'assistant',
  model: 'm',
  content: { type: 'text', text: 'A' },
}
const messages: CreateMessageParams['messages'] = [{ role: 'user', content: { type: 'text', text: 'Hi' } }]

describe('the context of a sample', () => {
  const server = defineServer({
    ...base,
    tools: {
      sample: tool({
        run: async (_, ctx) => {
          await ctx.sample({ messages, maxTokens: 5, includeContext: 'thisServer' })
          await ctx.sample({ messages, maxTokens: 6, includeContext: 'none' })
          return ctx.can('sampling.context') ? 'with context' : 'without'
        },
      }),
      explicit: tool({
        run: (_, ctx) =>
          ctx.answers['q'] === undefined
            ? inputRequired({
                requests: { q: ask.sample({ messages, maxTokens: 5, includeContext: 'allServers' }) },
              })
            : 'done',
      }),
    },
  })

  test.each(both)('is not sent to a client that did not declare it (%s)', async (era) => {
    const asked: unknown[] = []
    const send = async (_: string, params: object) => {
      asked.push('includeContext' in params ? params.includeContext : undefined)
      return { ...answer }
    }
    const ran = await everyEra[era](server, 'tools/call', { name: 'sample' }, send)
    expect(text(ran)).toBe('without')
    expect(asked).toEqual([undefined, 'none'])
    await everyEra[era](server, 'tools/call', { name: 'explicit' }, send)
    expect(asked).toEqual([undefined, 'none', undefined])
  })

  test('is sent to a client that declared it', async () => {
    const asked: unknown[] = []
    const asking = liveInput(async (_, params) => {
      asked.push(params['includeContext'])
      return { ...answer }
    })
    const peer = { capabilities: { sampling: { context: {} } } }
    const result = await request(
      server,
      'tools/call',
      { name: 'sample' },
      { asking, peer, version: '2025-11-25' },
    )
    expect(text(result)).toBe('with context')
    expect(asked).toEqual(['thisServer', 'none'])
  })
})

test.each(both)('a model that uses tools without end is stopped after 20 rounds (%s)', async (era) => {
  const reports: string[] = []
  let asked = 0
  const server = defineServer({
    ...base,
    onError: (error) => reports.push(String(error)),
    tools: {
      agent: tool({
        run: async (_, ctx) => {
          const roles = [...messages]
          for (;;) {
            const tools = [{ name: 't', inputSchema: { type: 'object' as const } }]
            const { content } = await ctx.sample({ messages: roles, tools, maxTokens: 5 })
            roles.push({ role: 'assistant', content })
            const toolUseId = `u${roles.length}`
            roles.push({ role: 'user', content: [{ type: 'tool_result', toolUseId, content: [] }] })
          }
        },
      }),
    },
  })
  const sample = async (_: string, params: object) => {
    asked++
    const length = 'messages' in params && Array.isArray(params.messages) ? params.messages.length : 0
    return { ...answer, content: { type: 'tool_use', id: `u${length + 1}`, name: 't', input: {} } }
  }
  const run = async (): Promise<unknown> => {
    if (era === 'live') return everyEra.live(server, 'tools/call', { name: 'agent' }, sample)
    // One request after another, as a client would send them: more rounds than the others need.
    return everyEra.replay(server, 'tools/call', { name: 'agent' }, sample, 30)
  }
  expect(await run()).toHaveProperty('isError', true)
  expect(asked).toBe(21)
  expect(reports).toEqual([expect.stringContaining('let the model use tools more than 20 times in a row')])
})

describe('a form that asks for a secret', () => {
  const secret: [string, object][] = [
    ['a password by format', z.object({ answer: z.string().meta({ format: 'password' }) })],
    [
      'a password by format, in JSON Schema',
      { type: 'object', properties: { a: { type: 'string', format: 'password' } } },
    ],
    [
      'a member that is only written',
      { type: 'object', properties: { a: { type: 'string', writeOnly: true } } },
    ],
    ...[
      'password',
      'newPassword',
      'db_password',
      'api_key',
      'apiKey',
      'openaiApiKey',
      'accessToken',
      'token',
      'github-token',
      'clientSecret',
      'privateKey',
      'passphrase',
      'passwordConfirmation',
      'AWS_SECRET_ACCESS_KEY',
      'credentials',
    ].map((name): [string, object] => [name, z.object({ [name]: z.string() })]),
    ...[
      'Your password',
      'API key',
      'Enter your API key for Example',
      'Password (again)',
      'Personal access token',
      'GitHub token',
      'Please enter the password',
    ].map((title): [string, object] => [title, z.object({ answer: z.string().meta({ title }) })]),
  ]
  const harmless: [string, object][] = [
    ...[
      'tokenCount',
      'maxTokens',
      'max_token',
      'nextPageToken',
      'secretary',
      'passwordHint',
      'keyboard',
      'keys',
      'key',
      'tokens',
      'author',
      'passport',
      'tokenizer',
      'monkey',
      'secretSanta',
    ].map((name): [string, object] => [name, z.object({ [name]: z.string() })]),
    ...[
      'Maximum tokens',
      'Token limit',
      'Number of tokens',
      'Secret ingredient',
      'Which key does the song have?',
      'Forgot your password?',
    ].map((title): [string, object] => [title, z.object({ answer: z.string().meta({ title }) })]),
    ['a yes or no about a password', z.object({ resetPassword: z.boolean(), rememberPassword: z.boolean() })],
    ['a number of tokens', z.object({ token: z.number() })],
    ['a choice of tokens', z.object({ token: z.enum(['eth', 'btc']) })],
  ]

  async function outcome(schema: object, explicit: boolean): Promise<{ asked: boolean; report: string }> {
    let asked = false
    let report = ''
    const server = defineServer({
      ...base,
      onError: (error) => {
        report = String(error)
      },
      tools: {
        ask: tool({
          run: async (_, ctx) => {
            // The schemas of this test are of many types.
            const form = { message: 'Please', schema: schema as z.ZodObject }
            if (!explicit) await ctx.elicit(form)
            else if (ctx.answers['q'] === undefined)
              return inputRequired({ requests: { q: ask.elicit(form) } })
            return 'asked'
          },
        }),
      },
    })
    const asking = liveInput(async () => {
      asked = true
      return { action: 'decline' }
    })
    await server.handle(exchange('tools/call', { name: 'ask' }, { asking, version: '2025-11-25' }))
    return { asked, report }
  }

  test.each(secret)('is not sent: %s', async (_, schema) => {
    for (const explicit of [false, true]) {
      const { asked, report } = await outcome(schema, explicit)
      expect(asked).toBe(false)
      expect(report).toContain('asks for a secret')
      expect(report).toContain('ctx.elicitUrl')
    }
  })

  test.each(harmless)('is not considered one: %s', async (_, schema) => {
    expect(await outcome(schema, false)).toEqual({ asked: true, report: '' })
  })
})
