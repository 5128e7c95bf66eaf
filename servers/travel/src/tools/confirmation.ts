import { z } from 'zod'
import type { TripPackage } from '../domain/package.ts'
import type { FlightOption } from '../domain/schedule.ts'
import { count, duration, usd } from '../domain/words.ts'
import type { TravelerDetails } from '../schemas.ts'

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

/**
 * The second form, after the price was confirmed. It can be left empty: what is missing is listed with the booking. Flat, with
 * formats that every revision knows.
 */
export function detailsForm(travelers: number) {
  const text = (title: string, description: string, maxChars: number) =>
    z.string().max(maxChars).optional().meta({ title, description })
  return z.object({
    travelerNames: text(
      travelers === 1 ? 'Traveller' : `${travelers} travellers`,
      travelers === 1 ? 'Name as in the passport' : 'Names as in the passports, separated by commas',
      500,
    ),
    contactEmail: z
      .email()
      .max(254)
      .optional()
      .meta({ title: 'E-mail', description: 'For changes of flights and hotel' }),
    contactPhone: text('Phone', 'With country code', 40),
    emergencyContact: text('Emergency contact', 'Who to call in an emergency', 200),
    emergencyPhone: text('Phone of the emergency contact', 'With country code', 40),
    specialRequests: text(
      'Special requests',
      'For flights and hotel, such as a vegetarian meal or a quiet room',
      500,
    ),
  })
}

const detailLabels = {
  travelerNames: 'the names of the travellers',
  contactEmail: 'an e-mail address',
  contactPhone: 'a phone number',
  emergencyContact: 'an emergency contact',
} as const

/** The details that were given, each in one line, and what a booking should have besides. */
export function detailsOf(
  answer: TravelerDetails,
  travelers: number,
): { details: TravelerDetails; missing: string[] } {
  const details: TravelerDetails = Object.fromEntries(
    Object.entries(answer).flatMap(([name, value = '']) => {
      const text = value.replace(/\p{Cc}+/gu, ' ').trim()
      return text === '' ? [] : [[name, text]]
    }),
  )
  const missing: string[] = Object.entries(detailLabels).flatMap(([name, label]) =>
    Object.hasOwn(details, name) ? [] : [label],
  )
  const names = (details.travelerNames ?? '').split(',').filter((name) => name.trim() !== '').length
  if (names > 0 && names !== travelers) {
    missing.push(`one name for each of ${count(travelers, 'traveller')}: ${names} given`)
  }
  return { details, missing }
}

/** The booking as text for the traveller who confirms it. */
export function confirmationMessage(city: string, travelers: number, trip: TripPackage): string {
  const { stay } = trip
  return [
    `Please confirm your ${city} vacation booking details:`,
    `Out: ${flightText(trip.outbound)}`,
    `Back: ${flightText(trip.inbound)}`,
    `Hotel: ${stay.hotel}, ${count(stay.nights, 'night')} from ${stay.checkIn} to ${stay.checkOut}, ${count(stay.rooms, 'room')}`,
    `For ${count(travelers, 'traveller')}: flights ${usd(trip.flightsUsd)} + hotel ${usd(stay.priceUsd)} = ${usd(trip.totalUsd)}`,
  ].join('\n')
}

function flightText(option: FlightOption): string {
  const numbers = option.legs.map(({ flight }) => flight).join(' + ')
  const from = option.legs[0]?.from ?? ''
  const to = option.legs.at(-1)?.to ?? ''
  const stops =
    option.stops === 0 ? 'nonstop' : `one stop in ${option.layovers.map(({ city }) => city).join(', ')}`
  return `${option.departs.replace('T', ' ')} ${from} to ${option.arrives.replace('T', ' ')} ${to}, ${option.airlines.join(' and ')} ${numbers}, ${stops}, ${duration(option.durationMinutes)}`
}
