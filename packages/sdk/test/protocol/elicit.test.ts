import type { ElicitField, SamplingMessage } from '@jackfield/sdk'
import {
  checkElicitContent,
  checkElicitSchema,
  checkElicitValue,
  checkSampling,
  fillDefaults,
} from '@jackfield/sdk/internal'
import { describe, expect, it } from 'vitest'

describe('elicitation forms', () => {
  it.each([
    [{ type: 'array' }, /type "object"/],
    [{ type: 'object' }, /"properties"/],
    [{ type: 'object', properties: { a: { type: 'object' } } }, /field "a"/],
    [
      { type: 'object', properties: { a: { type: 'array', items: { type: 'number' } } } },
      /choice among strings/,
    ],
    [{ type: 'object', properties: { a: { type: 'string', oneOf: [{ const: 'x' }] } } }, /"title"/],
    [{ type: 'object', properties: {}, required: ['b'] }, /"b" is required but not a field/],
  ])('may not be %j', (schema, reason) => {
    expect(checkElicitSchema(schema)).toMatch(reason)
  })

  const fields: [ElicitField, unknown[], unknown[]][] = [
    [{ type: 'string' }, ['', 'x'], [1, null, true]],
    [{ type: 'string', minLength: 2, maxLength: 3 }, ['ab', '🙂🙂🙂'], ['a', 'abcd']],
    [{ type: 'string', format: 'email' }, ['a@b', 'joe@example.com'], ['a', '@b', 'a b@c', 'a@b..c']],
    [{ type: 'string', format: 'uri' }, ['https://a.example/x', 'mailto:a@b'], ['/x', 'no']],
    [
      { type: 'string', format: 'date' },
      ['2026-02-28', '2024-02-29'],
      ['2026-02-29', '28.2.2026', '2026-2-1'],
    ],
    [
      { type: 'string', format: 'date-time' },
      ['2026-07-28T09:30:00Z', '2026-07-28T09:30:00.5+02:00'],
      ['2026-07-28', '2026-13-01T00:00:00Z'],
    ],
    [{ type: 'integer', minimum: 0, maximum: 9 }, [0, 9], [-1, 10, 1.5, '3', Number.NaN]],
    [{ type: 'number' }, [1.5, -3], ['1', Number.POSITIVE_INFINITY]],
    [{ type: 'boolean' }, [true, false], ['true', 1]],
    [{ type: 'string', enum: ['a', 'b'] }, ['a'], ['c', 1]],
    [{ type: 'string', enum: ['a'], enumNames: ['A'] }, ['a'], ['A']],
    [{ type: 'string', oneOf: [{ const: 'a', title: 'A' }] }, ['a'], ['A']],
    [
      { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1 },
      [['a'], ['a', 'b']],
      [[], ['c'], 'a', ['a', 'a']],
    ],
    [{ type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] }, maxItems: 1 }, [[], ['a']], [['A']]],
  ]

  it.each(fields)('%j accepts only valid content', (field, good, bad) => {
    for (const value of good) expect(checkElicitValue(field, value)).toBeUndefined()
    for (const value of bad)
      expect(checkElicitValue(field, value), JSON.stringify(value)).toBeTypeOf('string')
  })

  it('require every required value, and reject unknown fields', () => {
    const schema = {
      type: 'object' as const,
      properties: { a: { type: 'string' as const } },
      required: ['a'],
    }
    expect(checkElicitContent(schema, {})).toBe('"a" is required')
    expect(checkElicitContent(schema, { a: 'x', constructor: 'y' })).toBe(
      '"constructor" is not a field of the form',
    )
    expect(checkElicitContent(schema, { a: 'x' })).toBeUndefined()
  })

  it('apply their defaults to absent fields and keep the others', () => {
    const properties = {
      a: { type: 'string' as const, default: 'x' },
      b: { type: 'boolean' as const, default: true },
    }
    expect(fillDefaults({ type: 'object', properties }, { b: false })).toEqual({ a: 'x', b: false })
  })
})

describe('tool use in sampling', () => {
  const text = { type: 'text' as const, text: 'hi' }
  const use = (id: string) => ({ type: 'tool_use' as const, id, name: 't', input: {} })
  const result = (toolUseId: string) => ({ type: 'tool_result' as const, toolUseId, content: [text] })
  const check = (messages: SamplingMessage[]): string | undefined =>
    checkSampling({ messages, maxTokens: 10 })

  it('is balanced: every use has its result in the next message', () => {
    expect(
      check([
        { role: 'user', content: text },
        { role: 'assistant', content: [use('1'), use('2')] },
        { role: 'user', content: [result('2'), result('1')] },
        { role: 'assistant', content: text },
      ]),
    ).toBeUndefined()
  })

  it.each<[string, SamplingMessage[], RegExp]>([
    ['a use without result', [{ role: 'assistant', content: use('1') }], /"1" has no result/],
    [
      'a result that comes late',
      [
        { role: 'assistant', content: use('1') },
        { role: 'user', content: text },
      ],
      /next message/,
    ],
    [
      'one result missing',
      [
        { role: 'assistant', content: [use('1'), use('2')] },
        { role: 'user', content: result('1') },
      ],
      /"2"/,
    ],
    ['a result of nothing', [{ role: 'user', content: result('9') }], /answers no tool use/],
    [
      'a result beside text',
      [
        { role: 'assistant', content: use('1') },
        { role: 'user', content: [result('1'), text] },
      ],
      /alone/,
    ],
    ['a use by the user', [{ role: 'user', content: use('1') }], /only an assistant/],
  ])('may not have %s', (_what, messages, reason) => {
    expect(check(messages)).toMatch(reason)
  })

  it('needs a positive maxTokens', () => {
    expect(checkSampling({ messages: [], maxTokens: 0 })).toMatch(/maxTokens/)
  })
})
