import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost, type HostQuestion } from '@jackfield/host'
import fc from 'fast-check'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { cancelled } from '../../src/forms/prompter.ts'
import { exactJson, isUnambiguous } from '../../src/output/exact.ts'
import { askApproval } from '../../src/surface/approval.ts'
import { editText } from '../../src/surface/edit.ts'
import { askResult } from '../../src/surface/result.ts'
import { type Scripted, scripted } from '../forms/prompter.ts'

type Question = Extract<HostQuestion, { kind: 'approval' }>
const palette = picocolors.createColors(false)

function approval(args: Record<string, unknown>, more: Partial<Question> = {}): Question {
  return {
    kind: 'approval',
    id: '1',
    cause: { server: 'shop', caller: 'chat' },
    tool: {
      name: 'shop__buy',
      server: 'shop',
      tool: {
        name: 'buy',
        title: 'Buy things',
        description: 'Buys\u001b[2J',
        inputSchema: { type: 'object', properties: { item: { type: 'string' } } },
        annotations: { destructiveHint: true, openWorldHint: true },
      },
    },
    arguments: args,
    decision: { verdict: 'ask', rule: 'careful', author: '/etc/mcp.json, jackfield.rules[0]' },
    remember: ['conversation', 'workspace', 'always'],
    likeness: [
      { label: 'exactly these arguments', arguments: [{ at: '', equals: args }] },
      { label: 'any arguments' },
    ],
    labels: [],
    origin: 'node shop.js --test',
    ...more,
  }
}

async function asked(question: Question, ...answers: Scripted[]) {
  const person = scripted(...answers)
  const answer = await askApproval(question, person, palette, {})
  return { person, answer, text: person.printed.join('\n') }
}

describe('all read-only tools of the server', () => {
  test('can be allowed at once only if the host offers it', async () => {
    const offered = approval({}, { readOnlyTools: ['look', 'find'] })
    expect((await asked(offered, 'allow-read-only')).answer).toEqual({
      verdict: 'allow',
      remember: { scope: 'conversation', readOnlyTools: true },
    })
    await expect(asked(approval({}), 'allow-read-only')).rejects.toThrow()
  })
})

describe('the keys of the question', () => {
  const keysOf = async (
    question: Question,
    ...answers: Scripted[]
  ): Promise<[string | undefined, string][][]> => {
    const offered: [string | undefined, string][][] = []
    const { select, ...rest } = scripted(...answers)
    await askApproval(
      question,
      {
        ...rest,
        select: (asked) => {
          offered.push(asked.options.map(({ key, value }) => [key, value]))
          return select(asked)
        },
      },
      palette,
      {},
    )
    return offered
  }
  const rare = [
    ['b', 'back'],
    ['w', 'deny-why'],
    ['d', 'deny-for'],
    ['t', 'respond'],
  ]

  test('exist for every choice: common ones first, the others behind one of them', async () => {
    const common = [
      ['n', 'deny'],
      ['y', 'allow'],
      ['a', 'allow-conversation'],
      ['m', 'allow-for'],
      ['e', 'edit'],
      ['l', 'later'],
      ['o', 'more'],
    ]
    const all = await keysOf(approval({}), 'more', 'back', 'more', cancelled, 'deny')
    expect(all).toEqual([common, [...rare, ['j', 'show']], common, [...rare, ['j', 'show']], common])
    expect((await asked(approval({ item: 'a' }), 'allow-conversation')).answer).toEqual({
      verdict: 'allow',
      remember: { scope: 'conversation' },
    })
  })

  test('do not include a if the rule allows no grant', async () => {
    expect(await keysOf(approval({}, { remember: [] }), 'deny')).toEqual([
      [
        ['n', 'deny'],
        ['y', 'allow'],
        ['e', 'edit'],
        ['l', 'later'],
        ['o', 'more'],
      ],
    ])
  })

  test('include s for everything and r for read-only tools only if they are offered', async () => {
    const long = approval({ item: 'x'.repeat(20_000) }, { readOnlyTools: ['look'] })
    expect(await keysOf(long, 'more', 'back', 'deny')).toEqual([
      expect.arrayContaining([
        ['s', 'show'],
        ['r', 'allow-read-only'],
      ]),
      rare,
      expect.anything(),
    ])
  })
})

