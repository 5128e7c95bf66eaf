import { airlines, connectionsOf, flies } from './airlines.ts'
import type { CalendarDate } from './dates.ts'
import { fareUsd } from './fares.ts'
import { airportOf, type City, cityOf, type Place } from './places.ts'
import { clockTimes, type Flight, flightsOn, onwardFlights } from './timetable.ts'

/** One flight of a journey. Times are local, such as `2027-06-15T18:30`. */
export interface Leg {
  flight: string
  airline: string
  from: string
  to: string
  departs: string
  arrives: string
  durationMinutes: number
}

/** One way to travel from origin to destination. */
export interface FlightOption {
  /** Unique among all options of all dates. */
  id: string
  priceUsd: number
  stops: number
  durationMinutes: number
  /** Local time at the origin. */
  departs: string
  /** Local time at the destination. */
  arrives: string
  airlines: string[]
  /** 1 to 5, the minimum of its airlines. */
  comfort: number
  legs: Leg[]
  layovers: { airport: string; city: string; minutes: number }[]
}

/** Minimum and maximum duration of a change of planes, in minutes. */
interface ChangeWindow {
  readonly from: number
  readonly to: number
}

const shortChange: ChangeWindow = { from: 60, to: 330 }
/** Used only if there is no other connection between two cities on a day. */
const overnightChange: ChangeWindow = { from: 60, to: 1560 }

/** All options that leave on a local date, cheapest first. The same on every call. */
export function searchOptions(origin: Place, destination: Place, date: CalendarDate): FlightOption[] {
  const options = collect(origin, destination, date, shortChange)
  return options.length > 0 ? options : collect(origin, destination, date, overnightChange)
}

function collect(
  origin: Place,
  destination: Place,
  date: CalendarDate,
  change: ChangeWindow,
): FlightOption[] {
  const found = new Map<string, FlightOption>()
  for (const flights of flightSequences(origin.city, destination.city, date, change)) {
    const first = flights[0]
    const last = flights.at(-1)
    if (first === undefined || last === undefined) continue
    if (origin.airport !== undefined && first.from !== origin.airport) continue
    if (destination.airport !== undefined && last.to !== destination.airport) continue
    const option = describe(flights, first, last, date)
    found.set(option.id, option)
  }
  return [...found.values()].toSorted((a, b) => a.priceUsd - b.priceUsd || (a.id < b.id ? -1 : 1))
}

function flightSequences(from: City, to: City, date: CalendarDate, change: ChangeWindow): Flight[][] {
  if (from === to) return []
  return airlines.flatMap((airline) => {
    const direct = flies(airline, from, to)
      ? flightsOn(airline, from, to, date).map((flight) => [flight])
      : []
    const withStop = connectionsOf(airline, from, to).flatMap((hub) =>
      flightsOn(airline, from, cityOf(hub.cityCode), date)
        .filter((flight) => flight.to === hub)
        .flatMap((first) =>
          onwardFlights(airline, hub, to, first.arrives, change)
            .slice(0, 2)
            .map((second) => [first, second]),
        ),
    )
    return [...direct, ...withStop]
  })
}

function describe(flights: readonly Flight[], first: Flight, last: Flight, date: CalendarDate): FlightOption {
  const legs = flights.map(
    (flight): Leg => ({
      flight: flight.number,
      airline: flight.airline.name,
      from: flight.from.code,
      to: flight.to.code,
      ...clockTimes(flight),
      durationMinutes: flight.minutes,
    }),
  )
  return {
    id: `${flights.map(({ number }) => number).join('+')}@${date}`,
    priceUsd: fareUsd(flights, date),
    stops: flights.length - 1,
    durationMinutes: (last.arrives - first.departs) / 60_000,
    departs: clockTimes(first).departs,
    arrives: clockTimes(last).arrives,
    airlines: [...new Set(flights.map(({ airline }) => airline.name))],
    comfort: Math.min(...flights.map(({ airline }) => airline.comfort)),
    legs,
    layovers: flights.slice(1).map((flight, i) => ({
      airport: flight.from.code,
      city: cityOf(airportOf(flight.from.code).cityCode).name,
      minutes: (flight.departs - (flights[i]?.arrives ?? flight.departs)) / 60_000,
    })),
  }
}
