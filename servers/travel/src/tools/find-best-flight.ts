import { type Context, reply, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { label, type Place } from '../domain/places.ts'
import { rank, strengths } from '../domain/ranking.ts'
import type { FlightOption } from '../domain/schedule.ts'
import { count, optionLine } from '../domain/words.ts'
import { dateArgument, optionShape, placeShape } from '../schemas.ts'
import type { TravelServices } from '../services.ts'
import { destinationArgument, originArgument, placeOf, requireRoute } from './arguments.ts'
import { readRecommendations } from './recommendations.ts'
import { requireOptions } from './search-flights.ts'

const maxRecommendations = 3

const output = z.object({
  origin: placeShape,
  destination: placeShape,
  date: z.string(),
  currency: z.literal('USD'),
  considered: z.number().int().describe('How many options were compared'),
  decidedBy: z
    .enum(['model', 'score'])
    .describe('Who chose: the model of the client, or a score computed here'),
  model: z.string().optional(),
  note: z.string().optional(),
  recommendations: z.array(
    z.object({
      rank: z.number().int(),
      chosenBy: z.enum(['model', 'score']),
      reason: z.string(),
      option: optionShape,
    }),
  ),
})

type Choice = Pick<z.infer<typeof output>, 'decidedBy' | 'model' | 'note' | 'recommendations'>

export const findBestFlight = (services: TravelServices) =>
  tool({
    title: 'Find the best flight',
    description:
      "Search flights and recommend the best three with reasons. Asks the client's model to weigh price, times, stops and preferences; without one, ranks by a computed score and says so.",
    input: z.object({
      origin: originArgument,
      destination: destinationArgument,
      date: dateArgument.describe('Travel date, local at the origin'),
      preferences: z
        .string()
        .max(500)
        .optional()
        .describe('What matters to the traveller, such as "morning departure, max 1 layover"'),
    }),
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
    async run({ origin: from, destination: to, date, preferences }, ctx) {
      const { origin, destination } = requireRoute(services.provider, from, to)
      const options = await requireOptions(services.provider, origin, destination, date, ctx.signal)
      ctx.progress(1, 3, `Found ${count(options.length, 'flight option')}`)
      const choice = ctx.can('sampling')
        ? await askModel(ctx, { origin, destination, date, preferences, options })
        : {
            ...rankedByScore(options),
            note: 'This client offers no model to ask (sampling), so the ranking was computed without a model and does not know any preferences.',
          }
      ctx.progress(3, 3, 'Ranked')
      return reply({
        content: choiceText({ origin, destination, date, options }, choice),
        structured: {
          origin: placeOf(origin),
          destination: placeOf(destination),
          date,
          currency: 'USD' as const,
          considered: options.length,
          ...choice,
        },
      })
    },
  })

interface Search {
  origin: Place
  destination: Place
  date: string
  options: readonly FlightOption[]
}

async function askModel(ctx: Context, search: Search & { preferences: string | undefined }): Promise<Choice> {
  const { options } = search
  ctx.progress(2, 3, 'Asking the model to compare them')
  const answer = await ctx.sample({
    key: 'best-flight',
    messages: [{ role: 'user', content: { type: 'text', text: question(search) } }],
    modelPreferences: {
      hints: [{ name: 'claude-sonnet-4-20250514' }],
      costPriority: 0.3,
      speedPriority: 0.2,
      intelligencePriority: 0.9,
    },
    systemPrompt: 'You are a travel expert helping users find the best flights based on their preferences',
    maxTokens: 1500,
  })
  const blocks = Array.isArray(answer.content) ? answer.content : [answer.content]
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
  const chosen = readRecommendations(text, options).slice(0, maxRecommendations)
  if (chosen.length === 0) {
    return {
      ...rankedByScore(options),
      note: `The model ${answer.model} named none of the flights on offer, so the ranking was computed without a model.`,
    }
  }
  const chosenOptions = new Set(chosen.map(({ option }) => option))
  const rest = rank(options)
    .filter((option) => !chosenOptions.has(option))
    .slice(0, maxRecommendations - chosen.length)
  return {
    decidedBy: 'model',
    model: answer.model,
    ...(rest.length === 0
      ? {}
      : {
          note: `The model named ${count(chosen.length, 'flight')} on offer; the rest was computed without it.`,
        }),
    recommendations: [
      ...chosen.map(({ option, reason }, i) => ({
        rank: i + 1,
        chosenBy: 'model' as const,
        reason: reason === '' ? strengths(option, options) : reason,
        option,
      })),
      ...rest.map((option, i) => ({
        rank: chosen.length + i + 1,
        chosenBy: 'score' as const,
        reason: strengths(option, options),
        option,
      })),
    ],
  }
}

function question({
  origin,
  destination,
  date,
  preferences,
  options,
}: Parameters<typeof askModel>[1]): string {
  return [
    'Analyze these flight options and recommend the best choice:',
    `From ${label(origin)} to ${label(destination)} on ${date}. Prices in USD for one traveller; times are local.`,
    'id | price | times | route | stops | duration | airlines',
    ...options.map(optionLine),
    `User preferences: ${preferences?.trim() || 'none given'}`,
    `Answer with JSON only, the best three first: {"recommendations":[{"id":"<id as above>","reason":"<one sentence>"}]}`,
  ].join('\n')
}

function rankedByScore(options: readonly FlightOption[]): Choice {
  return {
    decidedBy: 'score',
    recommendations: rank(options)
      .slice(0, maxRecommendations)
      .map((option, i) => ({
        rank: i + 1,
        chosenBy: 'score' as const,
        reason: strengths(option, options),
        option,
      })),
  }
}

function choiceText(search: Search, choice: Choice): string {
  const { origin, destination, date, options } = search
  return [
    `The best of ${count(options.length, 'flight option')} from ${label(origin)} to ${label(destination)} on ${date}, ${
      choice.decidedBy === 'model' ? `chosen by the model ${choice.model}` : 'computed without a model'
    }:`,
    ...choice.recommendations.map(
      ({ rank: place, option, reason, chosenBy }) =>
        `${place}. ${optionLine(option)}\n   ${reason}${
          choice.decidedBy === 'model' && chosenBy === 'score' ? ' (by computed score)' : ''
        }`,
    ),
    ...(choice.note === undefined ? [] : [choice.note]),
  ].join('\n')
}
