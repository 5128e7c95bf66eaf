import { isObject } from '../jsonrpc/parse.ts'

/** Hears of a member that was taken out; some write null for what they do not have. */
export type Left = (name: string, value: unknown) => void

/** Whether a value is what it must be. What is wrong in it and can be missed is taken out of it, and `left` is told. */
export type Shape = (value: unknown, left: Left) => boolean

type Members = Readonly<Record<string, Shape>>

export const text: Shape = (value) => typeof value === 'string'
export const flag: Shape = (value) => typeof value === 'boolean'
export const number: Shape = (value) => typeof value === 'number'
/** A whole number that counts something. */
export const whole: Shape = (value) => Number.isInteger(value)
export const object: Shape = (value) => isObject(value)

export const anything: Shape = () => true

/** What is right for two shapes. */
export function both(first: Shape, second: Shape): Shape {
  return (value, left) => first(value, left) && second(value, left)
}

/** One of a few texts. */
export function oneOf(...known: readonly string[]): Shape {
  return (value) => typeof value === 'string' && known.includes(value)
}

/** A number in a range, both ends in it. */
export function between(least: number, most: number): Shape {
  return (value) => typeof value === 'number' && value >= least && value <= most
}

/** A list whose entries are all right. */
export function listOf(entry: Shape): Shape {
  return (value, left) => Array.isArray(value) && value.every((one) => entry(one, left))
}

/** An object that has the first members, and the second ones or not. Members that nobody knows stay as they are. */
export function shape(must: Members, may: Members = {}): Shape {
  const required = Object.entries(must)
  const optional = Object.entries(may)
  return (value, left) => {
    if (!isObject(value)) return false
    for (const [name, check] of required) if (!check(value[name], left)) return false
    for (const [name, check] of optional) {
      const member = value[name]
      if (member === undefined || check(member, left)) continue
      delete value[name]
      left(name, member)
    }
    return true
  }
}
