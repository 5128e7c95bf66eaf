import { randomUUID } from 'node:crypto'
import { type CallToolResult, McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import type { ResultTable } from '../log/store/result-table.ts'
import { isRecord } from '../shared/json.ts'
import type { Results, ResultText, StoredResult } from '../types/index.ts'
import { documentOf, fitResult, wholeText } from './fitted-result.ts'

const scheme = 'jackfield://results/'

/**
 * Results that were too large for a model, which it reads in parts. `parentOf` returns the conversation that another was forked
 * from: results of the parent are available to the fork.
 */
export function createResults(
  table: ResultTable,
  parentOf: (conversation: string) => string | null | undefined = () => undefined,
  now: () => number = Date.now,
): Results {
  function canRead(conversation: string, given: string | null): boolean {
    for (let own: string | null | undefined = conversation; typeof own === 'string'; own = parentOf(own)) {
      if (own === given) return true
    }
    return false
  }

  function get(id: string): StoredResult | undefined {
    const row = table.get(id.startsWith(scheme) ? id.slice(scheme.length) : id)
    if (row === undefined) return undefined
    const result: CallToolResult = readJson(row.result)
    return { ...row, uri: `${scheme}${row.id}`, result }
  }
  return {
    get,
    fit: (result, { characters, server = '', tool = '', conversation = null, activity = null }) =>
      fitResult(result, characters, () => {
        const id = randomUUID()
        const at = new Date(now()).toISOString()
        table.put({ id, server, tool, conversation, activity, at, result: JSON.stringify(result) })
        return id
      }),
    read(id, { path, from = 0, characters } = {}, { conversation } = {}): ResultText {
      const entry = get(id)
      if (entry === undefined || (conversation !== undefined && !canRead(conversation, entry.conversation))) {
        throw new McpError(
          'NOT_FOUND',
          `There is no result ${JSON.stringify(id)} any more, or here. Call the tool again for a new one.`,
        )
      }
      const text = path === undefined ? wholeText(entry.result) : storedResult(entry.result, path)
      const begin = Math.min(Math.max(0, Math.trunc(from)), text.length)
      const part = text.slice(begin, characters === undefined ? undefined : begin + Math.max(1, characters))
      const end = begin + part.length
      return { text: part, from: begin, total: text.length, ...(end < text.length && { next: end }) }
    },
  }
}

/** The values at a path: text as it is, anything else as JSON; several values on one line each. */
function storedResult(result: CallToolResult, path: string): string {
  return valuesAt(documentOf(result), path)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join('\n')
}

type Step = (value: unknown) => unknown[]

const maxSteps = 64
const name = /\.([A-Za-z_$][\w$-]*)/y
const quoted = /\.?\[\s*("(?:[^"\\]|\\.)*")\s*\]/y
const index = /\.?\[\s*(-?\d{1,15})\s*\]/y
const slice = /\.?\[\s*(-?\d{1,15})?\s*:\s*(-?\d{1,15})?\s*\]/y
const every = /\.?\[\s*\]/y
const pipe = /\s*\|\s*/y
const word = /(keys|length)\b/y
const self = /\.(?=\s*(?:\||$))/y

/** The values of a JSON Pointer, or a path as in jq, in a document. Throws an McpError 'INVALID' if it does not match. */
export function valuesAt(document: unknown, path: string): unknown[] {
  const steps = path === '' || path.startsWith('/') ? pointerSteps(path) : pathSteps(path.trim())
  let values: unknown[] = [document]
  for (const step of steps) values = values.flatMap(step)
  return values
}

function pointerSteps(text: string): Step[] {
  return text
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((key) => (value) => (Array.isArray(value) ? [at(value, toIndex(key))] : [member(value, key)]))
}

function toIndex(key: string): number {
  if (/^(0|[1-9]\d{0,14})$/.test(key)) return Number(key)
  throw unfit(`${JSON.stringify(key)} is not an index of a list`)
}

function pathSteps(text: string): Step[] {
  const steps: Step[] = []
  let position = 0
  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = position
    const match = pattern.exec(text)
    if (match === null) return undefined
    position = pattern.lastIndex
    return match
  }
  while (position < text.length) {
    const step = nextStep(match)
    if (step === undefined) {
      throw unfit(
        `it cannot be read from ${JSON.stringify(text.slice(position, position + 40))} on. Paths look like .items[0].name, .items[2:5], .items[].name, .items | length`,
      )
    }
    steps.push(step)
    if (steps.length > maxSteps) throw unfit(`it has more than ${maxSteps} steps`)
  }
  return steps
}

function nextStep(match: (pattern: RegExp) => RegExpExecArray | undefined): Step | undefined {
  if (match(pipe) !== undefined) return (value) => [value]
  const called = match(word)?.[1]
  if (called === 'keys') return (value) => [keysOf(value)]
  if (called === 'length') return (value) => [lengthOf(value)]
  const key = match(name)?.[1]
  if (key !== undefined) return (value) => [member(value, key)]
  const text = match(quoted)?.[1]
  if (text !== undefined) {
    const wanted = unquoted(text)
    return (value) => [member(value, wanted)]
  }
  const place = match(index)?.[1]
  if (place !== undefined) return (value) => [at(value, Number(place))]
  const range = match(slice)
  if (range !== undefined) {
    const [, from, to] = range
    return (value) => [listOf(value).slice(Number(from ?? 0), to === undefined ? undefined : Number(to))]
  }
  if (match(every) !== undefined) return (value) => (isRecord(value) ? Object.values(value) : listOf(value))
  return match(self) === undefined ? undefined : (value) => [value]
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    throw unfit(`${JSON.stringify(text)} is not a string as JSON has them`)
  }
}

function member(value: unknown, key: string): unknown {
  if (!isRecord(value)) throw unfit(`${kindOf(value)} has no member ${JSON.stringify(key)}`)
  if (Object.hasOwn(value, key)) return value[key]
  const known = Object.keys(value)
    .slice(0, 20)
    .map((one) => one.slice(0, 60))
  throw unfit(`there is no ${JSON.stringify(key)}. There are: ${known.join(', ') || 'none'}`)
}

function at(value: unknown, place: number): unknown {
  const list = listOf(value)
  const position = place < 0 ? list.length + place : place
  if (position in list) return list[position]
  throw unfit(`there is no index ${place} in a list of ${list.length}`)
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  throw unfit(`expected a list, found ${kindOf(value)}`)
}

function keysOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((_, place) => place)
  if (isRecord(value)) return Object.keys(value)
  throw unfit(`${kindOf(value)} has no keys`)
}

function lengthOf(value: unknown): number {
  if (Array.isArray(value) || typeof value === 'string') return value.length
  if (isRecord(value)) return Object.keys(value).length
  throw unfit(`${kindOf(value)} has no length`)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function unfit(why: string): McpError {
  return new McpError('INVALID', `The path does not match: ${why}`)
}
