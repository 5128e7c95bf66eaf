import { isObject } from '../jsonrpc/parse.ts'
import type { Patterns } from './pattern.ts'
import { type Check, has, type Run } from './validation-run.ts'

/** Whether two JSON values are equal, regardless of member order. */
function equal(a: unknown, b: unknown, spend: (steps: number) => void): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  spend(2)
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i], spend))
  }
  if (Array.isArray(b)) return false
  const names = Object.keys(a)
  spend(2 * names.length)
  if (names.length !== Object.keys(b).length) return false
  const [left, right]: [Record<string, unknown>, Record<string, unknown>] = [{ ...a }, { ...b }]
  return names.every((name) => Object.hasOwn(right, name) && equal(left[name], right[name], spend))
}

/** A canonical text: the same for equal JSON values. */
function canonicalKey(value: unknown, spend: (steps: number) => void): string {
  spend(2)
  if (Array.isArray(value)) {
    spend(2)
    return `[${value.map((item) => canonicalKey(item, spend)).join(',')}]`
  }
  if (typeof value === 'string') {
    spend(value.length >> 6)
    return JSON.stringify(value)
  }
  if (typeof value !== 'object' || value === null) return value === 0 ? '0' : String(value)
  spend(8)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalKey(member, spend)}`).join(',')}}`
}

export interface Keyword {
  readonly value: unknown
  readonly patterns: Patterns
  /** Throws for an invalid keyword value. */
  reject(what: string): never
}

const types: Record<string, (value: unknown) => boolean> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === 'string',
  array: (value) => Array.isArray(value),
  object: isObject,
}

/** Keywords without subschemas, cheapest first. */
export const assertions: Readonly<Record<string, (keyword: Keyword) => Check>> = {
  type: (keyword) => {
    const names: unknown[] = Array.isArray(keyword.value) ? [...new Set(keyword.value)] : [keyword.value]
    const tests = names.map((name) =>
      typeof name === 'string' && Object.hasOwn(types, name) ? types[name] : undefined,
    )
    if (names.length === 0 || tests.includes(undefined)) {
      return keyword.reject(`must be one or several of ${Object.keys(types).join(', ')}`)
    }
    const message = `must be ${names.join(' or ')}`
    const [only] = tests
    if (tests.length === 1 && only !== undefined) return (value, run) => only(value) || run.fail(message)
    return (value, run) => tests.some((test) => test?.(value)) || run.fail(message)
  },
  const: ({ value }) => oneOfValues([value], `must be ${formatValue(value)}`),
  enum: (keyword) => {
    if (!Array.isArray(keyword.value)) return keyword.reject('must be an array')
    const values: unknown[] = keyword.value
    const message =
      values.length === 1 ? `must be ${formatValue(values[0])}` : `must be one of ${formatList(values)}`
    return oneOfValues(values, message)
  },
  minimum: numeric((value, bound) => value >= bound, 'at least'),
  maximum: numeric((value, bound) => value <= bound, 'at most'),
  exclusiveMinimum: numeric((value, bound) => value > bound, 'more than'),
  exclusiveMaximum: numeric((value, bound) => value < bound, 'less than'),
  multipleOf: (keyword) => {
    const factor = keyword.value
    if (typeof factor !== 'number' || !(factor > 0)) return keyword.reject('must be a number above 0')
    return (value, run) =>
      typeof value !== 'number' ||
      isMultiple(value, factor, run.spend) ||
      run.fail(`must be a multiple of ${factor}`)
  },
  minLength: (keyword) => atLeast(keyword, charactersIn, 'character'),
  maxLength: (keyword) => atMost(keyword, charactersIn, 'character'),
  pattern: (keyword) => {
    const { value: source } = keyword
    if (typeof source !== 'string') return keyword.reject('must be a string')
    const pattern = patternOf(keyword, source)
    return (value, run) => {
      if (typeof value !== 'string') return true
      const result = pattern.test(value, run.spend)
      if (result === true) return true
      return run.fail(
        result === false
          ? `must match the pattern ${source}`
          : `cannot be checked against the pattern ${source}: ${result}`,
      )
    }
  },
  minItems: (keyword) => atLeast(keyword, itemsIn, 'item'),
  maxItems: (keyword) => atMost(keyword, itemsIn, 'item'),
  uniqueItems: (keyword) => {
    if (typeof keyword.value !== 'boolean') return keyword.reject('must be a boolean')
    if (!keyword.value) return () => true
    return (value, run) => {
      if (!Array.isArray(value) || value.length < 2) return true
      const keys = new Set(value.map((item) => canonicalKey(item, run.spend)))
      return keys.size === value.length || run.fail('must not have equal items')
    }
  },
  minProperties: (keyword) => atLeast(keyword, propertiesIn, 'property', 'properties'),
  maxProperties: (keyword) => atMost(keyword, propertiesIn, 'property', 'properties'),
  required: (keyword) => {
    const names = strings(keyword, keyword.value)
    return (value, run) => {
      if (!isObject(value)) return true
      run.spend(names.length >> 1)
      return run.every(
        names,
        (name) => has(value, name) || run.fail(`must have the property ${formatValue(name)}`),
      )
    }
  },
  dependentRequired: (keyword) => {
    if (!isObject(keyword.value)) return keyword.reject('must be an object')
    const all = Object.entries(keyword.value).map(([name, needs]) =>
      dependentOn(name, strings(keyword, needs)),
    )
    return (value, run) => {
      run.spend(all.length >> 1)
      return all.reduce((ok, check) => check(value, run) && ok, true)
    }
  },
}

