/** What must come of one message: the tool that runs, or the code it is refused with. */
export type Outcome = 'safe' | -32700 | -32600 | -32601 | -32602 | -32020

/** The pieces of a call, each as JSON text. */
export interface Pieces {
  id?: string
  method?: string
  name?: string
  value?: string
  args?: string
  params?: string
  /** More members, each behind a comma: of the message, of its params, of the arguments. */
  more?: string
  moreParams?: string
  moreArgs?: string
  jsonrpc?: string
}

/** JSON values, each in a form that every reader takes. */
export const goodValues = [
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '10',
    '1.5',
    '-1.25',
    '0.1',
    '1e3',
    '1E3',
    '1e+3',
    '1e-3',
    '-1E-2',
    '123456789012345678',
  ],
  ...[
    '9007199254740993',
    '1e308',
    '1e-400',
    '0e0',
    '0.0',
    '-0.0',
    '1.7976931348623157e308',
    `0.${'1'.repeat(400)}`,
  ],
  ...[
    'true',
    'false',
    'null',
    '{}',
    '[]',
    '[[]]',
    '[{}]',
    '{"a":{}}',
    '[1,2]',
    '[null,true,"x"]',
    '{"a":1,"b":2}',
  ],
  ...[
    '""',
    '"a"',
    '"\\""',
    '"\\\\"',
    '"\\/"',
    '"\\b\\f\\n\\r\\t"',
    '"\\u0041"',
    '"\\u0000"',
    '"\\u001f"',
    '"\\ud83d\\ude00"',
  ],
  ...[
    '"😀"',
    '"é"',
    '"\u2028\u2029"',
    '"\u007f"',
    '"\u0080"',
    '"\\ud800"',
    '"\\udc00x"',
    '"\\uFFFF"',
    '"\\uDBFF\\uDFFF"',
  ],
  ...[
    '" : , { } [ ] "',
    '"\\\\\\""',
    '"/"',
    '[ 1 , 2 ]',
    '{ "a" : 1 }',
    '\t1\t',
    ' null ',
    '{"":1}',
    '{" ":1,"  ":2}',
  ],
  ...['{"a":1,"A":2}', '{"\\u00e9":1,"e\\u0301":2}', '{"a":{"a":1}}', '[{"a":1},{"a":1}]', '{"a:":":"}'],
] as const

/** Invalid texts in place of a value. */
export const badValues = [
  ...[
    '01',
    '-01',
    '00',
    '1.',
    '.5',
    '-.5',
    '+1',
    '1e',
    '1e+',
    '1.e1',
    '--1',
    '- 1',
    '0x10',
    '0b1',
    '0o7',
    '1_000',
    '1n',
  ],
  ...[
    'NaN',
    'Infinity',
    '-Infinity',
    'nan',
    'inf',
    'undefined',
    'True',
    'TRUE',
    'nul',
    'nulll',
    'tru',
    'None',
    'nil',
  ],
  ...[
    "'a'",
    '`a`',
    '"a',
    'a"',
    '"\\x41"',
    '"\\u12"',
    '"\\u12g4"',
    '"\\u{41}"',
    '"\\a"',
    '"\\0"',
    '"\\\'"',
    '"\\ "',
    '"\\',
  ],
  ...[
    '[1,]',
    '[,1]',
    '[1,,2]',
    '[1 2]',
    '[1',
    '1]',
    '[1}',
    '[)',
    '{"a":1,}',
    '{,"a":1}',
    '{"a" 1}',
    '{"a":}',
    '{:1}',
  ],
  ...[
    '{a:1}',
    "{'a':1}",
    '{1:1}',
    '{null:1}',
    '{"a"}',
    '{"a":1 "b":2}',
    '{"a":1',
    '{"a":1]',
    '{"a"::1}',
    '{{}}',
    '{[]:1}',
  ],
  ...[
    '// c\n1',
    '/* c */1',
    '1/* c */',
    '# c',
    '<!--1-->',
    '1;',
    '(1)',
    'new Date()',
    '/a/',
    '@',
    '&1',
    '*1',
    '%',
    '~',
  ],
  ...['\u00a01', '\u20281', '\uFEFF1', '\u30001', '\u00851', '\u200b1', '１', '٣', '1１', '“a”', 'ⅷ', ''],
  ...['1e400', '-1e400', '1e999999', '1'.repeat(400), '[1,2,1e309]', '{"a":-1e309}', '1.8e308', '1e0400'],
] as const

