import {
  badValues,
  brokenNames,
  goodValues,
  ids,
  methods,
  notUtf8,
  type Outcome,
  otherEncodings,
  type Pieces,
  repeated,
  unknownNames,
  variants,
} from './pieces.ts'

/** How the requests of the corpus say who sends them: in a session, or each by itself. */
export type Era = 'session' | 'stateless'

/** One message of the corpus, as bytes. */
export interface Case {
  name: string
  bytes: Buffer
  outcome: Outcome
  /** What the headers of HTTP say it is about, where that is not a call of `safe`. */
  headers?: { method?: string; name?: string }
  /** Whether no header can say what it is about, so that those who send one are refused for that. */
  unsayable?: true
}

const meta =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientInfo":{"name":"corpus","version":"1"},' +
  '"io.modelcontextprotocol/clientCapabilities":{}}'

/** The text of a call of the tool `safe`, or of what its pieces make of it. */
export function call(era: Era, pieces: Pieces = {}): string {
  const { id = '"case"', method = '"tools/call"', name = '"safe"', value = '1', jsonrpc = '"2.0"' } = pieces
  const { more = '', moreParams = '', moreArgs = '' } = pieces
  const args = pieces.args ?? `{"value":${value}${moreArgs}}`
  const own = era === 'stateless' ? `,${meta}` : ''
  const params = pieces.params ?? `{"name":${name},"arguments":${args}${own}${moreParams}}`
  return `{"jsonrpc":${jsonrpc},"id":${id},"method":${method},"params":${params}${more}}`
}

