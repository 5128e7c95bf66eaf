import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  checkParamHeaders,
  decodeHeaderValue,
  encodeHeaderValue,
  headerPlan,
  paramHeaders,
} from '../../src/protocol/headers.ts'

const annotated = (property: object): { type: 'object'; properties: object } => ({
  type: 'object',
  properties: { value: property },
})

describe('header values', () => {
  it.each([
    ['us-west1', 'us-west1'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['', ''],
    [42, '42'],
    [false, 'false'],
  ])('%j is encoded as %j', (value, wire) => {
    expect(encodeHeaderValue(value)).toBe(wire)
    expect(decodeHeaderValue(wire)).toBe(String(value))
  })

  it('are always printable ASCII and decode to the original', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const wire = encodeHeaderValue(text)
        expect(wire).toMatch(/^[\x20-\x7E\t]*$/)
        expect(decodeHeaderValue(wire)).toBe(text)
      }),
    )
  })

  it.each(['=?base64?SGVsbG8?=', '=?base64?SGV$bG8=?=', '=?base64?/w==?='])('rejects %s', (wire) => {
    expect(() => decodeHeaderValue(wire)).toThrow()
  })

  it('treats a value without the whole marker as literal', () => {
    expect(decodeHeaderValue('=?base64?SGVsbG8=')).toBe('=?base64?SGVsbG8=')
    expect(decodeHeaderValue('=?BASE64?SGVsbG8=?=')).toBe('=?BASE64?SGVsbG8=?=')
  })
})

describe('x-mcp-header annotations', () => {
  it('are found on nested properties', () => {
    const plan = headerPlan({
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        where: { type: 'object', properties: { zone: { type: 'integer', 'x-mcp-header': 'Zone' } } },
      },
    })
    expect(paramHeaders(plan, { region: 'eu', where: { zone: 4 } })).toEqual({
      'Mcp-Param-Region': 'eu',
      'Mcp-Param-Zone': '4',
    })
    expect(paramHeaders(plan, { region: null })).toEqual({})
  })

  it.each([
    ['empty', annotated({ type: 'string', 'x-mcp-header': '' })],
    ['not a string', annotated({ type: 'string', 'x-mcp-header': 3 })],
    ['with a space', annotated({ type: 'string', 'x-mcp-header': 'My Region' })],
    ['with a colon', annotated({ type: 'string', 'x-mcp-header': 'Region:' })],
    ['with a line break', annotated({ type: 'string', 'x-mcp-header': 'Region\r\nX' })],
    ['not ASCII', annotated({ type: 'string', 'x-mcp-header': 'Région' })],
    ['on a number', annotated({ type: 'number', 'x-mcp-header': 'N' })],
    ['on an object', annotated({ type: 'object', 'x-mcp-header': 'N' })],
    ['on an array', annotated({ type: 'array', 'x-mcp-header': 'N' })],
    ['under items', annotated({ type: 'array', items: { type: 'string', 'x-mcp-header': 'N' } })],
    ['under anyOf', { type: 'object', anyOf: [annotated({ type: 'string', 'x-mcp-header': 'N' })] }],
    ['in $defs', { type: 'object', $defs: { a: { type: 'string', 'x-mcp-header': 'N' } } }],
    [
      'used twice in another case',
      {
        type: 'object',
        properties: {
          a: { type: 'string', 'x-mcp-header': 'R' },
          b: { type: 'string', 'x-mcp-header': 'r' },
        },
      },
    ],
  ])('%s make a tool invalid', (_what, schema) => {
    expect(() => headerPlan({ ...schema })).toThrow(expect.objectContaining({ code: 'INVALID' }))
  })

  it('are not searched in data, nor read from a property with that name', () => {
    expect(
      headerPlan({
        type: 'object',
        properties: { 'x-mcp-header': { type: 'string', default: { 'x-mcp-header': 'X' } } },
      }),
    ).toEqual([])
  })
})

describe('mirrored arguments', () => {
  const plan = headerPlan({
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      size: { type: 'integer', 'x-mcp-header': 'Size' },
      dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
    },
  })
  const check = (args: Record<string, unknown>, headers: Record<string, string>): string | undefined =>
    checkParamHeaders(plan, args, (name) => headers[name])

  it('match after decoding, numbers by value', () => {
    expect(
      check(
        { region: 'é', size: 42, dry: true },
        {
          'mcp-param-region': '=?base64?w6k=?=',
          'mcp-param-size': '42.0',
          'mcp-param-dry': 'true',
        },
      ),
    ).toBeUndefined()
  })

  it.each([
    [{ region: 'eu' }, {}],
    [{ region: 'eu' }, { 'mcp-param-region': 'us' }],
    [{ region: 'eu' }, { 'mcp-param-region': '=?base64?ZXU?=' }],
    [{ size: 4 }, { 'mcp-param-size': '0x4' }],
    [{ dry: true }, { 'mcp-param-dry': 'True' }],
    [{}, { 'mcp-param-region': 'eu' }],
    [{ region: null }, { 'mcp-param-region': 'null' }],
  ])('do not match: %j with %j', (args, headers) => {
    expect(check(args, headers)).toMatch(/^Mcp-Param-/)
  })
})
