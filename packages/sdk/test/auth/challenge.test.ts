import fc from 'fast-check'
import { expect, test } from 'vitest'
import { challenge } from '../../src/auth/server/bearer.ts'
import { readChallenges } from './support.ts'

const name = fc.stringMatching(/^[a-z_]{1,20}$/)
const written = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
})

test('a client parses a challenge to what was written into it', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('Bearer', 'DPoP'),
      fc.dictionary(name, written, { minKeys: 1 }),
      (scheme, params) => {
        expect(readChallenges(challenge(scheme, params))).toEqual([{ scheme, params: { ...params } }])
      },
    ),
  )
})

test('no value ends the header, or begins another parameter or challenge', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (first, second) => {
      const text = challenge('Bearer', { first, second })
      expect(new Headers({ 'www-authenticate': text }).get('www-authenticate')).toBe(text)
      const [read, ...others] = readChallenges(text)
      expect(others).toEqual([])
      expect(Object.keys(read?.params ?? {})).toEqual(['first', 'second'])
    }),
  )
})

test('undefined parameters are omitted, and invalid names are rejected', () => {
  expect(challenge('Bearer', { scope: undefined })).toBe('Bearer')
  expect(() => challenge('Bearer', { 'a b': 'c' })).toThrow(TypeError)
  expect(() => challenge('Bearer x="y",', {})).toThrow(TypeError)
})
