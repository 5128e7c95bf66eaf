import { type CalendarDate, weekday, yearFraction } from './dates.ts'
import { distanceKm } from './geo.ts'
import { chance } from './hash.ts'
import { cityOf, mainAirport } from './places.ts'
import type { Flight } from './timetable.ts'

/** The fare of one traveller for these connecting flights, in whole USD. */
export function fareUsd(flights: readonly Flight[], date: CalendarDate): number {
  const [first] = flights
  const last = flights.at(-1)
  if (first === undefined || last === undefined) return 0
  const from = cityOf(first.from.cityCode)
  const to = cityOf(last.to.cityCode)
  const km = distanceKm(mainAirport(from), mainAirport(to))
  const base = 38 + 1.75 * km ** 0.62
  const fareFactor = flights.reduce((sum, { airline }) => sum + airline.fareFactor, 0) / flights.length
  const nonstopFactor = flights.length === 1 ? 1.16 : 0.92
  const demandFactor = 0.86 + 0.34 * chance(date, ...flights.map(({ number }) => number), 'sold')
  return Math.round(
    base *
      fareFactor *
      nonstopFactor *
      demandFactor *
      seasonFactor(to.airports[0]?.lat ?? 0, date) *
      weekdayFactor(date),
  )
}

/** Summer at the destination and the days around new year cost more. */
export function seasonFactor(lat: number, date: CalendarDate): number {
  const fraction = yearFraction(date)
  const summer = Math.cos(2 * Math.PI * (fraction - (lat >= 0 ? 0.54 : 0.04)))
  const strength = Math.min(1, Math.abs(lat) / 40)
  const holidays = fraction > 0.955 || fraction < 0.012 ? 0.22 : 0
  return 1 + 0.17 * strength * summer + holidays
}

function weekdayFactor(date: CalendarDate): number {
  const factors = [1.09, 0.99, 0.93, 0.94, 1.02, 1.1, 1.03]
  return factors[weekday(date)] ?? 1
}
