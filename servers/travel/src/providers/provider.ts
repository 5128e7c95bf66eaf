import { reachableFrom } from '../domain/airlines.ts'
import type { CalendarDate } from '../domain/dates.ts'
import type { City, Place } from '../domain/places.ts'
import { type FlightOption, searchOptions } from '../domain/schedule.ts'
import { quoteStay, type Stay } from '../domain/stay.ts'
import { type DayWeather, weatherOn } from '../domain/weather.ts'

/** The nights, and the number of travellers, that a hotel is wanted for. */
export interface HotelQuery {
  city: City
  checkIn: CalendarDate
  checkOut: CalendarDate
  travelers: number
}

/** The source of flights, hotels and weather. Its functions reject with a `ToolError` whose message suggests what to do. */
export interface TravelProvider {
  /** Shown in the instructions of the server. */
  readonly description: string
  /** All options that leave on a local date, cheapest first; none is an empty list. Ids are unique among them. */
  flights(
    origin: Place,
    destination: Place,
    date: CalendarDate,
    signal: AbortSignal,
  ): Promise<readonly FlightOption[]>
  hotel(query: HotelQuery, signal: AbortSignal): Promise<Stay>
  weather(city: City, date: CalendarDate, signal: AbortSignal): Promise<DayWeather>
  /** The cities that flights from a city reach. Absent if only a search can find out. */
  destinations?(origin: City): readonly City[]
}

/** The default: computed from route and date, the same on every call, without a network. */
export const computedProvider: TravelProvider = {
  description:
    'Flights, hotels and weather are computed from route and date: plausible, the same on every call, and not for sale anywhere.',
  flights: async (origin, destination, date) => searchOptions(origin, destination, date),
  hotel: async ({ city, checkIn, checkOut, travelers }) => quoteStay(city, checkIn, checkOut, travelers),
  weather: async (city, date) => weatherOn(city, date),
  destinations: reachableFrom,
}
