import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isReachable, reachableFrom } from '../../src/domain/airlines.ts'
import { addDays, instantOf } from '../../src/domain/dates.ts'
import { distanceKm, flightMinutes } from '../../src/domain/geo.ts'
import { airportOf, cities, cityOf, findPlace, type Place } from '../../src/domain/places.ts'
import { type FlightOption, searchOptions } from '../../src/domain/schedule.ts'

const place = (text: string): Place => {
  const found = findPlace(text)
  if (found === undefined) throw new Error(`no place ${text}`)
  return found
}
const anyPlace = fc.constantFrom(...cities).map((city): Place => ({ city, airport: undefined }))
const anyDate = fc.integer({ min: 0, max: 3650 }).map((days) => addDays('2024-01-01', days))

/** The instant of a local time at an airport. */
function instantAt(airport: string, time: string): number {
  const minutes = Number(time.slice(11, 13)) * 60 + Number(time.slice(14, 16))
  return instantOf(cityOf(airportOf(airport).cityCode).timeZone, time.slice(0, 10), minutes)
}

describe('a search for flights', () => {
  test('finds about 47 options from New York to Barcelona on any day', () => {
    const counts = Array.from({ length: 122 }, (_, i) => {
      return searchOptions(place('NYC'), place('Barcelona'), addDays('2027-01-01', i * 3)).length
    })
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(40)
    expect(Math.max(...counts)).toBeLessThanOrEqual(55)
    const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length
    expect(mean).toBeGreaterThan(46)
    expect(mean).toBeLessThan(49)
  })

  test('offers nonstop flights and connections by several airlines, from several airports', () => {
    const options = searchOptions(place('NYC'), place('BCN'), '2027-06-15')
    expect(new Set(options.map(({ stops }) => stops))).toEqual(new Set([0, 1]))
    expect(new Set(options.flatMap(({ airlines }) => airlines)).size).toBeGreaterThan(10)
    expect(new Set(options.map(({ legs }) => legs[0]?.from)).size).toBeGreaterThan(1)
  })

  test('returns exactly the same options every time', () => {
    fc.assert(
      fc.property(anyPlace, anyPlace, anyDate, (from, to, date) => {
        expect(searchOptions(from, to, date)).toEqual(searchOptions(from, to, date))
      }),
      { numRuns: 60 },
    )
    expect(searchOptions(place('NYC'), place('Barcelona'), '2026-06-15')).toHaveLength(47)
  })

  test('arrives after it departs, and its clock times, legs and durations agree', () => {
    fc.assert(
      fc.property(anyPlace, anyPlace, anyDate, (from, to, date) => {
        for (const option of searchOptions(from, to, date)) checkOption(option, from, to, date)
      }),
      { numRuns: 150 },
    )
  })

  test('finds a route on every day of each listed connection, and none elsewhere', () => {
    fc.assert(
      fc.property(anyPlace, anyPlace, anyDate, (from, to, date) => {
        expect(searchOptions(from, to, date).length > 0).toBe(isReachable(from.city, to.city))
      }),
      { numRuns: 300 },
    )
  })

  test('uses only the airport that was named', () => {
    const options = searchOptions(place('LGA'), place('Barcelona'), '2027-06-15')
    expect(options.length).toBeGreaterThan(0)
    expect(new Set(options.map(({ legs }) => legs[0]?.from))).toEqual(new Set(['LGA']))
  })

  test('names every option differently', () => {
    fc.assert(
      fc.property(anyPlace, anyPlace, anyDate, (from, to, date) => {
        const ids = searchOptions(from, to, date).map(({ id }) => id)
        expect(new Set(ids).size).toBe(ids.length)
      }),
      { numRuns: 100 },
    )
  })

  test('departs on the requested date across a change of clocks', () => {
    for (const date of ['2027-03-14', '2027-03-28', '2027-10-31', '2027-11-07']) {
      for (const option of searchOptions(place('NYC'), place('London'), date)) {
        checkOption(option, place('NYC'), place('London'), date)
      }
    }
  })
})

function checkOption(option: FlightOption, from: Place, to: Place, date: string): void {
  const first = option.legs[0]
  const last = option.legs.at(-1)
  expect(option.departs).toBe(first?.departs)
  expect(option.arrives).toBe(last?.arrives)
  expect(option.departs.slice(0, 10)).toBe(date)
  expect(airportOf(first?.from ?? '').cityCode).toBe(from.city.code)
  expect(airportOf(last?.to ?? '').cityCode).toBe(to.city.code)
  expect(option.priceUsd).toBeGreaterThan(20)
  expect(option.stops).toBe(option.legs.length - 1)
  let sum = 0
  for (const [i, leg] of option.legs.entries()) {
    const departs = instantAt(leg.from, leg.departs)
    const arrives = instantAt(leg.to, leg.arrives)
    expect(arrives).toBeGreaterThan(departs)
    expect((arrives - departs) / 60_000).toBe(leg.durationMinutes)
    expect(leg.durationMinutes).toBe(flightMinutes(airportOf(leg.from), airportOf(leg.to)))
    sum += leg.durationMinutes
    const change = option.layovers[i]
    const next = option.legs[i + 1]
    if (next === undefined || change === undefined) continue
    expect(next.from).toBe(leg.to)
    expect(change.airport).toBe(leg.to)
    expect((instantAt(next.from, next.departs) - arrives) / 60_000).toBe(change.minutes)
    expect(change.minutes).toBeGreaterThanOrEqual(60)
    sum += change.minutes
  }
  expect(option.durationMinutes).toBe(sum)
}

describe('reachability', () => {
  test('contains both directions', () => {
    for (const from of cities) {
      for (const to of cities) expect(isReachable(from, to)).toBe(isReachable(to, from))
    }
  })

  test('connects every city, but not every pair', () => {
    const reached = cities.map((city) => reachableFrom(city).length)
    expect(Math.min(...reached)).toBeGreaterThan(5)
    expect(Math.min(...reached)).toBeLessThan(30)
  })
})

describe('distance', () => {
  test('follows the great circle', () => {
    expect(distanceKm(airportOf('JFK'), airportOf('BCN'))).toBeCloseTo(6160, -2)
    expect(distanceKm(airportOf('LHR'), airportOf('SYD'))).toBeCloseTo(17_020, -2)
    expect(distanceKm(airportOf('AKL'), airportOf('AKL'))).toBe(0)
  })
})
