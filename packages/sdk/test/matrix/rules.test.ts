import { afterAll, describe, expect, it } from 'vitest'
import { transports } from '../transports/everywhere.ts'
import { kinds } from '../transports/kinds.ts'
import { SharedGround } from './grounds.ts'
import { stands } from './rule.ts'
import { rules } from './rules.ts'

it('every transport is there', () => {
  expect(transports.map(({ name }) => name)).toEqual(Object.keys(kinds))
})

describe.each(transports)('over $name', (transport) => {
  describe.each(transport.revisions)('at %s', (version) => {
    const ground = new SharedGround(transport, version)
    afterAll(() => ground.close())
    it.each(rules.filter((rule) => stands(rule, version)))('$title', ({ holds }) => holds(ground))
  })
})
