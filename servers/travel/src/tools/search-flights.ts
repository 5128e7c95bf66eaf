import { reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { label, type Place } from '../domain/places.ts'
import type { FlightOption } from '../domain/schedule.ts'
import { count, optionLine } from '../domain/words.ts'
import type { TravelProvider } from '../providers/provider.ts'
import { dateArgument, optionShape, placeShape } from '../schemas.ts'
import type { TravelServices } from '../services.ts'
import { destinationArgument, originArgument, placeOf, requireRoute } from './arguments.ts'

export const searchFlights = (services: TravelServices) =>
  tool({
    title: 'Search flights',
    description:
      'Search for available flights on a date: several airlines, nonstop and with one stop, cheapest first. Prices are in USD for one traveller, one way.',
    input: z.object({
      origin: originArgument,
      destination: destinationArgument,
      date: dateArgument.describe('Travel date, local at the origin'),
    }),
    output: z.object({
      origin: placeShape,
      destination: placeShape,
      date: z.string(),
      currency: z.literal('USD'),
      options: z.array(optionShape),
    }),
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    async run({ origin: from, destination: to, date }, { signal }) {
      const { origin, destination } = requireRoute(services.provider, from, to)
      const options = await requireOptions(services.provider, origin, destination, date, signal)
      const nonstop = options.filter(({ stops }) => stops === 0).length
      return reply({
        content: [
          `${count(options.length, 'flight option')} from ${label(origin)} to ${label(destination)} on ${date}, ${nonstop} nonstop. USD for one traveller, one way; times are local.`,
          'id | price | times | route | stops | duration | airlines',
          ...options.map(optionLine),
        ].join('\n'),
        structured: {
          origin: placeOf(origin),
          destination: placeOf(destination),
          date,
          currency: 'USD' as const,
          options,
        },
      })
    },
  })

/** The options of a date. @throws ToolError if there are none */
export async function requireOptions(
  provider: TravelProvider,
  origin: Place,
  destination: Place,
  date: string,
  signal: AbortSignal,
): Promise<FlightOption[]> {
  const options = [...(await provider.flights(origin, destination, date, signal))]
  if (options.length > 0) return options
  throw new ToolError(
    `No flights from ${label(origin)} to ${label(destination)} leave on ${date}. Search all airports with ${origin.city.code} and ${destination.city.code}, or try another date.`,
  )
}
