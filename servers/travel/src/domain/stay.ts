import { addDays, type CalendarDate, daysBetween } from './dates.ts'
import { seasonFactor } from './fares.ts'
import { chance, choose } from './hash.ts'
import { type City, mainAirport } from './places.ts'

/** A hotel stay with its price. */
export interface Stay {
  hotel: string
  checkIn: CalendarDate
  checkOut: CalendarDate
  nights: number
  rooms: number
  priceUsd: number
}

const hotelNames = [
  'Grand Hotel',
  'Hotel Central',
  'Hotel Miramar',
  'Park Hotel',
  'Hotel Belvedere',
  'The Harbour House',
]

/** A hotel for these nights, two travellers to a room. The same on every call. */
export function quoteStay(
  city: City,
  checkIn: CalendarDate,
  checkOut: CalendarDate,
  travelers: number,
): Stay {
  const nights = daysBetween(checkIn, checkOut)
  const rooms = Math.ceil(travelers / 2)
  let priceUsd = 0
  for (let night = 0; night < nights; night++) priceUsd += nightUsd(city, addDays(checkIn, night))
  return {
    hotel: `${choose(hotelNames, city.code, 'hotel') ?? 'Hotel'} ${city.name}`,
    checkIn,
    checkOut,
    nights,
    rooms,
    priceUsd: priceUsd * rooms,
  }
}

function nightUsd(city: City, date: CalendarDate): number {
  const season = seasonFactor(mainAirport(city).lat, date)
  return Math.round(city.nightlyUsd * season * (0.95 + 0.1 * chance(city.code, date, 'night')))
}
