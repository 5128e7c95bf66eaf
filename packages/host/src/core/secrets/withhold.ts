import type { FoundSecret, Redactor } from '../../config/secrets/redactor.ts'
import type { Hole } from '../../log/store/parked-table.ts'
import { isRecord } from '../../shared/json.ts'

/** A JSON value without its secrets, and how to have them back. */
export interface Withheld<T> {
  value: T
  holes: readonly Hole[]
  /** What cannot be had by a name, in the order of the holes that have no parts. Not to be kept as it is. */
  bare: readonly unknown[]
}

/** Takes known secrets out of a JSON value; undefined where it holds none. */
export function withhold<T>(value: T, redactor: Redactor): Withheld<T> | undefined {
  const shown = redactor.value(value)
  if (shown === value) return undefined
  const holes: Hole[] = []
  const bare: unknown[] = []
  const look = (item: unknown, at: readonly (string | number)[]): void => {
    if (redactor.value(item) === item) return
    if (Array.isArray(item)) {
      for (const [index, inner] of item.entries()) look(inner, [...at, index])
      return
    }
    // A member whose name holds a secret is not found again by that name.
    if (isRecord(item) && Object.keys(item).every((name) => redactor.text(name) === name)) {
      for (const [name, inner] of Object.entries(item)) {
        if (redactor.value({ [name]: inner })[name] === inner) continue
        if (redactor.value(inner) === inner) take(inner, [...at, name])
        else look(inner, [...at, name])
      }
      return
    }
    take(item, at)
  }
  const take = (item: unknown, at: readonly (string | number)[]): void => {
    const parts = typeof item === 'string' ? byName(redactor.pieces(item)) : undefined
    if (parts !== undefined) holes.push({ at, parts })
    else {
      holes.push({ at })
      bare.push(item)
    }
  }
  look(value, [])
  return { value: shown, holes, bare }
}

/** The value with everything back in its place. `secret` gives what is kept under a name. */
export async function fill<T>(
  { value, holes, bare }: Withheld<T>,
  secret: (name: string) => Promise<string>,
): Promise<T> {
  const whole: T = structuredClone(value)
  const rest = [...bare]
  for (const { at, parts } of holes) {
    const item =
      parts === undefined
        ? rest.shift()
        : (
            await Promise.all(parts.map((part) => (typeof part === 'string' ? part : secret(part.secret))))
          ).join('')
    put(whole, at, item)
  }
  return whole
}

function put(into: unknown, at: readonly (string | number)[], item: unknown): void {
  const [last] = at.slice(-1)
  const holder = at.slice(0, -1).reduce<unknown>((inner, name) => memberOf(inner, name), into)
  if (last === undefined || typeof holder !== 'object' || holder === null) return
  Object.defineProperty(holder, last, { value: item, enumerable: true, configurable: true, writable: true })
}

function memberOf(holder: unknown, name: string | number): unknown {
  if (Array.isArray(holder)) return holder[Number(name)]
  return isRecord(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined
}

function byName(pieces: readonly (string | FoundSecret)[]): Hole['parts'] {
  const parts: (string | { secret: string })[] = []
  for (const piece of pieces) {
    if (typeof piece === 'string') parts.push(piece)
    else if (piece.plain && piece.kept !== undefined) parts.push({ secret: piece.kept })
    else return undefined
  }
  return parts.some((part) => typeof part !== 'string') ? parts : undefined
}
