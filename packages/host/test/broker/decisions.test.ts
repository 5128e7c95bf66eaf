// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so in configurations.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { callers } from '../../src/config/rule.ts'
import type { Caller, PolicyRule } from '../../src/types/index.ts'
import { folder, hostOf, returned, session, started, textOf } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { chat, rule } from './rules.ts'

describe('edited arguments', () => {
  it("are validated with the tool's schema, and asked about again until they match", async () => {
    const { config, ran } = session()
    const edits = [{ text: 5 }, {}, { text: 'fits' }]
    const surface = person({
      approval: () => ({ verdict: 'allow', arguments: edits.shift() ?? {}, remember: { scope: 'always' } }),
    })
    const host = await started({ servers: { s: config }, surface })
    const call = await host.call('s__echo', { text: 'first' }, chat)
    expect(call.edited).toEqual({ text: 'fits' })
    expect(ran()).toEqual([['echo', { text: 'fits' }]])
    expect(surface.asked).toMatchObject([
      { arguments: { text: 'first' } },
      { arguments: { text: 5 }, problem: expect.stringContaining('/text must be') },
      { arguments: {}, problem: expect.stringContaining('text') },
    ])
    expect(surface.asked[0]).not.toHaveProperty('problem')
    expect(host.activity({ kind: 'approval' })).toMatchObject([
      { outcome: 'allowed', detail: { edited: true, sent: { text: 'fits' } } },
    ])
    expect(host.policy.grants()).toHaveLength(1)
  })

  it('that never match are not sent', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => ({ verdict: 'allow', arguments: {} }) })
    const host = await started({ servers: { s: config }, surface })
    const call = await host.call('s__echo', { text: 'x' }, chat)
    expect(call).toMatchObject({ denied: true, result: { isError: true } })
    expect(textOf(call)).toContain('do not fit the tool')
    expect(surface.asked).toHaveLength(5)
    expect(ran()).toEqual([])
  })

  it('that a rule forbids are not sent, whoever wrote them', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => ({ verdict: 'allow', arguments: { text: '/etc/passwd' } }) })
    const forbidden = rule('deny', { id: 'not there', arguments: [{ at: '/text', glob: '/etc/*' }] })
    const host = await started({ servers: { s: config }, surface, rules: [rule('ask'), forbidden] })
    const call = await host.call('s__echo', { text: 'x' }, chat)
    expect(call).toMatchObject({ denied: true, result: { isError: true } })
    expect(textOf(call)).toContain('rule "not there" forbids it')
    expect(ran()).toEqual([])
  })

  it('that do not match can still be refused', async () => {
    const { config, ran } = session()
    const surface = person({
      approval: ({ problem }) =>
        problem === undefined
          ? { verdict: 'allow', arguments: {} }
          : { verdict: 'deny', reason: 'never mind' },
    })
    const host = await started({ servers: { s: config }, surface })
    expect(textOf(await host.call('s__echo', { text: 'x' }, chat))).toContain('never mind')
    expect(ran()).toEqual([])
  })
})

describe('a result written by the user', () => {
  it('reaches the caller, is reported, and nothing is called', async () => {
    const { config, ran } = session()
    const result = { content: [{ type: 'text' as const, text: 'the person says 4' }] }
    const surface = person({ approval: () => ({ verdict: 'respond', result }) })
    const host = await started({ servers: { s: config }, surface })
    const call = await host.call('s__echo', { text: 'x' }, chat)
    expect(call).toMatchObject({ denied: false, result, answeredBy: 'test person' })
    expect(ran()).toEqual([])
    expect(host.activity().map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ['connection', 'ready'],
      ['call', 'answered'],
      ['approval', 'answered'],
    ])
    expect(host.activity({ kind: 'approval' })).toMatchObject([{ detail: { by: 'test person', result } }])
  })

  it('that is invalid is rejected', async () => {
    const { config } = session()
    const surface = person({ approval: () => ({ verdict: 'respond', result: { content: 'x' } }) as never })
    const host = await started({ servers: { s: config }, surface })
    const call = await host.call('s__echo', { text: 'x' }, chat)
    expect(call.denied).toBe(true)
    expect(textOf(call)).toContain('it needs "content"')
  })
})

