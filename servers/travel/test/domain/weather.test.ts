import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addDays,
  dateIn,
  daysBetween,
  instantOf,
  isDate,
  isDateTime,
  localTime,
} from '../../src/domain/dates.ts'
import { type City, cities, findPlace } from '../../src/domain/places.ts'
import { quoteStay } from '../../src/domain/stay.ts'
import { climateOn, weatherOn } from '../../src/domain/weather.ts'

const city = (name: string): City => {
  const found = findPlace(name)?.city
  if (found === undefined) throw new Error(`no city ${name}`)
  return found
}
const anyCity = fc.constantFrom(...cities)
const anyDate = fc.integer({ min: 0, max: 3650 }).map((days) => addDays('2024-01-01', days))

describe('the weather', () => {
  test('is the same every time, within reason of the climate, and consistent with itself', () => {
    fc.assert(
      fc.property(anyCity, anyDate, (where, date) => {
        const day = weatherOn(where, date)
        const normal = climateOn(where, date)
        expect(day).toEqual(weatherOn(where, date))
        expect(day.highC).toBeGreaterThan(day.lowC)
        expect(Math.abs(day.highC - normal.high)).toBeLessThan(8)
        expect(day.precipitationPercent).toBeGreaterThanOrEqual(0)
        expect(day.precipitationPercent).toBeLessThanOrEqual(100)
        if (day.condition === 'snow') expect(day.highC).toBeLessThanOrEqual(2)
      }),
      { numRuns: 500 },
    )
  })

  test('follows the seasons of each hemisphere', () => {
    const mean = (name: string, month: string): number => {
      const highs = Array.from(
        { length: 28 },
        (_, i) => weatherOn(city(name), addDays(`2027-${month}-01`, i)).highC,
      )
      return highs.reduce((sum, high) => sum + high, 0) / highs.length
    }
    expect(mean('Barcelona', '07')).toBeGreaterThan(mean('Barcelona', '01') + 8)
    expect(mean('Sydney', '01')).toBeGreaterThan(mean('Sydney', '07') + 5)
    expect(mean('Reykjavík', '07')).toBeLessThan(20)
    expect(mean('Dubai', '07')).toBeGreaterThan(36)
  })

  test('moves from month to month without a jump', () => {
    for (const where of cities) {
      for (let day = 0; day < 365; day++) {
        const today = climateOn(where, addDays('2027-01-01', day))
        const tomorrow = climateOn(where, addDays('2027-01-02', day))
        expect(Math.abs(today.high - tomorrow.high), `${where.name} ${day}`).toBeLessThan(0.6)
      }
    }
  })
})

describe('dates', () => {
  test('exist or do not', () => {
    expect(isDate('2028-02-29')).toBe(true)
    for (const text of [
      '2027-02-29',
      '2027-13-01',
      '2027-6-5',
      '1999-01-01',
      '2027-06-15T10:00',
      '',
      '20270615',
    ]) {
      expect(isDate(text), text).toBe(false)
    }
    expect(isDateTime('2027-06-15T18:30')).toBe(true)
    expect(isDateTime('2027-06-15T24:30')).toBe(false)
    expect(isDateTime('2027-06-31T10:00')).toBe(false)
  })

  test('and clock times go through a time zone and back', () => {
    fc.assert(
      fc.property(anyCity, anyDate, fc.integer({ min: 5 * 60, max: 1439 }), ({ timeZone }, date, minutes) => {
        const instant = instantOf(timeZone, date, minutes)
        const clock = `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
        expect(localTime(timeZone, instant)).toBe(`${date}T${clock}`)
        expect(dateIn(timeZone, instant)).toBe(date)
      }),
      { numRuns: 500 },
    )
  })

  test('add up', () => {
    expect(addDays('2027-12-31', 1)).toBe('2028-01-01')
    expect(daysBetween('2027-06-15', '2027-06-22')).toBe(7)
  })
})

describe('a hotel', () => {
  test('costs the sum of its nights, a room for every two', () => {
    const one = quoteStay(city('Barcelona'), '2027-06-15', '2027-06-22', 2)
    expect(one).toMatchObject({ nights: 7, rooms: 1 })
    const two = quoteStay(city('Barcelona'), '2027-06-15', '2027-06-22', 3)
    expect(two.priceUsd).toBe(one.priceUsd * 2)
    const parts = [
      quoteStay(city('Barcelona'), '2027-06-15', '2027-06-18', 2),
      quoteStay(city('Barcelona'), '2027-06-18', '2027-06-22', 2),
    ]
    expect(parts.reduce((sum, { priceUsd }) => sum + priceUsd, 0)).toBe(one.priceUsd)
  })
})
