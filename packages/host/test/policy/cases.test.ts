import type { Tool } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import { createGrants } from '../../src/policy/grants.ts'
import { createLabels } from '../../src/policy/labels.ts'
import { createPolicy } from '../../src/policy/policy.ts'
import { callers } from '../../src/policy/rules.ts'
import { openStore } from '../../src/store/index.ts'
import type { ArgumentTest, Caller, PolicyRule, Verdict } from '../../src/types/index.ts'

interface Call {
  server?: string
  tool?: string
  args?: Record<string, unknown>
  caller?: Caller
  annotations?: Tool['annotations']
  /** Labels that the conversation saw of another server. */
  seen?: string[]
  /** Labels that the conversation saw of this server. */
  own?: string[]
}

interface Case {
  name: string
  rules: Omit<PolicyRule, 'id'>[]
  call: Call
  verdict: Verdict
  /** The place of the deciding rule, or what else decided. */
  by: number | 'default' | 'label'
  fallback?: Verdict
}

const verdicts = ['allow', 'ask', 'deny'] as const

/** Every order of up to three verdicts: the strictest decides, the first of them is named. */
function precedence(): Case[] {
  const lists: Verdict[][] = [[]]
  for (const length of [1, 2, 3]) {
    for (const list of lists.filter((one) => one.length === length - 1)) {
      for (const verdict of verdicts) lists.push([...list, verdict])
    }
  }
  return lists.flatMap((list) =>
    verdicts.map((fallback): Case => {
      const strictest = (['deny', 'ask', 'allow'] as const).find((verdict) => list.includes(verdict))
      return {
        name: `${list.join(', ') || 'nothing'} over ${fallback}`,
        rules: list.map((verdict) => ({ verdict })),
        call: {},
        fallback,
        verdict: strictest ?? fallback,
        by: strictest === undefined ? 'default' : list.indexOf(strictest),
      }
    }),
  )
}

const patterns: [pattern: string, name: string, fits: boolean][] = [
  ['*', 'anything', true],
  ['*', '', true],
  ['', '', true],
  ['', 'x', false],
  ['read_*', 'read_file', true],
  ['read_*', 'read_', true],
  ['read_*', 'thread_file', false],
  ['*_file', 'read_file', true],
  ['*_file', 'read_files', false],
  ['*file*', 'my_files', true],
  ['r?ad', 'read', true],
  ['r?ad', 'rad', false],
  ['r??d', 'read', true],
  ['?', 'x', true],
  ['?', '', false],
  ['?*', 'x', true],
  ['**', 'x', true],
  ['a*b*c', 'a-b-c', true],
  ['a*b*c', 'a-c-b', false],
  ['a*a', 'aa', true],
  ['a*a', 'a', false],
  ['READ', 'read', false],
  ['.', 'x', false],
  ['.*', 'x', false],
  ['.*', '.x', true],
  ['[ab]', 'a', false],
  ['[ab]', '[ab]', true],
  ['a|b', 'a', false],
  ['^a$', 'a', false],
  ['a+', 'aa', false],
  ['\\*', '*', false],
  ['read file', 'read file', true],
  ['read*', 'read\nfile', true],
  ['mcp__srv__*', 'tool', false],
  ['srv__tool', 'tool', false],
  ['tool', 'srv__tool', false],
  ['*tool', 'srv__tool', true],
  ['tööl', 'tööl', true],
  ['t?l', 'töl', true],
  ['a/b', 'a/b', true],
]

const wildcards: Case[] = patterns.flatMap(([pattern, name, fits]): Case[] =>
  (['tool', 'server'] as const).map((member) => ({
    name: `${member} ${JSON.stringify(pattern)} and ${JSON.stringify(name)}`,
    rules: [{ verdict: 'deny', [member]: pattern }],
    call: { [member]: name },
    verdict: fits ? 'deny' : 'ask',
    by: fits ? 0 : 'default',
  })),
)

