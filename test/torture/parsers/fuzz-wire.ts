import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { compileSchema } from '../../../packages/sdk/src/json-schema/index.ts'
import { LineReader } from '../../../packages/sdk/src/jsonrpc/line-reader.ts'
import { classify, parseJson } from '../../../packages/sdk/src/jsonrpc/parse.ts'
import { EventReader } from '../../../packages/sdk/src/jsonrpc/sse.ts'
import {
  decodeHeaderValue,
  encodeHeaderValue,
  headerPlan,
} from '../../../packages/sdk/src/protocol/headers.ts'
import { readPeerMeta } from '../../../packages/sdk/src/protocol/meta.ts'
import { fromBase64Url, toBase64Url } from '../../../packages/sdk/src/request/encoding.ts'
import { limits } from '../../../packages/sdk/src/request/limits.ts'
import { page } from '../../../packages/sdk/src/server/handlers.ts'
import { parseTemplate } from '../../../packages/sdk/src/server/uri-template.ts'
import { parseEventId } from '../../../packages/sdk/src/transports/server/http/resumable-stream.ts'
import { AcceptReader, isJson } from '../../../packages/sdk/src/transports/server/http/router.ts'
import { isObject } from '../../setup/json.ts'
import type { Random } from '../random.ts'
import { cut, isTyped, mustHold, never, type Target } from './fuzz-target.ts'
import { type Read, readJson, repeats } from './json-reader.ts'
import type { Form } from './mutate.ts'

const recorded: unknown[] = JSON.parse(
  readFileSync(new URL('./seeds/messages.json', import.meta.url), 'utf8'),
)

/** Messages that a client and a server of ours exchanged, on every revision. */
export const messages: [string, ...string[]] = ['{}', ...recorded.map((one) => JSON.stringify(one))]
const maxBytes = 4_096

/** What is on the wire: lines, messages, events, headers, ids, URIs and schemas. */
export function wireTargets(): Target[] {
  return [
    { name: 'lines', share: 5, seeds: messages, run: lines, allows: never },
    { name: 'messages', share: 4, seeds: messages, run: message, allows: never },
    { name: 'event streams', share: 4, seeds: streams, form: inEvents, run: events, allows: never },
    { name: 'headers', share: 6, seeds: headers, run: header, allows: isTyped },
    { name: 'ids and cursors', share: 2, seeds: ids, run: id, allows: isTyped },
    { name: 'URI templates', share: 3, seeds: templates, run: template, allows: isTyped },
    { name: 'schemas', share: 4, seeds: schemas, run: schema, allows: isTyped },
  ]
}

/** The same lines however the bytes come, and none that is not UTF-8. */
function lines(input: Buffer, random: Random): void {
  const bytes = random.fraction() < 0.5 ? Buffer.concat([input, Buffer.from('\n'), input]) : input
  mustHold(
    isDeepStrictEqual(linesIn([bytes]), linesIn(cut(bytes, random))),
    'the lines depend on how they are cut',
  )
}

function linesIn(parts: readonly Buffer[]): unknown[] {
  const found: unknown[] = []
  const reader = new LineReader({
    maxBytes,
    onLine: (text) => found.push(text),
    onTooLong: () => found.push('too long'),
    onNotUtf8: (bytes) => found.push(Buffer.from(bytes)),
  })
  for (const part of parts) reader.push(part)
  reader.end()
  return found
}

/** Accepts what another parser accepts, rejects what it rejects, and detects duplicate members. */
function message(input: Buffer): void {
  const text = input.toString('utf8')
  const read = readJson(text)
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    mustHold(isTyped(error), 'another kind of error')
    mustHold(read === undefined || repeats(read) || !plain(read, 64), 'what is JSON was refused')
    return
  }
  mustHold(read !== undefined && !repeats(read) && plain(read, 64), 'what is not JSON was taken')
  mustHold(isSame(read, value), 'what was read is not what was written')
  const found = classify(value)
  if (found.kind === 'invalid') return
  const written = JSON.stringify(found.message)
  mustHold(JSON.stringify(parseJson(written)) === written, 'it is another message when written')
}

