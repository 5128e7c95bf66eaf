/** The parts of a name usable in identifiers: ASCII letters and digits. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
}

/** `searchFlights` for `search_flights`; `fallback` where a name has no letters. */
export function camelCase(name: string, fallback: string): string {
  const pascal = pascalCase(name, fallback)
  return `${pascal.charAt(0).toLowerCase()}${pascal.slice(1)}`
}

/** `SearchFlights` for `search_flights`; `fallback` where a name has no letters, and before one that begins with a digit. */
export function pascalCase(name: string, fallback: string): string {
  const words = wordsOf(name).map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
  const joined = words.join('').slice(0, 80)
  return /^[A-Za-z]/.test(joined) ? joined : `${fallback}${joined}`
}

/** `search-flights` for `searchFlights`; empty where a name has no letters or digits. */
export function kebabCase(name: string): string {
  return wordsOf(name)
    .map((word) => word.toLowerCase())
    .join('-')
    .slice(0, 80)
}

/** `TRAVEL_SERVER`, the environment variable for a program of that name. */
export function variableName(name: string): string {
  return `${kebabCase(name)
    .replaceAll('-', '_')
    .toUpperCase()
    .replace(/^(?=\d|$)/, 'MCP_')}_SERVER`
}

/**
 * Gives every entry a unique name: the result of `nameOf`, with a number appended if it is in use. Names in `reserved`
 * get an underscore appended.
 */
export function uniqueNames<T>(
  entries: readonly T[],
  nameOf: (entry: T) => string,
  reserved: ReadonlySet<string> = new Set(),
  separator = '',
): Map<T, string> {
  const used = new Set<string>()
  return new Map(
    entries.map((entry) => {
      const wanted = nameOf(entry)
      const base = reserved.has(wanted) ? `${wanted}_` : wanted
      let name = base
      for (let n = 2; used.has(name); n += 1) name = `${base}${separator}${n}`
      used.add(name)
      return [entry, name]
    }),
  )
}
