import { invalid, kindOf } from '../jsonrpc/error.ts'

/**
 * Refuses members that an object of options, or a definition, does not have: they would have no effect.
 * @param known the names that it can have
 * @param instead what to write in place of some others, by name
 * @throws McpError 'INVALID' naming the member and the nearest known one
 */
export function requireKnown(
  what: string,
  value: unknown,
  known: readonly string[],
  instead: (name: string) => string | undefined = () => undefined,
): void {
  if (typeof value !== 'object' || value === null) {
    throw invalid(`${what} must be an object, not ${kindOf(value)}`)
  }
  const unknown = Object.entries(value).find(
    ([name, member]) => member !== undefined && !known.includes(name),
  )
  if (unknown === undefined) return
  const [name] = unknown
  const advice = instead(name) ?? nearest(name, known)
  throw invalid(`${what} has an unknown member "${name}": ${advice}`)
}

/** The known name that is most similar to another one; all of them if none is similar. */
function nearest(name: string, known: readonly string[]): string {
  const pairs = pairsIn(name)
  const likeness = (one: string): number =>
    pairsIn(one).filter((pair) => pairs.includes(pair)).length / Math.max(one.length, name.length)
  const [best = ''] = [...known].sort((a, b) => likeness(b) - likeness(a))
  return likeness(best) > 0.3 ? `did you mean "${best}"?` : `use one of ${known.join(', ')}`
}

/** The pairs of adjacent letters of a name. */
function pairsIn(name: string): string[] {
  const letters = [...name.slice(0, 64).toLowerCase()]
  return letters.slice(1).map((letter, at) => `${letters[at]}${letter}`)
}

/** An object whose members that may be undefined are optional instead. */
type Defined<T> = { [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name] } & {
  [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined>
}

/** The members that are defined, for objects whose optional members must be absent rather than undefined. */
export function defined<T extends object>(members: T): Defined<T>
export function defined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
