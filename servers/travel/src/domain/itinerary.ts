import type { Booking, Order } from '../schemas.ts'
import { addDays, daysBetween } from './dates.ts'
import { findPlace } from './places.ts'
import type { FlightOption } from './schedule.ts'

import { weatherOn } from './weather.ts'
import { count, duration, usd } from './words.ts'

const longestForecast = 14

/** A booking as a page of markdown to travel with. */
export function itineraryOf(
  booking: Booking,
  events: readonly { title: string; start: string; end: string }[],
): string {
  return [
    `# ${tripTitle(booking)}`,
    '',
    `Booking ${booking.id} for ${count(booking.travelers, 'traveller')}, ${booking.departure} to ${booking.returnDate}. ${usd(booking.total)} in all.`,
    '',
    orderDetails(booking),
    '',
    '## Weather',
    '',
    ...forecast(booking),
    ...(events.length === 0
      ? []
      : [
          '',
          '## In the calendar',
          '',
          ...events.map(({ title, start, end }) => `- ${title}: ${span(start, end)}`),
        ]),
    '',
  ].join('\n')
}

/** Flights, hotel and choices of an order, as markdown. */
export function orderDetails(order: Order): string {
  const { stay, choices } = order
  return [
    '## Flights',
    '',
    ...flightLines('Out', order.outbound),
    ...flightLines('Back', order.inbound),
    `- Seats: ${choices.seatPreference}`,
    '',
    '## Hotel',
    '',
    `- ${stay.hotel}, ${count(stay.nights, 'night')} from ${stay.checkIn} to ${stay.checkOut}, ${count(stay.rooms, 'room')}, ${choices.roomType}`,
    `- Travel insurance: ${choices.travelInsurance ? 'yes' : 'no'}`,
  ].join('\n')
}

/** `Barcelona, 15 to 22 June 2027`, as the title of a trip. */
export function tripTitle(order: Order): string {
  return `${order.destination.city}, ${order.departure} to ${order.returnDate}`
}

function flightLines(way: string, option: FlightOption): string[] {
  return option.legs.map(
    (leg, i) =>
      `- ${i === 0 ? way : 'then'}: ${leg.flight} ${leg.airline}, ${leg.from} ${leg.departs.replace('T', ' ')} to ${leg.to} ${leg.arrives.replace('T', ' ')} (${duration(leg.durationMinutes)})`,
  )
}

function forecast(booking: Booking): string[] {
  const place = findPlace(booking.destination.code)
  if (place === undefined) return ['- Not known.']
  const days = Math.min(longestForecast, daysBetween(booking.stay.checkIn, booking.stay.checkOut) + 1)
  return Array.from({ length: days }, (_, i) => {
    const date = addDays(booking.stay.checkIn, i)
    return `- ${date}: ${weatherOn(place.city, date).summary}`
  })
}

function span(start: string, end: string): string {
  return start === end ? start : `${start} to ${end}`
}
