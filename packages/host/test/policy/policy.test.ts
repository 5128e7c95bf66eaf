import type { Tool } from '@jackfield/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cpuMsOf } from '../../../../test/setup/cpu.ts'
import { createGrants } from '../../src/core/policy/grants.ts'
import { serverIdentity } from '../../src/core/policy/identity.ts'
import { Labels, Policy, type PolicySubject } from '../../src/core/policy/policy.ts'
import { openStore } from '../../src/log/store/store.ts'
import { matchesGlob } from '../../src/shared/text.ts'
import type { PolicyRule, ServerConfig, Verdict } from '../../src/types/index.ts'

const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: `Does ${name}`,
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  ...more,
})
const rule = (verdict: Verdict, match: Omit<PolicyRule, 'id' | 'verdict'> = {}): PolicyRule => ({
  id: verdict,
  verdict,
  ...match,
})
const policyOf = (rules: PolicyRule[], defaultVerdict?: Verdict): Policy => {
  const store = openStore(':memory:')
  return new Policy({
    rules,
    defaultVerdict,
    grants: createGrants(store.grants, undefined),
    labels: new Labels(store.labels),
    workspace: false,
  })
}
const subject = (server: string, of: Tool, identity = `id of ${server}`): PolicySubject => ({
  server,
  identity,
  tool: of,
  arguments: {},
  caller: 'chat',
})

describe('rules', () => {
  const readOnly = tool('look', { annotations: { readOnlyHint: true } })
  const destructive = tool('wipe', { annotations: { destructiveHint: true } })
  it.each<[string, PolicyRule[], Tool, Verdict, string]>([
    ['nothing matches', [], tool('x'), 'ask', 'default'],
    ['allow matches', [rule('allow')], tool('x'), 'allow', 'allow'],
    ['deny beats allow, in either order', [rule('allow'), rule('deny')], tool('x'), 'deny', 'deny'],
    ['deny beats allow, in either order', [rule('deny'), rule('allow')], tool('x'), 'deny', 'deny'],
    ['deny beats ask', [rule('ask'), rule('deny')], tool('x'), 'deny', 'deny'],
    ['ask beats allow', [rule('allow'), rule('ask')], tool('x'), 'ask', 'ask'],
    [
      'ask beats allow even if allow is narrower',
      [rule('ask'), rule('allow', { tool: 'x' })],
      tool('x'),
      'ask',
      'ask',
    ],
    ['a rule for the server', [rule('allow', { server: 'srv' })], tool('x'), 'allow', 'allow'],
    ['a rule for another server', [rule('allow', { server: 'sr' })], tool('x'), 'ask', 'default'],
    ['a glob on the server', [rule('deny', { server: 's*' })], tool('x'), 'deny', 'deny'],
    ['a glob on the tool', [rule('allow', { tool: 'read_*' })], tool('read_file'), 'allow', 'allow'],
    [
      'a glob covers the whole name',
      [rule('allow', { tool: 'read_*' })],
      tool('thread_kill'),
      'ask',
      'default',
    ],
    ['a glob that stands for nothing', [rule('allow', { tool: 'x*' })], tool('x'), 'allow', 'allow'],
    ['names differ by case', [rule('allow', { tool: 'X' })], tool('x'), 'ask', 'default'],
    ['a pattern is no regular expression', [rule('allow', { tool: '.' })], tool('x'), 'ask', 'default'],
    ['the exposed name is not the tool', [rule('deny', { tool: 'srv__x' })], tool('x'), 'ask', 'default'],
    [
      'server and tool must both match',
      [rule('allow', { server: 'srv', tool: 'y' })],
      tool('x'),
      'ask',
      'default',
    ],
    ['a hint the tool gives', [rule('allow', { hint: 'readOnly' })], readOnly, 'allow', 'allow'],
    ['a hint the tool does not give', [rule('allow', { hint: 'readOnly' })], tool('x'), 'ask', 'default'],
    [
      'a hint and the wrong tool',
      [rule('allow', { hint: 'readOnly', tool: 'x' })],
      readOnly,
      'ask',
      'default',
    ],
    ['deny by hint', [rule('allow'), rule('deny', { hint: 'destructive' })], destructive, 'deny', 'deny'],
    [
      'silence about destruction',
      [rule('allow'), rule('deny', { hint: 'destructive' })],
      tool('x'),
      'allow',
      'allow',
    ],
  ])('%s', (_name, rules, of, verdict, id) => {
    expect(policyOf(rules).decide(subject('srv', of)).decision).toMatchObject({ verdict, rule: id })
  })

  it('follow the given default', () => {
    expect(policyOf([], 'deny').decide(subject('s', tool('x'))).decision.verdict).toBe('deny')
    expect(policyOf([], 'allow').decide(subject('s', tool('x'))).decision.verdict).toBe('allow')
  })

  it('return the strictest matching verdict for any set of rules', () => {
    const anyRule = fc.record({
      id: fc.string(),
      verdict: fc.constantFrom<Verdict>('allow', 'ask', 'deny'),
      tool: fc.constantFrom('x', 'y', '*', 'x?', '?'),
    })
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 8 }), (rules) => {
        const hits = rules.filter(({ tool: pattern }) => ['x', '*', '?'].includes(pattern))
        const expected = (['deny', 'ask', 'allow'] as const).find((verdict) =>
          hits.some((hit) => hit.verdict === verdict),
        )
        expect(policyOf(rules).decide(subject('s', tool('x'))).decision.verdict).toBe(expected ?? 'ask')
      }),
    )
  })

  it('allow typed calls instead of asking, except denied ones', () => {
    const verdicts = fc.constantFrom<Verdict>('allow', 'ask', 'deny')
    fc.assert(
      fc.property(fc.array(verdicts, { maxLength: 4 }), verdicts, (given, fallback) => {
        const policy = policyOf(
          given.map((verdict) => rule(verdict)),
          fallback,
        )
        const of = subject('s', tool('x'))
        const untyped = policy.decide(of).decision
        const { decision, remember } = policy.decide(of, true)
        const typed = { verdict: 'allow', rule: 'typed', author: 'the person' }
        expect(decision).toEqual(untyped.verdict === 'ask' ? typed : untyped)
        if (untyped.verdict === 'ask') expect(remember).toEqual([])
      }),
    )
  })

  it('cannot be changed from outside later', () => {
    const changeable = rule('deny')
    const policy = policyOf([changeable])
    changeable.verdict = 'allow'
    expect(policy.decide(subject('s', tool('x'))).decision.verdict).toBe('deny')
  })
})

