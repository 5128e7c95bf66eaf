import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/reader.ts'
import { session, started, textOf, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const chat = { caller: 'chat' } as const
const allow = { id: 'all', verdict: 'allow' as const }
const deny = { id: 'none', verdict: 'deny' as const, tool: '*' }

async function oneTool(host: Watched): Promise<string> {
  const [tool] = host.tools()
  if (tool === undefined) throw new Error('there is no tool')
  return tool.name
}

describe('reloaded rules', () => {
  it('apply from then on, without restarting a server, with an event and a row', async () => {
    const servers = { s: session().config }
    const host = await started({ servers, rules: [allow] })
    const tool = await oneTool(host)
    expect(await host.call(tool, { text: 'x' }, chat)).toMatchObject({ denied: false })
    host.events.length = 0

    const done = await host.reconfigure(servers, { rules: [deny], defaultVerdict: 'allow' })
    expect(done).toEqual({ added: [], removed: [], changed: [] })
    expect(host.events.filter(({ type }) => type === 'policy')).toHaveLength(1)
    expect(host.activity({ kind: 'approval' })).toMatchObject([
      { outcome: 'changed', detail: { rules: [{ id: 'none' }], defaultVerdict: 'allow' } },
    ])
    expect([host.policy.rules(), host.policy.defaultVerdict]).toMatchObject([[{ id: 'none' }], 'allow'])
    expect(host.policy.explain(tool, {}).decision).toMatchObject({ verdict: 'deny', rule: 'none' })
    expect(await host.call(tool, { text: 'x' }, chat)).toMatchObject({
      denied: true,
      decision: { rule: 'none' },
    })

    host.events.length = 0
    await host.reconfigure(servers, { rules: [deny], defaultVerdict: 'allow' })
    await host.reconfigure(servers)
    expect(host.events.filter(({ type }) => type === 'policy')).toEqual([])
    expect(await host.call(tool, { text: 'x' }, chat)).toMatchObject({ denied: true })
  })

  it('apply to a call that waits for its answer', async () => {
    const { config, ran } = session()
    const servers = { s: config }
    const surface = person({
      approval: async () => {
        await host.reconfigure(servers, { rules: [deny] })
        return { verdict: 'allow' }
      },
    })
    const host: Watched = await started({ servers, surface })
    const call = await host.call(await oneTool(host), { text: 'x' }, chat)
    expect(call).toMatchObject({ denied: true })
    expect(textOf(call)).toContain('rule "none" forbids it')
    expect(ran()).toEqual([])
  })

  it('keep grants', async () => {
    const servers = { s: session().config }
    const surface = person({ approval: () => ({ verdict: 'allow', remember: { scope: 'always' } }) })
    const host = await started({ servers, surface })
    const tool = await oneTool(host)
    await host.call(tool, { text: 'x' }, chat)
    await host.reconfigure(servers, { rules: [{ id: 'other', verdict: 'deny', server: 'nobody' }] })
    await host.call(tool, { text: 'x' }, chat)
    expect(surface.asked).toHaveLength(1)
  })

  it('that are invalid change nothing', async () => {
    const servers = { s: session().config }
    const host = await started({ servers, rules: [deny] })
    const broken = { id: 'bad', verdict: 'ask' as const, arguments: [{ at: 'no pointer', equals: 1 }] }
    await expect(host.reconfigure({}, { rules: [broken] })).rejects.toThrow('The rule "bad" is invalid')
    expect(host.policy.rules()).toMatchObject([{ id: 'none' }])
    expect(host.connections.get('s')).toMatchObject({ state: 'ready' })
    expect(await host.call(await oneTool(host), { text: 'x' }, chat)).toMatchObject({ denied: true })
  })

  it('are rejected with file and line of the error', () => {
    const text =
      '{\n  "mcpServers": {},\n  "jackfield": {\n    "rules": [\n      { "verdict": "perhaps" }\n    ]\n  }\n}'
    let error: unknown
    try {
      parseConfig(text, { file: '/home/me/jackfield.json', env: {} })
    } catch (reason) {
      error = reason
    }
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /^\/home\/me\/jackfield\.json: .*line 5: jackfield\.rules\[0\]\.verdict/,
      ),
      problems: [{ line: 5 }],
    })
  })
})
