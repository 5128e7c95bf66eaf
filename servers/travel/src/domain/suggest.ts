import { airports, type City, cities, cityOf, fold } from './places.ts'

/** Completions of a place: city names first, then codes of cities and airports whose city is not among them. */
export function completePlaces(typed: string, among: readonly City[] = cities): string[] {
  const start = fold(typed)
  const named = among
    .filter((city) => {
      const name = fold(city.name)
      return name.startsWith(start) || name.includes(` ${start}`)
    })
    .toSorted(
      (a, b) =>
        Number(fold(b.name).startsWith(start)) - Number(fold(a.name).startsWith(start)) ||
        b.tier - a.tier ||
        a.name.localeCompare(b.name, 'en'),
    )
  if (start === '') return named.map((city) => city.name)
  const seen = new Set(named)
  const codes = [
    ...among.map((city) => ({ code: city.code, city })),
    ...airports.map((airport) => ({ code: airport.code, city: cityOf(airport.cityCode) })),
  ].filter(
    ({ code, city }) => code.toLowerCase().startsWith(start) && !seen.has(city) && among.includes(city),
  )
  return [...new Set([...named.map((city) => city.name), ...codes.map(({ code }) => code)])]
}

/** Up to three cities whose name or code resembles an unknown name. */
export function similarCities(text: string): City[] {
  const wanted = fold(text)
  if (wanted === '' || wanted.length > maxNameChars) return []
  const allowed = Math.max(1, Math.floor(wanted.length / 3))
  return foldedNames
    .map(({ city, names }) => ({
      city,
      distance: Math.min(...names.map((name) => editDistance(wanted, name))),
    }))
    .filter(({ distance }) => distance <= allowed)
    .toSorted((a, b) => a.distance - b.distance || b.city.tier - a.city.tier)
    .slice(0, 3)
    .map(({ city }) => city)
}

const maxNameChars = 40
const foldedNames = cities.map((city) => ({
  city,
  names: [city.name, ...city.aliases, city.code, ...city.airports.map(({ code }) => code)].map(fold),
}))

/** The edit distance of two texts: insertions, deletions, substitutions and transpositions of neighbours (optimal string alignment). */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const line = [i]
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1]
      let best = Math.min((last[j] ?? 0) + 1, (line[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1))
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1)
      }
      line.push(best)
    }
    beforeLast = last
    last = line
  }
  return last[to.length] ?? from.length
}