/** Every message of the corpus in one era. */
export function cases(era: Era): Case[] {
  const made: Case[] = []
  const add = (
    name: string,
    outcome: Outcome,
    message: string | Uint8Array,
    about: Pick<Case, 'headers' | 'unsayable'> = {},
  ): void => {
    made.push({ name, outcome, bytes: Buffer.from(message), ...about })
  }
  const of = (
    name: string,
    outcome: Outcome,
    pieces: Pieces,
    about?: Pick<Case, 'headers' | 'unsayable'>,
  ): void => add(name, outcome, call(era, pieces), about)

  for (const whole of ['null', 'true', '1', '"text"', '{}', '{"jsonrpc":"2.0"}'])
    add(`only ${whole}`, -32600, whole)
  for (const value of goodValues) of(`value ${shown(value)}`, 'safe', { value })
  for (const value of badValues) of(`no value ${shown(value)}`, -32700, { value })
  for (let c = 0; c < 32; c++) {
    const raw = String.fromCharCode(c)
    of(`control character ${c} in a string`, -32700, { value: `"a${raw}b"` })
    if (!'\t\n\r'.includes(raw)) of(`control character ${c} between tokens`, -32700, { value: `${raw}1` })
  }
  for (const [what, bytes] of notUtf8) {
    for (const place of ['value', 'name', 'key'] as const) {
      const text = call(era, inPlace(place))
      add(`${what} in a ${place}`, -32700, spliced(text, bytes))
    }
  }
  for (const [what, encoded] of otherEncodings(call(era))) add(what, -32700, encoded)
  of('a byte order mark inside a string', 'safe', { value: '"\uFEFFa\uFEFF"' })

  for (const [what, pieces] of repeated) of(`repeated: ${what}`, -32700, pieces)
  for (const member of ['name', 'arguments']) {
    for (const variant of variants(member)) {
      const value = member === 'name' ? '"secret"' : '{"value":2}'
      of(`${shown(variant)} beside ${member}`, 'safe', { moreParams: `,${variant}:${value}` })
    }
  }
  for (const variant of variants('name')) {
    const own = era === 'stateless' ? `,${meta}` : ''
    of(
      `${shown(variant)} in place of name`,
      -32602,
      { params: `{${variant}:"safe","arguments":{}${own}}` },
      { unsayable: true },
    )
  }
  for (const member of ['method', 'id', 'jsonrpc', 'params']) {
    for (const variant of variants(member))
      of(`${shown(variant)} beside ${member}`, 'safe', { more: `,${variant}:"x"` })
  }
  for (const name of unknownNames) {
    const meant = String(JSON.parse(name))
    of(`tool ${shown(name)}`, -32602, { name }, { headers: { name: meant } })
  }
  for (const text of brokenNames) of(`tool ${shown(text)}`, -32600, { name: text })
  for (const text of ['null', '1', '[]', '{}', 'true'])
    of(`tool ${text}`, -32602, { name: text }, { unsayable: true })
  for (const [id, outcome] of ids) of(`id ${shown(id)}`, outcome, { id })
  for (const [method, outcome] of methods) {
    const meant: unknown = JSON.parse(method)
    const literal = typeof meant === 'string' ? meant : ''
    const about = visible.test(literal) ? {} : { unsayable: true as const }
    of(`method ${shown(method)}`, outcome, { method }, { headers: { method: literal }, ...about })
  }
  for (const params of ['[]', '["safe"]', '"safe"', 'null', '1', 'true'])
    of(`params ${params}`, -32600, { params })
  for (const args of ['[]', '"x"', '1', 'true', 'null']) of(`arguments ${args}`, -32602, { args })
  for (const jsonrpc of ['"1.0"', '2.0', '"2"', '"2.00"', 'null', '" 2.0"', '"2.0 "', '["2.0"]'])
    of(`jsonrpc ${jsonrpc}`, -32600, { jsonrpc })
  for (const more of [',"result":{}', ',"error":{"code":1,"message":""}', ',"result":null'])
    of(`a call with ${more}`, -32600, { more })

  const text = call(era)
  for (const after of [
    'x',
    '}',
    ']',
    ',',
    '1',
    'null',
    text,
    ` ${text}`,
    `,${text}`,
    '//',
    '/**/',
    '\0',
    '\uFEFF',
    '\u00a0',
  ])
    add(`followed by ${shown(after)}`, -32700, text + after)
  for (const before of [
    'x',
    ',',
    ']',
    'null',
    ")]}',",
    '//',
    '/**/',
    '\0',
    '\u2028',
    '\v',
    '\f',
    'while(1);',
    '1 ',
  ])
    add(`after ${shown(before)}`, -32700, before + text)
  for (const around of [' ', '\t', '  \t ']) add(`between ${shown(around)}`, 'safe', around + text + around)
  for (let cut = 1; cut < 24; cut++) add(`without its last ${cut * 3} bytes`, -32700, text.slice(0, -cut * 3))
  add('an empty batch', -32600, '[]')
  add('a batch of a call', -32600, `[${text}]`)
  add('a batch in a batch', -32600, `[[${text}]]`)

  for (const depth of [2, 30, 60]) of(`arrays ${depth} deep`, 'safe', { value: nested('[', ']', depth) })
  for (const depth of [62, 65, 1000, 100_000]) {
    of(`arrays ${depth} deep`, -32700, { value: nested('[', ']', depth) })
    of(`objects ${depth} deep`, -32700, { value: nested('{"a":', '}', depth, '1') })
    of(`arrays ${depth} deep, not closed`, -32700, { value: '['.repeat(depth) })
  }
  of('brackets in a string', 'safe', { value: JSON.stringify('[{'.repeat(10_000)) })
  for (const key of [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    '__defineGetter__',
  ]) {
    const harm = `,${JSON.stringify(key)}:{"name":"secret","polluted":true,"value":2}`
    of(`${key} of the arguments`, 'safe', { moreArgs: harm })
    of(`${key} of the params`, 'safe', { moreParams: harm })
    of(`${key} of the message`, 'safe', { more: harm })
  }
  return made
}

function shown(text: string): string {
  const start = text.length > 40 ? `${text.slice(0, 40)}…` : text
  return JSON.stringify(start).slice(1, -1)
}

function nested(open: string, close: string, depth: number, inside = ''): string {
  return open.repeat(depth) + inside + close.repeat(depth)
}

const mark = '@@'
/** Values that a header can contain unencoded; the method header has no encoded form. */
const visible = /^[\x21-\x7e]*$/

function inPlace(place: 'value' | 'name' | 'key'): Pieces {
  if (place === 'value') return { value: `"a${mark}b"` }
  return place === 'name' ? { name: `"safe${mark}"` } : { moreArgs: `,"k${mark}":1` }
}

function spliced(text: string, bytes: readonly number[]): Buffer {
  const [before = '', after = ''] = text.split(mark)
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])
}
