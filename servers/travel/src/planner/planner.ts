import type { ModelRequest } from '@jackfield/host'
import type { ContentBlock, SamplingContent, SamplingMessage } from '@jackfield/sdk'
import { defined, readJson } from '@jackfield/sdk/internal'
import { addDays, isoDay } from './dates.ts'
import { readTrip, type Trip } from './trip.ts'

type ModelTool = NonNullable<ModelRequest['tools']>[number]

/** The planner's reply and tool calls. */
interface Step {
  text: string
  uses: { name: string; input: Record<string, unknown> }[]
}

interface Plan {
  trip: Trip
  tools: ReadonlyMap<string, ModelTool>
  /** Results since the user named this trip. */
  done: readonly CompletedCall[]
  /** The index of the user's last message. */
  lastMessageIndex: number
  /** ISO date. */
  today: string
  seen: ReadonlySet<string>
}

/** Whether the tools for planning trips are available. */
export function canPlan({ tools = [] }: Pick<ModelRequest, 'tools'>): boolean {
  return tools.some(({ name }) => baseName(name) === 'searchFlights')
}

/** Small talk and questions about the planner itself. */
const smallTalk =
  /^\W*(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening|day)|help(?: me)?|what can you do|what do you do|who are you|what are you|how are you)(?:\s+(?:there|you|planner|jackfield|for me))?[\s,.!?]*(?:(?:what can you do|who are you|help)(?: for me)?[\s.!?]*)?$/i
const thanks =
  /^\W*(?:many )?(?:thanks|thank you|thx)(?:[\s,]+(?:a lot|so much|very much|you|planner))*[\s.!]*$/i

/** The next step of a trip; undefined if the text is not about travelling. */
export function planTrip(request: ModelRequest, today: Date): Step | undefined {
  const tools = toolsByName(request.tools ?? [])
  const all = personTexts(request.messages)
  const lastMessage = all.at(-1)
  const isLast = lastMessage?.index === request.messages.length - 1
  if (isLast && smallTalk.test(lastMessage.text)) return undefined
  if (isLast && thanks.test(lastMessage.text))
    return say('You are welcome. Name a destination to plan another trip.')
  const texts = all.filter(({ text }) => !smallTalk.test(text) && !thanks.test(text))
  const start = tripStart(
    texts.map(({ text }) => text),
    today,
  )
  if (start === undefined) return undefined
  const before = readTrip(
    texts.slice(0, start).map(({ text }) => text),
    today,
  )
  const now = readTrip(
    texts.slice(start).map(({ text }) => text),
    today,
  )
  const trip: Trip = {
    ...now,
    origin: now.origin ?? before.origin,
    travelers: now.travelers ?? before.travelers,
  }
  return nextStep({
    trip,
    tools,
    done: callsSince(request.messages, texts[start]?.index ?? 0),
    lastMessageIndex: texts.at(-1)?.index ?? 0,
    today: isoDay(today),
    seen: resourcesSeen(request.messages),
  })
}

/** Tools by their own names. Those of the server that searches flights take precedence over others of the same name. */
function toolsByName(tools: readonly ModelTool[]): ReadonlyMap<string, ModelTool> {
  const search = tools.find(({ name }) => baseName(name) === 'searchFlights')?.name ?? ''
  const prefix = search.slice(0, search.length - baseName(search).length)
  const own = tools.filter(({ name }) => name.startsWith(prefix))
  return new Map([...tools, ...own].map((tool) => [baseName(tool.name), tool]))
}

/** The text that started the current trip: the last one with a new destination. */
function tripStart(texts: readonly string[], today: Date): number | undefined {
  let start: number | undefined
  let destination: string | undefined
  for (const [index, text] of texts.entries()) {
    const named = readTrip([text], today).destination
    if (named === undefined || named === destination) continue
    start = index
    destination = named
  }
  return start
}

