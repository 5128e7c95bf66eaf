import { type Context, reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { addDays, daysBetween } from '../domain/dates.ts'
import { orderDetails, tripTitle } from '../domain/itinerary.ts'
import { assemble, chooseOption, type Preference, type TripPackage, todayIn } from '../domain/package.ts'
import { label, type Place } from '../domain/places.ts'
import type { FlightOption } from '../domain/schedule.ts'
import { count, list, usd } from '../domain/words.ts'
import { type OpenRoot, openRoots } from '../files/roots.ts'
import type { TravelProvider } from '../providers/provider.ts'
import { type Booking, bookingShape, dateArgument, type Order, type TravelerDetails } from '../schemas.ts'
import type { TravelServices } from '../services.ts'
import { uris } from '../uris.ts'
import { destinationArgument, originArgument, placeOf, requireRoute } from './arguments.ts'
import {
  confirmationForm,
  confirmationMessage,
  detailsForm,
  detailsOf,
  insuranceUsd,
} from './confirmation.ts'
import { saveNewItinerary } from './save-itinerary.ts'

const maxStayDays = 60
/** Steps of the progress. */
const steps = 6

const input = z.object({
  destination: destinationArgument,
  origin: originArgument.default('NYC').describe('Departure city or IATA code'),
  departure: dateArgument.describe('Day of the flight out, local at the origin'),
  returnDate: dateArgument.describe('Day of the flight back, local at the destination'),
  travelers: z.number().int().min(1).max(9).default(1),
  budget: z
    .number()
    .positive()
    .optional()
    .describe('The most that flights and hotel may cost in all, in USD'),
  travelerDetails: z
    .enum(['ask', 'skip'])
    .default('ask')
    .describe(
      'Whether to ask for names, contacts and special requests. Skip only if the traveller wants that',
    ),
  saveItinerary: z
    .boolean()
    .default(false)
    .describe('Also write the itinerary into the first folder (root) that the client opened'),
  outboundFlight: z
    .string()
    .max(60)
    .optional()
    .describe(
      'id of the option for the way out, from searchFlights or findBestFlight; left out, a good one is chosen',
    ),
  returnFlight: z.string().max(60).optional().describe('id of the option for the way back'),
})

type BookingRequest = z.infer<typeof input>

export const bookVacation = (services: TravelServices) =>
  tool({
    title: 'Book a vacation',
    description:
      'Book flights there and back and a hotel as one package. Asks the traveller to confirm the price and to choose seats, room and insurance, then for names, contacts and special requests, before anything is booked; books nothing if they decline either form.',
    input,
    output: z.object({
      status: z.enum(['booked', 'declined', 'cancelled']),
      booking: bookingShape.optional(),
      missingDetails: z
        .array(z.string())
        .optional()
        .describe('What the traveller left out of the second form'),
      itinerary: z.string().optional().describe('URI of the itinerary that was saved'),
      notes: z.array(z.string()).optional(),
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: false,
    },
    async run(request, ctx) {
      const { origin, destination } = requireRoute(services.provider, request.origin, request.destination)
      checkDates(request, todayIn(origin.city, services.now()))
      if (!ctx.can('elicitation')) {
        throw new ToolError(
          'Nothing was booked. Booking needs the traveller to confirm it in a form (elicitation), which this client cannot show. Connect with a client that can, or give the flights found by searchFlights to the traveller to book.',
        )
      }
      // Recorded, because prices can change until the traveller has answered and the handler runs again.
      const trip = await ctx.step('trip', () =>
        affordableTrip(services.provider, ctx, request, origin, destination),
      )
      ctx.progress(3, steps, `Flights and hotel come to ${usd(trip.totalUsd)}`)

      const answer = await ctx.elicit({
        key: 'confirm-booking',
        message: confirmationMessage(destination.city.name, request.travelers, trip),
        schema: confirmationForm(trip.totalUsd),
      })
      if (answer.action !== 'accept' || !answer.content.confirmBooking) return notBookedReply(answer.action)
      ctx.progress(4, steps, 'Confirmed by the traveller')

      const answered = request.travelerDetails === 'ask' ? await askDetails(ctx, destination, request) : {}
      if ('action' in answered) return notBookedReply(answered.action)
      const { details, missing } = detailsOf(answered, request.travelers)
      const notes: string[] = []
      // Before the booking: afterwards, a client that does not answer would be left without its reference.
      const roots = request.saveItinerary ? await rootsOrNote(ctx, notes) : undefined

      const { confirmBooking: _confirmed, ...choices } = answer.content
      const order: Order = {
        origin: placeOf(origin),
        destination: placeOf(destination),
        departure: request.departure,
        returnDate: request.returnDate,
        travelers: request.travelers,
        outbound: trip.outbound,
        inbound: trip.inbound,
        stay: trip.stay,
        choices,
        currency: 'USD',
        total: trip.totalUsd + (choices.travelInsurance ? insuranceUsd : 0),
      }
      const booking = await ctx.step('book', (key) => book(services, key, order, details))
      ctx.progress(5, steps, `Booked as ${booking.id}`)
      const itinerary = roots && (await saveItineraryOrNote(services, booking, roots, notes, ctx.signal))
      ctx.progress(steps, steps, itinerary === undefined ? 'Done' : 'Itinerary saved')
      return bookedReply(booking, { missing, itinerary, notes })
    },
  })

/** Asks with the second form. Returns what the traveller filled in, or that they declined. */
async function askDetails(
  ctx: Context,
  destination: Place,
  { travelers }: BookingRequest,
): Promise<TravelerDetails | { action: 'decline' | 'cancel' }> {
  const answer = await ctx.elicit({
    key: 'traveler-details',
    message: `Who travels to ${destination.city.name}, and how can they be reached? You can leave fields empty; nothing is booked if you decline.`,
    schema: detailsForm(travelers),
  })
  return answer.action === 'accept' ? answer.content : answer
}

/** The folders to write the itinerary into. A trip can be booked without them, so a note says why there are none. */
async function rootsOrNote(ctx: Context, notes: string[]) {
  try {
    return await openRoots(ctx, 'The itinerary was not saved')
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    notes.push(error.message)
    return undefined
  }
}

/** The URI of the saved itinerary. The trip is booked already, so a note says why it could not be saved. */
async function saveItineraryOrNote(
  services: TravelServices,
  booking: Booking,
  roots: readonly [OpenRoot, ...OpenRoot[]],
  notes: string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const saved = await saveNewItinerary(services, booking, roots, signal)
    notes.push(...saved.notes)
    return saved.uri
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    notes.push(`The itinerary was not saved: ${error.message} Try saveItinerary with another filename.`)
    return undefined
  }
}

function checkDates({ departure, returnDate }: BookingRequest, today: string): void {
  if (departure < today) {
    throw new ToolError(`Nothing was booked: ${departure} is in the past (today is ${today}).`)
  }
  const days = daysBetween(departure, returnDate)
  if (days < 1) {
    throw new ToolError(`Nothing was booked: the return on ${returnDate} must come after ${departure}.`)
  }
  if (days > maxStayDays) {
    throw new ToolError(
      `Nothing was booked: ${days} days are more than the ${maxStayDays} that can be booked.`,
    )
  }
}

/** The best trip, or the cheapest if the best exceeds the budget. @throws ToolError if the cheapest exceeds it, too */
async function affordableTrip(
  provider: TravelProvider,
  ctx: Context,
  request: BookingRequest,
  origin: Place,
  destination: Place,
): Promise<TripPackage> {
  const [out, back] = await Promise.all([
    provider.flights(origin, destination, request.departure, ctx.signal),
    provider.flights(destination, origin, request.returnDate, ctx.signal),
  ])
  const plan = async (preference: Preference): Promise<TripPackage> => {
    const outbound = requireOption(
      out,
      origin,
      destination,
      request.departure,
      request.outboundFlight,
      preference,
    )
    const inbound = requireOption(
      back,
      destination,
      origin,
      request.returnDate,
      request.returnFlight,
      preference,
    )
    const checkIn = outbound.arrives.slice(0, 10)
    if (checkIn >= request.returnDate) {
      throw new ToolError(
        `Nothing was booked: the flight out arrives on ${checkIn}, which leaves no night before the return. Return on ${addDays(checkIn, 1)} or later.`,
      )
    }
    const { travelers } = request
    const nights = { city: destination.city, checkIn, checkOut: request.returnDate, travelers }
    return assemble(outbound, inbound, await provider.hotel(nights, ctx.signal), travelers)
  }
  const best = await plan('best')
  ctx.progress(1, steps, 'Searched flights both ways')
  const { budget = Number.POSITIVE_INFINITY } = request
  const trip = best.totalUsd <= budget ? best : await plan('cheapest')
  ctx.progress(2, steps, 'Chose flights and hotel')
  if (trip.totalUsd > budget) throw new ToolError(overBudgetMessage(request.travelers, budget, trip))
  return trip
}

function requireOption(
  options: readonly FlightOption[],
  from: Place,
  to: Place,
  date: string,
  id: string | undefined,
  preference: Preference,
): FlightOption {
  const option = id === undefined ? chooseOption(options, preference) : options.find((one) => one.id === id)
  if (option === undefined) {
    throw new ToolError(
      id === undefined
        ? `Nothing was booked: no flights from ${label(from)} to ${label(to)} leave on ${date}.`
        : `Nothing was booked: "${id}" is not a flight from ${label(from)} to ${label(to)} on ${date}. Use an id that searchFlights gave for ${date}.`,
    )
  }
  return option
}

function overBudgetMessage(
  travelers: number,
  budget: number,
  { totalUsd, flightsUsd, stay }: TripPackage,
): string {
  return `Nothing was booked: even the cheapest flights left to choose (${usd(flightsUsd)}) and the hotel (${usd(stay.priceUsd)}) for ${count(travelers, 'traveller')} come to ${usd(totalUsd)}, ${usd(Math.ceil(totalUsd - budget))} over the budget of ${usd(budget)}. Try fewer nights, other dates, other flights or a larger budget.`
}

function notBookedReply(action: 'accept' | 'decline' | 'cancel') {
  const cancelled = action === 'cancel'
  return reply({
    content: cancelled
      ? 'The traveller closed the form without deciding. Nothing was booked and nothing was kept.'
      : 'The traveller did not confirm the booking. Nothing was booked and nothing was kept.',
    structured: { status: cancelled ? ('cancelled' as const) : ('declined' as const) },
  })
}

function book(services: TravelServices, key: string, order: Order, details: TravelerDetails): Booking {
  const trip = { title: tripTitle(order), notes: orderDetails(order) }
  const booking = services.bookings.book(key, { order, details }, trip, services.now())
  services.notifyUpdated(uris.bookings, uris.trips, uris.trip(booking.trip))
  services.notifyListChanged()
  return booking
}

interface BookingOutcome {
  /** Details that the traveller left out. */
  missing: string[]
  itinerary: string | undefined
  notes: string[]
}

function bookedReply(booking: Booking, { missing, itinerary, notes }: BookingOutcome) {
  const { choices, destination, stay } = booking
  return reply({
    content: [
      {
        type: 'text',
        text: [
          `Booked: ${destination.city} from ${booking.departure} to ${booking.returnDate} for ${count(booking.travelers, 'traveller')}, reference ${booking.id}.`,
          `Flights ${booking.outbound.legs.map(({ flight }) => flight).join(' + ')} and ${booking.inbound.legs.map(({ flight }) => flight).join(' + ')}, seats: ${choices.seatPreference}.`,
          `${stay.hotel}, ${count(stay.nights, 'night')}, ${choices.roomType}. Insurance: ${choices.travelInsurance ? 'yes' : 'no'}. Total ${usd(booking.total)}.`,
          ...(missing.length === 0 ? [] : [`Not given by the traveller: ${list(missing, 'and')}.`]),
          ...notes,
          `Not yet done: a calendar event (createCalendarEvent), messages (sendEmail)${itinerary === undefined ? ', an itinerary file (saveItinerary)' : ''}.`,
        ].join('\n'),
      },
      { type: 'resource_link', uri: uris.bookings, name: 'bookings', mimeType: 'application/json' },
      { type: 'resource_link', uri: uris.trip(booking.trip), name: booking.trip, mimeType: 'text/markdown' },
      ...(itinerary === undefined
        ? []
        : [
            {
              type: 'resource_link' as const,
              uri: itinerary,
              name: `${booking.trip}.md`,
              mimeType: 'text/markdown',
            },
          ]),
    ],
    structured: {
      status: 'booked' as const,
      booking,
      ...(missing.length === 0 ? {} : { missingDetails: missing }),
      ...(itinerary === undefined ? {} : { itinerary }),
      ...(notes.length === 0 ? {} : { notes }),
    },
  })
}
