import { describe, expect, it } from 'vitest'
import { transports } from '../transports/everywhere.ts'
import { kinds } from '../transports/kinds.ts'
import { tryFeatures } from './suites.ts'

it('every transport is included', () => {
  expect(transports.map(({ name }) => name)).toEqual(Object.keys(kinds))
})

// stdio starts a process for each client: matrix-stdio.test.ts tries it at the same time.
describe.each(transports.filter(({ name }) => name !== 'stdio'))('over $name', tryFeatures)
