import { addDays, daysBetween, findSpan } from './dates.ts'

/** What a person said about a trip; what they did not say is undefined. */
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
  /** Who to write to about the trip. */
  emails: string[]
  /** What was taken for granted, in words. */
  assumed: string[]
  /** Whether the person wants more than to look at flights. */
  book: boolean
}

const numbers = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
const count = `(\\d+|${numbers.join('|')}|an?)`

/** Reads what texts say about a trip; a later text wins over an earlier one. */
export function readTrip(texts: readonly string[], today: Date): Trip {
  const last = <T>(find: (text: string) => T | undefined): T | undefined =>
    texts.reduce<T | undefined>((found, text) => find(text) ?? found, undefined)
  const span = last((text) => findSpan(text, today))
  const stated = last(findDays)
  const days = stated ?? (span?.end === undefined ? undefined : daysBetween(span.start, span.end))
  const end = span?.end ?? (span !== undefined && days !== undefined ? addDays(span.start, days) : undefined)
  return {
    destination: last(findDestination),
    origin: last(findOrigin),
    start: span?.start,
    end,
    days,
    budget: last(findBudget),
    travelers: last(findTravelers),
    interests: last(findInterests) ?? [],
    preferences: [...new Set(texts.flatMap(findPreferences))],
    emails: [...new Set(texts.flatMap((text) => text.match(/[\w.+-]+@[\w-]+(\.[\w-]+)+/g) ?? []))],
    assumed: span?.assumed === undefined ? [] : [span.assumed],
    book: texts.some((text) => /\b(plan|book|vacation|holiday|trip|itinerary|travel)\b/i.test(text)),
  }
}

// A place ends where the sentence goes on to something else.
const after =
  '(?=\\s+(?:on|in|at|for|with|from|to|next|leaving|departing|starting|between|by|and|around|during|this|tomorrow|until|within|under|via|please|unless|if|when|as|or|but|so|because|then|\\d|[-–—])|\\s*[,.;:!?)\\n"]|\\s*$)'
const place = `((?:[\\p{L}][\\p{L}'’.-]*)(?:\\s[\\p{L}][\\p{L}'’.-]*){0,3}?(?:\\s\\([A-Z]{3}\\))?)${after}`

const destinations = [
  new RegExp(`\\bdestination\\s*[:=]\\s*\\**\\s*"?${place}`, 'iu'),
  new RegExp(
    `\\b(?:vacation|trip|holiday|weekend|days|week|weeks|visit|stay)\\s+(?:in|to)\\s+${place}`,
    'iu',
  ),
  new RegExp(`\\bvisit\\s+${place}`, 'iu'),
  new RegExp(
    `\\b(?:fly|flying|flights?|flight|travel|go|going|get|me)\\b[^.\\n]{0,60}?\\bto\\s+${place}`,
    'iu',
  ),
  new RegExp(`\\bfrom\\s+[\\p{L}][^.,\\n]{0,40}?\\s+to\\s+${place}`, 'iu'),
  new RegExp(`\\bto\\s+(?=\\p{Lu})${place}`, 'u'),
]
const origins = [
  new RegExp(
    `\\b(?:origin|departure city|departing from|leaving from|flying from)\\s*[:=]?\\s*"?${place}`,
    'iu',
  ),
  new RegExp(`\\bfrom\\s+(?=\\p{Lu})${place}`, 'u'),
  new RegExp(`\\bfrom\\s+${place}`, 'iu'),
]
const noPlace =
  /^(the|a|an|my|our|me|you|your|it|us|home|here|there|this|that|next|plan|book|find|see|have|go|be|do|get|make|january|february|march|april|may|june|july|august|september|october|november|december|\d.*)$/i

function findDestination(text: string): string | undefined {
  return findPlace(text, destinations)
}

function findOrigin(text: string): string | undefined {
  return findPlace(text, origins)
}

function findPlace(text: string, patterns: readonly RegExp[]): string | undefined {
  for (const pattern of patterns) {
    for (const match of text.matchAll(new RegExp(pattern, `${pattern.flags}g`))) {
      const found = match[1]?.trim()
      if (found !== undefined && !noPlace.test(found.split(/\s/)[0] ?? '')) return found
    }
  }
  return undefined
}

function findDays(text: string): number | undefined {
  const duration = new RegExp(`\\b(?:duration\\s*[:=]\\s*)?${count}[\\s-]+(day|night|week)s?\\b`, 'i').exec(
    text,
  )
  if (duration !== null) {
    const amount = numberOf(duration[1] ?? '')
    return duration[2]?.toLowerCase() === 'week' ? amount * 7 : amount
  }
  return /\bweekend\b/i.test(text) ? 3 : undefined
}

function findBudget(text: string): number | undefined {
  const found =
    /[$€£]\s?(\d[\d,.]*)(k\b)?/.exec(text) ??
    /\b(\d[\d,.]*)(k)?\s?(?:usd|dollars|euros?|eur)\b/i.exec(text) ??
    /\bbudget\s*(?:of|is|[:=])?\s*(\d[\d,.]*)(k\b)?/i.exec(text)
  if (found?.[1] === undefined) return undefined
  const amount = Number(found[1].replace(/[.,](?=\d{3}\b)/g, '').replace(/[.,]$/, ''))
  return Number.isFinite(amount) ? amount * (found[2] === undefined ? 1 : 1000) : undefined
}

function findTravelers(text: string): number | undefined {
  const found = new RegExp(
    `\\b${count}\\s+(?:people|persons?|travell?ers?|adults?|passengers?)\\b`,
    'i',
  ).exec(text)
  if (found?.[1] !== undefined) return numberOf(found[1])
  const labelled = /\btravell?ers\s*[:=]\s*(\d+)/i.exec(text)?.[1]
  return labelled === undefined ? undefined : Number(labelled)
}

function findInterests(text: string): string[] | undefined {
  const found =
    /\b(?:interested in|i (?:like|love|enjoy)|we (?:like|love|enjoy))\s+([^.\n;]+)/i.exec(text)?.[1] ??
    /\binterests?\b\s*(?:include|are|in|[:=])\s*\**\s*([^.\n;]+)/i.exec(text)?.[1]
  const words = found
    ?.replace(/^\[|\]$/g, '')
    .split(/,|\band\b|&/)
    .map((word) => word.replace(/["'*]/g, '').trim())
    .filter((word) => word !== '' && word.length <= 40)
  return words === undefined || words.length === 0 ? undefined : words
}

function findPreferences(text: string): string[] {
  const preferences: string[] = []
  const when = /\b(morning|afternoon|evening)\s+(?:departure|flight)/i.exec(text)?.[1]
  if (when !== undefined) preferences.push(`${when.toLowerCase()} departure`)
  if (/\b(non-?stop|direct)\b/i.test(text)) preferences.push('direct')
  const stops = /\b(?:max(?:imum)?|at most|up to)\s+(\d|one|two)\s+(?:stop|layover|connection)s?/i.exec(
    text,
  )?.[1]
  if (stops !== undefined)
    preferences.push(`max ${numberOf(stops)} ${numberOf(stops) === 1 ? 'layover' : 'layovers'}`)
  if (/\bcheap(est)?\b/i.test(text)) preferences.push('cheapest')
  return preferences
}

function numberOf(word: string): number {
  const spelled = numbers.indexOf(word.toLowerCase())
  if (spelled !== -1) return spelled
  return /^an?$/i.test(word) ? 1 : Number(word)
}
