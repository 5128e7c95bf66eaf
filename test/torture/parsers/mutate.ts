import type { Random } from '../random.ts'

const maxBytes = 8 * 1024

/** Pieces that readers of text trip over. */
const pieces: readonly [string, ...string[]] = [
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

/** Another text made from a seed: half of the time as JSON where it is, otherwise byte by byte. */
export function mutant(seed: string, seeds: readonly [string, ...string[]], random: Random): Buffer {
  if (random.fraction() < 0.5) {
    const value = parsed(seed)
    if (typeof value === 'object' && value !== null) {
      const times = random.between(1, 3)
      for (let i = 0; i < times; i++) mutateValue(value, random)
      return Buffer.from(JSON.stringify(value) ?? '').subarray(0, maxBytes)
    }
  }
  let bytes: Buffer = Buffer.from(seed)
  const times = random.between(1, 4)
  for (let i = 0; i < times; i++) bytes = mutateBytes(bytes, seeds, random)
  return bytes.subarray(0, maxBytes)
}

function parsed(text: string): unknown {
  if (!text.startsWith('{') && !text.startsWith('[')) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Changes one place of a value, which is its own. */
function mutateValue(value: object, random: Random): void {
  let at: object = value
  for (;;) {
    const keys = Object.keys(at)
    const key = keys[random.between(0, Math.max(0, keys.length - 1))]
    const inner: unknown = key === undefined ? undefined : Reflect.get(at, key)
    if (key !== undefined && typeof inner === 'object' && inner !== null && random.fraction() < 0.75) {
      at = inner
      continue
    }
    change(at, key, inner, random)
    return
  }
}

function change(at: object, key: string | undefined, inner: unknown, random: Random): void {
  const name = random.pick([
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
  ])
  switch (random.between(0, 5)) {
    case 0:
      if (key !== undefined) Reflect.deleteProperty(at, key)
      return
    case 1:
      define(at, Array.isArray(at) ? String(at.length) : name, structuredClone(random.pick(values)))
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
          inner.slice(0, where) + random.pick(pieces) + inner.slice(where + random.between(0, 2)),
        )
        return
      }
      break
  }
  if (key !== undefined) define(at, key, structuredClone(random.pick(values)))
}

/** Sets a member of its own, whatever it is called. */
function define(at: object, key: string, value: unknown): void {
  Object.defineProperty(at, key, { value, writable: true, enumerable: true, configurable: true })
}

function mutateBytes(bytes: Buffer, seeds: readonly [string, ...string[]], random: Random): Buffer {
  const at = random.between(0, bytes.length)
  const end = Math.min(bytes.length, at + random.between(1, 16))
  const before = bytes.subarray(0, at)
  switch (random.between(0, 9)) {
    case 0:
      return Buffer.concat([before, bytes.subarray(end)])
    case 1:
      return Buffer.concat([before, bytes.subarray(at, end), bytes.subarray(at)])
    case 2:
    case 3:
      return Buffer.concat([before, Buffer.from(random.pick(pieces)), bytes.subarray(at)])
    case 4:
      return Buffer.concat([before, Buffer.from(random.pick(pieces)), bytes.subarray(end)])
    case 5: {
      const changed = Buffer.from(bytes)
      if (changed.length > 0) changed[at % changed.length] = random.between(0, 255)
      return changed
    }
    case 6: {
      const other = Buffer.from(random.pick(seeds))
      return Buffer.concat([before, other.subarray(random.between(0, other.length))])
    }
    case 7:
      return Buffer.from(before)
    case 8:
      return Buffer.from(twice(bytes.toString('latin1'), random), 'latin1')
    default: {
      const times = random.fraction() < 0.02 ? 2_000 : random.between(2, 20)
      const some = bytes.subarray(at, end)
      return Buffer.concat([before, ...Array.from({ length: times }, () => some), bytes.subarray(at)])
    }
  }
}

/** Has one of the first keys of a JSON text stand once more before itself, now and then escaped. */
function twice(text: string, random: Random): string {
  const keys = [...text.slice(0, 2_000).matchAll(/"([^"\\]+)"\s*:/g)]
  const found = keys[random.between(0, Math.max(0, keys.length - 1))]
  if (found === undefined) return text
  const [, key = ''] = found
  const first =
    random.fraction() < 0.3 ? `\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}` : key.charAt(0)
  return `${text.slice(0, found.index)}"${first}${key.slice(1)}":0,${text.slice(found.index)}`
}
