import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  parseArguments,
  parseJsonArguments,
  parseTextArguments,
  requireArguments,
  undeclaredArguments,
} from '../../src/cli/arguments.ts'

const schema = {
  type: 'object',
  properties: {
    city: { type: 'string', description: 'Where to' },
    days: { type: 'integer' },
    price: { type: 'number' },
    direct: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    sizes: { type: 'array', items: { type: 'number' } },
    filter: { type: 'object' },
    note: { type: ['string', 'null'] },
    limit: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    level: { enum: ['low', 'high'] },
    where: { $ref: '#/$defs/place' },
  },
  required: ['city', 'days'],
  additionalProperties: false,
  $defs: { place: { type: 'object' } },
}

describe('key=value', () => {
  test.each([
    ['city=Rio de Janeiro', { city: 'Rio de Janeiro' }],
    ['city=7', { city: '7' }],
    ['city=', { city: '' }],
    ['city=a=b', { city: 'a=b' }],
    ['days=7', { days: 7 }],
    ['days=-1', { days: -1 }],
    ['price=1e3', { price: 1000 }],
    ['price=.5', { price: 0.5 }],
    ['direct=true', { direct: true }],
    ['direct=false', { direct: false }],
    ['tags=["a","b"]', { tags: ['a', 'b'] }],
    ['tags=a', { tags: ['a'] }],
    ['sizes=3', { sizes: [3] }],
    ['filter={"a":1}', { filter: { a: 1 } }],
    ['note=null', { note: null }],
    ['note=hello', { note: 'hello' }],
    ['limit=5', { limit: 5 }],
    ['limit=all', { limit: 'all' }],
    ['level=low', { level: 'low' }],
    ['where={"x":1}', { where: { x: 1 } }],
    ['city:="x"', { city: 'x' }],
    ['days:=7', { days: 7 }],
    ['filter:=[1]', { filter: [1] }],
    ['city=@@home', { city: '@home' }],
  ])('%s', (word, args) => {
    expect(parseArguments([word], schema)).toEqual(args)
  })

  test('a repeated key makes an array where the schema allows one', () => {
    expect(parseArguments(['tags=a', 'tags=b', 'sizes=1', 'sizes=2'], schema)).toEqual({
      tags: ['a', 'b'],
      sizes: [1, 2],
    })
    expect(() => parseArguments(['city=a', 'city=b'], schema)).toThrow('city is given 2 times')
  })

  test.each([
    ['days=many', 'days must be a whole number, not "many".'],
    ['days=1.5', 'days must be a whole number'],
    ['days=0x10', 'days must be a whole number'],
    ['days=', 'days must be a whole number'],
    ['price=Infinity', 'price must be a number'],
    ['direct=yes', 'direct must be true or false'],
    ['filter=x', 'filter is not valid JSON'],
    ['filter=[1]', 'filter must be a JSON object'],
    ['days:=x', 'days is not valid JSON'],
    ['town=x', 'no argument "town". It takes: city, days'],
    ['=x', '"=x" is not an argument'],
    [':=1', 'is not an argument'],
    ['plain', '"plain" is not an argument'],
    ['city=@/nowhere/at/all', 'city: the file "/nowhere/at/all" cannot be read'],
  ])('%s is rejected with the reason', (word, words) => {
    expect(() => parseArguments([word], schema)).toThrow(words)
  })

  test('@file is replaced by the file contents, parsed by the type', () => {
    const folder = mkdtempSync(join(tmpdir(), 'args-'))
    writeFileSync(join(folder, 'a.txt'), 'line 1\nline 2')
    writeFileSync(join(folder, 'a.json'), '{"a":[1]}')
    expect(parseArguments([`city=@${folder}/a.txt`, `filter=@${folder}/a.json`], schema)).toEqual({
      city: 'line 1\nline 2',
      filter: { a: [1] },
    })
    expect(parseJsonArguments(`@${folder}/a.json`)).toEqual({ a: [1] })
  })

  test('a key that is not in the schema is text if additional properties are allowed', () => {
    expect(parseArguments(['x=1'], { type: 'object' })).toEqual({ x: '1' })
  })

  test('any text is preserved as a string argument, whatever its key', () => {
    fc.assert(
      fc.property(fc.string(), fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]*$/), (text, key) => {
        fc.pre(!text.startsWith('@'))
        const made = parseArguments([`${key}=${text}`], {
          type: 'object',
          properties: Object.fromEntries([[key, { type: 'string' }]]),
        })
        expect(Object.entries(made)).toEqual([[key, text]])
      }),
    )
  })

  test('a key named like an inherited property is an ordinary argument', () => {
    const made = parseArguments(['__proto__=x', 'constructor=y'], { type: 'object' })
    expect(Object.entries(made)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
    expect(() => parseArguments(['constructor=y'], schema)).toThrow('no argument "constructor"')
  })
})

test('--args is one JSON object', () => {
  expect(parseJsonArguments('{"a":1}')).toEqual({ a: 1 })
  expect(() => parseJsonArguments('[1]')).toThrow('must be a JSON object')
  expect(() => parseJsonArguments('{')).toThrow('not valid JSON')
})

test('missing arguments are named with their types', () => {
  expect(() => requireArguments({}, schema)).toThrow('Missing arguments:\n  city: Where to\n  days')
  expect(() => requireArguments({ city: 'x' }, schema)).toThrow('Missing argument:\n  days')
  requireArguments({ city: 'x', days: 1 }, schema)
})

test('unknown arguments are detected, unless the schema may allow them in another way', () => {
  const properties = { city: { type: 'string' } }
  const given = { city: 'Oslo', ctiy: 'Oslo' }
  expect(undeclaredArguments(given, { type: 'object', properties })).toEqual(['ctiy'])
  expect(undeclaredArguments({ toString: 1 }, { type: 'object', properties })).toEqual(['toString'])
  for (const more of [
    { additionalProperties: true },
    { additionalProperties: { type: 'string' } },
    { patternProperties: { '^c': {} } },
    { anyOf: [{ properties: { ctiy: {} } }] },
  ]) {
    expect(undeclaredArguments(given, { type: 'object', properties, ...more })).toEqual([])
  }
  expect(undeclaredArguments(given, { type: 'object' })).toEqual([])
})

test("a prompt's arguments are text", () => {
  expect(parseTextArguments(['a=1', 'b=x y'])).toEqual({ a: '1', b: 'x y' })
  expect(() => parseTextArguments(['a:=1'])).toThrow('prompt arguments are text')
})
