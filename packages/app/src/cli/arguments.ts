import { readFileSync } from 'node:fs'
import type { JsonObject, JsonSchema } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { oneLine } from '../output/sanitize.ts'
import { usageError } from './exit.ts'
import { readErrorReason } from './file-errors.ts'

type Type = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null'

/**
 * Parses `key=value` words with a tool's input schema: numbers, booleans and JSON where the schema allows them, otherwise text.
 * `key:=json` is always JSON, `key=@file` the contents of a file, `key=@-` stdin, `key=@@text` a text that starts with `@`. A
 * repeated key makes an array. Throws a usage error that names the argument.
 */
export function parseArguments(words: readonly string[], schema: JsonSchema): JsonObject {
  const valuesByKey = new Map<string, { json: boolean; text: string }[]>()
  for (const word of words) {
    const { key, ...value } = splitAssignment(word)
    valuesByKey.set(key, [...(valuesByKey.get(key) ?? []), value])
  }
  const properties = isObject(schema.properties) ? schema.properties : {}
  return Object.fromEntries(
    [...valuesByKey].map(([key, values]) => {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined
      if (property === undefined && schema.additionalProperties === false)
        throw unknownArgument(key, properties)
      return [key, readValue(key, values, property, schema)]
    }),
  )
}

/** Arguments that are not in the tool's schema; none if the schema can name properties in other ways. */
export function undeclaredArguments(args: JsonObject, schema: JsonSchema): string[] {
  const otherKeywords = ['patternProperties', '$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas']
  const { properties, additionalProperties } = schema
  if (!isObject(properties) || isObject(additionalProperties) || additionalProperties === true) return []
  if (otherKeywords.some((keyword) => keyword in schema)) return []
  return Object.keys(args).filter((key) => !Object.hasOwn(properties, key))
}

/** Parses `key=value` words whose values are all text, such as arguments of prompts. */
export function parseTextArguments(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      const { key, json, text } = splitAssignment(word)
      if (json) throw usageError(`${key}:= is JSON, but prompt arguments are text. Write ${key}=value.`)
      return [key, textOrFile(key, text)]
    }),
  )
}

/** Parses the value of `--args`: a JSON object, `@file`, or `-` for stdin. */
export function parseJsonArguments(text: string): JsonObject {
  const value = parseJson('--args', textOrFile('--args', text === '-' ? '@-' : text))
  if (!isObject(value))
    throw usageError('--args must be a JSON object, for example --args \'{"city":"Oslo"}\'.')
  return value
}

/** The required arguments that are missing. */
export function missingArguments(args: JsonObject, schema: JsonSchema): string[] {
  const required: unknown[] = Array.isArray(schema.required) ? schema.required : []
  return required.filter((name) => typeof name === 'string').filter((name) => !Object.hasOwn(args, name))
}

/** The usage error for missing required arguments. */
export function requireArguments(args: JsonObject, schema: JsonSchema): void {
  const missing = missingArguments(args, schema)
  if (missing.length === 0) return
  const properties = isObject(schema.properties) ? schema.properties : {}
  const lines = missing.map((name) => {
    const property = properties[name]
    const description =
      isObject(property) && typeof property.description === 'string' ? `: ${property.description}` : ''
    return `  ${name}${description}`
  })
  const unknown = Object.keys(args).filter((name) => !Object.hasOwn(properties, name))
  const surplus = unknown.map((name) => `\nThere is no argument "${oneLine(name)}".`)
  throw usageError(
    `Missing ${missing.length === 1 ? 'argument' : 'arguments'}:\n${lines.join('\n')}${surplus.join('')}`,
  )
}

function splitAssignment(word: string): { key: string; json: boolean; text: string } {
  const equals = word.indexOf('=')
  if (equals < 1 || word.startsWith(':=')) {
    throw usageError(`"${word}" is not an argument. Write key=value, or key:=json.`)
  }
  const json = word[equals - 1] === ':'
  return { key: word.slice(0, json ? equals - 1 : equals), json, text: word.slice(equals + 1) }
}