function isSame(read: Read | undefined, value: unknown): boolean {
  if (read === undefined || read.kind === 'plain') return Object.is(read?.value, value)
  if (read.kind === 'array') {
    return (
      Array.isArray(value) &&
      value.length === read.items.length &&
      read.items.every((one, at) => isSame(one, value[at]))
    )
  }
  const own = new Map(Object.entries(Object(value)))
  return (
    own.size === read.members.length &&
    read.members.every(([name, one]) => own.has(name) && isSame(one, own.get(name)))
  )
}

/** Whether a value nests no deeper than `depth` and its numbers are finite. */
function plain(read: Read, depth: number): boolean {
  if (read.kind === 'plain') return typeof read.value !== 'number' || Number.isFinite(read.value)
  if (depth === 0) return false
  const inner = read.kind === 'array' ? read.items : read.members.map(([, value]) => value)
  return inner.every((one) => plain(one, depth - 1))
}

const streams: [string, ...string[]] = [
  ': keep-alive\n\n',
  'id: s_1\nevent: message\nretry: 500\ndata: {"a":1}\n\n',
  'data: a\ndata: b\n\ndata:c\r\n\r\nid\n\nfoo: bar\n\n',
  ...messages.slice(1, 9).map((text, at) => `event: message\nid: s_${at}\ndata: ${text}\n\n`),
]

/** A stream as its lines, with their content as JSON. */
const inEvents: Form = {
  read: (text) =>
    text.split('\n').map((line) => (line.startsWith('data: {') ? { data: JSON.parse(line.slice(6)) } : line)),
  write: (value) => {
    const written: unknown[] = Array.isArray(value) ? value : [value]
    return written
      .map((line) => (isObject(line) ? `data: ${JSON.stringify(line['data'])}` : String(line)))
      .join('\n')
  },
}

function events(input: Buffer, random: Random): void {
  mustHold(
    isDeepStrictEqual(eventsIn([input]), eventsIn(cut(input, random))),
    'the events depend on how they are cut',
  )
}

function eventsIn(parts: readonly Buffer[]): unknown[] {
  const found: unknown[] = []
  const reader = new EventReader({
    maxBytes,
    onEvent: (event) => {
      mustHold(event.data.length <= maxBytes, 'an event is over the bound')
      mustHold(event.retry === undefined || event.retry >= 0, 'a time to wait is negative')
      found.push(event)
    },
    onTooLong: () => found.push('too long'),
    onNotUtf8: () => found.push('not UTF-8'),
  })
  for (const part of parts) reader.push(part)
  reader.end()
  return found
}