describe('the card of a call', () => {
  test('shows who requests which call, why, and the warnings', async () => {
    const { person, text } = await asked(
      approval(
        { note: 'b' },
        {
          labels: ['private'],
          findings: [
            { severity: 'danger', code: 'hidden-characters', at: 'tools.buy', message: 'It hides text.' },
          ],
        },
      ),
      'deny',
    )
    expect(text).toBe(
      [
        'The model wants to call Buy things (buy) of shop',
        '  shop is node shop.js --test',
        '  Buys',
        '  the server says: may delete or overwrite, reaches other systems (not verified)',
        '  asked because of rule: careful, /etc/mcp.json, jackfield.rules[0]',
        '! data labelled private may flow into it',
        '✗ danger: It hides text.',
        '',
        'ARGUMENT  KIND  VALUE',
        'note      text  b',
      ].join('\n'),
    )
    expect(person.initials).toEqual(['deny'])
    expect(person.offered[0]?.[0]).toBe('deny')
  })

  test('shows paths, URLs and code first, and distinguishes text from other values', async () => {
    const { text } = await asked(
      approval({
        count: 5,
        word: '5',
        sql: 'select 1\nfrom x\n',
        url: 'https://example.org/a',
        path: '/etc/passwd',
        flag: true,
        gone: null,
        list: [1, 'a'],
        spaced: ' x ',
        empty: '',
        quoted: '"a"',
      }),
      'deny',
    )
    const [, ...rows] = text.slice(text.indexOf('ARGUMENT')).split('\n')
    expect(rows).toEqual([
      'path      path          /etc/passwd',
      'url       address       https://example.org/a',
      'sql       code then \\n  select 1',
      '                        from x',
      'count     number        5',
      'word      text          5',
      'flag      yes or no     true',
      'gone      nothing       null',
      'list      list          [',
      '                          1,',
      '                          "a"',
      '                        ]',
      'spaced    text          " x "',
      'empty     text          ""',
      'quoted    text          "\\"a\\""',
    ])
  })

  test('shows invisible characters', async () => {
    const { text } = await asked(
      approval({ a: 'x\u202ey', b: 'p\u200bq\u001b[31m', c: 'tag\u{e0041}', d: 'a\u00a0b', 'e\u200b': 1 }),
      'deny',
    )
    for (const part of [
      'x\\u202ey',
      'p\\u200bq\\u001b[31m',
      'tag\\udb40\\udc41',
      'a\\u00a0b',
      '"e\\u200b"',
    ]) {
      expect(text).toContain(part)
    }
    expect(isUnambiguous(text)).toBe(true)
  })

  test('shows how much of long arguments is hidden, and can show all of it', async () => {
    const item = `start${'x'.repeat(20_000)}end`
    const { person, text } = await asked(approval({ item }), 'show', 'deny')
    expect(text).toContain('… 19,408 more of 20,008 characters')
    expect(text).toContain(item)
    expect(person.offered[0]).toContain('show')
  })

  test('names the error of arguments that could not be sent', async () => {
    const { text } = await asked(approval({}, { problem: '/item must be string' }), 'deny')
    expect(text).toContain('✗ this could not be sent: /item must be string')
    expect(text).toContain('(no arguments)')
  })
})

