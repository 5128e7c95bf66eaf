import { McpError } from '../jsonrpc/error.ts'
import { kindOf } from '../jsonrpc/shown.ts'

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
    throw new McpError('INVALID', `${what} must be an object, not ${kindOf(value)}`)
  }
  const unknown = Object.entries(value).find(
    ([name, member]) => member !== undefined && !known.includes(name),
  )
  if (unknown === undefined) return
  const [name] = unknown
  const advice = instead(name) ?? nearest(name, known)
  throw new McpError('INVALID', `${what} has an unknown member "${name}": ${advice}`)
}

/** The known name with the fewest edits, if they are at most a third of its letters; otherwise all of them. */
function nearest(name: string, known: readonly string[]): string {
  const written = name.toLowerCase()
  const [best] = known
    .map((one) => ({
      one,
      edits: one.length > 3 && written.startsWith(one.toLowerCase()) ? 1 : edits(written, one.toLowerCase()),
    }))
    .filter(({ one, edits }) => edits <= Math.ceil(Math.max(one.length, 3) / 3))
    .sort((a, b) => a.edits - b.edits)
  return best === undefined ? `use one of ${known.join(', ')}` : `did you mean "${best.one}"?`
}

/** Levenshtein distance. Only the first characters of a long name count. */
function edits(from: string, to: string): number {
  const name = from.slice(0, 64)
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 0; i < name.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (name[i] === to[j] ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
