import type { Tool } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import { callers } from '../../src/config/rule.ts'
import { createGrants } from '../../src/core/policy/grants.ts'
import { Labels, Policy } from '../../src/core/policy/policy.ts'
import { openStore } from '../../src/log/store/store.ts'
import type { PolicyRule } from '../../src/types/index.ts'
import { argumentCases, type Case, precedence, verdicts, wildcards } from './pattern-cases.ts'

const callerCases: Case[] = callers.flatMap((caller): Case[] => [
  {
    name: `a rule for ${caller}`,
    rules: [{ verdict: 'allow', caller: [caller] }],
    call: { caller },
    verdict: 'allow',
    by: 0,
  },
  {
    name: `a rule for everybody but ${caller}`,
    rules: [{ verdict: 'deny', caller: callers.filter((other) => other !== caller) }],
    call: { caller },
    verdict: 'ask',
    by: 'default',
  },
])

const hinted: [NonNullable<PolicyRule['hint']>, Tool['annotations'], boolean][] = [
  ['readOnly', { readOnlyHint: true }, true],
  ['readOnly', { readOnlyHint: false }, false],
  ['readOnly', undefined, false],
  ['destructive', { destructiveHint: true }, true],
  ['destructive', undefined, false],
  ['idempotent', { idempotentHint: true }, true],
  ['idempotent', { readOnlyHint: true }, false],
  ['openWorld', { openWorldHint: true }, true],
  ['openWorld', undefined, false],
]

const hintCases: Case[] = hinted.map(([hint, annotations, fits]) => ({
  name: `${hint} and ${JSON.stringify(annotations)}`,
  rules: [{ verdict: 'deny', hint }],
  call: { ...(annotations !== undefined && { annotations }) },
  verdict: fits ? 'deny' : 'ask',
  by: fits ? 0 : 'default',
}))

const closed = { openWorldHint: false }

const everything = [{ verdict: 'allow' as const }]

const labelCases: Case[] = [
  { name: 'private data, nothing said', rules: [], call: { seen: ['private'] }, verdict: 'ask', by: 'label' },
  {
    name: 'private data, all allowed',
    rules: everything,
    call: { seen: ['private'] },
    verdict: 'ask',
    by: 'label',
  },
  {
    name: 'private data, allowed by default',
    rules: [],
    call: { seen: ['private'] },
    fallback: 'allow',
    verdict: 'ask',
    by: 'label',
  },
  {
    name: 'private data, denied by default',
    rules: [],
    call: { seen: ['private'] },
    fallback: 'deny',
    verdict: 'deny',
    by: 'default',
  },
  {
    name: 'private data back to where it is from',
    rules: everything,
    call: { own: ['private'] },
    verdict: 'allow',
    by: 0,
  },
  {
    name: 'private data into a closed world',
    rules: everything,
    call: { seen: ['private'], annotations: closed },
    verdict: 'allow',
    by: 0,
  },
  {
    name: 'private data into a world that is called open',
    rules: everything,
    call: { seen: ['private'], annotations: { openWorldHint: true } },
    verdict: 'ask',
    by: 'label',
  },
  {
    name: 'allowed outright for the label',
    rules: [{ verdict: 'allow', label: 'private' }],
    call: { seen: ['private'] },
    verdict: 'allow',
    by: 0,
  },
  {
    name: 'allowed outright for a glob of labels',
    rules: [{ verdict: 'allow', label: 'p*' }],
    call: { seen: ['private', 'personal'] },
    verdict: 'allow',
    by: 0,
  },
  {
    name: 'allowed outright for one of two labels',
    rules: [{ verdict: 'allow', label: 'private' }],
    call: { seen: ['private', 'secret'] },
    verdict: 'ask',
    by: 'label',
  },
  {
    name: 'allowed outright for another tool',
    rules: [{ verdict: 'allow', label: 'private', tool: 'other' }],
    call: { seen: ['private'] },
    verdict: 'ask',
    by: 'label',
  },
  {
    name: 'denied outright for the label',
    rules: [{ verdict: 'deny', label: 'private' }, ...everything],
    call: { seen: ['private'] },
    verdict: 'deny',
    by: 0,
  },
  {
    name: 'denied outright for the label, into a closed world',
    rules: [{ verdict: 'deny', label: 'private' }, ...everything],
    call: { seen: ['private'], annotations: closed },
    verdict: 'deny',
    by: 0,
  },
  {
    name: 'denied for a label that was not seen',
    rules: [{ verdict: 'deny', label: 'secret' }, ...everything],
    call: { seen: ['private'], annotations: closed },
    verdict: 'allow',
    by: 1,
  },
  {
    name: 'asked for the label',
    rules: [{ verdict: 'ask', label: 'private', scope: 'always' }, ...everything],
    call: { seen: ['private'] },
    verdict: 'ask',
    by: 0,
  },
  {
    name: 'a deny rule without a label is the stricter one',
    rules: [{ verdict: 'deny', tool: 'x' }],
    call: { seen: ['private'] },
    verdict: 'deny',
    by: 0,
  },
  { name: 'no labels seen', rules: everything, call: {}, verdict: 'allow', by: 0 },
  {
    name: 'a rule about a label where none was seen',
    rules: [{ verdict: 'deny', label: '*' }],
    call: {},
    verdict: 'ask',
    by: 'default',
  },
]