describe('the answer', () => {
  const exactly = [{ at: '', equals: {} }]
  test.each<[string, Scripted[], unknown]>([
    ['no', ['deny'], { verdict: 'deny' }],
    ['Esc', [cancelled], undefined],
    ['yes', ['allow'], { verdict: 'allow' }],
    [
      'yes, for this conversation and these arguments',
      ['allow-for', 'conversation', '0'],
      { verdict: 'allow', remember: { scope: 'conversation', arguments: exactly } },
    ],
    ['yes, always', ['allow-for', 'always', '1'], { verdict: 'allow', remember: { scope: 'always' } }],
    [
      'not now',
      ['more', 'deny-for', 'workspace', '1'],
      { verdict: 'deny', remember: { scope: 'workspace' } },
    ],
    [
      'a change of mind',
      ['allow-for', cancelled, 'allow-for', 'always', cancelled, 'deny'],
      { verdict: 'deny' },
    ],
    [
      'no, with a reason',
      ['more', 'deny-why', ' not on a Friday '],
      { verdict: 'deny', reason: 'not on a Friday' },
    ],
    ['no, without the reason', ['more', 'deny-why', ''], { verdict: 'deny' }],
    [
      'an answer in place of the tool',
      ['more', 'respond', 'sold out'],
      { verdict: 'respond', result: { content: [{ type: 'text', text: 'sold out' }] } },
    ],
    [
      'no answer in place of the tool',
      ['more', 'respond', cancelled, 'more', 'respond', '', 'allow'],
      { verdict: 'allow' },
    ],
    [
      'edited arguments',
      ['edit', '{"item":"tea"}', 'allow'],
      { verdict: 'allow', arguments: { item: 'tea' } },
    ],
    ['an edit that was given up', ['edit', cancelled, 'allow'], { verdict: 'allow' }],
    [
      'edited arguments, remembered for any',
      ['edit', '{"item":"tea"}', 'allow-for', 'always'],
      { verdict: 'allow', arguments: { item: 'tea' }, remember: { scope: 'always' } },
    ],
  ])('%s', async (_name, answers, answer) => {
    expect((await asked(approval({}), ...answers)).answer).toEqual(answer)
  })

  test('starts with the narrowest pattern for allowing and the widest for refusing', async () => {
    expect((await asked(approval({}), 'allow-for', 'always', '0')).person.initials.at(-1)).toBe('0')
    expect((await asked(approval({}), 'more', 'deny-for', 'always', '0')).person.initials.at(-1)).toBe('1')
  })

  test('can be remembered only for the durations that policy allows', async () => {
    const nothing = await asked(approval({}, { remember: [], likeness: [] }), 'deny')
    expect(nothing.person.offered[0]).toEqual(['deny', 'allow', 'edit', 'later', 'more'])
    const rare = await asked(approval({}, { remember: [], likeness: [] }), 'more', 'deny-why', '')
    expect(rare.person.offered[1]).toEqual(['back', 'deny-why', 'respond', 'show'])
    const some = await asked(approval({}, { remember: ['conversation'] }), 'allow-for', 'conversation', '0')
    expect(some.person.offered[1]).toEqual(['conversation'])
  })

  test('is edited until it matches the tool', async () => {
    const { answer, text } = await asked(
      approval({ item: 'tea' }),
      ...['edit', '{"item":', 'again', '[1]', 'again', '{"item":5}', 'again', '{"item":"coffee"}', 'allow'],
    )
    expect(answer).toEqual({ verdict: 'allow', arguments: { item: 'coffee' } })
    expect(text).toContain('/item must be')
    expect(text).toMatch(/item +text +coffee/)
  })

  test("is edited in the user's editor", async () => {
    const write = `require('fs').writeFileSync(process.argv.at(-1),'{"item":"by-editor"}')`
    const env = { EDITOR: `${process.execPath} -e ${write}` }
    expect(await askApproval(approval({ item: 'tea' }), scripted('edit', 'allow'), palette, env)).toEqual({
      verdict: 'allow',
      arguments: { item: 'by-editor' },
    })
  })

  test('is not edited when the editor does not start', async () => {
    const prompter = scripted()
    const env = { EDITOR: 'no-such-editor --wait' }
    expect(await editText('tea', { prompter, env, suffix: '.md' })).toBe(cancelled)
    expect(prompter.printed).toEqual([
      'The editor "no-such-editor" did not start: there is no such program. Correct VISUAL or EDITOR.',
    ])
  })
})