function nextStep(plan: Plan): Step {
  const { trip, tools } = plan
  const { destination, origin, start } = trip
  if (
    destination === undefined ||
    origin === undefined ||
    start === undefined ||
    (trip.book && trip.end === undefined)
  ) {
    return say(missingDetailsText(trip, plan.today))
  }
  if (start < plan.today)
    return say(`${start} is in the past; today is ${plan.today}. Please tell me another date.`)
  const reading = resourcesToRead(plan, destination, start)
  if (reading.length > 0) return { text: `First I look at your calendar and the weather.`, uses: reading }

  const route = { origin, destination, date: start }
  const search = latest(plan, 'searchFlights')
  if (search === undefined)
    return use(
      plan,
      'searchFlights',
      `I search flights from ${origin} to ${destination} on ${start}${assumptionText(trip)}.`,
      route,
    )
  if (search.isError) return say(`The flight search failed: ${forPerson(plan, search.text)}`)

  const best = latest(plan, 'findBestFlight')
  if (best === undefined && tools.has('findBestFlight')) {
    const preferences = trip.preferences.join(', ')
    return use(plan, 'findBestFlight', 'I ask for the best three of them.', {
      ...route,
      ...(preferences !== '' && { preferences }),
    })
  }
  if (!trip.book || !tools.has('bookVacation')) return say(flightsText(plan, search, best))

  const booking = latest(plan, 'bookVacation')
  if (booking === undefined) return book(plan, destination, best)
  if (booking.isError) return say(notBookedText(forPerson(plan, booking.text)))
  if (textAt(booking.value, 'status') !== 'booked') {
    return say('You did not confirm, so nothing was booked. Tell me what to change, or say "try again".')
  }
  return nextAfterBooking(plan, destination, booking)
}

function missingDetailsText(trip: Trip, today: string): string {
  const questions = [
    trip.destination === undefined ? 'where you want to go' : undefined,
    trip.origin === undefined ? 'where you leave from' : undefined,
    trip.start === undefined ? 'on which date' : undefined,
    trip.book && trip.end === undefined ? 'for how many days' : undefined,
  ].filter((question) => question !== undefined)
  const example = [
    trip.origin === undefined ? 'from New York' : undefined,
    trip.start === undefined ? `on ${addDays(today, 60)}` : undefined,
    trip.book && trip.end === undefined ? 'for 7 days' : undefined,
  ].filter((part) => part !== undefined)
  const known = [
    ...(trip.destination === undefined ? [] : [`to ${trip.destination}`]),
    ...(trip.start === undefined ? [] : [`on ${trip.start}`]),
  ]
  return [
    ...(known.length === 0 ? [] : [`A trip ${known.join(' ')}${assumptionText(trip)}.`]),
    `Please tell me ${questions.join(', and ')}.`,
    ...(example.length === 0 ? [] : [`For example: "${example.join(' ')}".`]),
  ].join(' ')
}

/** The assumption about the date, for a sentence with it. */
function assumptionText({ assumed }: Trip): string {
  return assumed.length === 0 ? '' : ` (${assumed.join('; ')})`
}

/** Reads the calendar of the year and the forecast, from the server that also searches flights. */
function resourcesToRead({ tools, seen }: Plan, destination: string, start: string): Step['uses'] {
  const read = tools.get('read_resource')
  const search = tools.get('searchFlights')?.name ?? ''
  const server = search.slice(0, search.indexOf('__'))
  if (read === undefined || server === '') return []
  const city = encodeURIComponent(destination.replace(/\s*\([A-Z]{3}\)$/, ''))
  return [`calendar://events/${start.slice(0, 4)}`, `weather://forecast/${city}/${start}`]
    .filter((uri) => !seen.has(uri))
    .map((uri) => ({ name: read.name, input: { server, uri } }))
}

/**
 * The part of a tool result for the user. Results are written for a model: this removes JSON, notes in brackets, and sentences
 * that name tools or instruct the model.
 */
