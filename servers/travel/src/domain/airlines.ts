import { airlineTable } from '../data/airlines.ts'
import { distanceKm } from './geo.ts'
import { type Airport, airportOf, type City, cities, cityOf, mainAirport } from './places.ts'
import { rows } from './table.ts'

export interface Airline {
  readonly code: string
  readonly name: string
  readonly hubs: readonly Airport[]
  /** Its fares as a multiple of those of a network carrier. */
  readonly fareFactor: number
  /** 1 to 5. */
  readonly comfort: number
  /** Whether it sells connections over its hubs. */
  readonly connects: boolean
  readonly maxKm: number
}

export const airlines: readonly Airline[] = rows(airlineTable).map((row) => ({
  code: row.text(0),
  name: row.text(1),
  hubs: row.text(2).split(/\s+/).map(airportOf),
  fareFactor: row.number(3) / 100,
  comfort: row.number(4),
  connects: row.text(5) === 'links',
  maxKm: row.text(6) === '' ? Number.POSITIVE_INFINITY : row.number(6),
}))

/** Maximum km of a profitable flight by the tiers of its two cities, the higher tier first. */
const maxProfitableKm: Readonly<Record<string, number>> = {
  '33': 15_600,
  '32': 13_000,
  '31': 6_800,
  '22': 9_500,
  '21': 3_400,
  '11': 1_000,
}

/** The hub of an airline in a city. */
export function hubIn(airline: Airline, city: City): Airport | undefined {
  return airline.hubs.find((hub) => hub.cityCode === city.code)
}

/** Whether an airline flies between two cities without a stop. The same in both directions. */
export function flies(airline: Airline, a: City, b: City): boolean {
  return destinationsOf(airline, a).has(b)
}

/** Airlines that fly between two cities without a stop. */
export function airlinesBetween(a: City, b: City): Airline[] {
  return airlines.filter((airline) => flies(airline, a, b))
}

/** Cities an airline flies to from a city without a stop. */
export function destinationsOf(airline: Airline, from: City): ReadonlySet<City> {
  return network.get(airline)?.get(from) ?? none
}

/** Whether a stop at `via` makes the route only moderately longer. */
export function isAcceptableDetour(from: City, via: City, to: City): boolean {
  const straight = distanceKm(mainAirport(from), mainAirport(to))
  const withStop =
    distanceKm(mainAirport(from), mainAirport(via)) + distanceKm(mainAirport(via), mainAirport(to))
  return withStop <= straight * 1.35 + 350
}

/** Hubs where an airline connects two cities. */
export function connectionsOf(airline: Airline, from: City, to: City): Airport[] {
  if (!airline.connects) return []
  return airline.hubs.filter((hub) => {
    const via = cityOf(hub.cityCode)
    return (
      via !== from &&
      via !== to &&
      flies(airline, from, via) &&
      flies(airline, via, to) &&
      isAcceptableDetour(from, via, to)
    )
  })
}

/** Cities that can be reached with at most one stop. If a reaches b, b reaches a. */
export function reachableFrom(from: City): City[] {
  return cities.filter((to) => to !== from && isReachable(from, to))
}

/** Whether flights with at most one stop connect two cities. */
export function isReachable(from: City, to: City): boolean {
  return airlines.some((airline) => flies(airline, from, to) || connectionsOf(airline, from, to).length > 0)
}

const none: ReadonlySet<City> = new Set()

const network: ReadonlyMap<Airline, ReadonlyMap<City, ReadonlySet<City>>> = new Map(
  airlines.map((airline) => {
    const links = new Map<City, Set<City>>()
    const link = (a: City, b: City): void => {
      links.set(a, (links.get(a) ?? new Set()).add(b))
      links.set(b, (links.get(b) ?? new Set()).add(a))
    }
    for (const hub of airline.hubs) {
      const home = cityOf(hub.cityCode)
      for (const city of cities) if (city !== home && isProfitable(airline, home, city)) link(home, city)
    }
    return [airline, links]
  }),
)

function isProfitable(airline: Airline, home: City, city: City): boolean {
  const km = distanceKm(mainAirport(home), mainAirport(city))
  const tiers = [Math.max(2, home.tier), city.tier].toSorted((a, b) => b - a).join('')
  return km >= 200 && km <= Math.min(airline.maxKm, maxProfitableKm[tiers] ?? 0)
}