describe('globs', () => {
  it('agree with a reference implementation', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 })
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '.'), maxLength: 6 })
    fc.assert(
      fc.property(pattern, letters, (glob, text) => {
        const regex = new RegExp(
          `^${[...glob].map((c) => (c === '*' ? '.*' : c === '?' ? '.' : c === '.' ? '\\.' : c)).join('')}$`,
        )
        expect(matchesGlob(glob, text)).toBe(regex.test(text))
      }),
      { numRuns: 2000 },
    )
  })

  it('match adversarial input quickly', async () => {
    const hard = (): void => expect(matchesGlob('*a'.repeat(30), 'a'.repeat(20_000).concat('b'))).toBe(false)
    expect(await cpuMsOf(hard)).toBeLessThan(500)
  })
})

describe('grants', () => {
  const remembering = (
    scope: 'conversation' | 'always',
    verdict: 'allow' | 'deny' = 'allow',
    rules: PolicyRule[] = [],
  ) => {
    const policy = policyOf(rules)
    const asked = subject('s', tool('x'))
    const remembered = policy.remember(asked, verdict, { scope }, policy.decide(asked))
    return { policy, remembered, decide: (of = asked) => policy.decide(of).decision }
  }

  it.each(['conversation', 'always'] as const)('replace the question (%s)', (scope) => {
    const { decide } = remembering(scope)
    expect(decide()).toMatchObject({ verdict: 'allow', rule: `remembered:${scope}` })
    const refused = remembering(scope, 'deny')
    expect(refused.decide()).toMatchObject({ verdict: 'deny', rule: `remembered:${scope}` })
  })

  it('never override a deny rule, and refuse what a rule allows', () => {
    const store = openStore(':memory:')
    const common = {
      grants: createGrants(store.grants, undefined),
      labels: new Labels(store.labels),
      workspace: false,
    }
    const asking = new Policy({ rules: [], ...common })
    const [x, y] = [subject('s', tool('x')), subject('s', tool('y'))]
    asking.remember(x, 'allow', { scope: 'always' }, asking.decide(x))
    asking.remember(y, 'deny', { scope: 'always' }, asking.decide(y))
    const strict = new Policy({ rules: [rule('deny')], ...common })
    expect(strict.decide(x).decision).toMatchObject({ verdict: 'deny', rule: 'deny' })
    const lax = new Policy({ rules: [rule('allow')], ...common })
    expect(lax.decide(y).decision).toMatchObject({ verdict: 'deny', rule: 'remembered:always' })
    const careful = new Policy({ rules: [rule('ask')], defaultVerdict: 'allow', ...common })
    expect(careful.decide(x)).toMatchObject({ decision: { verdict: 'ask', rule: 'ask' }, remember: [] })
  })

  it('last as long as the asking rule allows', () => {
    expect(remembering('always', 'allow', [rule('ask')])).toMatchObject({ remembered: undefined })
    const session = remembering('always', 'allow', [rule('ask', { scope: 'conversation' })])
    expect(session.remembered).toBe('conversation')
    expect(session.decide()).toMatchObject({ verdict: 'allow', rule: 'remembered:conversation' })
    const always = remembering('always', 'allow', [rule('ask', { scope: 'always' })])
    expect(always.decide()).toMatchObject({ verdict: 'allow', rule: 'remembered:always' })
    const strictest = remembering('always', 'allow', [rule('ask', { scope: 'always' }), rule('ask')])
    expect(strictest.decide().verdict).toBe('ask')
  })

  it.each<[string, Partial<Tool>]>([
    ['description', { description: 'Does x ' }],
    ['title', { title: 'X' }],
    ['a schema', { inputSchema: { type: 'object', properties: { path: { type: 'string', title: 'p' } } } }],
    ['a name in the schema', { inputSchema: { type: 'object', properties: { path2: { type: 'string' } } } }],
    ['the output schema', { outputSchema: { type: 'object' } }],
    ['an annotation', { annotations: { readOnlyHint: true } }],
    ['an icon', { icons: [{ src: 'data:,' }] }],
    ['the name', { name: 'X' }],
  ])('end when %s of the tool changes', (_name, change) => {
    const { decide } = remembering('always')
    expect(decide(subject('s', tool('x', change))).verdict).toBe('ask')
  })

  it('are overridden by a typed call', () => {
    const { policy } = remembering('always', 'deny')
    expect(policy.decide(subject('s', tool('x')), true).decision).toMatchObject({
      verdict: 'allow',
      rule: 'typed',
    })
  })

  it('stay when only the order of members changes', () => {
    const { decide } = remembering('always')
    const same = Object.fromEntries(Object.entries(tool('x')).reverse())
    expect(decide(subject('s', { ...tool('x'), ...same })).verdict).toBe('allow')
    expect(
      decide(
        subject(
          's',
          tool('x', { inputSchema: { properties: { path: { type: 'string' } }, type: 'object' } }),
        ),
      ).verdict,
    ).toBe('allow')
  })

  it("belong to the server's identity, not to its name", () => {
    const { decide } = remembering('always')
    expect(decide(subject('s', tool('x'), 'another')).verdict).toBe('ask')
    expect(decide(subject('renamed', tool('x'), 'id of s')).verdict).toBe('allow')
  })
})

