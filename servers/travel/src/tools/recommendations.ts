import type { FlightOption } from '../domain/schedule.ts'

/** An option that a model recommends. */
export interface Recommendation {
  option: FlightOption
  reason: string
}

const maxAnswerChars = 50_000
const maxReasonChars = 400

/**
 * Parses the recommendations in the answer of a model: JSON, with or without text or a code fence around it, else text that contains
 * ids of options. Anything that is not among the options is left out.
 */
export function readRecommendations(answer: string, options: readonly FlightOption[]): Recommendation[] {
  const text = answer.slice(0, maxAnswerChars)
  const entries = jsonIn(text).flatMap(entriesOf)
  const found = entries.flatMap((entry) => recommendationOf(entry, options))
  return unique(found.length > 0 ? found : namedIn(text, options))
}

/** Every JSON object or array in a text, outermost only. */
function jsonIn(text: string): unknown[] {
  const found: unknown[] = []
  let at = 0
  for (let tries = 0; tries < 50; tries++) {
    const offset = text.slice(at).search(/[[{]/)
    if (offset === -1) break
    const start = at + offset
    const end = endOfJson(text, start)
    const value = end === undefined ? undefined : parsed(text.slice(start, end))
    if (value !== undefined) found.push(value)
    at = value === undefined || end === undefined ? start + 1 : end
  }
  return found
}

function endOfJson(text: string, start: number): number | undefined {
  let depth = 0
  let quoted = false
  for (let i = start; i < text.length; i++) {
    const letter = text[i]
    if (quoted) {
      if (letter === '\\') i++
      else if (letter === '"') quoted = false
    } else if (letter === '"') quoted = true
    else if (letter === '{' || letter === '[') depth++
    else if (letter === '}' || letter === ']') {
      depth--
      if (depth === 0) return i + 1
    }
  }
  return undefined
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

function entriesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  if (typeof value !== 'object' || value === null) return []
  const lists = Object.values(value).filter((member) => Array.isArray(member))
  return lists.length > 0 ? lists.flat() : [value]
}

function recommendationOf(entry: unknown, options: readonly FlightOption[]): Recommendation[] {
  if (typeof entry !== 'object' || entry === null) {
    const option = optionNamed(entry, options)
    return option === undefined ? [] : [{ option, reason: '' }]
  }
  const members: Record<string, unknown> = { ...entry }
  const name = first(members, ['id', 'optionId', 'option', 'flightId', 'flight', 'number'])
  const reason = first(members, ['reason', 'why', 'explanation', 'rationale'])
  const option = optionNamed(name, options)
  return option === undefined
    ? []
    : [{ option, reason: typeof reason === 'string' ? reason.trim().slice(0, maxReasonChars) : '' }]
}

function first(members: Record<string, unknown>, names: readonly string[]): unknown {
  return names.map((name) => members[name]).find((value) => value !== undefined)
}

/** An option by its id, its id without the date, its flight numbers in any notation, or its number in the list. */
function optionNamed(name: unknown, options: readonly FlightOption[]): FlightOption | undefined {
  if (typeof name === 'number') return options[name - 1]
  if (typeof name !== 'string') return undefined
  const wanted = flightNumbers(name)
  return options.find(
    ({ id }) => id === name.trim() || (wanted !== '' && flightNumbers(id.split('@')[0] ?? '') === wanted),
  )
}

function flightNumbers(text: string): string {
  return (text.split('@')[0] ?? '')
    .toUpperCase()
    .split(/[^A-Z0-9]+/)
    .filter((part) => part !== '')
    .join('+')
}

function namedIn(text: string, options: readonly FlightOption[]): Recommendation[] {
  return options
    .map((option) => ({ option, at: text.indexOf(option.id) }))
    .filter(({ at }) => at !== -1)
    .toSorted((a, b) => a.at - b.at)
    .map(({ option }) => ({ option, reason: '' }))
}

function unique(found: readonly Recommendation[]): Recommendation[] {
  return found.filter(({ option }, i) => found.findIndex((other) => other.option === option) === i)
}
