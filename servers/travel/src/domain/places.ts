import { airportTable } from '../data/airports.ts'
import { cityTable } from '../data/cities.ts'
import { rows } from './table.ts'

/** Climate of one month. Temperatures in °C. */
export interface Climate {
  readonly high: number
  readonly low: number
  readonly rainyDays: number
}

export interface City {
  /** The metropolitan code, or the code of the one airport. */
  readonly code: string
  readonly name: string
  readonly country: string
  readonly timeZone: string
  /** 3 world hub, 2 large, 1 regional. */
  readonly tier: number
  /** A night in a good hotel, in USD, before season. */
  readonly nightlyUsd: number
  /** January, April, July and October. */
  readonly climate: readonly Climate[]
  readonly aliases: readonly string[]
  readonly airports: readonly Airport[]
}

export interface Airport {
  readonly code: string
  readonly name: string
  readonly cityCode: string
  readonly lat: number
  readonly lon: number
  /** Maximum length of a flight. */
  readonly maxKm: number
}

/** A city with all its airports, or one airport of it. */
export interface Place {
  readonly city: City
  readonly airport: Airport | undefined
}

export const airports: readonly Airport[] = rows(airportTable).map((row) => ({
  code: row.text(0),
  cityCode: row.text(1),
  name: row.text(2),
  lat: row.number(3),
  lon: row.number(4),
  maxKm: row.text(5) === '' ? Number.POSITIVE_INFINITY : row.number(5),
}))

export const cities: readonly City[] = rows(cityTable).map((row) => {
  const code = row.text(0)
  return {
    code,
    name: row.text(1),
    country: row.text(2),
    timeZone: row.text(3),
    tier: row.number(4),
    nightlyUsd: row.number(5),
    climate: [6, 7, 8, 9].map((column) => climateOf(row.text(column))),
    aliases: row
      .text(10)
      .split(',')
      .map((alias) => alias.trim())
      .filter((alias) => alias !== ''),
    airports: airports.filter((airport) => airport.cityCode === code),
  }
})

const cityByCode = new Map(cities.map((city) => [city.code, city]))
const airportByCode = new Map(airports.map((airport) => [airport.code, airport]))
const cityByName = new Map(
  cities.flatMap((city) => [city.name, ...city.aliases].map((name) => [fold(name), city])),
)

/** The city of a code from the tables. */
export function cityOf(code: string): City {
  const city = cityByCode.get(code)
  if (city === undefined) throw new RangeError(`No city has the code ${code}`)
  return city
}

/** The airport of a code from the tables. */
export function airportOf(code: string): Airport {
  const airport = airportByCode.get(code)
  if (airport === undefined) throw new RangeError(`No airport has the code ${code}`)
  return airport
}

/** The airport that represents a city on a map. */
export function mainAirport(city: City): Airport {
  const [first] = city.airports
  if (first === undefined) throw new RangeError(`${city.name} has no airport`)
  return first
}

/**
 * Finds a place by city name or IATA code, ignoring case and accents. Accepts "Barcelona (BCN)" and
 * "JFK - John F. Kennedy International" as well. Undefined if there is no such place.
 */
export function findPlace(text: string): Place | undefined {
  const name = text.trim()
  const code = (
    /^[A-Za-z]{3}$/.exec(name)?.[0] ??
    /\(([A-Za-z]{3})\)$/.exec(name)?.[1] ??
    /^([A-Za-z]{3}) [-–] /.exec(name)?.[1]
  )?.toUpperCase()
  if (code !== undefined) {
    const byCode = cityByCode.get(code)
    if (byCode !== undefined) return { city: byCode, airport: undefined }
    const airport = airportByCode.get(code)
    if (airport !== undefined) {
      const city = cityOf(airport.cityCode)
      return { city, airport: city.airports.length > 1 ? airport : undefined }
    }
  }
  const whole = cityByName.get(fold(name)) ?? cityByName.get(fold(name.replace(/,[^,]*$/, '')))
  return whole && { city: whole, airport: undefined }
}

/** A place as text: "New York (NYC)", or "New York (JFK)" for one airport. */
export function label({ city, airport }: Place): string {
  return `${city.name} (${airport?.code ?? city.code})`
}

/** A text without case, accents and punctuation, for the comparison of names. */
export function fold(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

function climateOf(cell: string): Climate {
  const [high = Number.NaN, low = Number.NaN, rainyDays = Number.NaN] = cell.split('/').map(Number)
  return { high, low, rainyDays }
}
