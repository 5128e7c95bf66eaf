import { ToolError } from '@jackfield/sdk'
import { z } from 'zod'
import { type City, cities, findPlace, label, type Place } from '../domain/places.ts'
import { similarCities } from '../domain/suggest.ts'
import { list } from '../domain/words.ts'
import type { TravelProvider } from '../providers/provider.ts'
import type { placeShape } from '../schemas.ts'

export const originArgument = z.string().min(1).max(100).describe('Departure city or IATA code, such as NYC')
export const destinationArgument = z
  .string()
  .min(1)
  .max(100)
  .describe('Arrival city or IATA code, such as Barcelona')

/** The place of a name. @throws ToolError that suggests similar places */
export function requirePlace(text: string): Place {
  const place = findPlace(text)
  if (place === undefined) throw new ToolError(unknownPlace(text))
  return place
}

/** The error text for an unknown place, with similar ones. */
export function unknownPlace(text: string): string {
  const similar = similarCities(text).map((city) => label({ city, airport: undefined }))
  const hint =
    similar.length > 0
      ? `Did you mean ${list(similar, 'or')}?`
      : `Known are ${cities.length} cities, among them ${list(
          cities.filter(({ tier }) => tier === 3).map(({ name }) => name),
          'and',
        )}.`
  return `No city or airport is known as "${text}". ${hint}`
}

/** Origin and destination of a journey. @throws ToolError if no flights connect them */
export function requireRoute(
  provider: TravelProvider,
  from: string,
  to: string,
): { origin: Place; destination: Place } {
  const origin = requirePlace(from)
  const destination = requirePlace(to)
  if (origin.city === destination.city) {
    throw new ToolError(`Origin and destination are both ${origin.city.name}. Choose two different cities.`)
  }
  if (!isReachable(provider, origin.city, destination.city)) {
    const via = changesBetween(provider, origin.city, destination.city)
    const hint = via.length > 0 ? ` Search two journeys that meet in ${list(via, 'or')}.` : ''
    throw new ToolError(
      `No flights with at most one stop connect ${label(origin)} and ${label(destination)}.${hint}`,
    )
  }
  return { origin, destination }
}

/** A place in structured results. */
export function placeOf({ city, airport }: Place): z.infer<typeof placeShape> {
  return { code: airport?.code ?? city.code, city: city.name, country: city.country }
}

/** False if the provider knows that no flights connect two cities. */
export function isReachable(provider: TravelProvider, from: City, to: City): boolean {
  return provider.destinations?.(from).includes(to) ?? true
}

function changesBetween(provider: TravelProvider, a: City, b: City): string[] {
  const fromB = new Set(provider.destinations?.(b))
  return (provider.destinations?.(a) ?? [])
    .filter((city) => fromB.has(city))
    .toSorted((x, y) => y.tier - x.tier)
    .slice(0, 3)
    .map(({ name }) => name)
}
