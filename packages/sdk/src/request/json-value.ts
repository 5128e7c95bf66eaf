import { invalid, type McpError, messageOf } from '../jsonrpc/error.ts'
import { readJson } from '../jsonrpc/exact-json.ts'

/** A type of JSON values: members that JSON would lose or change are `never`. */
export type JsonOf<T> = T extends string | number | boolean | null
  ? T
  : T extends bigint | symbol | undefined | ((...args: never[]) => unknown)
    ? never
    : T extends
          | Date
          | ReadonlyMap<unknown, unknown>
          | ReadonlySet<unknown>
          | ArrayBufferView
          | ArrayBuffer
          | Error
      ? never
      : T extends object
        ? { [K in keyof T]: K extends symbol ? never : JsonOf<T[K]> }
        : T

/** A part of a value that JSON cannot represent. */
interface JsonFault {
  /** Where it is, such as `items[2].at`; empty for the value itself. */
  readonly path: string
  /** What it is, such as `a BigInt`. */
  readonly what: string
}

const maxDepth = 1000

/** The error for a value with a part that JSON cannot represent, which `cause` reports; undefined if it has none. */
export function notSentError(what: string, value: unknown, cause: unknown): McpError | undefined {
  const fault = faultInJson(value, 'writable')
  if (fault === undefined) return undefined
  return invalid(`${what} was not sent: ${describeFault(fault, 'it')}, which JSON cannot represent`, {
    cause,
  })
}

/**
 * What a value must be: `writable`, whatever `JSON.stringify` accepts; `lossless`, also without NaN, infinities, maps and sets, which
 * it would write as null or {}; `plain`, without functions and instances of classes, which
 * it would lose or change; `exact`, also without `undefined`, NaN and infinities.
 */
type Strictness = 'writable' | 'lossless' | 'plain' | 'exact'

function isStrict(strictness: Strictness): boolean {
  return strictness === 'plain' || strictness === 'exact'
}

/** The first part of a value that JSON cannot represent; undefined if there is none. */
export function faultInJson(value: unknown, strictness: Strictness): JsonFault | undefined {
  return faultAt(value, '', strictness, [])
}

/** The fault as the end of a sentence: `"items[2].at" is a BigInt`. */
export function describeFault({ path, what }: JsonFault, root: string): string {
  return `${path === '' ? root : `"${path}"`} is ${what}`
}

function faultAt(
  value: unknown,
  path: string,
  strictness: Strictness,
  above: readonly object[],
): JsonFault | undefined {
  switch (typeof value) {
    case 'bigint':
      return { path, what: 'a BigInt' }
    case 'undefined':
      return strictness === 'exact' ? { path, what: 'undefined' } : undefined
    case 'symbol':
    case 'function':
      return isStrict(strictness) ? { path, what: `a ${typeof value}` } : undefined
    case 'number':
      return (strictness === 'exact' || strictness === 'lossless') && !Number.isFinite(value)
        ? { path, what: String(value) }
        : undefined
    case 'object':
      return value === null ? undefined : faultOfObject(value, path, strictness, above)
    default:
      return undefined
  }
}

function faultOfObject(
  object: object,
  path: string,
  strictness: Strictness,
  above: readonly object[],
): JsonFault | undefined {
  if (above.includes(object)) return { path, what: 'a reference to an object that contains it' }
  if (above.length >= maxDepth) return { path, what: `nested deeper than ${maxDepth} levels` }
  const inside = [...above, object]
  if (Array.isArray(object)) {
    for (let at = 0; at < object.length; at++) {
      const fault = faultAt(object[at], `${path}[${at}]`, strictness, inside)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  const isCollection = object instanceof Map || object instanceof Set
  if (isStrict(strictness) ? !isPlain(object) : strictness === 'lossless' && isCollection) {
    return { path, what: classNameOf(object) }
  }
  if ('toJSON' in object && typeof object.toJSON === 'function') {
    return isStrict(strictness) ? { path, what: 'an object with toJSON' } : faultOfToJson(object, path)
  }
  for (const [name, member] of Object.entries(object)) {
    const fault = faultAt(member, path === '' ? name : `${path}.${name}`, strictness, inside)
    if (fault !== undefined) return fault
  }
  return undefined
}

function faultOfToJson(object: object, path: string): JsonFault | undefined {
  try {
    JSON.stringify(object)
    return undefined
  } catch (error) {
    return { path, what: `an object whose toJSON failed (${messageOf(error)})` }
  }
}

/** Whether an object has no class of its own: its prototype is `Object.prototype`, of this realm or another, or null. */
export function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function classNameOf(object: object): string {
  const { name } = object.constructor
  return name === '' ? 'an instance of a class' : `an instance of ${name}`
}

/** A deep copy of a JSON value. */
export function copyOf<T>(value: T): T {
  return value === undefined ? value : readJson(JSON.stringify(value))
}
