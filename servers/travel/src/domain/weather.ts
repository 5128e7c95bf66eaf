import { type CalendarDate, daysBetween, yearFraction } from './dates.ts'
import { chance } from './hash.ts'
import type { City } from './places.ts'

/** The weather of one day. Temperatures in °C and °F, wind in km/h. */
export interface DayWeather {
  city: string
  country: string
  date: CalendarDate
  condition: 'sunny' | 'partly cloudy' | 'cloudy' | 'showers' | 'rain' | 'snow' | 'thunderstorms'
  highC: number
  lowC: number
  highF: number
  lowF: number
  precipitationPercent: number
  windKmh: number
  summary: string
}

/** The weather of a city on a date, computed from its climate. The same on every call. */
export function weatherOn(city: City, date: CalendarDate): DayWeather {
  const normal = climateOn(city, date)
  const swing = spell(city, date) * 3.2 + (chance(city.code, date, 'heat') - 0.5) * 2.4
  const rainShare = Math.min(0.95, normal.rainyDays / 30.4)
  const rains = chance(city.code, date, 'rain') < rainShare
  const highC = Math.round(normal.high + swing - (rains ? 1.5 : 0))
  const lowC = Math.min(highC - 2, Math.round(normal.low + swing * 0.7 + (rains ? 0.5 : 0)))
  const condition = conditionOf(city, date, { rains, rainShare, highC, lowC })
  const precipitationPercent = Math.round(
    rains ? 55 + 40 * chance(city.code, date, 'sure') : 5 + rainShare * 60 * chance(city.code, date, 'sure'),
  )
  const windKmh = Math.round(6 + 22 * chance(city.code, date, 'wind') ** 1.5)
  return describeDay(city, date, { condition, highC, lowC, precipitationPercent, windKmh })
}

/** Adds place, °F and a summary to the measurements of a day. */
export function describeDay(
  city: City,
  date: CalendarDate,
  day: Pick<DayWeather, 'condition' | 'highC' | 'lowC' | 'precipitationPercent' | 'windKmh'>,
): DayWeather {
  const { condition, highC, lowC, precipitationPercent, windKmh } = day
  return {
    city: city.name,
    country: city.country,
    date,
    condition,
    highC,
    lowC,
    highF: fahrenheit(highC),
    lowF: fahrenheit(lowC),
    precipitationPercent,
    windKmh,
    summary: `${condition[0]?.toUpperCase()}${condition.slice(1)}, ${lowC} to ${highC} °C, ${precipitationPercent}% chance of precipitation`,
  }
}

/** The climate of a day of the year, interpolated between the months in the table. */
export function climateOn(city: City, date: CalendarDate): { high: number; low: number; rainyDays: number } {
  const quarter = ((yearFraction(date) * 4 - 1 / 6 + 4) % 4) % 4
  const before = city.climate[Math.floor(quarter)]
  const after = city.climate[(Math.floor(quarter) + 1) % 4]
  if (before === undefined || after === undefined) throw new RangeError(`${city.name} has no climate`)
  const share = (1 - Math.cos((quarter % 1) * Math.PI)) / 2
  const between = (from: number, to: number): number => from + (to - from) * share
  return {
    high: between(before.high, after.high),
    low: between(before.low, after.low),
    rainyDays: between(before.rainyDays, after.rainyDays),
  }
}

/** Warm and cool spells of about five days, from -1 to 1. */
function spell(city: City, date: CalendarDate): number {
  const days = daysBetween('2000-01-01', date) / 5
  const start = Math.floor(days)
  const from = chance(city.code, start, 'spell')
  const to = chance(city.code, start + 1, 'spell')
  return (from + (to - from) * (days - start)) * 2 - 1
}

function conditionOf(
  city: City,
  date: CalendarDate,
  day: { rains: boolean; rainShare: number; highC: number; lowC: number },
): DayWeather['condition'] {
  const random = chance(city.code, date, 'sky')
  if (day.rains) {
    if (day.highC <= 2) return 'snow'
    if (day.lowC >= 22 && random < 0.45) return 'thunderstorms'
    return random < 0.6 ? 'showers' : 'rain'
  }
  if (random < 0.75 - day.rainShare) return 'sunny'
  return random < 0.9 - day.rainShare / 3 ? 'partly cloudy' : 'cloudy'
}

function fahrenheit(celsius: number): number {
  return Math.round((celsius * 9) / 5 + 32)
}