describe('a rule about results', () => {
  const rules = [rule('allow'), rule('ask', { id: 'look first', gate: 'result', tool: 'echo' })]

  it("shows the user the tool's result before the caller gets it", async () => {
    const { config } = session()
    const surface = person({ result: () => ({ verdict: 'allow' }) })
    const host = await started({ servers: { s: config }, surface, rules })
    const call = await host.call('s__echo', { text: 'secret' }, { ...chat, conversation: 'talk' })
    expect(returned(call)).toEqual({ text: 'secret' })
    expect(call.release).toMatchObject({ outcome: 'passed', decision: { rule: 'look first' } })
    expect(surface.asked).toMatchObject([
      {
        kind: 'result',
        arguments: { text: 'secret' },
        result: { content: [{ text: '{"text":"secret"}' }] },
        cause: { server: 's', tool: 'echo', caller: 'chat', conversation: 'talk' },
      },
    ])
    expect(await host.call('s__look', {}, chat)).not.toHaveProperty('release')
    expect(surface.asked).toHaveLength(1)
  })

  it('lets the user change it, and reports the change', async () => {
    const { config } = session()
    const result = { content: [{ type: 'text' as const, text: '{"text":"[blanked]"}' }] }
    const host = await started({
      servers: { s: config },
      surface: person({ result: () => ({ verdict: 'allow', result }) }),
      rules,
    })
    const call = await host.call('s__echo', { text: 'secret' }, chat)
    expect(call).toMatchObject({ result, release: { outcome: 'edited' } })
    const [row] = host.activity({ kind: 'call' })
    expect(JSON.stringify(row?.detail['result'])).toContain('secret')
    expect(host.activity({ kind: 'result' })).toMatchObject([
      { outcome: 'allowed', cause: row?.id, detail: { edited: true, passed: result } },
    ])
  })

  it.each<[string, Parameters<typeof person>[0], PolicyRule[], string]>([
    ['the person says no', { result: () => ({ verdict: 'deny', reason: 'private' }) }, rules, 'private'],
    ['no user can be asked', {}, rules, 'no person can be asked here'],
    [
      'the rule denies',
      { result: () => ({ verdict: 'allow' }) },
      [...rules, rule('deny', { gate: 'result' })],
      'rule "deny rule" withholds it',
    ],
    [
      'the answer is no result',
      { result: () => ({ verdict: 'allow', result: {} }) as never },
      rules,
      'it needs "content"',
    ],
  ])('withholds it if %s, and reports that the call was made', async (_name, manners, given, words) => {
    const { config, ran } = session()
    const host = await started({ servers: { s: config }, surface: person(manners), rules: given })
    const call = await host.call('s__echo', { text: 'secret' }, chat)
    expect(call).toMatchObject({ denied: false, result: { isError: true }, release: { outcome: 'withheld' } })
    expect(textOf(call)).toContain('was called, and its result is held back')
    expect(textOf(call)).toContain(words)
    expect(JSON.stringify(call.result)).not.toContain('secret')
    expect(ran()).toHaveLength(1)
  })
})

describe('every kind of call', () => {
  it('gives the same verdict and the same rows', async () => {
    const { config, ran } = session()
    const surface = person({
      approval: ({ cause }) =>
        cause.tool === 'echo' ? { verdict: 'allow' } : { verdict: 'deny', reason: 'no' },
    })
    const host = await started({
      servers: { s: config },
      surface,
      rules: [rule('allow', { tool: 'look' }), rule('deny', { tool: 'pid' })],
    })
    const textFor = async (caller: Caller) => {
      const before = host.activity().length
      const calls = []
      for (const tool of ['look', 'pid', 'echo', 'client']) {
        const { decision, denied, result } = await host.call(`s__${tool}`, { text: 'x' }, { caller })
        calls.push({ decision, denied, isError: result.isError === true })
      }
      const rows = host
        .activity()
        .slice(before)
        .map(({ kind, server, summary, outcome }) => ({ kind, server, summary, outcome }))
      return { calls, rows }
    }
    const first = await textFor('chat')
    expect(first.calls.map(({ denied }) => denied)).toEqual([false, true, false, true])
    expect(first.rows.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      'call ok',
      'call denied',
      'call ok',
      'approval allowed',
      'call denied',
      'approval denied',
    ])
    for (const caller of callers) expect(await textFor(caller)).toEqual(first)
    expect(ran()).toHaveLength(2 * (callers.length + 1))
  })
})

