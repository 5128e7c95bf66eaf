import { addDays, countPattern, daysBetween, findSpan, numberOf, withoutStart } from './dates.ts'

/** The data of a trip in the user's texts; missing parts are undefined. */
export interface Trip {
  destination: string | undefined
  origin: string | undefined
  /** ISO date. */
  start: string | undefined
  end: string | undefined
  days: number | undefined
  /** In US dollars. */
  budget: number | undefined
  travelers: number | undefined
  interests: string[]
  /** Such as "morning departure" or "direct". */
  preferences: string[]
  /** The recipient of an e-mail about the trip. */
  emails: string[]
  /** Assumptions, in words. */
  assumed: string[]
  /** Whether the request is for more than a list of flights. */
  book: boolean
}

/** Parses texts about a trip; a later text overrides an earlier one. */
export function readTrip(texts: readonly string[], today: Date): Trip {
  const lastFound = <T>(find: (text: string) => T | undefined): T | undefined =>
    texts.reduce<T | undefined>((latest, text) => find(text) ?? latest, undefined)
  const destination = lastFound(findDestination)
  return {
    destination,
    origin: lastFound(findOrigin) ?? originFromAnswer(texts),
    ...readSpan(texts, today),
    budget: lastFound(findBudget),
    travelers: lastFound(findTravelers),
    interests: lastFound(findInterests) ?? [],
    preferences: [...new Set(texts.flatMap(findPreferences))],
    emails: [...new Set(texts.flatMap((text) => text.match(/[\w.+-]+@[\w-]+(\.[\w-]+)+/g) ?? []))],
    book: texts.some((text) => /\b(plan|book|vacation|holiday|trip|itinerary|travel)\b/i.test(text)),
  }
}

/** Start and end of the trip. A duration stated after its last day replaces that day. */
function readSpan(texts: readonly string[], today: Date): Pick<Trip, 'start' | 'end' | 'days' | 'assumed'> {
  let start: string | undefined
  let end: string | undefined
  let days: number | undefined
  let assumed: string[] = []
  for (const text of texts) {
    const span = findSpan(text, today)
    const statedDays = findDays(text)
    if (span !== undefined) assumed = span.assumed === undefined ? [] : [span.assumed]
    if (span?.start !== undefined) {
      start = span.start
      end = span.end
    } else if (span?.end !== undefined) end = span.end
    if (statedDays === undefined) continue
    days = statedDays
    if (span?.end === undefined) end = undefined
  }
  if (start === undefined) return { start, end: undefined, days, assumed }
  if (end !== undefined && end > start) return { start, end, days: days ?? daysBetween(start, end), assumed }
  return { start, end: days === undefined ? undefined : addDays(start, days), days, assumed }
}

/** A text that is only a place name is the origin, once the destination is known. */
function originFromAnswer(texts: readonly string[]): string | undefined {
  const destinationIndex = texts.findIndex((text) => findDestination(text) !== undefined)
  const answer = texts
    .slice(destinationIndex + 1)
    .find(
      (text) =>
        destinationIndex !== -1 &&
        /^\s*\p{L}[\p{L}'’.-]*(?: \p{L}[\p{L}'’.-]*){0,2}\s*\.?\s*$/u.test(text) &&
        !notPlaceNames.test(firstWord(text)),
    )
  return answer?.trim().replace(/\.$/, '')
}

// A place name ends where the sentence continues.
const placeEnd =
  '(?=\\s+(?:on|in|at|for|with|from|to|next|leaving|departing|starting|between|by|and|around|during|this|tomorrow|today|tonight|the\\s+day|monday|tuesday|wednesday|thursday|friday|saturday|sunday|early|mid|late|end\\s+of|coming|one|two|three|four|five|six|seven|an?|return(?:ing)?|back|until|within|under|via|please|unless|if|when|as|or|but|so|because|then|\\d|[-–—])|\\s*[,.;:!?)\\n"]|\\s*$)'
const placePattern = `((?:[\\p{L}][\\p{L}'’.-]*)(?:\\s[\\p{L}][\\p{L}'’.-]*){0,3}?(?:\\s\\([A-Z]{3}\\))?)${placeEnd}`

/** Up to four capitalized words. */
const capitalizedWords = "\\p{Lu}[\\p{L}'’.-]*(?:\\s\\p{Lu}[\\p{L}'’.-]*){0,3}"

