import { stripTypeScriptTypes } from 'node:module'
import type { Tool } from '@jackfield/sdk'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCode } from '../../src/models/code/code.ts'

/** The declarations of one tool `t` of a server `s`. */
function declared(tool: Partial<Tool>): string {
  const row = { id: 1, close: () => {}, closeSoon: async () => {} }
  const code = createCode({
    tools: () => [
      { name: 's__t', server: 's', tool: { name: 't', inputSchema: { type: 'object' }, ...tool } },
    ],
    call: () => Promise.reject(new Error('not part of this test')),
    on: () => () => {},
    recorder: { open: () => row, openSoon: async () => row, note: () => 1 },
    signal: new AbortController().signal,
  })
  return code.types()
}

const member = (property: object): string => {
  const text = declared({ inputSchema: { type: 'object', properties: { a: property } } })
  return /a\?: ([\s\S]*?)\n {4}\}\): /.exec(text)?.[1] ?? text
}

describe('a schema becomes a type', () => {
  test.each<[object, string]>([
    [{ type: 'string' }, 'string'],
    [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ enum: ['a', 1, null] }, '"a" | 1 | null'],
    [{ const: true }, 'true'],
    [{ type: 'array', items: { type: 'number' } }, 'Array<number>'],
    [{ type: 'array', prefixItems: [{ type: 'string' }, { type: 'boolean' }] }, '[string, boolean]'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
    [{ oneOf: [{ type: 'string' }, {}] }, 'unknown'],
    [{ allOf: [{ type: 'string' }, { type: 'number' }] }, '(string) & (number)'],
    [{ type: 'object' }, 'Record<string, unknown>'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
    [{ type: 'object', additionalProperties: false }, '{}'],
    [{ properties: { 'b-c': { type: 'null' } } }, '{\n        "b-c"?: null\n      }'],
    [{ description: 'no type' }, 'unknown'],
    [{ $ref: '#/$defs/none' }, 'unknown'],
    [{ type: 'object', allOf: [{ properties: { b: { type: 'null' } } }] }, '({\n        b?: null\n      })'],
    [
      { type: 'object', properties: { b: {} }, anyOf: [{ required: ['b'] }] },
      '{\n        b?: unknown\n      }',
    ],
    [{ properties: { b: {} }, anyOf: [{ required: ['b'] }] }, '{\n        b?: unknown\n      }'],
    [
      { type: 'object', properties: { b: {} }, oneOf: [{ type: 'object', additionalProperties: false }] },
      '{\n        b?: unknown\n      } & ({})',
    ],
    [
      { type: 'array', prefixItems: Array.from({ length: 21 }, () => ({ type: 'null' })) },
      `[${'null, '.repeat(20)}...unknown[]]`,
    ],
    [{ const: 'a\u202eb' }, '"a\\u202eb"'],
  ])('%j', (schema, type) => {
    expect(member(schema)).toBe(type)
  })

  test('with comments that are no compiler directive', () => {
    const text = declared({ description: '@ts-expect-error', inputSchema: { type: 'object' } })
    expect(text).toContain('/** \\@ts-expect-error */')
  })

  test('with its references, up to a limit', () => {
    const inputSchema: Tool['inputSchema'] = {
      type: 'object',
      properties: { pet: { $ref: '#/$defs/pet' } },
      $defs: { pet: { type: 'object', properties: { kind: { enum: ['cat'] } }, required: ['kind'] } },
    }
    expect(declared({ inputSchema })).toContain('pet?: {\n        kind: "cat"\n      }')
  })

  test('of bounded length if it is circular', () => {
    const properties = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`p${n}`, { $ref: '#' }]))
    const text = declared({ inputSchema: { type: 'object', properties } })
    expect(text).toContain('t(args?: Record<string, unknown>): Promise<Result>')
  })

  test('with the result if the server declares it, and without arguments if there are none', () => {
    const text = declared({
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    })
    expect(text).toContain('t(): Promise<Result<{\n      n: number\n    }>>')
  })
})

test('declarations stay declarations for any server text', () => {
  const word = fc.oneof(
    fc.constantFrom('*/', '"', '`', '}', '\n', '\u2028', '__proto__', 'constructor', 'a b', '*/ evil() /*'),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )
  fc.assert(
    fc.property(word, word, word, word, (name, title, description, property) => {
      const text = declared({
        name,
        title,
        description,
        inputSchema: { type: 'object', properties: { [property]: { enum: [title], description } } },
      })
      // Taking the types off leaves comments alone: no word has become a statement.
      const left = stripTypeScriptTypes(text).replaceAll(/\/\*[\s\S]*?\*\//g, '')
      expect(left.trim()).toBe('')
    }),
    { numRuns: 300 },
  )
})