function forPerson({ tools }: Plan, text: string): string {
  const names = [...tools.keys(), 'read_result', 'read_resource', 'list_resources', 'search_tools']
  const isForModel = (sentence: string): boolean =>
    names.some((name) => sentence.includes(name)) ||
    /\b(?:this client|do not (?:try|call|make)|you are told|call it again|the caller|elicitation|sampling)\b/i.test(
      sentence,
    )
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*(?:[{[]|<\/?\w|It is JSON:)/.test(line))
    .map((line) =>
      line
        .split(/(?<=[.!?])\s+(?=\p{Lu})/u)
        .filter((sentence) => !isForModel(sentence))
        .join(' '),
    )
    .filter((line) => line.trim() !== '')
  return lines.slice(0, 12).join('\n')
}

function notBookedText(reason: string): string {
  return reason === ''
    ? 'Nothing was booked.'
    : /^Nothing was booked/i.test(reason)
      ? reason
      : `Nothing was booked: ${reason}`
}

function flightsText(plan: Plan, search: CompletedCall, best: CompletedCall | undefined): string {
  const shown = best === undefined || best.isError ? search : best
  return `${forPerson(plan, shown.text)}\nSay "book it" with the day you come back, and I ask you to confirm a booking.`
}

function book(plan: Plan, destination: string, best: CompletedCall | undefined): Step {
  const { trip } = plan
  const flight = textAt(best?.value, 'recommendations', 0, 'option', 'id')
  const reason = textAt(best?.value, 'recommendations', 0, 'reason')
  const chosen =
    flight === undefined
      ? 'No flight was recommended, so I leave the choice to the server.'
      : `I take ${flight}${reason === undefined ? '' : `: ${reason}`}`
  return use(plan, 'bookVacation', `${chosen} Now I ask to book it; you will be asked to confirm.`, {
    destination,
    origin: trip.origin,
    departure: trip.start,
    returnDate: trip.end,
    ...defined({ travelers: trip.travelers, budget: trip.budget, outboundFlight: flight }),
  })
}

function nextAfterBooking(plan: Plan, destination: string, booking: CompletedCall): Step {
  const { trip, tools } = plan
  const reference = textAt(booking.value, 'booking', 'id')
  const city = destination.replace(/\s*\([A-Z]{3}\)$/, '')
  if (tools.has('createCalendarEvent') && latest(plan, 'createCalendarEvent') === undefined) {
    return use(plan, 'createCalendarEvent', 'I enter the trip in your calendar.', {
      title: `${city} Trip`,
      startDate: trip.start,
      endDate: trip.end,
      location: city,
      notes: `Booking ${reference}`,
    })
  }
  if (tools.has('saveItinerary') && latest(plan, 'saveItinerary') === undefined) {
    const interests = trip.interests.length === 0 ? undefined : `Interests: ${trip.interests.join(', ')}.`
    return use(plan, 'saveItinerary', 'I save the itinerary as a file.', {
      booking: reference,
      ...(interests !== undefined && { content: interests }),
    })
  }
  const contacted = plan.done.filter((done) => done.tool === 'sendEmail').map((done) => done.input.to)
  const [to] = trip.emails.filter((address) => !contacted.includes(address))
  if (to !== undefined && tools.has('sendEmail')) {
    return use(plan, 'sendEmail', `I write to ${to}.`, {
      to,
      subject: `Away from ${trip.start} to ${trip.end}`,
      body: `I travel to ${city} from ${trip.start} to ${trip.end} and answer after that.`,
    })
  }
  return say(summary(plan, city, booking))
}

function summary(plan: Plan, city: string, booking: CompletedCall): string {
  const { trip } = plan
  if (plan.lastMessageIndex > booking.index)
    return `Your trip to ${city} is booked. Name another destination to plan the next one.`
  const sentencesFor = (tool: string, good: (done: CompletedCall) => string, bad: string): string[] => {
    const done = latest(plan, tool)
    if (done === undefined) return []
    return [done.isError ? `${bad}: ${firstLine(forPerson(plan, done.text))}` : good(done)]
  }
  const emails = plan.done.filter((done) => done.tool === 'sendEmail')
  return [
    `Your trip to ${city} is planned:`,
    ...booking.text.split('\n').filter((line) => /^(Booked|Flights|[A-Z].* night)/.test(line)),
    ...sentencesFor(
      'createCalendarEvent',
      (done) => `Calendar: ${firstLine(done.text)}`,
      'Not in your calendar',
    ),
    ...sentencesFor(
      'saveItinerary',
      (done) => `Itinerary: ${firstLine(done.text)}`,
      'No itinerary was saved',
    ),
    ...emails.map((done) => `E-mail: ${firstLine(done.text)}`),
    ...trip.assumed.map((words) => `I assumed that ${words}.`),
  ]
    .map((line, n) => (n === 0 ? line : `- ${line}`))
    .join('\n')
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

/** The last result of a tool; a failed one is ignored after the user's next message. */
function latest(plan: Plan, tool: string): CompletedCall | undefined {
  return plan.done.findLast(
    (done) =>
      done.tool === tool && !(plan.lastMessageIndex > done.index && (done.isError || wasRefused(done))),
  )
}

function wasRefused(done: CompletedCall): boolean {
  const status = textAt(done.value, 'status')
  return status === 'declined' || status === 'cancelled'
}

function say(text: string): Step {
  return { text, uses: [] }
}

/** Calls a tool with those arguments that it has. */
function use(plan: Plan, tool: string, text: string, args: Record<string, unknown>): Step {
  const definition = plan.tools.get(tool)
  if (definition === undefined) return say(`The tool ${tool} is not there.`)
  const { properties } = definition.inputSchema
  const parameterNames = typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
  const input = Object.fromEntries(
    Object.entries(args).filter(([name, value]) => value !== undefined && parameterNames.includes(name)),
  )
  return { text, uses: [{ name: definition.name, input }] }
}

/** One tool call of the conversation with its result. */
interface CompletedCall {
  /** The tool's own name, without the server prefix. */
  tool: string
  input: Record<string, unknown>
  text: string
  /** The JSON value in the result, if any. */
  value: unknown
  isError: boolean
  /** The index of the message with the result. */
  index: number
}

/** The user's texts, oldest first, without attached resources and host messages. */
function personTexts(messages: readonly SamplingMessage[]): { index: number; text: string }[] {
  return messages.flatMap((message, index) => {
    const blocks = blocksOf(message.content)
    if (message.role !== 'user' || isHostMessage(blocks[0])) return []
    const text = blocks
      .flatMap((block) => (block.type === 'text' && !block.text.startsWith('[resource ') ? [block.text] : []))
      .join('\n')
      .slice(0, 5_000)
    return text.trim() === '' ? [] : [{ index, text }]
  })
}

/** The mark of host messages to a model. */
function isHostMessage(block: SamplingContent | undefined): boolean {
  return block?.type === 'text' && block.text.startsWith('[From Jackfield')
}

/** URIs of resources in the conversation: attached by the user, or read with a tool. */
function resourcesSeen(messages: readonly SamplingMessage[]): Set<string> {
  const uris = messages.flatMap((message) =>
    blocksOf(message.content).flatMap((block) => {
      if (block.type === 'text') {
        return [...block.text.matchAll(/^\[resource (\S+?)\]/gm)].map((match) => match[1] ?? '')
      }
      return block.type === 'tool_use' && typeof block.input.uri === 'string' ? [block.input.uri] : []
    }),
  )
  return new Set(uris)
}

/** The tool calls from a message on, with their results. */
function callsSince(messages: readonly SamplingMessage[], from: number): CompletedCall[] {
  const callsById = new Map<string, { tool: string; input: Record<string, unknown> }>()
  const done: CompletedCall[] = []
  for (const [index, message] of messages.entries()) {
    if (index < from) continue
    for (const block of blocksOf(message.content)) {
      if (block.type === 'tool_use')
        callsById.set(block.id, { tool: baseName(block.name), input: block.input })
      if (block.type !== 'tool_result') continue
      const call = callsById.get(block.toolUseId)
      if (call === undefined) continue
      const texts = block.content.map(textOf)
      done.push({
        ...call,
        text: texts.join('\n'),
        value: jsonIn(texts),
        isError: block.isError === true,
        index,
      })
    }
  }
  return done
}

/** A tool's own name: the part after the server prefix in `server__tool`. */
function baseName(name: string): string {
  const separator = name.indexOf('__')
  return separator === -1 ? name : name.slice(separator + 2)
}

/** The content of a message as a list. */
export function blocksOf(content: SamplingMessage['content']): SamplingContent[] {
  return Array.isArray(content) ? content : [content]
}

/** The text of a content block; empty for media and links. */
function textOf(block: ContentBlock): string {
  if (block.type === 'text') return block.text
  return block.type === 'resource' && 'text' in block.resource ? block.resource.text : ''
}

/** The last text that is a JSON object or array. */
function jsonIn(texts: readonly string[]): unknown {
  for (const text of texts.toReversed()) {
    if (!/^\s*[[{]/.test(text)) continue
    try {
      return readJson(text)
    } catch {
      // Text that only begins like JSON.
    }
  }
  return undefined
}

/** The text at a path in a value. */
function textAt(value: unknown, ...path: (string | number)[]): string | undefined {
  let member = value
  for (const step of path) {
    if (typeof member !== 'object' || member === null || !Object.hasOwn(member, step)) return undefined
    member = Reflect.get(member, step)
  }
  return typeof member === 'string' ? member : typeof member === 'number' ? String(member) : undefined
}
