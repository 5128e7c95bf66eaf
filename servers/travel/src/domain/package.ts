import { type CalendarDate, dateIn } from './dates.ts'
import type { City } from './places.ts'
import { rank } from './ranking.ts'
import type { FlightOption } from './schedule.ts'
import type { Stay } from './stay.ts'

/** Flights out and back and a hotel in between, with their prices. */
export interface TripPackage {
  outbound: FlightOption
  inbound: FlightOption
  stay: Stay
  flightsUsd: number
  totalUsd: number
}

/** How to choose a flight if the traveller named none. */
export type Preference = 'best' | 'cheapest'

/** The option to book if the traveller named none: by price, time and comfort, or by price alone. */
export function chooseOption(
  options: readonly FlightOption[],
  preference: Preference,
): FlightOption | undefined {
  return preference === 'best' ? rank(options)[0] : options[0]
}

/** Adds up flights and a hotel. */
export function assemble(
  outbound: FlightOption,
  inbound: FlightOption,
  stay: Stay,
  travelers: number,
): TripPackage {
  const flightsUsd = (outbound.priceUsd + inbound.priceUsd) * travelers
  return { outbound, inbound, stay, flightsUsd, totalUsd: flightsUsd + stay.priceUsd }
}

/** The current date in a city. */
export function todayIn(city: City, now: Date): CalendarDate {
  return dateIn(city.timeZone, now.getTime())
}
