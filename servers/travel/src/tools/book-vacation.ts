import { type Context, reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { addDays, daysBetween } from '../domain/dates.ts'
import { orderDetails, tripTitle } from '../domain/itinerary.ts'
import {
  assemble,
  chooseOption,
  optionById,
  type Preference,
  type TripPackage,
  todayIn,
} from '../domain/package.ts'
import { label, type Place } from '../domain/places.ts'
import type { FlightOption } from '../domain/schedule.ts'
import { count, usd } from '../domain/words.ts'
import { type Booking, bookingShape, dateArgument, type Order } from '../schemas.ts'
import { uris } from '../uris.ts'
import type { World } from '../world.ts'
import { destinationArgument, originArgument, placeOf, routeBetween } from './arguments.ts'
import { confirmationForm, confirmationMessage, insuranceUsd } from './confirmation.ts'

const longestStay = 60

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
  outboundFlight: z
    .string()
    .max(60)
    .optional()
    .describe(
      'id of the option for the way out, from searchFlights or findBestFlight; left out, a good one is chosen',
    ),
  returnFlight: z.string().max(60).optional().describe('id of the option for the way back'),
})

type Wish = z.infer<typeof input>

export const bookVacation = (world: World) =>
  tool({
    title: 'Book a vacation',
    description:
      'Book flights there and back and a hotel as one package. Asks the traveller to confirm the price and to choose seats, room and insurance before anything is booked; books nothing otherwise.',
    input,
    output: z.object({
      status: z.enum(['booked', 'declined', 'cancelled']),
      booking: bookingShape.optional(),
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: false,
    },
    async run(wish, ctx) {
      const { origin, destination } = routeBetween(wish.origin, wish.destination)
      checkDates(wish, todayIn(origin.city, world.now()))
      if (!ctx.can('elicitation')) {
        throw new ToolError(
          'Nothing was booked. Booking needs the traveller to confirm it in a form (elicitation), which this client cannot show. Connect with a client that can, or give the flights found by searchFlights to the traveller to book.',
        )
      }
      const trip = affordableTrip(ctx, wish, origin, destination)
      ctx.progress(3, 5, `Flights and hotel come to ${usd(trip.totalUsd)}`)

      const answer = await ctx.elicit({
        key: 'confirm-booking',
        message: confirmationMessage(destination.city.name, wish.travelers, trip),
        schema: confirmationForm(trip.totalUsd),
      })
      if (answer.action !== 'accept' || !answer.content.confirmBooking) return refused(answer.action)

      const { confirmBooking: _confirmed, ...choices } = answer.content
      const order: Order = {
        origin: placeOf(origin),
        destination: placeOf(destination),
        departure: wish.departure,
        returnDate: wish.returnDate,
        travelers: wish.travelers,
        outbound: trip.outbound,
        inbound: trip.inbound,
        stay: trip.stay,
        choices,
        currency: 'USD',
        total: trip.totalUsd + (choices.travelInsurance ? insuranceUsd : 0),
      }
      ctx.progress(4, 5, 'Confirmed by the traveller; booking')
      const booking = await ctx.step('book', (key) => book(world, key, order))
      ctx.progress(5, 5, `Booked as ${booking.id}`)
      return booked(booking)
    },
  })

function checkDates({ departure, returnDate }: Wish, today: string): void {
  if (departure < today) {
    throw new ToolError(`Nothing was booked: ${departure} is in the past (today is ${today}).`)
  }
  const days = daysBetween(departure, returnDate)
  if (days < 1) {
    throw new ToolError(`Nothing was booked: the return on ${returnDate} must come after ${departure}.`)
  }
  if (days > longestStay) {
    throw new ToolError(
      `Nothing was booked: ${days} days are more than the ${longestStay} that can be booked.`,
    )
  }
}

/** The best trip, or the cheapest where the best is over the budget; a `ToolError` when that is over it too. */
function affordableTrip(ctx: Context, wish: Wish, origin: Place, destination: Place): TripPackage {
  const best = planTrip(wish, origin, destination, 'best')
  ctx.progress(1, 5, 'Searched flights both ways')
  const { budget = Number.POSITIVE_INFINITY } = wish
  const trip = best.totalUsd <= budget ? best : planTrip(wish, origin, destination, 'cheapest')
  ctx.progress(2, 5, 'Chose flights and hotel')
  if (trip.totalUsd > budget) throw new ToolError(overBudget(wish.travelers, budget, trip))
  return trip
}

function planTrip(wish: Wish, origin: Place, destination: Place, preference: Preference): TripPackage {
  const outbound = chosen(origin, destination, wish.departure, wish.outboundFlight, preference)
  const inbound = chosen(destination, origin, wish.returnDate, wish.returnFlight, preference)
  const arrival = outbound.arrives.slice(0, 10)
  if (arrival >= wish.returnDate) {
    throw new ToolError(
      `Nothing was booked: the flight out arrives on ${arrival}, which leaves no night before the return. Return on ${addDays(arrival, 1)} or later.`,
    )
  }
  return assemble(destination.city, outbound, inbound, wish.travelers)
}

function chosen(
  from: Place,
  to: Place,
  date: string,
  id: string | undefined,
  preference: Preference,
): FlightOption {
  const option = id === undefined ? chooseOption(from, to, date, preference) : optionById(from, to, id)
  if (option === undefined) {
    throw new ToolError(
      id === undefined
        ? `Nothing was booked: no flights from ${label(from)} to ${label(to)} leave on ${date}.`
        : `Nothing was booked: "${id}" is not a flight from ${label(from)} to ${label(to)}. Use an id that searchFlights gave for ${date}.`,
    )
  }
  if (option.departs.slice(0, 10) !== date) {
    throw new ToolError(
      `Nothing was booked: "${id}" leaves on ${option.departs.slice(0, 10)}, not on ${date}.`,
    )
  }
  return option
}

function overBudget(travelers: number, budget: number, { totalUsd, flightsUsd, stay }: TripPackage): string {
  return `Nothing was booked: even the cheapest flights left to choose (${usd(flightsUsd)}) and the hotel (${usd(stay.priceUsd)}) for ${count(travelers, 'traveller')} come to ${usd(totalUsd)}, ${usd(Math.ceil(totalUsd - budget))} over the budget of ${usd(budget)}. Try fewer nights, other dates, other flights or a larger budget.`
}

function refused(action: 'accept' | 'decline' | 'cancel') {
  const cancelled = action === 'cancel'
  return reply({
    content: cancelled
      ? 'The traveller closed the form without deciding. Nothing was booked and nothing was kept.'
      : 'The traveller did not confirm the booking. Nothing was booked and nothing was kept.',
    structured: { status: cancelled ? ('cancelled' as const) : ('declined' as const) },
  })
}

function book(world: World, key: string, order: Order): Booking {
  const trip = { title: tripTitle(order), notes: orderDetails(order) }
  const booking = world.bookings.book(key, order, trip, world.now())
  world.changed(uris.bookings, uris.trips, uris.trip(booking.trip))
  world.listed()
  return booking
}

function booked(booking: Booking) {
  const { choices, destination, stay } = booking
  return reply({
    content: [
      {
        type: 'text',
        text: [
          `Booked: ${destination.city} from ${booking.departure} to ${booking.returnDate} for ${count(booking.travelers, 'traveller')}, reference ${booking.id}.`,
          `Flights ${booking.outbound.legs.map(({ flight }) => flight).join(' + ')} and ${booking.inbound.legs.map(({ flight }) => flight).join(' + ')}, seats: ${choices.seatPreference}.`,
          `${stay.hotel}, ${count(stay.nights, 'night')}, ${choices.roomType}. Insurance: ${choices.travelInsurance ? 'yes' : 'no'}. Total ${usd(booking.total)}.`,
          'Not yet done: a calendar event (createCalendarEvent), messages (sendEmail), an itinerary file (saveItinerary).',
        ].join('\n'),
      },
      { type: 'resource_link', uri: uris.bookings, name: 'bookings', mimeType: 'application/json' },
      { type: 'resource_link', uri: uris.trip(booking.trip), name: booking.trip, mimeType: 'text/markdown' },
    ],
    structured: { status: 'booked' as const, booking },
  })
}
