import { randomUUID } from 'node:crypto'
import { type CallToolResult, McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import type { ResultTable } from '../log/store/result-table.ts'
import { isRecord } from '../shared/json.ts'
import type { Results, ResultText, StoredResult } from '../types/index.ts'
import { documentOf, fitResult, fullText } from './fitted-result.ts'

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
  function canRead(conversation: string, owner: string | null): boolean {
    for (
      let current: string | null | undefined = conversation;
      typeof current === 'string';
      current = parentOf(current)
    ) {
      if (current === owner) return true
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
      const text = path === undefined ? fullText(entry.result) : textAtPath(entry.result, path)
      const start = Math.min(Math.max(0, Math.trunc(from)), text.length)
      const part = text.slice(start, characters === undefined ? undefined : start + Math.max(1, characters))
      const end = start + part.length
      return { text: part, from: start, total: text.length, ...(end < text.length && { next: end }) }
    },
  }
}

/** The values at a path: text as it is, anything else as JSON; several values on one line each. */
function textAtPath(result: CallToolResult, path: string): string {
  return valuesAt(documentOf(result), path)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join('\n')
}

type Step = (value: unknown) => unknown[]

const maxSteps = 64
const namePattern = /\.([A-Za-z_$][\w$-]*)/y
const quotedPattern = /\.?\[\s*("(?:[^"\\]|\\.)*")\s*\]/y
const indexPattern = /\.?\[\s*(-?\d{1,15})\s*\]/y
const slicePattern = /\.?\[\s*(-?\d{1,15})?\s*:\s*(-?\d{1,15})?\s*\]/y
const everyPattern = /\.?\[\s*\]/y
const pipePattern = /\s*\|\s*/y
const wordPattern = /(keys|length)\b/y
const selfPattern = /\.(?=\s*(?:\||$))/y

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
    .map((key) => (value) => (Array.isArray(value) ? [elementAt(value, toIndex(key))] : [member(value, key)]))
}

function toIndex(key: string): number {
  if (/^(0|[1-9]\d{0,14})$/.test(key)) return Number(key)
  throw pathError(`${JSON.stringify(key)} is not an index of a list`)
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
      throw pathError(
        `it cannot be read from ${JSON.stringify(text.slice(position, position + 40))} on. Paths look like .items[0].name, .items[2:5], .items[].name, .items | length`,
      )
    }
    steps.push(step)
    if (steps.length > maxSteps) throw pathError(`it has more than ${maxSteps} steps`)
  }
  return steps
}

function nextStep(match: (pattern: RegExp) => RegExpExecArray | undefined): Step | undefined {
  if (match(pipePattern) !== undefined) return (value) => [value]
  const functionName = match(wordPattern)?.[1]
  if (functionName === 'keys') return (value) => [keysOf(value)]
  if (functionName === 'length') return (value) => [lengthOf(value)]
  const key = match(namePattern)?.[1]
  if (key !== undefined) return (value) => [member(value, key)]
  const text = match(quotedPattern)?.[1]
  if (text !== undefined) {
    const memberName = unquoted(text)
    return (value) => [member(value, memberName)]
  }
  const index = match(indexPattern)?.[1]
  if (index !== undefined) return (value) => [elementAt(value, Number(index))]
  const range = match(slicePattern)
  if (range !== undefined) {
    const [, from, to] = range
    return (value) => [listOf(value).slice(Number(from ?? 0), to === undefined ? undefined : Number(to))]
  }
  if (match(everyPattern) !== undefined)
    return (value) => (isRecord(value) ? Object.values(value) : listOf(value))
  return match(selfPattern) === undefined ? undefined : (value) => [value]
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    throw pathError(`${JSON.stringify(text)} is not a string as JSON has them`)
  }
}

function member(value: unknown, key: string): unknown {
  if (!isRecord(value)) throw pathError(`${kindOf(value)} has no member ${JSON.stringify(key)}`)
  if (Object.hasOwn(value, key)) return value[key]
  const known = Object.keys(value)
    .slice(0, 20)
    .map((one) => one.slice(0, 60))
  throw pathError(`there is no ${JSON.stringify(key)}. There are: ${known.join(', ') || 'none'}`)
}

function elementAt(value: unknown, index: number): unknown {
  const list = listOf(value)
  const position = index < 0 ? list.length + index : index
  if (position in list) return list[position]
  throw pathError(`there is no index ${index} in a list of ${list.length}`)
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  throw pathError(`expected a list, found ${kindOf(value)}`)
}

function keysOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((_, index) => index)
  if (isRecord(value)) return Object.keys(value)
  throw pathError(`${kindOf(value)} has no keys`)
}

function lengthOf(value: unknown): number {
  if (Array.isArray(value) || typeof value === 'string') return value.length
  if (isRecord(value)) return Object.keys(value).length
  throw pathError(`${kindOf(value)} has no length`)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function pathError(reason: string): McpError {
  return new McpError('INVALID', `The path does not match: ${reason}`)
}
