import { type CalendarDate, dateIn } from './dates.ts'
import type { City, Place } from './places.ts'
import { rank } from './ranking.ts'
import { type FlightOption, searchOptions } from './schedule.ts'
import { quoteStay, type Stay } from './stay.ts'

/** Flights out and back and a hotel in between, with their prices. */
export interface TripPackage {
  outbound: FlightOption
  inbound: FlightOption
  stay: Stay
  flightsUsd: number
  totalUsd: number
}

/** Flight options by the id that a search gave; undefined when that way does not exist. */
export function optionById(origin: Place, destination: Place, id: string): FlightOption | undefined {
  const date = /@(\d{4}-\d{2}-\d{2})$/.exec(id)?.[1]
  return date === undefined
    ? undefined
    : searchOptions(origin, destination, date).find((option) => option.id === id)
}

/** How to choose where the traveller named no flight. */
export type Preference = 'best' | 'cheapest'

/** The option to take where the traveller named none: by price, time and comfort, or by price alone. */
export function chooseOption(
  origin: Place,
  destination: Place,
  date: CalendarDate,
  preference: Preference,
): FlightOption | undefined {
  const options = searchOptions(origin, destination, date)
  return preference === 'best' ? rank(options)[0] : options[0]
}

/** Adds up flights and a hotel from the day of arrival to the day of return. */
export function assemble(
  city: City,
  outbound: FlightOption,
  inbound: FlightOption,
  travelers: number,
): TripPackage {
  const stay = quoteStay(city, outbound.arrives.slice(0, 10), inbound.departs.slice(0, 10), travelers)
  const flightsUsd = (outbound.priceUsd + inbound.priceUsd) * travelers
  return { outbound, inbound, stay, flightsUsd, totalUsd: flightsUsd + stay.priceUsd }
}

/** Today's date where a journey starts. */
export function todayIn(city: City, now: Date): CalendarDate {
  return dateIn(city.timeZone, now.getTime())
}
