import type { Random } from '../random.ts'

/** Pieces that readers of text trip over. */
export const texts: readonly [string, ...string[]] = [
  ...([
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    ';',
    '=',
    '/',
    '%',
    '*',
    '+',
    '&',
    '?',
    '#',
    '<',
    '|',
    '(',
    ')',
    '-',
    '.',
  ] as const),
  ...[
    '\0',
    '\n',
    '\r\n',
    '\r',
    '\t',
    ' ',
    '\u2028',
    '\uFEFF',
    '\x7f',
    '\u00a0',
    '😀',
    '\u0301',
    '\u202e',
    '́',
  ],
  ...[
    '\\ud800',
    '\\u0000',
    '\\"',
    '%00',
    '%2f',
    '%',
    '%zz',
    '%F0%9F',
    '..',
    '../',
    '//',
    '://',
    '@',
    '~',
    '${',
    '}}',
    '{{',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'null',
    'true',
    'undefined',
    'NaN',
    'data:',
    'id:',
    'retry: 9',
    ': ',
    '\n\n',
  ],
  ...[
    '1e400',
    '-0',
    '9007199254740993',
    '99999999999999999999',
    '0x',
    '1.5',
    '-1',
    '2.0',
    '"2.0"',
    '0',
    '""',
    '[]',
    '{}',
  ],
  ...[
    'q=0',
    'charset=utf-16',
    '=?base64?',
    '?=',
    'Bearer ',
    'DPoP ',
    'Basic',
    'http://',
    'file:',
    'javascript:',
    '[::1]',
  ],
  ...[
    '$ref',
    '#/',
    '"$ref":"#"',
    'allOf',
    '(a+)+$',
    '{"a":1,"a":2}',
    "'",
    '`',
    'OR 1=1',
    '--',
    '/*',
    '*/',
    '!!js',
    '&a',
    '*a',
    '<<',
  ],
]

/** Placeholders for what `JSON.stringify` cannot write: see `finished`. */
const raws: string[] = []

/** A value that is written exactly so. */
function raw(text: string): string {
  raws.push(text)
  return `\u0001${raws.length - 1};`
}

/** What the name of a member ends with that is written beside one of the same name. */
export const again = '\u0002'

/** What a value was written as, with the parts in it that no value can be. */
export function finished(text: string): string {
  if (!text.includes('\\u000')) return text
  return text
    .replaceAll(/"\\u0001(\d+);"/g, (same, at: string) => raws[Number(at)] ?? same)
    .replaceAll('\\u0002"', '"')
}

/** Objects that the language calls when it wants a text or a number, or takes for lists, promises and prototypes. */
const strange: readonly unknown[] = [
  { toString: 1 },
  { toString: null, valueOf: null },
  { valueOf: 1, toString: {} },
  { toJSON: 1 },
  { length: 3 },
  { length: 1e9, 0: 'a' },
  Object.fromEntries([['then', 1]]),
  { constructor: { prototype: {} } },
  { constructor: null, hasOwnProperty: 1 },
  Object.fromEntries([['__proto__', { polluted: 1 }]]),
  Object.fromEntries([['__proto__', null]]),
  { 'a.b': 1, 'a/b~c': 2, '': 3, ' ': 4 },
  { 0: 'a', 1: 'b' },
  { name: { toString: 1 } },
  [{ toString: 1 }],
  { $ref: '#' },
  { type: 'object', properties: { a: { $ref: '#' } } },
]

const numbers: readonly unknown[] = [
  ...[0, -1, 1, 1.5, 0.1, -0.5, 65_536, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 53)],
  ...[1e21, 1e308, 5e-324],
  ...['-0', '1e400', '-1e400', '0.1e4001', '1e-400', '9007199254740993', '1.0', '1E2'].map(raw),
  raw('9'.repeat(400)),
  raw(`0.${'0'.repeat(400)}1`),
]

const words: readonly unknown[] = [
  ...['', ' ', 'a', '\0', '\n', '\ud800', '\udc00a', '\u2028', '\u202eabc', '\x1b[2J', '😀', 'e\u0301'],
  ...['__proto__', 'constructor', 'toString', 'null', 'true', '0', '-1', '1e9', '9'.repeat(400)],
  ...['{x}', '#', '%', '%zz', '..', '/', '../../x', '$' + '{a}', '$' + '{env:A:-$' + '{env:B}}'],
  ...['file:///x', 'https://a@b/', 'http://[::1]:99999/', 'data:,x', 'https://', 'javascript:1'],
  ...['2026-07-28', '2025-11-25', '2024-11-05', 'tools/call', '2026-02-30T25:61:00Z'],
  ...['x'.repeat(300), 'é'.repeat(2_000), '(a+)+$', '['.repeat(100), 'AAAA', 'AAA='],
]

const nests: readonly unknown[] = [
  [],
  {},
  [[]],
  [null],
  [1, 'a', null, {}],
  [[], {}, [[]]],
  { a: 1 },
  Array.from({ length: 300 }, () => 0),
  Array.from({ length: 3 }, () => ({ name: 'a' })),
  Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`a${at}`, at])),
  nested(70),
  raw('['.repeat(1_500) + ']'.repeat(1_500)),
  raw(`${'{"a":'.repeat(600)}1${'}'.repeat(600)}`),
  raw('{"a":1,"a":2}'),
  raw('{"a":1,"\\u0061":2}'),
  raw('{"__proto__":{"a":1},"__proto__":1}'),
]

const plain: readonly unknown[] = [null, true, false]

/** A replacement for a value, chosen by kind so that none is rare. */
export function oddValue(random: Random): unknown {
  const kind = random.pick([strange, strange, numbers, words, words, nests, plain])
  return kind[random.between(0, kind.length - 1)]
}

/** Names of members that mean something to the language or to a reader. */
export const names: readonly [string, ...string[]] = [
  ...(['__proto__', 'name', 'id', 'type', 'toString', 'valueOf', 'toJSON', 'constructor', 'then'] as const),
  ...['$ref', 'uri', '_meta', 'x', '', 'length', 'issuer', '0', 'hasOwnProperty', 'a.b', 'a/b', '\ud800'],
]

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let left = depth; left > 0; left--) value = left % 2 === 0 ? [value] : { a: value }
  return value
}