const gates: Case[] = verdicts.map((verdict) => ({
  name: `a rule about results says ${verdict}`,
  rules: [{ verdict, gate: 'result' }],
  call: {},
  verdict: 'ask',
  by: 'default',
}))

const fields: [name: string, rule: Partial<PolicyRule>, fits: boolean][] = [
  ['server and tool', { server: 'srv', tool: 'x' }, true],
  ['server and another tool', { server: 'srv', tool: 'y' }, false],
  ['another server and tool', { server: 'other', tool: 'x' }, false],
  ['tool and caller', { tool: 'x', caller: ['chat'] }, true],
  ['tool and another caller', { tool: 'x', caller: ['cli'] }, false],
  ['no caller at all', { tool: 'x', caller: [] }, false],
  [
    'two conditions that hold',
    {
      arguments: [
        { at: '/n', min: 1 },
        { at: '/n', max: 9 },
      ],
    },
    true,
  ],
  [
    'two conditions of which one holds',
    {
      arguments: [
        { at: '/n', min: 1 },
        { at: '/n', max: 2 },
      ],
    },
    false,
  ],
  ['no conditions', { arguments: [] }, true],
  ['a hint and a tool without it', { hint: 'readOnly', tool: 'x' }, false],
]

const together: Case[] = fields.map(([name, rule, fits]) => ({
  name: `together: ${name}`,
  rules: [{ ...rule, verdict: 'deny' }],
  call: { args: { n: 5 } },
  verdict: fits ? 'deny' : 'ask',
  by: fits ? 0 : 'default',
}))

const cases = [
  ...precedence(),
  ...wildcards,
  ...argumentCases,
  ...callerCases,
  ...hintCases,
  ...labelCases,
  ...gates,
  ...together,
]

describe('the policy', () => {
  it('has at least 300 cases', () => {
    expect(cases.length).toBeGreaterThanOrEqual(300)
  })

  it.each(cases)('$name', ({ rules, call, verdict, by, fallback }) => {
    const store = openStore(':memory:')
    const labels = new Labels(store.labels)
    if (call.seen !== undefined) labels.add('talk', 'another', call.seen)
    if (call.own !== undefined) labels.add('talk', 'srv', call.own)
    const policy = new Policy({
      rules: rules.map((rule, n) => ({ ...rule, id: `rule ${n}`, author: `file, line ${n}` })),
      defaultVerdict: fallback,
      grants: createGrants(store.grants, undefined),
      labels,
      workspace: false,
    })
    const { annotations } = call
    const { decision } = policy.decide({
      server: call.server ?? 'srv',
      identity: 'this',
      tool: { name: call.tool ?? 'x', inputSchema: { type: 'object' }, ...(annotations && { annotations }) },
      arguments: call.args ?? {},
      caller: call.caller ?? 'chat',
      conversation: 'talk',
    })
    const origin = by === 'default' && fallback !== undefined ? 'the configuration' : 'Jackfield'
    expect(decision).toEqual({
      verdict,
      rule: typeof by === 'number' ? `rule ${by}` : by,
      author: typeof by === 'number' ? `file, line ${by}` : origin,
    })
    store.close()
  })
})
