import type { Booking, Order, TravelerDetails } from '../schemas.ts'
import { addDays, daysBetween } from './dates.ts'
import type { FlightOption } from './schedule.ts'
import { count, duration, list, usd } from './words.ts'

/** Maximum days of weather in an itinerary. */
const maxForecastDays = 14

/** What an itinerary contains besides its booking. */
export interface ItineraryContext {
  details: TravelerDetails
  /** One line for each day. */
  weather: readonly { date: string; summary: string }[]
  events: readonly { title: string; start: string; end: string }[]
  /** Travel documents, with links that work from where the itinerary is saved. */
  documents: readonly { kind: string; name: string; link: string }[]
  notes: string | undefined
}

/** The parts of an itinerary as Markdown, by the placeholder of a template: `{{flights}}`. An empty part is left out. */
export function itineraryParts(booking: Booking, context: ItineraryContext): Record<ItineraryPart, string> {
  const { details, weather, events, documents, notes } = context
  const { stay, choices } = booking
  return {
    title: tripTitle(booking),
    destination: booking.destination.city,
    dates: `${booking.departure} to ${booking.returnDate}`,
    booking: booking.id,
    travelers: details.travelerNames ?? count(booking.travelers, 'traveller'),
    total: usd(booking.total),
    flights: flightsOf(booking).join('\n'),
    hotel: [
      `- ${stay.hotel}, ${count(stay.nights, 'night')} from ${stay.checkIn} to ${stay.checkOut}, ${count(stay.rooms, 'room')}, ${choices.roomType}`,
      `- Travel insurance: ${choices.travelInsurance ? 'yes' : 'no'}`,
      ...(details.specialRequests === undefined ? [] : [`- Special requests: ${details.specialRequests}`]),
    ].join('\n'),
    contacts: [
      line('Contact', details.contactEmail, details.contactPhone),
      line('In an emergency', details.emergencyContact, details.emergencyPhone),
    ]
      .flat()
      .join('\n'),
    weather: weather.map(({ date, summary }) => `- ${date}: ${summary}`).join('\n'),
    calendar: events.map(({ title, start, end }) => `- ${title}: ${span(start, end)}`).join('\n'),
    documents: documents
      .map(({ kind, name, link }) => `- ${kind}: [${name.replace(/[[\]\\]/g, '\\$&')}](<${link}>)`)
      .join('\n'),
    notes: notes?.trim() ?? '',
  }
}

export const itineraryPartNames = [
  'title',
  'destination',
  'dates',
  'booking',
  'travelers',
  'total',
  'flights',
  'hotel',
  'contacts',
  'weather',
  'calendar',
  'documents',
  'notes',
] as const

type ItineraryPart = (typeof itineraryPartNames)[number]

/** The itinerary of a booking, as Markdown. */
export function itineraryOf(booking: Booking, context: ItineraryContext): string {
  const parts = itineraryParts(booking, context)
  const section = (heading: string, text: string): string[] =>
    text === '' ? [] : [`## ${heading}`, '', text, '']
  return [
    `# ${parts.title}`,
    '',
    `Booking ${parts.booking} for ${parts.travelers}, ${parts.dates}. ${parts.total} in all.`,
    '',
    ...section('Flights', parts.flights),
    ...section('Hotel', parts.hotel),
    ...section('Contacts', parts.contacts),
    ...section('Weather', parts.weather),
    ...section('In the calendar', parts.calendar),
    ...section('Documents', parts.documents),
    ...section('Notes', parts.notes),
  ].join('\n')
}

/**
 * A template with its placeholders (`{{flights}}`) filled in.
 * @returns the text, or the names of placeholders that do not exist
 */
export function fillTemplate(
  template: string,
  parts: Readonly<Record<string, string>>,
): { text: string } | { unknown: string[] } {
  const names = [...template.matchAll(placeholder)].map(([, name = '']) => name)
  const unknown = [...new Set(names)].filter((name) => !Object.hasOwn(parts, name))
  if (unknown.length > 0) return { unknown }
  return { text: template.replace(placeholder, (_all, name: string) => parts[name] ?? '') }
}

const placeholder = /\{\{ *([\w-]{1,40}) *\}\}/g

/** Flights, hotel and choices of an order, as Markdown for the notes of its trip. */
export function orderDetails(order: Order): string {
  const { stay, choices } = order
  return [
    '## Flights',
    '',
    ...flightsOf(order),
    '',
    '## Hotel',
    '',
    `- ${stay.hotel}, ${count(stay.nights, 'night')} from ${stay.checkIn} to ${stay.checkOut}, ${count(stay.rooms, 'room')}, ${choices.roomType}`,
    `- Travel insurance: ${choices.travelInsurance ? 'yes' : 'no'}`,
  ].join('\n')
}

/** `Barcelona, 2027-06-15 to 2027-06-22`, as the title of a trip. */
export function tripTitle(order: Order): string {
  return `${order.destination.city}, ${order.departure} to ${order.returnDate}`
}

/** The days of a stay whose weather an itinerary contains. */
export function forecastDays({ stay }: Booking): string[] {
  const days = Math.min(maxForecastDays, daysBetween(stay.checkIn, stay.checkOut) + 1)
  return Array.from({ length: days }, (_, i) => addDays(stay.checkIn, i))
}

function flightsOf(order: Order): string[] {
  return [
    ...flightLines('Out', order.outbound),
    ...flightLines('Back', order.inbound),
    `- Seats: ${order.choices.seatPreference}`,
  ]
}

function flightLines(way: string, option: FlightOption): string[] {
  return option.legs.map(
    (leg, i) =>
      `- ${i === 0 ? way : 'then'}: ${leg.flight} ${leg.airline}, ${leg.from} ${leg.departs.replace('T', ' ')} to ${leg.to} ${leg.arrives.replace('T', ' ')} (${duration(leg.durationMinutes)})`,
  )
}

function line(label: string, ...values: (string | undefined)[]): string[] {
  const present = values.filter((value) => value !== undefined)
  return present.length === 0 ? [] : [`- ${label}: ${list(present, 'and')}`]
}

function span(start: string, end: string): string {
  return start === end ? start : `${start} to ${end}`
}