/** Bytes that are no UTF-8. */
export const notUtf8: readonly (readonly [string, readonly number[]])[] = [
  ['an overlong slash of two bytes', [0xc0, 0xaf]],
  ['an overlong slash of three', [0xe0, 0x80, 0xaf]],
  ['an overlong slash of four', [0xf0, 0x80, 0x80, 0xaf]],
  ['an overlong NUL', [0xc0, 0x80]],
  ['an overlong quotation mark', [0xc0, 0xa2]],
  ['a continuation by itself', [0x80]],
  ['two continuations', [0xbf, 0xbf]],
  ['the first byte of two', [0xc3]],
  ['two bytes of three', [0xe2, 0x82]],
  ['three bytes of four', [0xf0, 0x9f, 0x98]],
  ['half a surrogate pair', [0xed, 0xa0, 0x80]],
  ['a surrogate pair of six bytes', [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]],
  ['what lies beyond the last character', [0xf4, 0x90, 0x80, 0x80]],
  ['a sequence of five bytes', [0xf8, 0x88, 0x80, 0x80, 0x80]],
  ['a sequence of six bytes', [0xfc, 0x84, 0x80, 0x80, 0x80, 0x80]],
  ['the byte FE', [0xfe]],
  ['the byte FF', [0xff]],
  ['an é of Latin-1', [0xe9]],
]

/** A text in other encodings. */
export function otherEncodings(text: string): [string, Buffer][] {
  const little = Buffer.from(text, 'utf16le')
  const big = Buffer.from(little).swap16()
  const wide = Buffer.from([...text].flatMap((c) => [0, 0, 0, c.charCodeAt(0)]))
  return [
    ['a byte order mark of UTF-8', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)])],
    ['two byte order marks', Buffer.concat([Buffer.from('\uFEFF\uFEFF'), Buffer.from(text)])],
    ['UTF-16, little end first', little],
    ['UTF-16, big end first', big],
    ['UTF-16 with a byte order mark', Buffer.concat([Buffer.from([0xff, 0xfe]), little])],
    ['UTF-32', wide],
    ['UTF-7', Buffer.from(text.replaceAll('"', '+ACI-'))],
  ]
}

/** Calls in which a member occurs twice. */
export const repeated: readonly (readonly [string, Pieces])[] = [
  ['name', { moreParams: ',"name":"secret"' }],
  ['name with the same value', { moreParams: ',"name":"safe"' }],
  ['name, escaped', { moreParams: ',"n\\u0061me":"secret"' }],
  ['name, all of it escaped', { moreParams: ',"\\u006e\\u0061\\u006d\\u0065":"secret"' }],
  ['name, spaced', { moreParams: ' , "name" : "secret" ' }],
  ['name, and colons in strings', { value: '"::"', moreParams: ',"name":":"' }],
  ['arguments', { moreParams: ',"arguments":{}' }],
  ['arguments as null', { moreParams: ',"arguments":null' }],
  ['_meta', { moreParams: ',"_meta":{},"_meta":{}' }],
  ['method', { more: ',"method":"tools/list"' }],
  ['method, escaped', { more: ',"meth\\u006fd":"tools/list"' }],
  ['id', { more: ',"id":"other"' }],
  ['jsonrpc', { more: ',"jsonrpc":"2.0"' }],
  ['params', { more: ',"params":{"name":"secret"}' }],
  ['params as an array', { more: ',"params":[]' }],
  ['an unknown member', { more: ',"x":1,"x":1' }],
  ['an argument', { moreArgs: ',"value":2' }],
  ['an argument, escaped', { moreArgs: ',"\\u0076alue":2' }],
  ['an empty key', { moreArgs: ',"":1,"":2' }],
  ['a key of a surrogate pair, once escaped', { moreArgs: ',"😀":1,"\\ud83d\\ude00":2' }],
  ['a key with a quotation mark', { moreArgs: ',"\\"":1,"\\u0022":2' }],
  ['a key with a backslash', { moreArgs: ',"\\\\":1,"\\u005c":2' }],
  ['a key with a slash, once escaped', { moreArgs: ',"a/b":1,"a\\/b":2' }],
  ['__proto__', { moreArgs: ',"__proto__":{},"__proto__":{}' }],
  ['deep in objects', { value: '{"a":{"b":{"c":1,"c":2}}}' }],
  ['in an array', { value: '[{"a":1,"a":1}]' }],
  ['in what is thrown away', { value: '{"a":{"b":1,"b":2},"a":1}' }],
  ['the last of many', { value: `{${Array.from({ length: 500 }, (_, i) => `"k${i}":1`).join()},"k0":1}` }],
  ['behind a colon in a key', { value: '{":":1,"a":1,"a":2}' }],
  ['as many colons short as there are in strings', { value: '{"a":"","a":"","b":"c"}' }],
]

