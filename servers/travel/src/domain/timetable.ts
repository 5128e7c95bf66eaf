import { type Airline, hubIn } from './airlines.ts'
import { addDays, type CalendarDate, dateIn, instantOf, localTime, weekday } from './dates.ts'
import { distanceKm, flightMinutes } from './geo.ts'
import { chance, choose } from './hash.ts'
import { type Airport, type City, cityOf, mainAirport } from './places.ts'

/** One flight on one day. */
export interface Flight {
  /** Such as `IB6250`. */
  readonly number: string
  readonly airline: Airline
  readonly from: Airport
  readonly to: Airport
  /** Milliseconds since 1970, as `Date` counts. */
  readonly departs: number
  readonly arrives: number
  readonly minutes: number
}

/** A flight of the timetable, at the same local time on every day it runs. */
interface Service {
  readonly number: string
  readonly from: Airport
  readonly to: Airport
  /** Minutes after midnight. */
  readonly departs: number
  readonly minutes: number
  /** Whether it does not run on some days of the week. */
  readonly skipsDays: boolean
}

/** The flights of an airline between two cities that leave on a local date. */
export function flightsOn(airline: Airline, from: City, to: City, date: CalendarDate): Flight[] {
  return servicesOf(airline, from, to)
    .filter((service) => runsOn(service, date))
    .map(({ number, from: start, to: end, departs: minute, minutes }) => {
      const departs = instantOf(from.timeZone, date, minute)
      return { number, airline, from: start, to: end, departs, arrives: departs + minutes * 60_000, minutes }
    })
}

/** The airline's flights onward from a hub, leaving within a window of minutes after an arrival. */
export function onwardFlights(
  airline: Airline,
  hub: Airport,
  to: City,
  arrival: number,
  window: { from: number; to: number },
): Flight[] {
  const city = cityOf(hub.cityCode)
  const today = dateIn(city.timeZone, arrival)
  return [today, addDays(today, 1)]
    .flatMap((date) => flightsOn(airline, city, to, date))
    .filter(
      (flight) =>
        flight.from === hub &&
        flight.departs - arrival >= window.from * 60_000 &&
        flight.departs - arrival <= window.to * 60_000,
    )
    .toSorted((a, b) => a.departs - b.departs)
}

/** Departure and arrival of a flight on local clocks. */
export function clockTimes(flight: Flight): { departs: string; arrives: string } {
  return {
    departs: localTime(cityOf(flight.from.cityCode).timeZone, flight.departs),
    arrives: localTime(cityOf(flight.to.cityCode).timeZone, flight.arrives),
  }
}

const timetable = new Map<string, readonly Service[]>()

function servicesOf(airline: Airline, from: City, to: City): readonly Service[] {
  const key = `${airline.code} ${from.code} ${to.code}`
  let services = timetable.get(key)
  if (services === undefined) {
    services = makeServices(airline, from, to)
    timetable.set(key, services)
  }
  return services
}

function makeServices(airline: Airline, from: City, to: City): Service[] {
  const km = distanceKm(mainAirport(from), mainAirport(to))
  const perDay = dailyFlights(km, from.tier + to.tier, chance(airline.code, from.code, to.code, 'per day'))
  const first = 1 + Math.floor(chance(airline.code, from.code, to.code, 'number') * 8990)
  const departureTimes: number[] = []
  return Array.from({ length: perDay }, (_, index) => {
    const number = `${airline.code}${first + index}`
    const start = airportFor(airline, from, km, number)
    const end = airportFor(airline, to, km, number)
    const minutes = flightMinutes(start, end)
    const departs = departureMinute({ number, from, to, minutes, share: index / perDay, departureTimes })
    departureTimes.push(departs)
    return { number, from: start, to: end, departs, minutes, skipsDays: minutes >= 300 && index > 0 }
  })
}

function dailyFlights(km: number, tiers: number, random: number): number {
  const base = km < 900 ? 4 : km < 2500 ? 3.4 : km < 7500 ? 1.7 : 1
  return Math.max(1, Math.round(base * (tiers / 5) + random * 1.2 - 0.5))
}

function airportFor(airline: Airline, city: City, km: number, number: string): Airport {
  const hub = hubIn(airline, city)
  if (hub !== undefined) return hub
  return (
    choose(
      city.airports.filter((airport) => airport.maxKm >= km),
      number,
      city.code,
    ) ?? mainAirport(city)
  )
}

/**
 * The departure time, in minutes after midnight. Short flights are spread over the day. Long flights depart and arrive at
 * acceptable hours; eastbound ones fly overnight.
 */
function departureMinute(flight: UnscheduledFlight): number {
  const { number, from, to, minutes, share, departureTimes } = flight
  const earliest = 6 * 60
  const latest = minutes > 300 ? 23.5 * 60 : 21.5 * 60
  const landsBy = minutes > 300 && clocksAhead(from, to) >= 4 ? 14 : 24
  let minute = earliest
  for (let attempt = 0; attempt < 30; attempt++) {
    const position = (share + chance(number, attempt) * (attempt === 0 ? 0.3 : 1)) % 1
    minute = earliest + Math.floor((position * (latest - earliest)) / 5) * 5
    const hour = hourAfter(from, to, minute, minutes)
    if (hour >= 5 && hour < landsBy && !departureTimes.some((other) => Math.abs(other - minute) < 50)) break
  }
  return minute
}

/** A flight that has no departure time yet. */
interface UnscheduledFlight {
  number: string
  from: City
  to: City
  minutes: number
  /** The position of the first departure time in the day, from 0 to less than 1. */
  share: number
  /** Departure times of the airline's other flights on the route. */
  departureTimes: readonly number[]
}

const referenceDate = '2026-03-15'

/** The hour on the destination's clocks when a flight that leaves at a minute of the day lands. */
function hourAfter(from: City, to: City, minute: number, minutes: number): number {
  const arrival = instantOf(from.timeZone, referenceDate, minute) + minutes * 60_000
  return Number(localTime(to.timeZone, arrival).slice(11, 13))
}

function clocksAhead(from: City, to: City): number {
  const noon = 12 * 60
  return (
    (instantOf(from.timeZone, referenceDate, noon) - instantOf(to.timeZone, referenceDate, noon)) / 3_600_000
  )
}

/** The first flight of the day runs every day; other flights on long routes do not run on one or two days of the week. */
function runsOn(service: Service, date: CalendarDate): boolean {
  return !service.skipsDays || chance(service.number, weekday(date), 'runs') >= 0.2
}
