import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reachableFrom } from '../../src/domain/airlines.ts'
import { airports, cities, findPlace, fold, label } from '../../src/domain/places.ts'
import { completePlaces, editDistance, similarCities } from '../../src/domain/suggest.ts'

describe('the tables', () => {
  test('hold about 60 cities, each with airports, a climate and a time zone that exists', () => {
    expect(cities.length).toBeGreaterThanOrEqual(60)
    for (const city of cities) {
      expect(city.airports.length, city.name).toBeGreaterThan(0)
      expect(city.climate).toHaveLength(4)
      for (const { high, low, rainyDays } of city.climate) {
        expect(high, city.name).toBeGreaterThan(low)
        expect(rainyDays, city.name).toBeLessThanOrEqual(31)
      }
      expect(() => new Intl.DateTimeFormat('en', { timeZone: city.timeZone })).not.toThrow()
    }
    const codes = airports.map(({ code }) => code)
    expect(new Set(codes).size).toBe(codes.length)
  })
})

describe('a place', () => {
  test.each([
    ['nyc', 'New York (NYC)'],
    ['New York City', 'New York (NYC)'],
    ['ewr', 'New York (EWR)'],
    ['JFK - John F. Kennedy International', 'New York (JFK)'],
    ['barcelona', 'Barcelona (BCN)'],
    ['Barcelona (BCN)', 'Barcelona (BCN)'],
    ['Barcelona, Spain', 'Barcelona (BCN)'],
    ['SAO PAULO', 'São Paulo (SAO)'],
    ['  München ', 'Munich (MUC)'],
    ['Kyoto', 'Osaka (OSA)'],
    ['Washington, D.C.', 'Washington (WAS)'],
  ])('is found as %s', (text, expected) => {
    const place = findPlace(text)
    expect(place && label(place)).toBe(expected)
  })

  test('is found by every name, code and alias, in any case', () => {
    for (const city of cities) {
      for (const name of [city.name, city.code, ...city.aliases]) {
        expect(findPlace(name.toUpperCase())?.city, name).toBe(city)
        expect(findPlace(fold(name))?.city, name).toBe(city)
      }
      for (const airport of city.airports) expect(findPlace(airport.code)?.city).toBe(city)
    }
  })

  test('is not found by any other text, and never throws', () => {
    expect(findPlace('')).toBeUndefined()
    expect(findPlace('Atlantis')).toBeUndefined()
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        findPlace(text)
        similarCities(text)
        completePlaces(text)
      }),
    )
  })
})

describe('suggestions', () => {
  test.each([
    ['Barcelna', 'Barcelona'],
    ['Tokio', 'Tokyo'],
    ['Lisbona', 'Lisbon'],
    ['Reykjavk', 'Reykjavík'],
    ['NYX', 'New York'],
  ])('for %s include %s', (text, expected) => {
    expect(similarCities(text).map(({ name }) => name)).toContain(expected)
  })

  test('count edits as in usual misspellings', () => {
    expect(editDistance('paris', 'paris')).toBe(0)
    expect(editDistance('prais', 'paris')).toBe(1)
    expect(editDistance('', 'rome')).toBe(4)
    expect(editDistance('kitten', 'sitting')).toBe(3)
  })
})

describe('completion', () => {
  test('matches the start of a name, or of a word in it', () => {
    expect(completePlaces('Par')).toEqual(['Paris', 'Park City'])
    expect(completePlaces('york')).toEqual(['New York'])
    expect(completePlaces('sao')).toEqual(['São Paulo'])
  })

  test('matches codes', () => {
    expect(completePlaces('jfk')).toEqual(['JFK'])
    expect(completePlaces('BC')).toEqual(['BCN'])
  })

  test('returns only the given cities', () => {
    const queenstown = findPlace('Queenstown')
    const near = queenstown === undefined ? [] : reachableFrom(queenstown.city)
    expect(completePlaces('Bar', near)).toEqual([])
    expect(completePlaces('Syd', near)).toEqual(['Sydney'])
  })
})
