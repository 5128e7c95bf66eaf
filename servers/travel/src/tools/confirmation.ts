import { z } from 'zod'
import type { TripPackage } from '../domain/package.ts'
import type { FlightOption } from '../domain/schedule.ts'
import { count, duration, usd } from '../domain/words.ts'

export const insuranceUsd = 150

/** What the traveller is asked before anything is booked. */
export function confirmationForm(totalUsd: number) {
  return z.object({
    confirmBooking: z.boolean().meta({
      title: 'Confirm booking',
      description: `Confirm the booking (Flights + Hotel = ${usd(totalUsd)})`,
    }),
    seatPreference: z
      .enum(['window', 'aisle', 'no preference'])
      .default('no preference')
      .meta({ title: 'Seat', description: 'Preferred seat type for flights' }),
    roomType: z
      .union([
        z.literal('sea view').meta({ title: 'Sea view' }),
        z.literal('city view').meta({ title: 'City view' }),
        z.literal('garden view').meta({ title: 'Garden view' }),
      ])
      .default('city view')
      .meta({ title: 'Room', description: 'Preferred room type at hotel' }),
    travelInsurance: z
      .boolean()
      .default(false)
      .meta({ title: 'Travel insurance', description: `Add travel insurance (${usd(insuranceUsd)})` }),
  })
}

/** What would be booked, in words for the person who decides. */
export function confirmationMessage(city: string, travelers: number, trip: TripPackage): string {
  const { stay } = trip
  return [
    `Please confirm your ${city} vacation booking details:`,
    `Out: ${flightWords(trip.outbound)}`,
    `Back: ${flightWords(trip.inbound)}`,
    `Hotel: ${stay.hotel}, ${count(stay.nights, 'night')} from ${stay.checkIn} to ${stay.checkOut}, ${count(stay.rooms, 'room')}`,
    `For ${count(travelers, 'traveller')}: flights ${usd(trip.flightsUsd)} + hotel ${usd(stay.priceUsd)} = ${usd(trip.totalUsd)}`,
  ].join('\n')
}

function flightWords(option: FlightOption): string {
  const numbers = option.legs.map(({ flight }) => flight).join(' + ')
  const from = option.legs[0]?.from ?? ''
  const to = option.legs.at(-1)?.to ?? ''
  const stops =
    option.stops === 0 ? 'nonstop' : `one stop in ${option.layovers.map(({ city }) => city).join(', ')}`
  return `${option.departs.replace('T', ' ')} ${from} to ${option.arrives.replace('T', ' ')} ${to}, ${option.airlines.join(' and ')} ${numbers}, ${stops}, ${duration(option.durationMinutes)}`
}
