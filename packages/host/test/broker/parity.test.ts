import { expect, it } from 'vitest'
import { createConversation } from '../../src/models/agent/index.ts'
import type { Host, PolicyRule } from '../../src/types/index.ts'
import { scriptedModel, textReply, uses } from '../agent/host.ts'
import { session, started } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const rules: PolicyRule[] = [
  { id: 'looking', verdict: 'allow', tool: 'look' },
  { id: 'no pids', verdict: 'deny', tool: 'pid' },
]
const tools = ['look', 'pid', 'echo', 'client']
const args = { text: 'x' }

/** Makes the four calls in one way. */
type Way = (host: Host) => Promise<void>

const ways: Record<string, Way> = {
  conversation: async (host) => {
    const model = scriptedModel(
      uses('', ...tools.map((tool): [string, Record<string, unknown>] => [`s__${tool}`, args])),
      textReply('done'),
    )
    await createConversation({ host, model }).say('go')
  },
  program: async (host) => {
    const calls = tools.map((tool) => `await s.${tool}(${JSON.stringify(args)}).catch(() => {})`)
    const run = await host.code.run(`const { s } = servers\n${calls.join('\n')}`)
    expect(run.outcome).toBe('ok')
  },
  app: async (host) => {
    for (const tool of tools) await host.call(`s__${tool}`, args, { caller: 'app' })
  },
  'tool of a sampling request': async (host) => {
    for (const tool of tools) await host.call(`s__${tool}`, args, { caller: 'sampling' })
  },
  'command line': async (host) => {
    for (const tool of tools) await host.call(`s__${tool}`, args, { caller: 'cli' })
  },
  'client of the gateway': async (host) => {
    for (const tool of tools) await host.call(`s__${tool}`, args, { caller: 'gateway' })
  },
}

it('a call has the same verdict, effect and rows for every kind of caller', async () => {
  const recorded: Record<string, unknown> = {}
  for (const [name, way] of Object.entries(ways)) {
    const { config, ran } = session()
    const surface = person({
      approval: ({ cause }) =>
        cause.tool === 'echo' ? { verdict: 'allow' } : { verdict: 'deny', reason: 'no' },
    })
    const host = await started({ servers: { s: config }, surface, rules })
    await way(host)
    const rows = host
      .activity()
      .filter(({ kind }) => kind === 'call' || kind === 'approval')
      .map(({ kind, server, summary, outcome, detail }) => {
        const { decision, arguments: sent, rule, author } = detail
        return { kind, server, summary, outcome, decision, sent, rule, author }
      })
    recorded[name] = { rows, ran: ran(), asked: surface.asked.length }
  }
  const { conversation, ...others } = recorded
  expect(conversation).toMatchObject({
    rows: [
      {
        kind: 'call',
        outcome: 'ok',
        decision: { verdict: 'allow', rule: 'looking', author: 'this program' },
      },
      { kind: 'call', outcome: 'denied', decision: { verdict: 'deny', rule: 'no pids' } },
      { kind: 'call', outcome: 'ok', decision: { verdict: 'ask', rule: 'default' } },
      { kind: 'approval', outcome: 'allowed', rule: 'default', author: 'Jackfield' },
      { kind: 'call', outcome: 'denied' },
      { kind: 'approval', outcome: 'denied' },
    ],
    ran: [
      ['look', null],
      ['echo', args],
    ],
    asked: 2,
  })
  for (const [name, other] of Object.entries(others)) expect(other, name).toEqual(conversation)
})
