import { defineServer, tool } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import { encodeHeaderValue, headerPlan, paramHeaders } from '../../src/protocol/headers.ts'

const marked = (type: string, name: unknown = 'Region'): object => ({ type, 'x-mcp-header': name })
const withProperties = (properties: object): Record<string, unknown> => ({ type: 'object', properties })
/** A schema with a marked property under a keyword that is not "properties". */
const under = (keyword: string): Record<string, unknown> => ({
  ...withProperties({}),
  ...Object.fromEntries([[keyword, withProperties({ a: marked('string') })]]),
})

function define(schema: Record<string, unknown>): void {
  defineServer({ name: 's', version: '1', tools: { t: tool({ input: schema, run: () => 'done' }) } })
}

describe('an invalid annotation of a tool', () => {
  it.each<[string, Record<string, unknown>]>([
    ['one name twice', withProperties({ a: marked('string'), b: marked('string') })],
    [
      'one name in two cases',
      withProperties({ a: marked('string', 'Region'), b: marked('string', 'REGION') }),
    ],
    [
      'one name at two depths',
      withProperties({ a: marked('string'), b: withProperties({ c: marked('string') }) }),
    ],
    ['an empty name', withProperties({ a: marked('string', '') })],
    ['a space in the name', withProperties({ a: marked('string', 'My Region') })],
    ['a colon in the name', withProperties({ a: marked('string', 'Region:Primary') })],
    ['letters outside ASCII', withProperties({ a: marked('string', 'Région') })],
    ['a tab in the name', withProperties({ a: marked('string', 'Region\t1') })],
    ['a line break in the name', withProperties({ a: marked('string', 'Region\r\nX-Evil: 1') })],
    ['a number', withProperties({ a: marked('number') })],
    ['an array', withProperties({ a: marked('array') })],
    ['an object', withProperties({ a: marked('object') })],
    ['null', withProperties({ a: marked('null') })],
    ['several types', withProperties({ a: { type: ['string', 'null'], 'x-mcp-header': 'Region' } })],
    ['the schema itself', { ...withProperties({}), 'x-mcp-header': 'Region' }],
    ['items', withProperties({ a: { type: 'array', items: marked('string') } })],
    ['prefixItems', withProperties({ a: { type: 'array', prefixItems: [marked('string')] } })],
    ['oneOf', withProperties({ a: { oneOf: [marked('string')] } })],
    ['anyOf', { ...withProperties({}), anyOf: [withProperties({ a: marked('string') })] }],
    ['allOf', { ...withProperties({}), allOf: [withProperties({ a: marked('string') })] }],
    ['not', under('not')],
    ['if', under('if')],
    ['then', under('then')],
    ['else', under('else')],
    [
      'a definition behind $ref',
      { ...withProperties({ a: { $ref: '#/$defs/a' } }), $defs: { a: marked('string') } },
    ],
  ])('is rejected by both client and server: %s', (_what, schema) => {
    expect(() => headerPlan(schema)).toThrow(/x-mcp-header/)
    expect(() => define(schema)).toThrow(/x-mcp-header/)
  })
})

describe('a valid annotation of a tool', () => {
  it.each<[string, Record<string, unknown>, object]>([
    ['a text', withProperties({ a: marked('string') }), { 'Mcp-Param-Region': 'x' }],
    [
      'a name like a standard header',
      withProperties({ a: marked('string', 'Method') }),
      { 'Mcp-Param-Method': 'x' },
    ],
    [
      'a property inside objects',
      withProperties({ b: withProperties({ c: withProperties({ d: marked('string') }) }) }),
      { 'Mcp-Param-Region': 'deep' },
    ],
  ])('is accepted by both sides: %s', (_what, schema, headers) => {
    expect(paramHeaders(headerPlan(schema), { a: 'x', b: { c: { d: 'deep' } } })).toEqual(headers)
    expect(() => define(schema)).not.toThrow()
  })
})

describe('a value in a header', () => {
  it.each([
    ['us-west1', 'us-west1'],
    [' us-west1', '=?base64?IHVzLXdlc3Qx?='],
    ['us-west1 ', '=?base64?dXMtd2VzdDEg?='],
    [' us-west1 ', '=?base64?IHVzLXdlc3QxIA==?='],
    ['us west 1', 'us west 1'],
    [true, 'true'],
    [false, 'false'],
    [42, '42'],
    [-7, '-7'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    ['日本語', '=?base64?5pel5pys6Kqe?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['line1\r\nline2', '=?base64?bGluZTENCmxpbmUy?='],
    ['\tindented', '=?base64?CWluZGVudGVk?='],
    ['a\tb', '=?base64?YQli?='],
    ['a\u0000b', '=?base64?YQBi?='],
    ['a\u007fb', '=?base64?YX9i?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['=?base64?half', '=?base64?half'],
    ['', ''],
  ])('is encoded as specified: %j is %j', (value, wire) => {
    expect(encodeHeaderValue(value)).toBe(wire)
  })

  it.each([2 ** 53, -(2 ** 53), 1e21])('is never an integer that is rounded differently: %j', (value) => {
    const plan = headerPlan(withProperties({ a: marked('integer') }))
    expect(() => paramHeaders(plan, { a: value })).toThrow(expect.objectContaining({ code: 'INVALID' }))
    expect(paramHeaders(plan, { a: Math.sign(value) * Number.MAX_SAFE_INTEGER })).toEqual({
      'Mcp-Param-Region': `${Math.sign(value) * Number.MAX_SAFE_INTEGER}`,
    })
  })
})
