// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so in configurations.

import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/index.ts'
import { callers } from '../../src/policy/rules.ts'
import { memorySecrets } from '../../src/secrets/index.ts'
import type { Caller, PolicyRule, ServerConfig } from '../../src/types/index.ts'
import { folder, hostOf, returned, session, started, textOf } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const rule = (verdict: PolicyRule['verdict'], more: Partial<PolicyRule> = {}): PolicyRule => ({
  id: `${verdict} rule`,
  verdict,
  ...more,
})
const chat = { caller: 'chat' } as const

describe('edited arguments', () => {
  it('are checked by the schema of the tool, and asked about again until they fit', async () => {
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

  it('that never fit are not sent', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => ({ verdict: 'allow', arguments: {} }) })
    const host = await started({ servers: { s: config }, surface })
    const call = await host.call('s__echo', { text: 'x' }, chat)
    expect(call).toMatchObject({ denied: true, result: { isError: true } })
    expect(textOf(call)).toContain('do not fit the tool')
    expect(surface.asked).toHaveLength(5)
    expect(ran()).toEqual([])
  })

  it('that do not fit can still be refused', async () => {
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

describe('an answer in place of the tool', () => {
  it('reaches the caller, is told of, and nothing is called', async () => {
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

  it('that is no result is nobody’s answer', async () => {
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

  it('shows the person what the tool gave, before the caller sees it', async () => {
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

  it('lets the person change it, and both are told of', async () => {
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
    ['nobody can be asked', {}, rules, 'nobody can be asked here'],
    [
      'the rule denies',
      { result: () => ({ verdict: 'allow' }) },
      [...rules, rule('deny', { gate: 'result' })],
      'rule "deny rule" holds it back',
    ],
    [
      'the answer is no result',
      { result: () => ({ verdict: 'allow', result: {} }) as never },
      rules,
      'it needs "content"',
    ],
  ])('holds it back where %s, and says that the call was made', async (_name, manners, given, words) => {
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

describe('every way to a call', () => {
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
    const told = async (caller: Caller) => {
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
    const first = await told('chat')
    expect(first.calls.map(({ denied }) => denied)).toEqual([false, true, false, true])
    expect(first.rows.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      'call ok',
      'call denied',
      'call ok',
      'approval allowed',
      'call denied',
      'approval denied',
    ])
    for (const caller of callers) expect(await told(caller)).toEqual(first)
    expect(ran()).toHaveLength(2 * (callers.length + 1))
  })
})

describe('not now', () => {
  it('denies every later call, until the answer is taken back', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => ({ verdict: 'deny', remember: { scope: 'conversation' } }) })
    const host = await started({ servers: { s: config }, surface })
    const options = { ...chat, conversation: 'talk' }
    for (const text of ['a', 'b', 'c']) {
      const call = await host.call('s__echo', { text }, options)
      expect(call).toMatchObject({ denied: true, result: { isError: true } })
    }
    expect(surface.asked).toHaveLength(1)
    const [grant] = host.policy.grants()
    expect(grant).toMatchObject({ verdict: 'deny', scope: 'conversation', within: 'talk' })
    expect(host.policy.explain('s__echo', { text: 'd' }, options).decision).toEqual({
      verdict: 'deny',
      rule: 'remembered:conversation',
      author: 'the person',
      at: grant?.at,
    })
    await host.call('s__echo', { text: 'e' }, { ...chat, conversation: 'another' })
    expect(surface.asked).toHaveLength(2)
    expect(host.policy.revoke(grant?.id ?? '')).toBe(true)
    await host.call('s__echo', { text: 'f' }, options)
    expect(surface.asked).toHaveLength(3)
    expect(ran()).toEqual([])
  })
})

describe('a remembered answer', () => {
  it('holds for the calls it was given for', async () => {
    const { config, ran } = session()
    const surface = person({
      approval: ({ likeness }) => ({
        verdict: 'allow',
        remember: { scope: 'always', ...(likeness[0]?.arguments && { arguments: likeness[0].arguments }) },
      }),
    })
    const host = await started({ servers: { s: config }, surface })
    for (const text of ['a', 'a', 'b', 'a', 'b']) await host.call('s__echo', { text }, chat)
    expect(surface.asked.map(({ cause }) => cause.arguments)).toEqual([{ text: 'a' }, { text: 'b' }])
    expect(ran()).toHaveLength(5)
    expect(host.policy.grants()).toMatchObject([
      { arguments: [{ at: '', equals: { text: 'a' } }] },
      { arguments: [{ at: '', equals: { text: 'b' } }] },
    ])
  })

  it('is not offered for arguments with a secret in them', async () => {
    const { config } = session()
    const secrets = memorySecrets()
    await secrets.set('mine', 'the-secret-value')
    const surface = person({ approval: () => ({ verdict: 'deny' }) })
    const entry = 'command' in config ? { ...config, env: { ...config.env, API: '${secret:mine}' } } : config
    const written = JSON.stringify({ mcpServers: { s: entry } })
    const { servers } = parseConfig(written, { file: join(folder(), 'c.json'), layer: 'user', env: {} })
    const host = await started({ servers, surface, secrets })
    await host.call('s__echo', { text: 'with the-secret-value' }, chat)
    await host.call('s__echo', { text: 'without' }, chat)
    const offered = surface.asked.map(
      (question) => 'likeness' in question && question.likeness.map(({ label }) => label),
    )
    expect(offered).toEqual([['any arguments'], ['exactly these arguments', 'any arguments']])
  })

  it('for tests that cannot be followed is nobody’s answer', async () => {
    const { config, ran } = session()
    const surface = person({
      approval: () => ({ verdict: 'allow', remember: { scope: 'always', arguments: [{ at: 'text' }] } }),
    })
    const host = await started({ servers: { s: config }, surface })
    expect((await host.call('s__echo', { text: 'a' }, chat)).denied).toBe(true)
    expect(host.policy.grants()).toEqual([])
    expect(ran()).toEqual([])
  })

  it('of a workspace holds in that folder only, and is not offered without one', async () => {
    const { config } = session()
    const [here, there] = [folder(), folder()]
    const link = join(folder(), 'link')
    symlinkSync(here, link)
    const store = join(folder(), 'store.db')
    const asked = async (workspace: string | undefined) => {
      const surface = person({ approval: () => ({ verdict: 'allow', remember: { scope: 'workspace' } }) })
      const host = await started({
        servers: { s: config },
        surface,
        store,
        ...(workspace !== undefined && { workspace }),
      })
      await host.call('s__echo', { text: '' }, chat)
      await host.close()
      return surface.asked.map((question) => 'remember' in question && question.remember)
    }
    expect(await asked(undefined)).toEqual([['conversation', 'always']])
    expect(await asked(here)).toEqual([['conversation', 'workspace', 'always']])
    expect(await asked(here)).toEqual([])
    expect(await asked(link)).toEqual([])
    expect(await asked(there)).toHaveLength(1)
    expect(await asked(undefined)).toHaveLength(1)
    const host = hostOf({ store })
    expect(host.policy.grants().map(({ scope, within }) => [scope, within])).toEqual([
      ['workspace', here],
      ['workspace', there],
    ])
  })

  it('never carries over to another command or address', async () => {
    const { config } = session()
    const store = join(folder(), 'store.db')
    const first = await started({
      servers: { s: config },
      surface: person({ approval: () => ({ verdict: 'allow', remember: { scope: 'always' } }) }),
      store,
    })
    await first.call('s__echo', { text: '' }, chat)
    await first.close()
    const changed: ServerConfig[] =
      'command' in config
        ? [
            { ...config, args: [...(config.args ?? []), '--more'] },
            { ...config, env: { ...config.env, EXTRA: '1' } },
            { ...config, cwd: folder() },
          ]
        : []
    expect(changed).toHaveLength(3)
    for (const other of changed) {
      const host = await started({ servers: { s: other }, store })
      expect((await host.call('s__echo', { text: '' }, chat)).decision.rule).toBe('default')
      await host.close()
    }
    const same = await started({ servers: { s: config }, store })
    expect((await same.call('s__echo', { text: '' }, chat)).decision.rule).toBe('remembered:always')
  })
})

describe('labelled data', () => {
  it('does not flow to another server unasked, in the conversation that saw it', async () => {
    const [diary, web] = [session(), session()]
    const surface = person({ approval: () => ({ verdict: 'deny' }) })
    const host = await started({
      servers: { diary: { ...diary.config, labels: ['private'] }, web: web.config },
      surface,
      rules: [rule('allow')],
    })
    const [talk, other] = [
      { ...chat, conversation: 'talk' },
      { ...chat, conversation: 'other' },
    ]
    expect((await host.call('web__echo', { text: 'before' }, talk)).denied).toBe(false)
    await host.call('diary__echo', { text: 'dear diary' }, talk)
    const out = await host.call('web__echo', { text: 'dear diary' }, talk)
    expect(out).toMatchObject({ denied: true, decision: { verdict: 'ask', rule: 'label' } })
    expect(surface.asked).toMatchObject([{ labels: ['private'], remember: [], likeness: [] }])
    expect((await host.call('diary__echo', { text: 'more' }, talk)).denied).toBe(false)
    expect((await host.call('web__echo', { text: 'x' }, other)).denied).toBe(false)
    await host.read('diary', 'note://one', { conversation: 'other' })
    expect((await host.call('web__echo', { text: 'x' }, other)).denied).toBe(true)
    expect(web.ran()).toEqual([
      ['echo', { text: 'before' }],
      ['echo', { text: 'x' }],
    ])
  })

  it('is not there where its result was held back', async () => {
    const [diary, web] = [session(), session()]
    const host = await started({
      servers: { diary: { ...diary.config, labels: ['private'] }, web: web.config },
      rules: [rule('allow'), rule('deny', { id: 'keep', gate: 'result', label: 'private' })],
    })
    const talk = { ...chat, conversation: 'talk' }
    expect((await host.call('diary__echo', { text: 'x' }, talk)).release?.outcome).toBe('withheld')
    expect((await host.call('web__echo', { text: 'x' }, talk)).denied).toBe(false)
  })

  it('is remembered where a conversation is taken up again', async () => {
    const [diary, web] = [session(), session()]
    const store = join(folder(), 'store.db')
    const options = {
      servers: { diary: { ...diary.config, labels: ['private'] }, web: web.config },
      rules: [rule('allow')],
      store,
    }
    const talk = { ...chat, conversation: 'talk' }
    const first = await started(options)
    await first.call('diary__echo', { text: 'x' }, talk)
    await first.close()
    const second = await started(options)
    expect((await second.call('web__echo', { text: 'x' }, talk)).decision.rule).toBe('label')
  })
})

describe('the policy desk', () => {
  it('explains a decision by everything it follows from, and calls nothing', async () => {
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

  it('tells which past calls a rule would have matched, and what became of them', async () => {
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
    await host.call('s__echo', { text: 'x'.repeat(300_000) }, chat)
    const preview = host.policy.preview(rule('ask', { arguments: [{ at: '/text', glob: 'a*' }] }))
    expect(preview).toMatchObject({
      considered: 5,
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
    expect(host.policy.preview(rule('deny'), { days: 0 }).matched).toEqual([])
    expect(() => host.policy.preview(rule('deny', { arguments: [{ at: 'x' }] }))).toThrow('JSON Pointer')
  })

  it('takes no rule that it cannot follow', () => {
    expect(() => hostOf({ rules: [rule('deny', { arguments: [{ at: 'x' }] })] })).toThrow(
      /"deny rule" cannot/,
    )
    expect(() => hostOf({ rules: [{ id: 'x', verdict: 'dney' } as never] })).toThrow(/"verdict" must be/)
  })
})

describe('faces', () => {
  it('hear when a call goes out and when it is over', async () => {
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
