import type { TraceKind } from '../../types/index.ts'
import { activityKinds } from '../store/activity-log.ts'

/** Kinds of events: activity log rows, and messages and other events. */
export const traceKinds: readonly TraceKind[] = [...activityKinds, 'wire', 'http', 'stderr', 'warning']

/** The terms of a filter; all must match. */
export type Condition =
  | { key: WordKey; oneOf: readonly string[] }
  | { key: 'dur' | 'bytes'; over?: number; min?: number; below?: number; max?: number }
  | { key: 'text'; text: string }
  | { key: 'id' | 'cause' | 'row'; ids: readonly number[] }
  | { key: 'since' | 'until'; atMs: number }

export interface Term {
  condition: Condition
  negated: boolean
  /** Its start, counted from 1. */
  column: number
}

type WordKey = 'server' | 'kind' | 'status' | 'method' | 'tool' | 'direction' | 'connection'

const wordKeys: readonly WordKey[] = ['server', 'kind', 'status', 'method', 'tool', 'direction', 'connection']
const keys: readonly string[] = [...wordKeys, 'dur', 'bytes', 'text', 'id', 'cause', 'row', 'since', 'until']
const allowedValues: Readonly<Partial<Record<WordKey, readonly string[]>>> = {
  kind: traceKinds,
  direction: ['sent', 'received'],
}
const milliseconds: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const sizes: Readonly<Record<string, number>> = { b: 1, k: 1_000, kb: 1_000, m: 1_000_000, mb: 1_000_000 }
const maxTerms = 50

/**
 * Parses a filter such as `server:files dur:>500 -kind:wire "not found"`. A word without a key is searched for everywhere. `now`
 * is the reference of `since:1h`, in milliseconds since 1970.
 * @throws TraceFilterError
 */
export function parseFilter(filter: string, now: number): Term[] {
  const terms = [...wordsOf(filter)].map((word) => termOf(filter, word, now))
  if (terms.length > maxTerms)
    throw new TraceFilterError(filter, 1, `There are ${terms.length} conditions; ${maxTerms} can be given`)
  return terms
}

interface Word {
  negated: boolean
  key: string | undefined
  value: string
  quoted: boolean
  column: number
  /** Where the value starts. */
  valueColumn: number
}

