import type { Model, ModelReply, ModelRequest } from '@jackfield/host'
import type { SamplingContent } from '@jackfield/sdk'
import { addDays, isoDay } from './dates.ts'
import { blocksOf, canPlan, planTrip } from './planner.ts'

const notice = '[offline planner — not a language model]'
/** In the same turn, after the full notice. */
const shortNotice = '[offline planner]'

/** Characters that count as one token, fewer than any tokenizer needs on average. */
const charactersPerToken = 3

/**
 * A rule-based planner for use without a language model: it plans and books trips with the tools of the travel server, ranks
 * flights that a server lists, and declines everything else. Every reply states that it comes from the offline planner.
 */
export const offlineModel: Model = {
  id: 'offline',
  isLanguageModel: false,
  isOffline: true,
  async generate(request): Promise<ModelReply> {
    request.signal?.throwIfAborted()
    const reply = fit(answer(request), request)
    for (const block of blocksOf(reply.content)) if (block.type === 'text') request.onText?.(block.text)
    return reply
  },
}

function answer(request: ModelRequest): SamplingContent[] {
  const ranking = rankFlights(lastText(request.messages))
  if (ranking !== undefined) return [{ type: 'text', text: ranking }]
  const today = localDay(new Date())
  const isAble = canPlan(request) && request.toolChoice !== 'none'
  const move = isAble ? planTrip(request, today) : undefined
  if (move === undefined) return [{ type: 'text', text: `${notice} ${help(isAble, today)}` }]
  const isContinuation = move.uses.length > 0 && isResult(request.messages.at(-1))
  return [
    { type: 'text', text: `${isContinuation ? shortNotice : notice} ${move.text}` },
    ...move.uses.map(({ name, input }, n) => ({
      type: 'tool_use' as const,
      id: `offline-${request.messages.length}-${n + 1}`,
      name,
      input,
    })),
  ]
}

function lastText(messages: ModelRequest['messages']): string {
  const last = messages.at(-1)
  return blocksOf(last?.content ?? [])
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n')
    .slice(0, 200_000)
}

function isResult(message: ModelRequest['messages'][number] | undefined): boolean {
  return blocksOf(message?.content ?? []).some((block) => block.type === 'tool_result')
}

/** What the planner can do, with an example for the current date. */
function help(isAble: boolean, today: Date): string {
  const model =
    'For anything else, set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OLLAMA_HOST or OPENAI_COMPATIBLE_BASE_URL, and a language model answers.'
  if (!isAble)
    return `I cannot answer this: I can only plan trips, by rules, with the tools of a travel server, and there are none here. Add one to the configuration to plan trips. ${model}`
  return [
    'I follow rules and plan trips: I search flights, recommend the best ones, book a trip once you confirm it, enter it in the calendar and save an itinerary. Try:',
    `  Plan a trip from New York to Barcelona on ${addDays(isoDay(today), 60)} for 7 days, budget $3000`,
    '  Show me flights from Oslo to Rome next Friday',
    model,
  ].join('\n')
}

/** The local calendar day, as midnight UTC. */
function localDay(now: Date): Date {
  return new Date(Date.UTC(now.getFullYear(), now.getMonth(), now.getDate()))
}

/** Applies the limits of a language model. */
function fit(content: SamplingContent[], request: ModelRequest): ModelReply {
  const uses = content.some((block) => block.type === 'tool_use')
  let stopReason: ModelReply['stopReason'] = uses ? 'toolUse' : 'endTurn'
  let remaining = request.maxTokens * charactersPerToken
  const blocks = content.map((block) => {
    if (block.type !== 'text') return block
    const stop = Math.min(
      ...(request.stopSequences ?? []).map((text) => stopPosition(block.text, text)),
      block.text.length,
    )
    const text = block.text.slice(0, Math.min(stop, remaining))
    if (text.length < block.text.length && !uses) stopReason = remaining < stop ? 'maxTokens' : 'stopSequence'
    remaining -= text.length
    return { ...block, text }
  })
  return { content: blocks, stopReason, model: 'jackfield-offline-planner' }
}

function stopPosition(text: string, part: string): number {
  const at = part === '' ? -1 : text.indexOf(part)
  return at === -1 ? text.length : at
}

/** One flight in a list to compare. */
interface ListedFlight {
  id: string
  price: number
  minutes: number
  stops: number
  /** Hour of departure, if listed. */
  hour: number | undefined
}

/**
 * Ranks the flights of a request that lists them in columns (`id | price | …`) and asks for the best ones as JSON. Undefined for
 * any other request.
 */