/** Keys that look like another one. */
export function variants(member: string): string[] {
  const title = (member[0] ?? '').toUpperCase() + member.slice(1)
  const folded = member.replace('s', 'ſ').replace('k', 'K')
  const all = [title, member.toUpperCase(), ` ${member}`, `${member} `, `${member}\u0000`, `\u0000${member}`]
  all.push(`${member}\u200b`, `\uFEFF${member}`, `${member.slice(0, -1)}\u0435`, `_${member}`)
  if (folded !== member) all.push(folded)
  return [...new Set(all)].map((one) => JSON.stringify(one))
}

/** Names of no tool. */
export const unknownNames = [
  ...Object.getOwnPropertyNames(Object.prototype).map((name) => JSON.stringify(name)),
  ...[
    '"prototype"',
    '"length"',
    '"Safe"',
    '"SAFE"',
    '" safe"',
    '"safe "',
    '"safe\\u0000"',
    '"\\u0000safe"',
    '""',
    '"no such tool"',
  ],
  ...[
    '"safe\\n"',
    '"ſafe"',
    '"sаfe"',
    '"safe\\u200b"',
    '"\\ufeffsafe"',
    '"safe\\u0301"',
    '"s\\u202eafe"',
    '"+AHMAYQBmAGU-"',
  ],
]

/** Names with an unpaired surrogate. */
export const brokenNames = [
  '"\\ud800"',
  '"safe\\ud800"',
  '"\\udc00safe"',
  '"\\udc00\\ud800"',
  '"\\ud800\\u0041"',
  '"safe\\uDFFF"',
]

/** Ids, and the outcome of a request with them. */
export const ids: readonly (readonly [string, Outcome])[] = [
  ...(['1', '0', '-1', '1.0', '1e2', '-0', '9007199254740991', '-9007199254740991'] as const).map(
    (id) => [id, 'safe'] as const,
  ),
  ...(['""', '"a"', '"\\u0000"', '"😀"', `"${'i'.repeat(256)}"`, '"null"', '"__proto__"'] as const).map(
    (id) => [id, 'safe'] as const,
  ),
  ...['null', '1.5', '{}', '[]', '[1]', 'true', 'false', '{"id":1}'].map((id) => [id, -32600] as const),
  ...['9007199254740992', '-9007199254740992', '1e300', '0.1', `"${'i'.repeat(257)}"`].map(
    (id) => [id, -32600] as const,
  ),
]

/** Methods, and the outcome of a request for them. */
export const methods: readonly (readonly [string, Outcome])[] = [
  ['"tools\\/call"', 'safe'],
  ['"\\u0074ools/call"', 'safe'],
  ...[
    'Tools/Call',
    'TOOLS/CALL',
    'tools/call ',
    ' tools/call',
    'tools/call/',
    '/tools/call',
    'tools//call',
    'tools\\call',
  ].map((method) => [JSON.stringify(method), -32601] as const),
  ...[
    'tools/call\0',
    '\0',
    'constructor',
    '__proto__',
    'toString',
    'tools',
    'rpc.discover',
    'notifications/none',
  ].map((method) => [JSON.stringify(method), -32601] as const),
  ...['"\\ud800"', '"tools/call\\udc00"', '""', 'null', '1', '[]', '{}', '["tools/call"]', 'true'].map(
    (method) => [method, -32600] as const,
  ),
]
