import type { JsonObject, JsonSchema } from '@jackfield/sdk'
import { oneLine } from '../output/sanitize.ts'
import { isObject, typesOf } from './arguments.ts'
import { usageError } from './exit.ts'

/** An argument as written: with a name, or positional. */
interface WrittenArgument {
  key?: string
  json: boolean
  text: string
}

/** Splits `add(a: 1, b: 2)` into the tool's name and the text between the parentheses. */
export function splitCall(word: string): { name: string; inside: string } | undefined {
  const [, name, inside] = /^([^()]+)\((.*)\)\s*$/s.exec(word) ?? []
  return name === undefined || inside === undefined ? undefined : { name: name.trim(), inside }
}

/**
 * Returns every argument of a call as `key=value` or `key:=json`. Words without `=` are assigned to the required properties
 * without a value, in schema order. `inside`: the text between the parentheses of `add(a: 1, b: 2)`.
 */
export function nameArguments(words: readonly string[], schema: JsonSchema, inside = ''): string[] {
  const known = isObject(schema.properties) ? schema.properties : {}
  const written = [...parseInside(inside), ...words.map((word) => parseWord(word, known))]
  const assigned = new Set(written.flatMap(({ key }) => (key === undefined ? [] : [key])))
  const required = Array.isArray(schema.required)
    ? schema.required.filter((key) => typeof key === 'string')
    : []
  const free = required.filter((key) => !assigned.has(key))
  const [only] = words
  if (words.length === 1 && only !== undefined && isJsonObject(only) && !acceptsObject(known, free[0]))
    throw usageError(`All arguments as one JSON object are given with --args '${oneLine(only, 200)}'.`)
  return written.map(({ key = free.shift(), json, text }) => {
    if (key !== undefined) return `${key}${json ? ':=' : '='}${text}`
    const positions =
      required.length === 0
        ? 'The tool has no required arguments that can be given by position.'
        : `By position it takes: ${required.map((name) => oneLine(name)).join(', ')}.`
    throw usageError(`"${oneLine(text, 60)}" is one value too many. ${positions} Write others as key=value.`)
  })
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

/** Whether an argument may be a JSON object, so that a text with one is its value. */
function acceptsObject(properties: JsonObject, key: string | undefined): boolean {
  return key !== undefined && typesOf(properties[key], { type: 'object', properties }).has('object')
}

function parseWord(word: string, known: object): WrittenArgument {
  const equals = word.indexOf('=')
  // Base64 ends in `=`: a word that ends in `=` and names no argument is a value.
  const isValue = /^[^=:]+={1,2}$/.test(word) && !Object.hasOwn(known, word.replace(/=+$/, ''))
  if (equals === -1 || (isValue && word.length % 4 === 0)) return { json: false, text: word }
  const json = word[equals - 1] === ':'
  const key = word.slice(0, json ? equals - 1 : equals)
  if (key === '')
    throw usageError(`"${oneLine(word, 60)}" has no argument name. Write key=value, or key:=json.`)
  return { key, json, text: word.slice(equals + 1) }
}

/** Parses `a: 1, b: "two", c: [3]`; names are optional. Values are JSON, single-quoted text, or bare words. */
function parseInside(inside: string): WrittenArgument[] {
  return splitAtCommas(inside).map((part) => {
    const [, quoted, bare, value] = /^(?:("(?:[^"\\]|\\.)*")|([\w$.-]+))\s*[:=]\s*(.*)$/s.exec(part) ?? []
    // In a bare URL such as https://example.org, the colon does not separate a name.
    const isNamed = value !== undefined && !(bare !== undefined && value.startsWith('//'))
    if (!isNamed) return parseValue(part)
    const key = quoted === undefined ? bare : String(JSON.parse(quoted))
    if (value === '') throw usageError(`${oneLine(part, 60)} has no value. Write it as: name: value.`)
    return { ...(key !== undefined && { key }), ...parseValue(value) }
  })
}

function parseValue(text: string): WrittenArgument {
  const [, single] = /^'((?:[^'\\]|\\.)*)'$/s.exec(text) ?? []
  if (single !== undefined) {
    return { json: true, text: JSON.stringify(single.replaceAll(/\\(['\\])/g, '$1')) }
  }
  return { json: /^["[{]/.test(text), text }
}

/** Splits at commas outside strings and brackets. */
function splitAtCommas(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let quote = ''
  let start = 0
  const syntaxError = usageError(
    `The text in parentheses is invalid: ${oneLine(text, 80)}. Write for example 'add(a: 1, b: "two")'.`,
  )
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? ''
    if (quote !== '') {
      if (character === '\\') index += 1
      else if (character === quote) quote = ''
    } else if (
      character === '"' ||
      (character === "'" && /(?:^|[\s,:=([{])$/.test(text.slice(start, index)))
    ) {
      quote = character
    } else if ('[{('.includes(character)) depth += 1
    else if (')}]'.includes(character)) depth -= 1
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(start, index).trim())
      start = index + 1
    }
    if (depth < 0) throw syntaxError
  }
  if (depth !== 0 || quote !== '') throw syntaxError
  const last = text.slice(start).trim()
  if (last !== '' || parts.length > 0) parts.push(last)
  if (parts.includes('')) throw syntaxError
  return parts
}
