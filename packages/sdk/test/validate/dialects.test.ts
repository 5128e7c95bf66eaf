import { readFileSync } from 'node:fs'
import { defineServer, tool } from '@jackfield/sdk'
import { expect, test } from 'vitest'
import { dialectNamed } from '../../src/json-schema/schema-index.ts'
import { call, text } from '../server/support.ts'

const base = { name: 'shop', version: '1.0.0' }

test('a schema without a dialect is one of 2020-12', async () => {
  const pair = { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false }
  const input = { type: 'object', properties: { pair }, required: ['pair'] }
  const server = defineServer({ ...base, tools: { t: tool({ input, run: () => 'ran' }) } })
  const outputFor = async (value: unknown) => text(await call(server, 't', { pair: value }))
  expect(await outputFor(['a', 1])).toBe('ran')
  expect(await outputFor([1, 'a'])).toContain('Invalid arguments')
  expect(await outputFor(['a', 1, 2])).toContain('Invalid arguments')
})

test('a schema is checked by the dialect it names', async () => {
  const outputFor = async ($schema: string) => {
    const pair = { type: 'array', prefixItems: [{ type: 'string' }] }
    const input = { $schema, type: 'object', properties: { pair } }
    const server = defineServer({ ...base, tools: { t: tool({ input, run: () => 'ran' }) } })
    return text(await call(server, 't', { pair: [7] }))
  }
  expect(await outputFor('https://json-schema.org/draft/2020-12/schema')).toContain('Invalid arguments')
  // Draft-07 knows no prefixItems.
  expect(await outputFor('http://json-schema.org/draft-07/schema#')).toBe('ran')
})

test.each([
  'http://json-schema.org/draft-04/schema#',
  'https://json-schema.org/draft/2019-09/schema',
  'https://example.com/own',
])('the dialect %s is refused by name', (dialect) => {
  const input = { $schema: dialect, type: 'object' }
  const make = () => defineServer({ ...base, tools: { t: tool({ input, run: () => 'ran' }) } })
  expect(make).toThrow(/dialect that is not supported/)
  expect(make).toThrow(dialect)
})

test('the README lists the supported dialects', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  expect(readme).toContain('Dialects are 2020-12 and draft-07')
  expect(dialectNamed('https://json-schema.org/draft/2020-12/schema')).toBe('2020-12')
  expect(dialectNamed('http://json-schema.org/draft-07/schema#')).toBe('draft-07')
})
