import { ErrorCode, type PromptMessage, prompt, type ResourceLink, RpcError } from '@jackfield/sdk'
import { z } from 'zod'
import { addDays } from './domain/dates.ts'
import { findPlace, label } from './domain/places.ts'
import { completePlaces } from './domain/suggest.ts'
import { count, list, usd } from './domain/words.ts'
import { nextDays } from './resources.ts'
import { dateArgument } from './schemas.ts'
import type { TravelServices } from './services.ts'
import { unknownPlace } from './tools/arguments.ts'
import { uris } from './uris.ts'

const knownInterests = [
  'architecture',
  'beaches',
  'food',
  'hiking',
  'history',
  'museums',
  'music',
  'nightlife',
  'shopping',
]

/** A number as text: `3000`, `$3,000`, `7 days`. */
const numberArgument = (unit: string) =>
  z.string().transform((text, ctx) => {
    const number = Number(text.replace(/[$,\s]|usd|days?/gi, ''))
    if (Number.isFinite(number) && number > 0) return number
    ctx.addIssue(`must be a number of ${unit} above 0`)
    return z.NEVER
  })

export const planVacation = (services: TravelServices) =>
  prompt({
    title: 'Plan a vacation',
    description: 'Guide through vacation planning process',
    input: z.object({
      destination: z.string().min(1).max(100).describe('City or IATA code to travel to'),
      duration: numberArgument('days').optional().describe('days'),
      budget: numberArgument('US dollars')
        .optional()
        .describe('The most that flights and hotel may cost, in USD'),
      interests: z.string().max(500).optional().describe('What to do there, separated by commas'),
      departure_date: dateArgument.optional().describe('Day of the flight out, such as 2027-06-15'),
      return_date: dateArgument.optional().describe('Day of the flight back'),
      travelers: numberArgument('travellers').optional().describe('How many people travel'),
    }),
    complete: {
      destination: (value) => completePlaces(value),
      duration: (value) => ['3', '5', '7', '10', '14', '21'].filter((days) => days.startsWith(value)),
      budget: (value) => ['1000', '2000', '3000', '5000', '10000'].filter((sum) => sum.startsWith(value)),
      interests: completeInterests,
      departure_date: nextDays(services),
      return_date: nextDays(services),
      travelers: (value) => ['1', '2', '3', '4'].filter((people) => people.startsWith(value)),
    },
    run(request): PromptMessage[] {
      const place = findPlace(request.destination)
      if (place === undefined) throw new RpcError(ErrorCode.InvalidParams, unknownPlace(request.destination))
      const city = place.city.name
      const years = yearsToLookAt(services.now(), request.departure_date)
      const days = request.duration ?? 7
      const back =
        request.return_date ??
        (request.departure_date === undefined ? undefined : addDays(request.departure_date, Math.round(days)))
      const past = services.trips.all().filter((trip) => trip.end < services.now().toISOString().slice(0, 10))
      const about = past.filter((trip) => findPlace(trip.destination)?.city === place.city)
      const facts = [
        request.departure_date === undefined
          ? `for about ${count(days, 'day')}, on dates still to be found`
          : `from ${request.departure_date} to ${back}`,
        request.travelers === undefined ? undefined : `for ${count(request.travelers, 'traveller')}`,
        request.budget === undefined ? undefined : `for at most ${usd(request.budget)} in all`,
        interestsOf(request.interests),
      ].filter((fact) => fact !== undefined)
      return [
        user({
          type: 'text',
          text: [
            `Plan a vacation in ${label(place)} with me: ${facts.join('; ')}.`,
            '',
            'Go step by step, and tell me what you found before you go on:',
            `1. Calendar. Read ${list(years.map(uris.calendar), 'and')}. Find days that are free and name what is close by.`,
            `2. Past trips. Read ${
              about.length > 0
                ? list(
                    about.map(({ name }) => uris.trip(name)),
                    'and',
                  )
                : uris.trips
            } for what I like: airlines, seats, hotels, things to avoid.`,
            `3. Weather. Read weather://forecast/${encodeURIComponent(city)}/{date} for the days in question.`,
            '4. Flights. Use searchFlights for each direction, from NYC unless I say otherwise, then findBestFlight with my preferences. Show me three options with prices.',
            `5. Ask me which I prefer. Then bookVacation with the ids of those flights${
              request.budget === undefined ? '' : ` and budget ${request.budget}`
            }. It asks me to confirm; if I do not, nothing is booked, and you ask me what to change.`,
            '6. Once booked: createCalendarEvent for the trip, saveItinerary with the booking reference, and offer to write an out-of-office message with sendEmail. Show me the message before you send it.',
            ...(request.interests === undefined
              ? []
              : ['7. Suggest a plan for each day that fits my interests and the weather.']),
          ].join('\n'),
        }),
        ...years.map((year) =>
          user({
            type: 'resource',
            resource: {
              uri: uris.calendar(year),
              mimeType: 'application/json',
              text: JSON.stringify({ year, events: services.calendar.inYear(year) }, null, 2),
            },
          }),
        ),
        ...[...about, ...past.filter((trip) => !about.includes(trip))].map((trip) =>
          user({
            type: 'resource_link',
            uri: uris.trip(trip.name),
            name: trip.name,
            title: trip.title,
            description: `Notes on the trip to ${trip.destination}`,
            mimeType: 'text/markdown',
          }),
        ),
        ...(request.departure_date === undefined ? [] : [user(forecastLink(city, request.departure_date))]),
      ]
    },
  })

/** The year of the flight out; without one this year, and from October on the next one too. */
function yearsToLookAt(now: Date, departure: string | undefined): string[] {
  if (departure !== undefined) return [departure.slice(0, 4)]
  const year = now.getUTCFullYear()
  return now.getUTCMonth() >= 9 ? [String(year), String(year + 1)] : [String(year)]
}

function user(content: PromptMessage['content']): PromptMessage {
  return { role: 'user', content }
}

function forecastLink(city: string, date: string): ResourceLink {
  return {
    type: 'resource_link',
    uri: uris.weather(city, date),
    name: 'weather-forecast',
    title: `Weather in ${city} on ${date}`,
    mimeType: 'application/json',
  }
}

/** Accepts `a, b` as well as a JSON array, which the documentation of the protocol uses. */
function interestsOf(text: string | undefined): string | undefined {
  const items = (text ?? '')
    .replace(/[[\]"]/g, '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
  return items.length === 0 ? undefined : `interested in ${list(items, 'and')}`
}

/** Completes the last of several interests. */
function completeInterests(value: string): string[] {
  const before = value.includes(',') ? value.slice(0, value.lastIndexOf(',') + 1) : ''
  const typed = value.slice(before.length).trim().toLowerCase()
  const chosen = before.split(',').map((item) => item.trim().toLowerCase())
  const lead = before === '' ? '' : `${before} `
  return knownInterests
    .filter((interest) => interest.startsWith(typed) && !chosen.includes(interest))
    .map((interest) => `${lead}${interest}`)
}
