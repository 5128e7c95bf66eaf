import { compileSchema } from '@jackfield/sdk/schema'
import { describe, expect, test } from 'vitest'

const draft07 = 'http://json-schema.org/draft-07/schema#'

interface Row {
  schema: unknown
  good?: unknown[]
  bad?: [value: unknown, says: string][]
}

const rows: Record<string, Row> = {
  'an empty schema allows anything': { schema: {}, good: [null, 0, '', [], {}] },
  'a false schema allows nothing': { schema: false, bad: [[1, 'must be absent']] },
  'type names one type': { schema: { type: 'string' }, good: ['a'], bad: [[1, 'must be string']] },
  'type names several types': {
    schema: { type: ['string', 'null'] },
    good: ['a', null],
    bad: [[1, 'must be string or null']],
  },
  'integer includes whole floats': {
    schema: { type: 'integer' },
    good: [1, 1e20, -0],
    bad: [[1.5, 'must be integer']],
  },
  'number leaves out what JSON cannot write': {
    schema: { type: 'number' },
    bad: [
      [Number.NaN, 'must be number'],
      [Number.POSITIVE_INFINITY, 'must be number'],
    ],
  },
  'an array is not an object': { schema: { type: 'object' }, bad: [[[], 'must be object']] },
  'const compares deeply, members in any order': {
    schema: { const: { a: [1, { b: null }], c: 0 } },
    good: [{ c: 0, a: [1, { b: null }] }],
    bad: [[{ c: 0, a: [1, { b: false }] }, 'must be {"a":[1,{"b":null}],"c":0}']],
  },
  'enum lists the choices': {
    schema: { enum: ['a', 1, [2]] },
    good: ['a', 1, [2]],
    bad: [['b', 'must be one of "a", 1, [2]']],
  },
  'bounds on numbers': {
    schema: { minimum: 1, exclusiveMaximum: 3 },
    good: [1, 2.9, 'text'],
    bad: [
      [0, 'must be at least 1'],
      [3, 'must be less than 3'],
    ],
  },
  'multipleOf counts in decimals': {
    schema: { multipleOf: 0.01 },
    good: [0.07, 1.15, 19.99, 1e308, -4.35],
    bad: [[0.075, 'must be a multiple of 0.01']],
  },
  'multipleOf a number that no double holds is true of 0 alone': {
    schema: JSON.parse('{ "multipleOf": 1e400 }'),
    good: [0],
    bad: [
      [0.5, 'must be a multiple of Infinity'],
      [JSON.parse('1e400'), 'must be a multiple of Infinity'],
    ],
  },
  'lengths count characters, not code units': {
    schema: { minLength: 2, maxLength: 2 },
    good: ['ab', '💩💩'],
    bad: [
      ['💩', 'must have at least 2 characters'],
      ['💩💩💩', 'must have at most 2 characters'],
    ],
  },
  'pattern finds its match anywhere': {
    schema: { pattern: 'b+' },
    good: ['abbc', 3],
    bad: [['ac', 'must match the pattern b+']],
  },
  'format is an annotation': { schema: { format: 'email' }, good: ['not an address'] },
  'counts of items': {
    schema: { minItems: 1, maxItems: 2 },
    good: [[1], [1, 2]],
    bad: [
      [[], 'must have at least 1 item'],
      [[1, 2, 3], 'must have at most 2 items'],
    ],
  },
  'uniqueItems compares deeply': {
    schema: { uniqueItems: true },
    good: [[1, '1', [1], { a: 1, b: 2 }, { a: 1 }, true]],
    bad: [
      [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
        'must not have equal items',
      ],
      [[0, -0], 'must not have equal items'],
    ],
  },
  'prefixItems, then items': {
    schema: { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
    good: [[], ['a'], ['a', 1, 2]],
    bad: [
      [[1], '/0 must be string'],
      [['a', 1, 'b'], '/2 must be number'],
    ],
  },
  'contains counts what fits': {
    schema: { contains: { type: 'number' }, minContains: 2, maxContains: 3 },
    good: [[1, 'a', 2]],
    bad: [
      [[1, 'a'], 'must have at least 2 items that match the schema in "contains"'],
      [[1, 2, 3, 4], 'must have at most 3 items that match the schema in "contains"'],
    ],
  },
  'properties, patternProperties and additionalProperties share the names': {
    schema: {
      properties: { a: { type: 'string' } },
      patternProperties: { '^x-': { type: 'number' } },
      additionalProperties: false,
    },
    good: [{}, { a: 'a', 'x-1': 1 }],
    bad: [
      [{ a: 1 }, '/a must be string'],
      [{ 'x-1': 'a' }, '/x-1 must be number'],
      [{ b: 1 }, 'must not have the property "b"'],
    ],
  },
  'every missing property is named': {
    schema: { required: ['a', 'b'] },
    good: [{ a: 1, b: 1 }],
    bad: [[{}, 'must have the property "a"; must have the property "b"']],
  },
  'a member that JSON would leave out is missing': {
    schema: { required: ['a'], maxProperties: 1 },
    good: [{ a: 1, b: undefined }],
    bad: [[{ a: undefined }, 'must have the property "a"']],
  },
  'names of the prototype are ordinary names': {
    schema: { required: ['constructor', '__proto__'], properties: { toString: { type: 'string' } } },
    good: [JSON.parse('{"constructor":1,"__proto__":2}')],
    bad: [[{}, 'must have the property "constructor"; must have the property "__proto__"']],
  },
  'propertyNames looks at names': {
    schema: { propertyNames: { maxLength: 1 } },
    good: [{ a: 1 }],
    bad: [[{ ab: 1 }, 'must not have a property named "ab"']],
  },
  'dependentRequired and dependentSchemas': {
    schema: { dependentRequired: { a: ['b'] }, dependentSchemas: { c: { required: ['d'] } } },
    good: [{ b: 1 }, { a: 1, b: 1 }, { c: 1, d: 1 }],
    bad: [
      [{ a: 1 }, 'must have the property "b" when it has "a"'],
      [{ c: 1 }, 'must have the property "d"'],
    ],
  },
  'allOf reports the errors inside': {
    schema: { allOf: [{ required: ['a'] }, { properties: { a: { type: 'string' } } }] },
    good: [{ a: 'a' }],
    bad: [[{ a: 1 }, '/a must be string']],
  },
  'anyOf reports the errors of the closest alternative': {
    schema: {
      anyOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }],
    },
    good: ['x', { a: 'x' }],
    bad: [[{ a: 1 }, 'must match one of 2 alternatives; in the closest one: /a must be string']],
  },
  'oneOf allows exactly one': {
    schema: { oneOf: [{ type: 'number' }, { minimum: 5 }] },
    good: [1, 'a'],
    bad: [[6, 'must match exactly one of 2 alternatives but matches 2']],
  },
  'not rules out': {
    schema: { not: { type: 'string' } },
    good: [1],
    bad: [['a', 'must not match the schema in "not"']],
  },
  'if, then, else': {
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    schema: { if: { properties: { k: { const: 1 } } }, then: { required: ['a'] }, else: { required: ['b'] } },
    good: [
      { k: 1, a: 1 },
      { k: 2, b: 1 },
    ],
    bad: [
      [{ k: 1, b: 1 }, 'must have the property "a"'],
      [{ k: 2, a: 1 }, 'must have the property "b"'],
    ],
  },
  'unevaluatedProperties sees through references and branches that hold': {
    schema: {
      $ref: '#/$defs/base',
      anyOf: [
        { properties: { b: { type: 'string' } }, required: ['b'] },
        { properties: { c: true }, required: ['c'] },
      ],
      unevaluatedProperties: false,
      $defs: { base: { properties: { a: true } } },
    },
    good: [
      { a: 1, b: 'b' },
      { a: 1, c: 1 },
      { b: 'b', c: 1 },
    ],
    bad: [[{ b: 1, c: 1 }, 'must not have the property "b"']],
  },
  'what an inner unevaluatedProperties looked at, the outer one leaves': {
    schema: {
      allOf: [{ properties: { a: true }, unevaluatedProperties: { type: 'number' } }],
      unevaluatedProperties: false,
    },
    good: [{ a: 'x', b: 1 }],
    bad: [[{ a: 'x', b: 'x' }, '/b must be number']],
  },
  'unevaluatedItems leaves what contains saw': {
    schema: { prefixItems: [true], contains: { type: 'number' }, unevaluatedItems: { type: 'string' } },
    good: [['x', 1, 'a', 2]],
    bad: [[[null, 1, null], '/2 must be string']],
  },
  'references may point at definitions, anchors, identifiers and themselves': {
    schema: {
      type: 'object',
      properties: {
        child: { $ref: '#' },
        anchored: { $ref: '#text' },
        embedded: { $ref: 'https://example.com/number' },
        escaped: { $ref: '#/$defs/a~1b%25' },
      },
      $defs: {
        one: { $anchor: 'text', type: 'string' },
        two: { $id: 'https://example.com/number', type: 'number' },
        'a/b%': { type: 'boolean' },
      },
    },
    good: [{ child: { child: { anchored: 'x', embedded: 1, escaped: true } } }],
    bad: [
      [{ child: { child: { anchored: 1 } } }, '/child/child/anchored must be string'],
      [{ embedded: 'x' }, '/embedded must be number'],
      [{ escaped: 'x' }, '/escaped must be boolean'],
    ],
  },
  'a reference counts beside its siblings': {
    schema: { $ref: '#/$defs/text', maxLength: 1, $defs: { text: { type: 'string' } } },
    good: ['a'],
    bad: [['ab', 'must have at most 1 character']],
  },
  'a dynamic reference reaches the outermost anchor': {
    schema: {
      $id: 'https://example.com/strings',
      $ref: 'list',
      $defs: {
        item: { $dynamicAnchor: 'item', type: 'string' },
        list: {
          $id: 'list',
          type: 'array',
          items: { $dynamicRef: '#item' },
          $defs: { any: { $dynamicAnchor: 'item' } },
        },
      },
    },
    good: [['a', 'b']],
    bad: [[['a', 1], '/1 must be string']],
  },
  'paths escape slashes and tildes': {
    schema: { additionalProperties: { type: 'string' } },
    bad: [[{ 'a/b~c': 1 }, '/a~1b~0c must be string']],
  },
  'unknown keywords are ignored': { schema: { 'x-mcp-header': 'Region', colour: 4 }, good: [1] },
  'draft-07: items may be an array, additionalItems the rest': {
    schema: { $schema: draft07, items: [{ type: 'string' }], additionalItems: false },
    good: [['a'], []],
    bad: [[['a', 1], '/1 must be absent']],
  },
  'draft-07: keywords beside $ref are ignored': {
    schema: {
      $schema: draft07,
      properties: { a: { $ref: '#/definitions/text', maxLength: 1 } },
      definitions: { text: { type: 'string' } },
    },
    good: [{ a: 'abc' }],
    bad: [[{ a: 1 }, '/a must be string']],
  },
  'draft-07: dependencies': {
    schema: { $schema: draft07, dependencies: { a: ['b'], c: { required: ['d'] } } },
    bad: [
      [{ a: 1 }, 'must have the property "b" when it has "a"'],
      [{ c: 1 }, 'must have the property "d"'],
    ],
  },
  'draft-07: keywords of later drafts do not count': {
    schema: {
      $schema: draft07,
      prefixItems: [false],
      dependentRequired: { a: ['b'] },
      unevaluatedProperties: false,
    },
    good: [[1], { a: 1 }],
  },
}

describe('each keyword', () => {
  for (const [name, { schema, good = [], bad = [] }] of Object.entries(rows)) {
    test(name, () => {
      const validator = compileSchema(schema)
      for (const value of good) expect(validator.check(value)).toBeUndefined()
      for (const [value, message] of bad) expect(validator.check(value)).toBe(message)
    })
  }
})

test('every issue has its path, up to twenty', () => {
  const { issues } = compileSchema({ items: { type: 'string' } })
  expect(issues(['a', 1, {}])).toEqual([
    { path: '/1', message: 'must be string' },
    { path: '/2', message: 'must be string' },
  ])
  expect(issues(Array.from({ length: 100 }, () => 1))).toHaveLength(20)
})

test('a validator can be used again after a check that exceeded its limit', () => {
  const validator = compileSchema({ properties: { a: { $ref: '#' }, b: { type: 'string' } } })
  const cyclic: Record<string, unknown> = {}
  cyclic['a'] = cyclic
  expect(validator.check(cyclic)).toBe('nests too deep to check')
  expect(validator.check({ a: { b: 'x' } })).toBeUndefined()
  expect(validator.check({ a: { b: 1 } })).toBe('/a/b must be string')
})
