import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseFilter, TraceFilterError } from '../../src/log/trace/filter.ts'

const now = Date.UTC(2027, 0, 31, 12)
const conditions = (filter: string) => parseFilter(filter, now).map(({ condition }) => condition)

test('a filter is parsed into its terms', () => {
  expect(
    conditions(
      'server:files,travel kind:call status:error dur:>500 method:tools/call tool:read_* id:12 cause:#7',
    ),
  ).toEqual([
    { key: 'server', oneOf: ['files', 'travel'] },
    { key: 'kind', oneOf: ['call'] },
    { key: 'status', oneOf: ['error'] },
    { key: 'dur', over: 500 },
    { key: 'method', oneOf: ['tools/call'] },
    { key: 'tool', oneOf: ['read_*'] },
    { key: 'id', ids: [12] },
    { key: 'cause', ids: [7] },
  ])
  expect(conditions('text:"not \\"found\\"" lost "two words"')).toEqual([
    { key: 'text', text: 'not "found"' },
    { key: 'text', text: 'lost' },
    { key: 'text', text: 'two words' },
  ])
  expect(conditions('since:1h until:2027-01-31T11:30:00Z')).toEqual([
    { key: 'since', atMs: now - 3_600_000 },
    { key: 'until', atMs: now - 1_800_000 },
  ])
  expect(conditions('dur:>=1.5s dur:<2m dur:100..500 bytes:<=2kb')).toEqual([
    { key: 'dur', min: 1_500 },
    { key: 'dur', below: 120_000 },
    { key: 'dur', min: 100, max: 500 },
    { key: 'bytes', max: 2_000 },
  ])
  expect(parseFilter('-kind:wire -"a b"', now)).toEqual([
    { negated: true, column: 1, condition: { key: 'kind', oneOf: ['wire'] } },
    { negated: true, column: 12, condition: { key: 'text', text: 'a b' } },
  ])
})

test.each([
  ['server:a srver:b', 10, 'There is no "srver:". Did you mean server?'],
  ['kind:cal', 6, 'There is no kind "cal". There are connection, call,'],
  ['dur:500', 5, 'dur is compared, as in dur:>500'],
  ['dur:>5weeks', 5, '"5weeks" is not a number. Units are ms, s, m, h, d'],
  ['since:yesterday', 7, 'since is a time such as'],
  ['id:x', 4, 'id is a number, not "x"'],
  ['kind:call text:"no end', 16, 'The text that begins here has no closing "'],
  ['tool:', 6, 'Nothing follows tool:'],
  ['"a"b', 4, 'A space is missing here'],
])('the error in %s has its position', (filter, column, message) => {
  const error = (() => {
    try {
      parseFilter(filter, now)
    } catch (error) {
      return error
    }
  })()
  expect(error).toBeInstanceOf(TraceFilterError)
  expect(error).toMatchObject({ column, message: expect.stringContaining(message) })
})

test('any text is parsed or rejected at a position within it', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'kind:wrd"\\ -<>.=1,h') })),
      (filter) => {
        try {
          parseFilter(filter, now)
        } catch (error) {
          if (!(error instanceof TraceFilterError)) throw error
          expect(error.column).toBeGreaterThan(0)
          expect(error.column).toBeLessThanOrEqual(filter.length + 1)
        }
      },
    ),
    { numRuns: 2_000 },
  )
})