/** Requires members if another is present. */
export function dependentOn(name: string, needs: string[]): Check {
  return (value, run) => {
    if (!isObject(value) || !has(value, name)) return true
    run.spend(needs.length >> 1)
    const missing = needs.find((need) => !has(value, need))
    return (
      missing === undefined ||
      run.fail(`must have the property ${formatValue(missing)} when it has ${formatValue(name)}`)
    )
  }
}

export function patternOf(keyword: Keyword, source: string): ReturnType<Patterns> {
  try {
    return keyword.patterns(source)
  } catch {
    return keyword.reject('must be a regular expression')
  }
}

export function strings(keyword: Keyword, value: unknown): string[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    return keyword.reject('must have only arrays of strings')
  }
  return value
}

export function count(keyword: Keyword): number {
  const { value } = keyword
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
    return keyword.reject('must be a non-negative integer')
  }
  return value
}

export function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

/** A number with its noun. */
export function plural(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}

function formatList(values: readonly unknown[]): string {
  const some = values.slice(0, 20).map(formatValue).join(', ')
  return values.length > 20 ? `${some} or ${values.length - 20} others` : some
}

function oneOfValues(values: readonly unknown[], message: string): Check {
  const simple = new Set(values.filter((value) => typeof value !== 'object' || value === null))
  const structured = values.filter((value) => typeof value === 'object' && value !== null)
  return (value, run) => {
    if (simple.has(value)) return true
    if (typeof value !== 'object' || value === null) return run.fail(message)
    return structured.some((other) => equal(value, other, run.spend)) || run.fail(message)
  }
}

function numeric(test: (value: number, bound: number) => boolean, words: string) {
  return (keyword: Keyword): Check => {
    const bound = keyword.value
    if (typeof bound !== 'number') return keyword.reject('must be a number')
    return (value, run) =>
      typeof value !== 'number' || test(value, bound) || run.fail(`must be ${words} ${bound}`)
  }
}

/** The size of a value, exact up to `enough`; undefined if the keyword does not apply to it. */
type Size = (value: unknown, run: Run, enough: number) => number | undefined

const itemsIn: Size = (value) => (Array.isArray(value) ? value.length : undefined)

const propertiesIn: Size = (value, run) => (isObject(value) ? run.namesOf(value).length : undefined)

/** The number of code points, which is between half the number of code units and that number. */
const charactersIn: Size = (value, { spend }, enough) => {
  if (typeof value !== 'string') return undefined
  if (value.length < enough || value.length >= enough * 2) return value.length
  spend(value.length >> 3)
  let characters = 0
  for (const _ of value) {
    if (++characters >= enough) break
  }
  return characters
}

function atLeast(keyword: Keyword, size: Size, ...noun: [one: string, many?: string]): Check {
  const min = count(keyword)
  const message = `must have at least ${plural(min, ...noun)}`
  return (value, run) => (size(value, run, min) ?? min) >= min || run.fail(message)
}

function atMost(keyword: Keyword, size: Size, ...noun: [one: string, many?: string]): Check {
  const max = count(keyword)
  const message = `must have at most ${plural(max, ...noun)}`
  return (value, run) => (size(value, run, max + 1) ?? 0) <= max || run.fail(message)
}

function isMultiple(value: number, factor: number, spend: (steps: number) => void): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(factor)) return value % factor === 0
  // A number beyond a double's range is parsed as infinite; only 0 is a multiple of such a factor.
  if (!Number.isFinite(value) || !Number.isFinite(factor)) return value === 0
  const [digits, exponent] = decimal(value)
  const [factorDigits, factorExponent] = decimal(factor)
  const shift = exponent - factorExponent
  spend(32 + (Math.abs(shift) >> 3))
  return shift >= 0
    ? (digits * 10n ** BigInt(shift)) % factorDigits === 0n
    : digits % (factorDigits * 10n ** BigInt(-shift)) === 0n
}

/** The shortest decimal of a number: digits and exponent. */
function decimal(value: number): [bigint, number] {
  const [digits = '0', exponent = '0'] = value.toExponential().split('e')
  const [whole = '0', fraction = ''] = digits.split('.')
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}
