import type { Tool } from '@jackfield/sdk'
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

export interface Case {
  name: string
  rules: Omit<PolicyRule, 'id'>[]
  call: Call
  verdict: Verdict
  /** The place of the deciding rule, or what else decided. */
  by: number | 'default' | 'label'
  fallback?: Verdict
}

export const verdicts = ['allow', 'ask', 'deny'] as const

/** Every order of up to three verdicts: the strictest decides, the first of them is named. */
export function precedence(): Case[] {
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

export const wildcards: Case[] = patterns.flatMap(([pattern, name, fits]): Case[] =>
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

export const argumentCases: Case[] = conditions.flatMap(([test, allows, denies]): Case[] => [
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
