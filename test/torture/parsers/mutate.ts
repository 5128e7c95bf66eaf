import type { Random } from '../random.ts'

const maxBytes = 8 * 1024

/** Pieces that readers of text trip over. */
const texts: readonly [string, ...string[]] = [
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

const values: readonly [unknown, ...unknown[]] = [
  ...([
    null,
    true,
    false,
    0,
    -1,
    1.5,
    2 ** 53,
    -0,
    1e308,
    '',
    'a',
    '\0',
    '\ud800',
    '__proto__',
    'x'.repeat(300),
  ] as const),
  ...[
    [],
    {},
    [[]],
    [null],
    { a: 1 },
    '2026-07-28',
    '2025-11-25',
    'tools/call',
    'file:///x',
    'https://a@b/',
    '{x}',
    '#',
    '1',
    '%',
  ],
]

const names: readonly [string, ...string[]] = [
  '__proto__',
  'name',
  'id',
  'type',
  'toString',
  '$ref',
  'uri',
  '_meta',
  'x',
  '',
  'length',
  'issuer',
]

/** Bytes as a text with one character for each: texts are cut and joined without copying. */
type Bytes = string
const pieces: readonly [Bytes, ...Bytes[]] = [asBytes(texts[0]), ...texts.slice(1).map(asBytes)]

/** What a seed is, found out once. */
interface Known {
  bytes: Bytes
  /** The object or list that it is as JSON. */
  value: object | undefined
}

const known = new Map<string, Known>()

/** Another text made from a seed: half of the time as JSON where it is, otherwise byte by byte. */
export function mutant(seed: string, seeds: readonly [string, ...string[]], random: Random): Buffer {
  const { bytes, value } = knownOf(seed)
  if (value !== undefined && random.fraction() < 0.5) {
    let changed = value
    const times = random.between(1, 3)
    for (let i = 0; i < times; i++) changed = changedValue(changed, random)
    return Buffer.from(JSON.stringify(changed)).subarray(0, maxBytes)
  }
  let changed = bytes
  const times = random.between(1, 4)
  for (let i = 0; i < times; i++) changed = changedBytes(changed, seeds, random)
  return Buffer.from(changed.slice(0, maxBytes), 'latin1')
}

function asBytes(text: string): Bytes {
  return Buffer.from(text).toString('latin1')
}

function knownOf(seed: string): Known {
  const found = known.get(seed)
  if (found !== undefined) return found
  const one = { bytes: asBytes(seed), value: parsed(seed) }
  known.set(seed, one)
  return one
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** A value with one place of it changed. */
function changedValue(value: object, random: Random): object {
  const changed = copyOf(value)
  let at = changed
  for (;;) {
    const keys = Object.keys(at)
    const key = keys[random.between(0, Math.max(0, keys.length - 1))]
    const inner: unknown = key === undefined ? undefined : Reflect.get(at, key)
    if (key !== undefined && typeof inner === 'object' && inner !== null && random.fraction() < 0.75) {
      const copy = copyOf(inner)
      define(at, key, copy)
      at = copy
      continue
    }
    change(at, key, inner, random)
    return changed
  }
}

function copyOf(value: object): object {
  return Array.isArray(value) ? [...value] : { ...value }
}

function change(at: object, key: string | undefined, inner: unknown, random: Random): void {
  const name = random.pick(names)
  switch (random.between(0, 5)) {
    case 0:
      if (key !== undefined) Reflect.deleteProperty(at, key)
      return
    case 1:
      define(at, Array.isArray(at) ? String(at.length) : name, random.pick(values))
      return
    case 2:
      if (key !== undefined) define(at, Array.isArray(at) ? key : name, inner)
      return
    case 3:
      if (key !== undefined) define(at, key, [inner])
      return
    case 4:
      if (key !== undefined && typeof inner === 'string') {
        const where = random.between(0, inner.length)
        define(
          at,
          key,
          inner.slice(0, where) + random.pick(texts) + inner.slice(where + random.between(0, 2)),
        )
        return
      }
      break
  }
  if (key !== undefined) define(at, key, random.pick(values))
}

/** Sets a member of its own, whatever it is called. */
function define(at: object, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(at, key, { value, writable: true, enumerable: true, configurable: true })
  else Reflect.set(at, key, value)
}

function changedBytes(bytes: Bytes, seeds: readonly [string, ...string[]], random: Random): Bytes {
  const at = random.between(0, bytes.length)
  const end = Math.min(bytes.length, at + random.between(1, 16))
  const before = bytes.slice(0, at)
  switch (random.between(0, 9)) {
    case 0:
      return before + bytes.slice(end)
    case 1:
      return before + bytes.slice(at, end) + bytes.slice(at)
    case 2:
    case 3:
      return before + random.pick(pieces) + bytes.slice(at)
    case 4:
      return before + random.pick(pieces) + bytes.slice(end)
    case 5:
      return before + String.fromCharCode(random.between(0, 255)) + bytes.slice(at + 1)
    case 6: {
      const other = knownOf(random.pick(seeds)).bytes
      return before + other.slice(random.between(0, other.length))
    }
    case 7:
      return before
    case 8:
      return twice(bytes, at)
    default: {
      const times = random.fraction() < 0.02 ? 2_000 : random.between(2, 20)
      return before + bytes.slice(at, end).repeat(times) + bytes.slice(at)
    }
  }
}

const keyPattern = /"([^"\\]{1,100})"\s*:/g

/** Has the next key of a JSON text stand once more before itself, now and then escaped. */
function twice(text: Bytes, from: number): Bytes {
  keyPattern.lastIndex = from
  const found = keyPattern.exec(text)
  if (found === null) return text
  const [, key = ''] = found
  const first = from % 3 === 0 ? `\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}` : key.charAt(0)
  return `${text.slice(0, found.index)}"${first}${key.slice(1)}":0,${text.slice(found.index)}`
}