function readValue(
  key: string,
  values: readonly { json: boolean; text: string }[],
  property: unknown,
  root: JsonSchema,
): unknown {
  const read = ({ json, text }: { json: boolean; text: string }, schema: unknown): unknown => {
    const source = textOrFile(key, text)
    return json ? parseJson(key, source) : convertText(key, source, typesOf(schema, root))
  }
  const [only, ...more] = values
  const types = typesOf(property, root)
  const items = isObject(property) ? dereference(property, root).items : undefined
  if (only !== undefined && more.length === 0) {
    const bare =
      !only.json && types.has('array') && !types.has('string') && !/^\s*[[{]/.test(textOrFile(key, only.text))
    return bare ? [read(only, items)] : read(only, property)
  }
  if (types.size > 0 && !types.has('array'))
    throw usageError(`${key} is given ${values.length} times, but takes one value.`)
  return values.map((value) => read(value, items))
}

/** Converts a text to the first of the allowed types that it fits, text last. */
function convertText(key: string, text: string, types: ReadonlySet<Type>): unknown {
  if (types.size === 0) return text
  if (types.has('null') && text === 'null') return null
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if (types.has('number') || types.has('integer')) {
    const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN
    if (Number.isFinite(number) && (types.has('number') || Number.isInteger(number))) return number
  }
  if (types.has('array') || types.has('object')) {
    const value = types.has('string') ? tryJson(text) : parseJson(key, text)
    if (types.has('array') && Array.isArray(value)) return value
    if (types.has('object') && isObject(value)) return value
  }
  if (types.has('string')) return text
  throw usageError(`${key} must be ${[...types].map(typeName).join(' or ')}, not "${text}".`)
}

const typeNames: Readonly<Record<Type, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'a JSON object',
  array: 'a JSON array',
  null: 'null',
}

function typeName(type: Type): string {
  return typeNames[type]
}

/** The types that a schema allows, through references and branches; none if it does not restrict them. */
export function typesOf(schema: unknown, root: JsonSchema, depth = 0): Set<Type> {
  if (!isObject(schema) || depth > 8) return new Set()
  const resolved = dereference(schema, root)
  const declaredTypes = (Array.isArray(resolved.type) ? resolved.type : [resolved.type]).filter(isType)
  if (declaredTypes.length > 0) return new Set(declaredTypes)
  const constants = Array.isArray(resolved.enum) ? resolved.enum : 'const' in resolved ? [resolved.const] : []
  if (constants.length > 0) return new Set(constants.map(typeOfValue))
  const branches = [resolved.anyOf, resolved.oneOf, resolved.allOf].find((list) => Array.isArray(list))
  return new Set(
    Array.isArray(branches) ? branches.flatMap((branch) => [...typesOf(branch, root, depth + 1)]) : [],
  )
}

/** Resolves a reference within the document. */
export function dereference(schema: JsonObject, root: JsonSchema): JsonObject {
  let current = schema
  for (
    let hops = 0;
    hops < 8 && typeof current.$ref === 'string' && current.$ref.startsWith('#/');
    hops += 1
  ) {
    let target: unknown = root
    for (const part of current.$ref.slice(2).split('/')) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      target = isObject(target) && Object.hasOwn(target, name) ? target[name] : undefined
    }
    if (!isObject(target)) return current
    current = target
  }
  return current
}

function isType(value: unknown): value is Type {
  return typeof value === 'string' && Object.hasOwn(typeNames, value)
}

function typeOfValue(value: unknown): Type {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object'
}

function textOrFile(key: string, text: string): string {
  if (text.startsWith('@@')) return text.slice(1)
  if (!text.startsWith('@')) return text
  const file = text.slice(1)
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw usageError(
      `${key}: the file "${file}" cannot be read (${readErrorReason(error)}). To pass text that begins with @, write @@.`,
    )
  }
}

function parseJson(key: string, text: string): unknown {
  try {
    return readJson(text)
  } catch (error) {
    throw usageError(`${key} is not valid JSON: ${error instanceof Error ? error.message : error}`)
  }
}

function tryJson(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}

function unknownArgument(key: string, properties: JsonObject): Error {
  const known = Object.keys(properties)
  return usageError(
    known.length === 0
      ? `The tool takes no arguments, so "${key}" cannot be given.`
      : `The tool has no argument "${key}". It takes: ${known.join(', ')}.`,
  )
}

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