function rankFlights(question: string): string | undefined {
  const flights = parseFlights(question)
  if (flights.length === 0 || !/json/i.test(question)) return undefined
  const preferences = /preferences:?\s*(.*)/i.exec(question)?.[1] ?? ''
  const cheapest = Math.min(...flights.map(({ price }) => price))
  const quickest = Math.min(...flights.map(({ minutes }) => minutes))
  const best = flights
    .map((flight) => ({ flight, cost: cost(flight, preferences, cheapest, quickest) }))
    .toSorted((a, b) => a.cost - b.cost || (a.flight.id < b.flight.id ? -1 : 1))
    .slice(0, 3)
  return JSON.stringify({
    recommendations: best.map(({ flight }) => ({
      id: flight.id,
      reason: `${reasons(flight, preferences, cheapest, quickest)} (ranked by rules, not by a language model).`,
    })),
  })
}

function cost(flight: ListedFlight, preferences: string, cheapest: number, quickest: number): number {
  const limit = /max(?:imum)?\s+(\d)\s+(?:layover|stop)/i.exec(preferences)?.[1]
  const tooManyStops = limit !== undefined && flight.stops > Number(limit)
  const notDirect = /direct|non-?stop/i.test(preferences) && flight.stops > 0
  return (
    (flight.price / cheapest) * (/cheap/i.test(preferences) ? 3 : 1) +
    0.8 * (flight.minutes / quickest) +
    0.25 * flight.stops +
    (isAtPreferredTime(flight, preferences) === false ? 1.2 : 0) +
    (tooManyStops || notDirect ? 10 : 0)
  )
}

const partsOfDay: Readonly<Record<string, readonly [number, number]>> = {
  morning: [5, 12],
  afternoon: [12, 18],
  evening: [18, 24],
}

function preferredPartOfDay(preferences: string): string | undefined {
  return /\b(morning|afternoon|evening)\b/i.exec(preferences)?.[1]?.toLowerCase()
}

function isAtPreferredTime({ hour }: ListedFlight, preferences: string): boolean | undefined {
  const part = preferredPartOfDay(preferences)
  const span = part === undefined ? undefined : partsOfDay[part]
  if (span === undefined || hour === undefined) return undefined
  return hour >= span[0] && hour < span[1]
}

function reasons(flight: ListedFlight, preferences: string, cheapest: number, quickest: number): string {
  const words = [
    flight.price === cheapest
      ? `the cheapest at $${flight.price}`
      : `$${flight.price}, $${Math.round((flight.price - cheapest) * 100) / 100} above the cheapest`,
    flight.stops === 0 ? 'nonstop' : `${flight.stops} ${flight.stops === 1 ? 'stop' : 'stops'}`,
    flight.minutes === quickest
      ? 'the quickest'
      : `${Math.round((flight.minutes - quickest) / 6) / 10} h longer than the quickest`,
    timeOfDay(flight, preferences),
  ].filter((word) => word !== undefined)
  const text = words.join(', ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

function timeOfDay(flight: ListedFlight, preferences: string): string | undefined {
  const isPreferred = isAtPreferredTime(flight, preferences)
  if (isPreferred === undefined) return undefined
  const part = preferredPartOfDay(preferences)
  return isPreferred
    ? `leaves in the ${part} as you prefer`
    : `leaves at ${flight.hour} h, not in the ${part}`
}

function parseFlights(question: string): ListedFlight[] {
  const rows = question
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells.length >= 4)
  const [head, ...body] = rows
  if (head === undefined) return []
  const column = (name: string): number => head.findIndex((cell) => cell.toLowerCase().startsWith(name))
  const columns = {
    id: column('id'),
    price: column('price'),
    stops: column('stop'),
    duration: column('duration'),
    times: column('time'),
  }
  if (columns.id === -1 || columns.price === -1) return []
  return body.flatMap((cells) => {
    const id = cells[columns.id] ?? ''
    const price = Number((cells[columns.price] ?? '').replace(/[^\d.]/g, ''))
    const minutes = minutesIn(cells[columns.duration] ?? '')
    if (id === '' || !(price > 0) || minutes === 0) return []
    const hour = /^(\d{1,2}):\d{2}/.exec(cells[columns.times] ?? '')?.[1]
    return [
      {
        id,
        price,
        minutes,
        stops: stopsIn(cells[columns.stops] ?? ''),
        hour: hour === undefined ? undefined : Number(hour),
      },
    ]
  })
}

function minutesIn(text: string): number {
  const hours = /(\d+)\s*h/.exec(text)?.[1] ?? '0'
  const minutes = /(\d+)\s*m/.exec(text)?.[1] ?? '0'
  return Number(hours) * 60 + Number(minutes)
}

/** "1 stop in MAD, 2 h; 1 stop in LIS, 1 h" are two stops. */
function stopsIn(text: string): number {
  return [...text.matchAll(/(\d+)\s+stop/g)].reduce((sum, match) => sum + Number(match[1]), 0)
}
