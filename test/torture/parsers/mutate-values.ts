import type { Random } from '../random.ts'
import { again, names, oddValue, texts } from './odd.ts'

/** The path of a value in another: the names of the members. */
type ValuePath = readonly string[]

/** The parts of the seeds of one parser, so that parts of one can be put into another. */
export interface Parts {
  readonly names: readonly string[]
  readonly values: readonly unknown[]
}

/** A value that is changed, and every place in it. */
export interface Known {
  readonly value: object
  readonly places: readonly [ValuePath, ...ValuePath[]]
}

/** The parts of some values. */
export function partsOf(all: readonly Known[]): Parts {
  const names = new Set<string>()
  const values = new Set<unknown>()
  for (const { value, places } of all) {
    for (const place of places) {
      const name = place.at(-1)
      if (name !== undefined && !/^\d+$/.test(name)) names.add(name)
      values.add(valueAt(value, place))
    }
  }
  return { names: [...names], values: [...values] }
}

/** A value with what is needed to change it. */
export function knownValue(value: object): Known {
  return { value, places: [[], ...placesIn(value, [])] }
}

function placesIn(value: object, before: ValuePath): ValuePath[] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const place = [...before, name]
    return [place, ...(isHolder(inner) ? placesIn(inner, place) : [])]
  })
}

function valueAt(value: unknown, place: ValuePath): unknown {
  let at = value
  for (const name of place) at = isHolder(at) && Object.hasOwn(at, name) ? Reflect.get(at, name) : undefined
  return at
}

/** Another value, with one place changed or a few, each as likely as the others. */
export function changedValue({ value, places }: Known, parts: Parts, random: Random): unknown {
  let changed: unknown = value
  const chance = random.fraction()
  for (let left = chance < 0.55 ? 1 : chance < 0.85 ? 2 : 4; left > 0; left--) {
    changed = changedAt(changed, random.pick(places), parts, random)
  }
  return changed
}

/** A copy with the place changed; what is not on the way to it is the same. */
function changedAt(value: unknown, place: ValuePath, parts: Parts, random: Random): unknown {
  if (place.length === 0 || !isHolder(value)) {
    return random.fraction() < 0.3 ? other(parts, random) : dressed(value, random)
  }
  const whole = copyOf(value)
  let at = whole
  for (const [index, name] of place.entries()) {
    const inner: unknown = Object.hasOwn(at, name) ? Reflect.get(at, name) : undefined
    // An earlier change may have taken the rest of the way.
    if (index === place.length - 1 || !isHolder(inner)) {
      change(at, name, inner, parts, random)
      return whole
    }
    const copy = copyOf(inner)
    define(at, name, copy)
    at = copy
  }
  return whole
}

function change(at: object, name: string, inner: unknown, parts: Parts, random: Random): void {
  switch (random.between(0, 15)) {
    case 0:
      Reflect.deleteProperty(at, name)
      return
    case 1:
    case 2:
      define(at, Array.isArray(at) ? String(at.length) : nameOf(parts, random), other(parts, random))
      return
    case 3:
      if (Array.isArray(at)) at.reverse()
      else {
        Reflect.deleteProperty(at, name)
        define(at, nameOf(parts, random), inner)
      }
      return
    case 4:
      if (Array.isArray(at)) at.push(...Array.from({ length: random.pick([1, 1, 20, 200]) }, () => inner))
      else define(at, `${name}${again}`, random.fraction() < 0.5 ? inner : other(parts, random))
      return
    case 5:
    case 6:
      define(at, name, dressed(inner, random))
      return
    case 7:
    case 8:
      if (typeof inner !== 'string') break
      define(at, name, reworded(inner, random))
      return
  }
  define(at, name, other(parts, random))
}

/** The same in or out of a list, an object or a text. */
function dressed(value: unknown, random: Random): unknown {
  switch (random.between(0, 5)) {
    case 0:
      return [value]
    case 1:
      return Object.fromEntries([[random.pick(names), value]])
    case 2:
      return isHolder(value) ? Object.values(value) : String(value)
    case 3:
      return isHolder(value) ? (Object.values(value)[0] ?? null) : { toString: value }
    case 4:
      return Array.isArray(value) ? { ...value } : [value, value]
    default:
      return JSON.stringify(value) ?? null
  }
}

function reworded(text: string, random: Random): string {
  const where = random.between(0, text.length)
  switch (random.between(0, 3)) {
    case 0:
      return text.slice(0, where)
    case 1:
      return text.slice(0, where) + text.slice(where).repeat(random.pick([2, 2, 3, 50]))
    default:
      return text.slice(0, where) + random.pick(texts) + text.slice(where + random.between(0, 2))
  }
}

function other(parts: Parts, random: Random): unknown {
  if (parts.values.length === 0 || random.fraction() < 0.7) return oddValue(random)
  return parts.values[random.between(0, parts.values.length - 1)]
}

function nameOf(parts: Parts, random: Random): string {
  if (parts.names.length === 0 || random.fraction() < 0.3) return random.pick(names)
  return parts.names[random.between(0, parts.names.length - 1)] ?? ''
}

function isHolder(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function copyOf(value: object): object {
  return Array.isArray(value) ? [...value] : { ...value }
}

/** Sets a member of its own, whatever it is called. */
function define(at: object, name: string, value: unknown): void {
  if (Array.isArray(at) && name === 'length') return
  if (name === '__proto__')
    Object.defineProperty(at, name, { value, writable: true, enumerable: true, configurable: true })
  else Reflect.set(at, name, value)
}