describe('the policy service', () => {
  it('explains a decision with all its reasons, and calls nothing', async () => {
    const { config, ran } = session()
    const data = folder()
    mkdirSync(join(data, 'sub'))
    const rules = [
      rule('allow', { id: 'here', tool: 'echo', arguments: [{ at: '/text', inside: [data] }] }),
      rule('ask', { id: 'careful', caller: ['code'], author: '/etc/mcp.json, jackfield.rules[1]' }),
      rule('deny', { id: 'results', gate: 'result', tool: 'echo' }),
    ]
    const host = await started({ servers: { s: config }, rules })
    expect(host.policy.rules()).toMatchObject([
      { id: 'here', author: 'this program' },
      { id: 'careful', author: '/etc/mcp.json, jackfield.rules[1]' },
      { id: 'results' },
    ])
    const inside = { text: join(data, 'sub', '..', 'a') }
    expect(host.policy.explain('s__echo', inside)).toMatchObject({
      decision: { verdict: 'allow', rule: 'here', author: 'this program' },
      matched: [{ id: 'here' }],
      result: { verdict: 'deny', rule: 'results' },
      grants: [],
      labels: [],
    })
    expect(host.policy.explain('s__echo', inside, { caller: 'code' })).toMatchObject({
      decision: { verdict: 'ask', rule: 'careful', author: '/etc/mcp.json, jackfield.rules[1]' },
      matched: [{ id: 'here' }, { id: 'careful' }],
    })
    expect(host.policy.explain('s__echo', { text: '/etc' }).decision).toEqual({
      verdict: 'ask',
      rule: 'default',
      author: 'Jackfield',
    })
    expect(() => host.policy.explain('s__nope', {})).toThrow('no tool named')
    expect(() => host.policy.explain('s__echo', [] as never)).toThrow('must be a JSON object')
    expect(ran()).toEqual([])
    expect(host.activity({ kind: 'call' })).toEqual([])
  })

  it('shows which past calls a rule would have matched, with their outcomes', async () => {
    const { config } = session()
    const host = await started({
      servers: { s: config },
      rules: [
        rule('allow', { tool: 'echo' }),
        rule('allow', { tool: 'look' }),
        rule('deny', { tool: 'pid' }),
      ],
    })
    await host.call('s__echo', { text: 'a' }, chat)
    await host.call('s__echo', { text: 'b' }, { caller: 'code' })
    await host.call('s__look', {}, chat)
    await host.call('s__pid', {}, chat)
    await host.call('s__say', {}, chat)
    await host.call('s__echo', { text: 'x'.repeat(300_000) }, chat)
    const preview = host.policy.preview(rule('ask', { arguments: [{ at: '/text', glob: 'a*' }] }))
    expect(preview).toMatchObject({
      considered: 6,
      uncertain: 1,
      matched: [
        {
          server: 's',
          tool: 'echo',
          caller: 'chat',
          outcome: 'ok',
          decision: { verdict: 'allow', rule: 'allow rule' },
          verdict: 'ask',
        },
      ],
    })
    const names = (more: Partial<PolicyRule>, verdict: PolicyRule['verdict'] = 'ask') =>
      host.policy.preview(rule(verdict, more)).matched.map((call) => [call.tool, call.verdict])
    expect(names({ hint: 'readOnly' })).toEqual([['look', 'ask']])
    expect(names({ caller: ['code'] })).toEqual([['echo', 'ask']])
    expect(names({ tool: 'pid' }, 'allow')).toEqual([['pid', 'deny']])
    // No rule decided about this call.
    expect(names({ tool: 'say' }, 'allow')).toEqual([['say', 'allow']])
    expect(host.policy.preview(rule('deny'), { days: 0 }).matched).toEqual([])
    expect(() => host.policy.preview(rule('deny', { arguments: [{ at: 'x' }] }))).toThrow('JSON Pointer')
  })

  it('rejects an invalid rule', () => {
    expect(() => hostOf({ rules: [rule('deny', { arguments: [{ at: 'x' }] })] })).toThrow(
      /"deny rule" is invalid/,
    )
    expect(() => hostOf({ rules: [{ id: 'x', verdict: 'dney' } as never] })).toThrow(/"verdict" must be/)
  })
})

describe('surfaces', () => {
  it('receive an event when a call is sent and when it ends', async () => {
    const { config } = session()
    const host = await started({
      servers: { s: config },
      rules: [rule('allow'), rule('deny', { tool: 'pid' })],
    })
    const { activity } = await host.call('s__echo', { text: 'x' }, { ...chat, conversation: 'talk' })
    await host.call('s__pid', {}, chat)
    const call = { activity, server: 's', tool: 'echo', caller: 'chat', conversation: 'talk', cause: null }
    expect(host.events.filter(({ type }) => type === 'call')).toEqual([
      { type: 'call', state: 'begins', call },
      { type: 'call', state: 'ends', call, outcome: 'ok' },
    ])
  })
})