describe('the exact text of a value', () => {
  test('is exact, and shows only visible characters', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u2028', '\u{e0041}', '\ufe0f'),
    )
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        text,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(text, tie('any'), { maxKeys: 3, noNullPrototype: true }),
      ),
    })).any
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2), (any, indent) => {
        const shown = exactJson(any, indent)
        expect(JSON.stringify(JSON.parse(shown))).toBe(JSON.stringify(any))
        expect(isUnambiguous(shown)).toBe(true)
      }),
    )
  })
})

test('of a megabyte can be read in full, and the shown bytes are sent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-card-'))
  const wire = join(folder, 'wire')
  const program = `const { appendFileSync } = require('node:fs')
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      if (method === 'tools/call') appendFileSync(${JSON.stringify(wire)}, line)
      if (id === undefined) return
      const results = {
        initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} },
          serverInfo: { name: 'paper', version: '1' } },
        'tools/list': { tools: [{ name: 'write', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [] },
      }
      const result = results[method]
      console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'no' } }) }))
    })`
  const person = scripted('show', 'allow')
  try {
    await using host = createHost({
      servers: { paper: { command: process.execPath, args: ['-e', program] } },
      surface: {
        name: 'test',
        show: { approval: (question) => askApproval(question, person, palette, {}) },
      },
      models: [],
    })
    await host.start()
    const lines = Array.from(
      { length: 22_000 },
      (_, n) => `${n} "Grüße" \\ and\ttabs, a line of its own\u200b`,
    )
    const args = { path: '/tmp/letter', content: lines.join('\n'), more: [1, { ü: null }] }
    expect(JSON.stringify(args).length).toBeGreaterThan(1_000_000)
    const { result } = await host.call('paper__write', args, { caller: 'chat' })
    expect(result.isError).not.toBe(true)
    const sent = /"arguments":(\{.*\}),"_meta"|"arguments":(\{.*\})\}/.exec(readFileSync(wire, 'utf8'))
    const bytes = sent?.[1] ?? sent?.[2] ?? ''
    const shown = person.printed.slice(person.printed.indexOf('{')).join('\n')
    expect(JSON.stringify(JSON.parse(shown)) === bytes).toBe(true)
    expect(
      shown.replaceAll('\\u200b', '\u200b').replaceAll(/\n */g, '').replaceAll('": ', '":') === bytes,
    ).toBe(true)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

describe('releasing a result', () => {
  const question: Extract<HostQuestion, { kind: 'result' }> = {
    kind: 'result',
    id: '1',
    cause: { server: 'shop', caller: 'chat' },
    tool: { name: 'shop__buy', server: 'shop', tool: { name: 'buy', inputSchema: { type: 'object' } } },
    arguments: {},
    result: { content: [{ type: 'text', text: 'card 4111' }] },
    decision: { verdict: 'ask', rule: 'look first', author: 'Jackfield' },
  }

  test.each<[string, Scripted[], unknown]>([
    ['yes', ['show', 'allow'], { verdict: 'allow' }],
    ['no', ['deny'], { verdict: 'deny' }],
    ['Esc', [cancelled], undefined],
    ['no, with a reason', ['deny-why', 'private'], { verdict: 'deny', reason: 'private' }],
    [
      'edited',
      ['edit', '{"content":1}', 'again', '{"content":[{"type":"text","text":"card …"}]}', 'allow'],
      { verdict: 'allow', result: { content: [{ type: 'text', text: 'card …' }] } },
    ],
  ])('%s', async (_name, answers, answer) => {
    const person = scripted(...answers)
    expect(await askResult(question, person, palette, {})).toEqual(answer)
    expect(person.printed.join('\n')).toContain('buy of shop was called for chat and returned:')
    expect(person.printed.join('\n')).toContain('card 4111')
    expect(person.initials[0]).toBe('deny')
  })
})