const headers: [string, ...string[]] = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json, text/event-stream;q=0.5, */*;q=0',
  '=?base64?w6k=?=',
  'plain value',
  'tools/call',
]
const accepted = new AcceptReader()

function header(input: Buffer): void {
  const text = input.toString('latin1')
  isJson(text)
  accepted.read(text)
  const value = input.toString('utf8')
  const written = encodeHeaderValue(value)
  mustHold(/^[\x20-\x7e]*$/.test(written), 'a header holds what it cannot')
  mustHold(decodeHeaderValue(written) === value.toWellFormed(), 'a header is read as another value')
  decodeHeaderValue(text)
}

const ids: [string, ...string[]] = [
  's_1',
  '4f2d_17',
  '_0',
  toBase64Url(Buffer.from('from:3')),
  toBase64Url(Buffer.from('from:1')),
  'AAAA',
]
const items = Array.from({ length: 10 }, (_, at) => at)

function id(input: Buffer): void {
  const text = input.toString('utf8')
  const parsed = parseEventId(text)
  mustHold(
    parsed === undefined || /^\d[\d-]{0,39}$/.test(parsed.position),
    'the position of an event has other characters than digits and hyphens',
  )
  const bytes = fromBase64Url(text)
  if (bytes !== undefined)
    mustHold(fromBase64Url(toBase64Url(bytes)) !== undefined, 'base64 is not read back')
  const outcome = page('items', items, { params: { cursor: text }, limits }, 3, {})
  mustHold(JSON.stringify(outcome).length < 200, 'a page is larger than a page')
}

const templates: [string, ...string[]] = [
  'file:///{path}',
  'trips://{name}/days{?from,to}',
  'a{/b*}{?c*,d}{&e}{#f}{;g:3}{.h}{+i}',
  '{+a}{+b}{+c}',
  'x{a,b,c}y{d*}',
]

function template(input: Buffer, random: Random): void {
  const text = input.toString('utf8')
  const parsed = parseTemplate(text)
  const variables = Object.fromEntries(
    parsed.names.map((name) => [name, random.pick(['a', 'b/c', 'é', '', '%', 'x y'])]),
  )
  const uri = parsed.expand(variables)
  parsed.match(uri)
  parsed.match(`${uri}/${text}`)
  parsed.match(text)
}

const schemas: [string, ...string[]] = [
  '{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$"}},"required":["a"],"additionalProperties":false}',
  '{"$defs":{"n":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/n"}]}},"$ref":"#/$defs/n"}',
  '{"type":"array","items":{"enum":[1,"a",null]},"minItems":1,"uniqueItems":true,"contains":{"const":1}}',
  '{"oneOf":[{"type":"number","multipleOf":0.1},{"type":"string","minLength":2}],"not":{"const":3}}',
  '{"properties":{"a":{"x-mcp-header":"Region","type":"string"}},"unevaluatedProperties":false,"if":true,"then":{}}',
  '{"patternProperties":{"^(a|b)*$":{"type":"integer"}},"dependentRequired":{"a":["b"]},"propertyNames":{"maxLength":3}}',
  '{"prefixItems":[{"type":"string"}],"items":false,"$schema":"http://json-schema.org/draft-07/schema#"}',
  '{"minimum":1,"maximum":9,"exclusiveMinimum":0,"exclusiveMaximum":10,"multipleOf":0.01,"type":["integer","null"]}',
  '{"minLength":1,"maxLength":9,"pattern":"^(a|b){1,3}[^c-e]\\\\d?$","format":"date-time","const":"a","default":"a"}',
  '{"minContains":1,"maxContains":2,"maxItems":3,"contains":{"type":"string"},"unevaluatedItems":{"type":"number"}}',
  '{"minProperties":1,"maxProperties":3,"dependentSchemas":{"a":{"required":["b"]}},"dependencies":{"a":["b"],"b":{}}}',
  '{"$id":"https://a.example/s","$anchor":"s","$dynamicAnchor":"d","allOf":[{"$dynamicRef":"#d"},{"$ref":"#/$defs/a~1b"}],"$defs":{"a/b":{"then":{},"else":false,"if":{"const":1}}},"definitions":{"c":{"$recursiveRef":"#"}}}',
]
const samples = [
  null,
  1,
  0.3,
  Number.POSITIVE_INFINITY,
  'aa',
  [1, 'a', null],
  { a: 'aaaa', b: 2 },
  { a: { a: { a: [] } } },
]

function schema(input: Buffer): void {
  let value: unknown
  try {
    value = JSON.parse(input.toString('utf8'))
  } catch {
    return
  }
  readPeerMetaOf(value)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) headerPlanOf({ ...value })
  const validator = compileSchema(value, { steps: 8_000 })
  for (const sample of samples) {
    const issue = validator.check(sample)
    mustHold((issue === undefined) === (validator.issues(sample).length === 0), 'two verdicts on one value')
  }
}

function readPeerMetaOf(value: unknown): void {
  attempt(() => readPeerMeta(value))
}

function headerPlanOf(value: Record<string, unknown>): void {
  attempt(() => headerPlan(value))
}

function attempt(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!isTyped(error)) throw error
  }
}