describe('labelled data', () => {
  it('is asked about every time, whatever grants a rule about the label allows', () => {
    const policy = policyOf([rule('ask', { label: 'private', scope: 'always' })])
    const of = subject('web', tool('post'))
    expect(policy.decide(of).remember).toEqual(['conversation', 'always'])
    policy.noteLabels(undefined, 'diary', ['private'])
    const ruling = policy.decide(of)
    expect(ruling).toMatchObject({ decision: { rule: 'ask' }, remember: [], labels: ['private'] })
    expect(policy.remember(of, 'allow', { scope: 'always' }, ruling)).toBeUndefined()
  })

  it('flows if the user typed the call', () => {
    const policy = policyOf([])
    policy.noteLabels(undefined, 'diary', ['private'])
    expect(policy.decide(subject('web', tool('post'))).decision.rule).toBe('label')
    expect(policy.decide(subject('web', tool('post')), true).decision.rule).toBe('typed')
  })
})

describe("a server's identity", () => {
  const base: ServerConfig = { command: 'node', args: ['a.js'], env: { TOKEN: '1' }, cwd: '/srv' }
  it.each<[string, ServerConfig]>([
    ['command', { ...base, command: 'nod' }],
    ['argument', { ...base, args: ['b.js'] }],
    ['split of arguments', { ...base, args: ['a', '.js'] }],
    ['variable', { ...base, env: { TOKEN: '1', NODE_OPTIONS: '--require x' } }],
    ['folder', { ...base, cwd: '/tmp' }],
    ['kind', { url: 'http://127.0.0.1/' }],
  ])('changes with its %s', (_name, other) => {
    expect(serverIdentity(other)).not.toBe(serverIdentity(base))
  })

  it('does not change with a fresh token', () => {
    expect(serverIdentity({ ...base, env: { TOKEN: '2' } })).toBe(serverIdentity(base))
    expect(serverIdentity({ url: 'http://x/', headers: { a: 'b' } })).toBe(
      serverIdentity({ url: 'http://x/' }),
    )
    expect(serverIdentity({ url: 'http://x/' })).not.toBe(serverIdentity({ url: 'https://x/' }))
  })
})
