import type { Random } from '../random.ts'

/** A schema of a peer, and a value it is asked about. */
export interface Pair {
  readonly schema: unknown
  readonly value: unknown
}

function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

function members(count: number, make: (index: number) => unknown): Record<string, unknown> {
  return Object.fromEntries(many(count, (index) => [`k${index}`, make(index)]))
}

function nested(levels: number, core: unknown): unknown {
  let value = core
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

/** Definitions that refer to the next one twice each. */
function doubling(levels: number): Record<string, unknown> {
  return Object.fromEntries(
    many(levels, (level) => {
      const next = { $ref: `#/$defs/d${(level + 1) % levels}` }
      const items = { type: 'array', items: { anyOf: [next, next] } }
      return [`d${level}`, { anyOf: [items, { not: { not: items } }] }]
    }),
  )
}

/** What each was found, or meant, to make a validator do a great deal of work with. */
export const hostile: Readonly<Record<string, () => Pair>> = {
  'a nested quantifier': () => ({ schema: { pattern: '^(a+)+$' }, value: `${'a'.repeat(60_000)}!` }),
  'a nested quantifier and 31 characters': () => ({
    schema: { pattern: '^(a+)+$' },
    value: `${'a'.repeat(31)}!`,
  }),
  'alternatives that overlap': () => ({ schema: { pattern: '^(a|a|aa)*b' }, value: 'a'.repeat(30_000) }),
  'a counted repetition': () => ({ schema: { pattern: '(a?){400}b' }, value: 'a'.repeat(30_000) }),
  'a look-ahead at each place': () => ({ schema: { pattern: '(?=(a+)+b)c' }, value: 'a'.repeat(30_000) }),
  'many patterns for many names': () => ({
    schema: { patternProperties: Object.fromEntries(many(150, (index) => [`(a*)*${index}`, true])) },
    value: members(3000, () => 1),
  }),
  'patterns that are not supported': () => ({
    schema: { patternProperties: Object.fromEntries(many(1000, (index) => [`(?<=a)${index}`, true])) },
    value: members(20_000, () => 1),
  }),
  'definitions that double': () => ({
    schema: { $defs: doubling(12), $ref: '#/$defs/d0' },
    value: nested(60, 1),
  }),
  'a definition of itself': () => ({ schema: { anyOf: [{ $ref: '#' }, { $ref: '#' }] }, value: 1 }),
  'nesting of 30 levels with a choice at each': () => {
    let schema: unknown = { const: 1 }
    for (let level = 0; level < 30; level++) schema = { anyOf: [{ items: schema }, { type: 'null' }] }
    return { schema, value: nested(30, 2) }
  },
  'many properties of many items': () => ({
    schema: { items: { properties: members(1900, () => true) } },
    value: many(200_000, () => ({})),
  }),
  'many required names of many items': () => ({
    schema: { items: { required: many(20_000, (index) => `k${index}`) } },
    value: many(200_000, () => ({})),
  }),
  'required names that all are there': () => ({
    schema: {
      $defs: { all: { required: many(20_000, (index) => `k${index}`) } },
      allOf: many(1500, () => ({ $ref: '#/$defs/all' })),
    },
    value: members(20_000, () => 1),
  }),
  'names that others depend on': () => ({
    schema: { items: { dependentRequired: members(9000, () => ['a']) } },
    value: many(200_000, () => ({})),
  }),
  'a huge enum of objects': () => ({
    schema: { enum: many(60_000, () => ({})) },
    value: members(5000, () => 1),
  }),
  'a huge enum for many items': () => ({
    schema: { items: { enum: many(60_000, () => []) } },
    value: many(200_000, () => 'x'),
  }),
  'a type named very often': () => ({
    schema: { items: { type: many(20_000, () => 'null') } },
    value: many(200_000, () => 1),
  }),
  'tuples of many places': () => ({
    schema: { items: { prefixItems: many(1900, () => true) } },
    value: many(200_000, () => []),
  }),
  'counting the same members again and again': () => ({
    schema: { allOf: many(1900, () => ({ minProperties: 1, maxProperties: 1_000_000 })) },
    value: members(200_000, () => 1),
  }),
  'comparing every item': () => ({
    schema: { allOf: many(1900, () => ({ uniqueItems: true })) },
    value: many(100_000, (index) => [index]),
  }),
  'counting the same characters again and again': () => ({
    schema: { allOf: many(1900, () => ({ minLength: 1_500_000, maxLength: 2_500_000 })) },
    value: 'é'.repeat(2_000_000),
  }),
  'remembering what was looked at': () => ({
    schema: {
      allOf: many(900, () => ({ properties: {}, additionalProperties: true })),
      unevaluatedProperties: false,
    },
    value: members(100_000, () => 1),
  }),
  'remembering which items were looked at': () => ({
    schema: { allOf: many(900, () => ({ contains: true })), unevaluatedItems: false },
    value: many(100_000, () => 1),
  }),
  'fractions of huge numbers': () => ({
    schema: { items: { multipleOf: 1e-300 } },
    value: many(200_000, () => 1.1e300),
  }),
  'references among many definitions': () => ({
    schema: {
      $defs: members(12_000, () => 1),
      allOf: many(1500, (index) => ({ $ref: `#/$defs/k${index}` })),
    },
    value: 1,
  }),
  'a long base for many references': () => ({
    schema: {
      $id: `https://example.com/${'a'.repeat(150_000)}`,
      $defs: { x: true },
      allOf: many(1500, () => ({ $ref: '#/$defs/x' })),
    },
    value: 1,
  }),
  'the longest base that is allowed, for many references': () => ({
    schema: {
      $id: `https://example.com/${'a'.repeat(8000)}`,
      $defs: { x: true },
      allOf: many(1500, () => ({ $ref: '#/$defs/x' })),
    },
    value: 1,
  }),
  'dynamic references among many resources': () => ({
    schema: {
      $defs: members(950, (index) => ({ $id: `r${index}`, $dynamicAnchor: 'a' })),
      allOf: many(950, (index) => ({ $dynamicRef: `r${index}#a` })),
    },
    value: 1,
  }),
  'too many subschemas': () => ({ schema: { allOf: many(30_000, () => ({})) }, value: 1 }),
  'nesting beyond the bound': () => {
    let schema: unknown = {}
    for (let level = 0; level < 3000; level++) schema = { not: schema }
    return { schema, value: 1 }
  },
  'more characters than the bound': () => ({ schema: { description: 'x'.repeat(4_000_000) }, value: 1 }),
}

const patterns = ['^(a+)+$', '(a|b)*c', '\\p{L}+', '(?<=a)b', '((a*)*)*', '\\1(a)', '.{0,99}z'] as const

/** A schema of chance that uses every keyword, in a wrong way too. */
function schemaOf(random: Random, levels: number): unknown {
  if (levels === 0 || random.fraction() < 0.1) {
    return random.pick<unknown>([
      true,
      false,
      {},
      { $ref: '#' },
      { $ref: '#/$defs/k0' },
      { type: 'string' },
      { type: 'array' },
    ] as const)
  }
  const sub = (): unknown => schemaOf(random, levels - 1)
  const subs = (): unknown[] => many(random.between(1, 3), sub)
  const named = (): Record<string, unknown> => members(random.between(0, 3), sub)
  const keywords: Readonly<Record<string, () => unknown>> = {
    type: () => random.pick<unknown>(['object', 'array', 'string', ['null', 'integer']] as const),
    enum: () => many(random.between(1, 30), (index) => (index % 2 === 0 ? index : { k0: index })),
    const: () => random.pick<unknown>([1, 'aaa', [], { k0: 1 }] as const),
    pattern: () => random.pick(patterns),
    minLength: () => random.between(0, 50),
    multipleOf: () => random.pick([0.1, 3, 1e-300] as const),
    required: () => many(random.between(0, 30), (index) => `k${index}`),
    uniqueItems: () => true,
    properties: named,
    patternProperties: () => ({ [random.pick(patterns)]: sub() }),
    additionalProperties: sub,
    propertyNames: sub,
    dependentSchemas: named,
    dependentRequired: () => members(random.between(0, 3), () => ['k0']),
    items: sub,
    prefixItems: subs,
    contains: sub,
    allOf: subs,
    anyOf: subs,
    oneOf: subs,
    not: sub,
    if: sub,
    else: sub,
    unevaluatedProperties: sub,
    unevaluatedItems: sub,
    $dynamicRef: () => '#a',
  }
  if (random.fraction() < 0.01) {
    return random.pick<unknown>([7, { type: 'none' }, { pattern: '[' }, { multipleOf: 0 }] as const)
  }
  const names = Object.keys(keywords)
  return Object.fromEntries(
    many(random.between(1, 5), () => {
      const name = names[random.between(0, names.length - 1)] ?? 'type'
      return [name, keywords[name]?.()]
    }),
  )
}

function valueFor(random: Random, levels: number): unknown {
  const leaf = random.pick<unknown>([
    null,
    true,
    7,
    0.3,
    1e300,
    'aaa!',
    'x'.repeat(2000),
    'é'.repeat(500),
  ] as const)
  if (levels === 0) return leaf
  const size = random.pick([0, 1, 3, 40] as const)
  switch (random.between(0, 2)) {
    case 0:
      return leaf
    case 1:
      return many(levels === 3 ? size * 20 : size, () => valueFor(random, size > 3 ? 0 : levels - 1))
    default:
      return members(levels === 3 ? size * 20 : size, () => valueFor(random, size > 3 ? 0 : levels - 1))
  }
}

/** A pair of chance. */
export function pairOf(random: Random): Pair {
  const schema = schemaOf(random, 4)
  const root = { $defs: { k0: schemaOf(random, 2) }, $dynamicAnchor: 'a' }
  return { schema: typeof schema === 'object' ? { ...schema, ...root } : schema, value: valueFor(random, 3) }
}