const args = {
  path: '/srv/data/a.txt',
  n: 5,
  flag: false,
  nothing: null,
  list: [1, 2, 3],
  names: ['ann', 'andy'],
  deep: { 'a/b': { 'c~d': 'x' }, '*': 'star' },
  items: [{ to: 'ann@x.org' }, { to: 'bob@y.org' }],
  some: [{ to: 'ann@x.org' }, {}],
  empty: [],
  text: 'hello world',
}
/** A test, whether an `allow` rule with it matches, and whether a `deny` rule does. */
const conditions: [test: ArgumentTest, allows: boolean, denies: boolean][] = [
  [{ at: '/n' }, true, true],
  [{ at: '/gone' }, false, false],
  [{ at: '' }, true, true],
  [{ at: '', equals: args }, true, true],
  [{ at: '', equals: {} }, false, false],
  [{ at: '/n', equals: 5 }, true, true],
  [{ at: '/n', equals: '5' }, false, false],
  [{ at: '/flag', equals: false }, true, true],
  [{ at: '/nothing', equals: null }, true, true],
  [{ at: '/gone', equals: null }, false, false],
  [{ at: '/list', equals: [1, 2, 3] }, true, true],
  [{ at: '/list', equals: [3, 2, 1] }, false, false],
  [{ at: '/list/0', equals: 1 }, true, true],
  [{ at: '/list/3' }, false, false],
  [{ at: '/list/-', equals: 3 }, false, false],
  [{ at: '/list/00', equals: 1 }, false, false],
  [{ at: '/list/length' }, false, false],
  [{ at: '/list/*', min: 1 }, true, true],
  [{ at: '/list/*', min: 2 }, false, true],
  [{ at: '/list/*', min: 4 }, false, false],
  [{ at: '/n', min: 5, max: 5 }, true, true],
  [{ at: '/n', min: 6 }, false, false],
  [{ at: '/n', max: 4.9 }, false, false],
  [{ at: '/text', min: 0 }, false, false],
  [{ at: '/text', glob: 'hello*' }, true, true],
  [{ at: '/text', glob: 'hello' }, false, false],
  [{ at: '/n', glob: '*' }, false, false],
  [{ at: '/names/*', glob: 'an*' }, true, true],
  [{ at: '/names/*', glob: 'ann' }, false, true],
  [{ at: '/deep/a~1b/c~0d', equals: 'x' }, true, true],
  [{ at: '/deep/a/b' }, false, false],
  [{ at: '/deep/*/c~0d', equals: 'x' }, false, true],
  [{ at: '/items/*/to', glob: '*@x.org' }, false, true],
  [{ at: '/items/*/to', glob: '*@*.org' }, true, true],
  [{ at: '/some/*/to', glob: '*@x.org' }, false, true],
  [{ at: '/empty/*', glob: '*' }, false, false],
  [{ at: '/constructor' }, false, false],
  [{ at: '/__proto__' }, false, false],
  [{ at: '/path', inside: ['/srv/data'] }, true, true],
  [{ at: '/path', inside: ['/srv'] }, true, true],
  [{ at: '/path', inside: ['/srv/dat'] }, false, false],
  [{ at: '/path', inside: ['/other', '/srv/data'] }, true, true],
  [{ at: '/path', inside: [] }, false, false],
  [{ at: '/n', inside: ['/'] }, false, false],
  [{ at: '/path', glob: '*.txt', inside: ['/srv'] }, true, true],
  [{ at: '/path', glob: '*.pdf', inside: ['/srv'] }, false, false],
]
const argumentCases: Case[] = conditions.flatMap(([test, allows, denies]): Case[] => [
  {
    name: `allow where ${JSON.stringify(test)}`,
    rules: [{ verdict: 'allow', arguments: [test] }],
    call: { args },
    verdict: allows ? 'allow' : 'ask',
    by: allows ? 0 : 'default',
  },
  {
    name: `deny where ${JSON.stringify(test)}`,
    rules: [{ verdict: 'deny', arguments: [test] }],
    call: { args },
    verdict: denies ? 'deny' : 'ask',
    by: denies ? 0 : 'default',
  },
])

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
  it('is tried by at least 300 cases', () => {
    expect(cases.length).toBeGreaterThanOrEqual(300)
  })

  it.each(cases)('$name', ({ rules, call, verdict, by, fallback }) => {
    const store = openStore(':memory:')
    const labels = createLabels(store.labels)
    if (call.seen !== undefined) labels.saw('talk', 'another', call.seen)
    if (call.own !== undefined) labels.saw('talk', 'srv', call.own)
    const policy = createPolicy({
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
    const house = by === 'default' && fallback !== undefined ? 'the configuration' : 'Jackfield'
    expect(decision).toEqual({
      verdict,
      rule: typeof by === 'number' ? `rule ${by}` : by,
      author: typeof by === 'number' ? `file, line ${by}` : house,
    })
    store.close()
  })
})