const destinations = [
  new RegExp(`\\bdestination\\s*[:=]\\s*\\**\\s*"?${placePattern}`, 'iu'),
  new RegExp(
    `\\b(?:vacation|trip|holiday|weekend|days|week|weeks|visit|stay)\\s+(?:in|to)\\s+${placePattern}`,
    'iu',
  ),
  new RegExp(`\\bvisit\\s+${placePattern}`, 'iu'),
  new RegExp(
    `\\b(?:fly|flying|flights?|flight|travel|go|going|get|me)\\b[^.\\n]{0,60}?\\bto\\s+${placePattern}`,
    'iu',
  ),
  new RegExp(`\\bfrom\\s+[\\p{L}][^.,\\n]{0,40}?\\s+to\\s+${placePattern}`, 'iu'),
  new RegExp(`\\bto\\s+(?=\\p{Lu})${placePattern}`, 'u'),
  new RegExp(`\\b(?:trip|flights?|fly|book|vacation|holiday)\\b[^.\\n]{0,60}?\\bto\\s+${placePattern}`, 'iu'),
]
const origins = [
  new RegExp(
    `\\b(?:origin|departure city|departing from|leaving from|flying from)\\s*[:=]?\\s*"?${placePattern}`,
    'iu',
  ),
  new RegExp(`\\bfrom\\s+(?=\\p{Lu})${placePattern}`, 'u'),
  new RegExp(`\\bfrom\\s+${placePattern}`, 'iu'),
  // "Flights Oslo to Rome", "Oslo to Rome on Friday"
  new RegExp(`\\b[Ff]lights?\\s+(${capitalizedWords})\\s+to\\s+\\p{Lu}`, 'u'),
  new RegExp(`(?:^|[.!?\\n]\\s*)(${capitalizedWords})\\s+to\\s+\\p{Lu}`, 'u'),
]
const notPlaceNames =
  /^(i|we|let|trips?|flights?|vacation|holiday|tickets?|going|one|two|three|four|five|six|seven|eight|nine|ten|few|days?|weeks?|months?|weekend|today|tonight|tomorrow|early|mid|late|monday|tuesday|wednesday|thursday|friday|saturday|sunday|yes|yeah|no|ok|okay|sure|please|hi|hey|hello|thanks|thank|try|again|help|nothing|cancel|stop|fly|travel|leave|visit|return|come|what|which|where|when|how|why|who|can|show|the|a|an|my|our|me|you|your|it|us|home|here|there|this|that|next|plan|book|find|see|have|go|be|do|get|make|january|february|march|april|may|june|july|august|september|october|november|december|\d.*)$/i

function findDestination(text: string): string | undefined {
  return findPlace(text, destinations)
}

function findOrigin(text: string): string | undefined {
  return findPlace(text, origins)
}

function findPlace(text: string, patterns: readonly RegExp[]): string | undefined {
  for (const pattern of patterns) {
    for (const match of text.matchAll(new RegExp(pattern, `${pattern.flags}g`))) {
      const name = match[1]?.trim()
      if (name !== undefined && !notPlaceNames.test(firstWord(name))) return name
    }
  }
  return undefined
}

function firstWord(text: string): string {
  return text.trim().split(/\s/)[0] ?? ''
}

function findDays(text: string): number | undefined {
  const duration = new RegExp(
    `\\b(?:duration\\s*[:=]\\s*)?${countPattern}[\\s-]+(day|night|week)s?\\b`,
    'i',
  ).exec(withoutStart(text))
  if (duration !== null) {
    const amount = numberOf(duration[1] ?? '')
    return duration[2]?.toLowerCase() === 'week' ? amount * 7 : amount
  }
  return /\bweekend\b/i.test(text) ? 3 : undefined
}

function findBudget(text: string): number | undefined {
  const match =
    /[$€£]\s?(\d[\d,.]*)(k\b)?/.exec(text) ??
    /\b(\d[\d,.]*)(k)?\s?(?:usd|dollars|euros?|eur)\b/i.exec(text) ??
    /\bbudget\s*(?:of|is|[:=])?\s*(\d[\d,.]*)(k\b)?/i.exec(text)
  if (match?.[1] === undefined) return undefined
  const amount = Number(match[1].replace(/[.,](?=\d{3}\b)/g, '').replace(/[.,]$/, ''))
  return Number.isFinite(amount) ? amount * (match[2] === undefined ? 1 : 1000) : undefined
}

function findTravelers(text: string): number | undefined {
  const match = new RegExp(
    `\\b${countPattern}\\s+(?:people|persons?|travell?ers?|adults?|passengers?)\\b`,
    'i',
  ).exec(text)
  if (match?.[1] !== undefined) return numberOf(match[1])
  const labelled = /\btravell?ers\s*[:=]\s*(\d+)/i.exec(text)?.[1]
  return labelled === undefined ? undefined : Number(labelled)
}

function findInterests(text: string): string[] | undefined {
  const list =
    /\b(?:interested in|i (?:like|love|enjoy)|we (?:like|love|enjoy))\s+([^.\n;]+)/i.exec(text)?.[1] ??
    /\binterests?\b\s*(?:include|are|in|[:=])\s*\**\s*([^.\n;]+)/i.exec(text)?.[1]
  const words = list
    ?.replace(/^\[|\]$/g, '')
    .split(/,|\band\b|&/)
    .map((word) => word.replace(/["'*]/g, '').trim())
    .filter((word) => word !== '' && word.length <= 40)
  return words === undefined || words.length === 0 ? undefined : words
}

function findPreferences(text: string): string[] {
  const preferences: string[] = []
  const timeOfDay = /\b(morning|afternoon|evening)\s+(?:departure|flight)/i.exec(text)?.[1]
  if (timeOfDay !== undefined) preferences.push(`${timeOfDay.toLowerCase()} departure`)
  if (/\b(non-?stop|direct)\b/i.test(text)) preferences.push('direct')
  const stops = /\b(?:max(?:imum)?|at most|up to)\s+(\d|one|two)\s+(?:stop|layover|connection)s?/i.exec(
    text,
  )?.[1]
  if (stops !== undefined)
    preferences.push(`max ${numberOf(stops)} ${numberOf(stops) === 1 ? 'layover' : 'layovers'}`)
  if (/\bcheap(est)?\b/i.test(text)) preferences.push('cheapest')
  return preferences
}