const word = /(-?)(?:([A-Za-z]+):)?(?:"((?:[^"\\]|\\.)*)("?)|(\S+))?/y

function* wordsOf(filter: string): Generator<Word> {
  let position = 0
  for (;;) {
    while (/\s/.test(filter.charAt(position))) position += 1
    if (position >= filter.length) return
    word.lastIndex = position
    const [whole = '', minus = '', key, quoted, close, bare] = word.exec(filter) ?? []
    const valueColumn = position + 1 + minus.length + (key === undefined ? 0 : key.length + 1)
    if (quoted !== undefined && close === '')
      throw new TraceFilterError(filter, valueColumn, 'The text that begins here has no closing "')
    const value = quoted?.replace(/\\(.)/g, '$1') ?? bare
    if (value === undefined) {
      const what = key === undefined ? 'Nothing follows the -' : `Nothing follows ${key}:`
      throw new TraceFilterError(filter, valueColumn, what)
    }
    yield {
      negated: minus !== '',
      key,
      value,
      quoted: quoted !== undefined,
      column: position + 1,
      valueColumn,
    }
    position += whole.length
    if (position < filter.length && !/\s/.test(filter.charAt(position)))
      throw new TraceFilterError(filter, position + 1, 'A space is missing here')
  }
}

function termOf(filter: string, found: Word, now: number): Term {
  const { negated, column } = found
  return { negated, column, condition: conditionOf(filter, found, now) }
}

function conditionOf(filter: string, found: Word, now: number): Condition {
  const { value, valueColumn, quoted } = found
  const key = found.key?.toLowerCase()
  const fail = (message: string): never => {
    throw new TraceFilterError(filter, valueColumn, message)
  }
  if (key === undefined || key === 'text') return { key: 'text', text: value }
  const wordKey = wordKeys.find((known) => known === key)
  if (wordKey !== undefined) return { key: wordKey, oneOf: wordsFor(wordKey, value, quoted, fail) }
  switch (key) {
    case 'dur':
      return { key, ...range(key, value, milliseconds, 'ms', fail) }
    case 'bytes':
      return { key, ...range(key, value, sizes, 'b', fail) }
    case 'id':
    case 'cause':
    case 'row': {
      const ids = value.replaceAll('#', '').split(',').map(Number)
      if (!ids.every((id) => Number.isSafeInteger(id) && id > 0)) fail(`${key} is a number, not "${value}"`)
      return { key, ids }
    }
    case 'since':
    case 'until':
      return { key, atMs: time(key, value, now, fail) }
  }
  const like =
    keys.find((known) => known.startsWith(key.slice(0, 3))) ?? keys.find((known) => known[0] === key[0])
  const hint = like === undefined ? '' : ` Did you mean ${like}?`
  throw new TraceFilterError(
    filter,
    found.column,
    `There is no "${found.key}:".${hint} Conditions begin with ${keys.join(', ')}`,
  )
}

type Fail = (message: string) => never

function wordsFor(key: WordKey, value: string, quoted: boolean, fail: Fail): string[] {
  const values = quoted ? [value] : value.split(',').filter((one) => one !== '')
  const allowed = allowedValues[key]
  const unknownValue = allowed && values.find((one) => !one.includes('*') && !allowed.includes(one))
  if (allowed !== undefined && unknownValue !== undefined)
    fail(`There is no ${key} "${unknownValue}". There are ${allowed.join(', ')}`)
  if (values.length === 0) fail(`Nothing follows ${key}:`)
  return values
}

const rangePattern = /^(?:(>=|<=|>|<)([\d.]+[a-z]*)|([\d.]+[a-z]*)?\.\.([\d.]+[a-z]*)?)$/i

function range(
  key: string,
  value: string,
  units: Readonly<Record<string, number>>,
  unit: string,
  fail: Fail,
): { over?: number; min?: number; below?: number; max?: number } {
  const number = (text: string): number => {
    const [, digits = '', named = ''] = /^(\d+(?:\.\d+)?)([a-z]*)$/i.exec(text) ?? []
    const factor = units[named === '' ? unit : named.toLowerCase()]
    if (digits === '' || factor === undefined)
      return fail(`"${text}" is not a number. Units are ${Object.keys(units).join(', ')}`)
    return Number(digits) * factor
  }
  const [, sign, bound, from, to] = rangePattern.exec(value) ?? []
  if (sign !== undefined && bound !== undefined) {
    const limit = number(bound)
    if (sign === '>') return { over: limit }
    if (sign === '>=') return { min: limit }
    return sign === '<' ? { below: limit } : { max: limit }
  }
  if (from === undefined && to === undefined)
    return fail(`${key} is compared, as in ${key}:>500, ${key}:<=20 or ${key}:100..500`)
  return { ...(from !== undefined && { min: number(from) }), ...(to !== undefined && { max: number(to) }) }
}

function time(key: string, value: string, now: number, fail: Fail): number {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(s|m|h|d)$/i.exec(value) ?? []
  if (count !== undefined) return now - Number(count) * (milliseconds[unit.toLowerCase()] ?? 1)
  const timeMs = /^\d{4}-/.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(timeMs))
    return fail(`${key} is a time such as 90s, 30m, 1h, 7d or 2027-01-31T12:00, not "${value}"`)
  return timeMs
}

/** An invalid filter: the message has the position, the reason and what is allowed there. */
export class TraceFilterError extends Error {
  override readonly name: string = 'TraceFilterError'
  /** The whole filter. */
  readonly filter: string
  /** The position in the filter, counted from 1. */
  readonly column: number

  constructor(filter: string, column: number, message: string) {
    super(`${message} (column ${column} of the filter)`)
    this.filter = filter
    this.column = column
  }
}
