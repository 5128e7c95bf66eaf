import { z } from 'zod'
import { isDate, isDateTime } from './domain/dates.ts'

/** A calendar date as an argument. */
export const dateArgument = z
  .string()
  .refine(isDate, 'must be a date that exists, written as 2027-06-15, from 2000 to 2099')
  .meta({ format: 'date' })

/** A date, or a date with a local time, as an argument. */
export const momentArgument = z
  .string()
  .refine(
    (text) => isDate(text) || isDateTime(text),
    'must be a date such as 2027-06-15, or a date with a local time such as 2027-06-15T18:30, from 2000 to 2099',
  )

export const placeShape = z.object({
  code: z.string().describe('IATA code of the city or airport'),
  city: z.string(),
  country: z.string(),
})

export const optionShape = z.object({
  id: z.string().describe('Names this option in bookVacation'),
  priceUsd: z.number().int().describe('For one traveller, one way'),
  stops: z.number().int(),
  durationMinutes: z.number().int(),
  departs: z.string().describe('Local time at the origin'),
  arrives: z.string().describe('Local time at the destination'),
  airlines: z.array(z.string()),
  comfort: z.number().int().describe('1 to 5'),
  legs: z.array(
    z.object({
      flight: z.string(),
      airline: z.string(),
      from: z.string(),
      to: z.string(),
      departs: z.string(),
      arrives: z.string(),
      durationMinutes: z.number().int(),
    }),
  ),
  layovers: z.array(z.object({ airport: z.string(), city: z.string(), minutes: z.number().int() })),
})

export const stayShape = z.object({
  hotel: z.string(),
  checkIn: z.string(),
  checkOut: z.string(),
  nights: z.number().int(),
  rooms: z.number().int(),
  priceUsd: z.number().int(),
})

/** What the traveller chose when confirming. */
export const choicesShape = z.object({
  seatPreference: z.enum(['window', 'aisle', 'no preference']),
  roomType: z.enum(['sea view', 'city view', 'garden view']),
  travelInsurance: z.boolean(),
})

/** What a booking is made of before it has a number. */
export const orderShape = z.object({
  origin: placeShape,
  destination: placeShape,
  departure: z.string(),
  returnDate: z.string(),
  travelers: z.number().int(),
  outbound: optionShape,
  inbound: optionShape,
  stay: stayShape,
  choices: choicesShape,
  currency: z.literal('USD'),
  total: z.number().int(),
})

/** Details of the people who travel. They are stored and written into itineraries, and are in no result or resource. */
export const travelerDetailsShape = z.object({
  travelerNames: z.string().optional(),
  contactEmail: z.string().optional(),
  contactPhone: z.string().optional(),
  emergencyContact: z.string().optional(),
  emergencyPhone: z.string().optional(),
  specialRequests: z.string().optional(),
})

export type TravelerDetails = z.infer<typeof travelerDetailsShape>

export const bookingShape = orderShape.extend({
  id: z.string().describe('Booking reference'),
  trip: z.string().describe('Name of the trip in trips://history/{trip}'),
  bookedAt: z.string(),
  detailsGiven: z
    .array(z.string())
    .default([])
    .describe('Names of the details that the traveller gave; their values are in saved itineraries only'),
})

export type Order = z.infer<typeof orderShape>
export type Booking = z.infer<typeof bookingShape>
