import { type Completer, ErrorCode, RpcError, resource, template } from '@jackfield/sdk'
import { activitiesIn, activityCities, categoriesOf } from './domain/activities.ts'
import { addDays, isDate } from './domain/dates.ts'
import { distanceKm } from './domain/geo.ts'
import { todayIn } from './domain/package.ts'
import { cities, findPlace, label, mainAirport, type Place } from './domain/places.ts'
import type { FlightOption } from './domain/schedule.ts'
import { completePlaces } from './domain/suggest.ts'
import { list } from './domain/words.ts'
import type { TravelServices } from './services.ts'
import { isReachable, placeOf, unknownPlace } from './tools/arguments.ts'
import { uris } from './uris.ts'

const json = 'application/json'
const markdown = 'text/markdown'
const dayMs = 86_400_000

export const bookings = (services: TravelServices) =>
  resource({
    uri: uris.bookings,
    title: 'Bookings',
    description: 'Every booked trip with its flights, hotel and price',
    mimeType: json,
    read: () => asJson({ bookings: services.bookings.all() }),
  })

export const outbox = (services: TravelServices) =>
  resource({
    uri: uris.outbox,
    title: 'Outbox',
    description: 'E-mails that sendEmail took, and whether they were sent',
    mimeType: json,
    read: () => asJson({ messages: services.outbox.all() }),
  })

export const tripHistory = (services: TravelServices) =>
  resource({
    uri: uris.trips,
    title: 'Trips',
    description: 'Past and booked trips; read trips://history/{trip} for the notes on one',
    mimeType: json,
    read: () =>
      asJson({
        trips: services.trips
          .all()
          .map(({ notes: _notes, ...trip }) => ({ ...trip, uri: uris.trip(trip.name) })),
      }),
  })

export const trip = (services: TravelServices) =>
  template({
    uriTemplate: 'trips://history/{trip}',
    title: 'Trip',
    description: 'Notes on one trip: flights, hotel, what was liked and what to do differently',
    mimeType: markdown,
    complete: {
      trip: (value) =>
        services.trips
          .all()
          .map(({ name }) => name)
          .filter((name) => name.startsWith(value.toLowerCase())),
    },
    list: () =>
      services.trips.all().map(({ name, title, destination }) => ({
        uri: uris.trip(name),
        name,
        title,
        description: `Notes on the trip to ${destination}`,
        mimeType: markdown,
      })),
    read({ trip: name }) {
      const found = services.trips.find(name)
      return (
        found &&
        `# ${found.title}\n\n${found.destination}, ${found.start} to ${found.end}\n\n${found.notes.trim()}\n`
      )
    },
  })

export const calendar = (services: TravelServices) =>
  template({
    uriTemplate: 'calendar://events/{year}',
    title: 'Calendar',
    description: 'Everything in the calendar in one year, to see which days are free',
    mimeType: json,
    complete: { year: (value) => services.calendar.years().filter((year) => year.startsWith(value)) },
    list: () =>
      services.calendar.years().map((year) => ({
        uri: uris.calendar(year),
        name: `calendar-${year}`,
        title: `Calendar ${year}`,
        description: `Everything in the calendar in ${year}`,
        mimeType: json,
      })),
    read: ({ year }) =>
      /^20\d\d$/.test(year) ? asJson({ year, events: services.calendar.inYear(year) }) : undefined,
  })

export const weatherForecast = (services: TravelServices) =>
  template({
    uriTemplate: 'weather://forecast/{city}/{date}',
    title: 'Weather Forecast',
    description: 'Get weather forecast for any city and date',
    mimeType: json,
    cache: { ttlMs: dayMs, cacheScope: 'public' },
    complete: { city: (value) => completePlaces(value), date: nextDays(services) },
    async read({ city, date }, { signal }, uri) {
      const place = placeAt(city, uri)
      if (!isDate(date)) throw notFound(uri, `"${date}" is not a date such as 2027-06-15`)
      return asJson(await services.provider.weather(place.city, date, signal))
    },
  })

const searchedDays = 14

export const flightSearch = (services: TravelServices) =>
  template({
    uriTemplate: 'travel://flights/{origin}/{destination}',
    title: 'Flight Search',
    description: `Search available flights between cities: the distance, and for each of the next ${searchedDays} days the number of options with the cheapest and the quickest`,
    mimeType: json,
    cache: { ttlMs: dayMs / 24, cacheScope: 'public' },
    complete: {
      origin: (value) => completePlaces(value),
      destination: (value, { arguments: chosen }) => {
        const origin = findPlace(chosen['origin'] ?? '')
        return completePlaces(value, (origin && services.provider.destinations?.(origin.city)) ?? cities)
      },
    },
    async read({ origin: from, destination: to }, { signal }, uri) {
      const origin = placeAt(from, uri)
      const destination = placeAt(to, uri)
      if (!isReachable(services.provider, origin.city, destination.city)) {
        throw notFound(uri, `No flights connect ${label(origin)} and ${label(destination)}`)
      }
      const today = todayIn(origin.city, services.now())
      return asJson({
        origin: placeOf(origin),
        destination: placeOf(destination),
        distanceKm: Math.round(distanceKm(mainAirport(origin.city), mainAirport(destination.city))),
        currency: 'USD',
        days: await Promise.all(
          Array.from({ length: searchedDays }, async (_, i) => {
            const date = addDays(today, i)
            return daySummary(date, await services.provider.flights(origin, destination, date, signal))
          }),
        ),
      })
    },
  })

function daySummary(date: string, options: readonly FlightOption[]): object {
  const quickest = options.toSorted((a, b) => a.durationMinutes - b.durationMinutes)[0]
  return { date, options: options.length, cheapest: options[0], quickest }
}

export const activities = () =>
  template({
    uriTemplate: 'travel://activities/{city}/{category}',
    title: 'Activities',
    description: `Places to visit in a city by category: ${categoriesOf().join(', ')}`,
    mimeType: json,
    cache: { ttlMs: dayMs, cacheScope: 'public' },
    complete: {
      city: (value) =>
        completePlaces(
          value,
          cities.filter(({ code }) => activityCities.has(code)),
        ),
      category: (value, { arguments: chosen }) =>
        categoriesOf(findPlace(chosen['city'] ?? '')?.city).filter((name) =>
          name.startsWith(value.toLowerCase()),
        ),
    },
    read({ city: name, category }, _ctx, uri) {
      const { city } = placeAt(name, uri)
      const places = activitiesIn(city, category)
      if (places.length > 0) return asJson({ city: city.name, category: category.toLowerCase(), places })
      const known = categoriesOf(city)
      throw notFound(
        uri,
        known.length === 0
          ? `No activities are known in ${city.name}`
          : `No ${category.slice(0, 50)} are known in ${city.name}, but ${list(known, 'and')}`,
      )
    },
  })

/** Completes a date within the next year. */
export function nextDays(services: TravelServices): Completer {
  return (value) => {
    const today = services.now().toISOString().slice(0, 10)
    return Array.from({ length: 365 }, (_, i) => addDays(today, i)).filter((date) => date.startsWith(value))
  }
}

function placeAt(name: string, uri: string): Place {
  const place = findPlace(name)
  if (place === undefined) throw notFound(uri, unknownPlace(name))
  return place
}

function notFound(uri: string, message: string): RpcError {
  return new RpcError(ErrorCode.ResourceNotFound, message, { uri })
}

function asJson(value: object): string {
  return JSON.stringify(value, null, 2)
}
