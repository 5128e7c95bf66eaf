import { isRecord } from '../shared/json.ts'

const requestTimeoutMs = 3_000
const most = 2_000
const shown = 5
const nearEnough = 0.5

/** The names of the models that a provider lists at a URL; undefined if it lists none. */
export async function listedModels(
  get: typeof fetch,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string[] | undefined> {
  try {
    const answer = await get(url, { headers, signal: AbortSignal.timeout(requestTimeoutMs) })
    const json: unknown = answer.ok ? await answer.json() : undefined
    if (!isRecord(json)) return undefined
    // OpenAI and Anthropic list ids in `data`; Google lists names such as `models/gemini-flash-latest` in `models`.
    const entries = Array.isArray(json.data) ? json.data : Array.isArray(json.models) ? json.models : []
    const names = entries.slice(0, most).flatMap((entry: unknown) => {
      if (!isRecord(entry)) return []
      const name = typeof entry.id === 'string' ? entry.id : entry.name
      return typeof name === 'string' ? [name.replace(/^models\//, '')] : []
    })
    return names.length === 0 ? undefined : names
  } catch {
    return undefined
  }
}

/** Similar names, most similar first. */
export function nearNames(wanted: string, names: readonly string[]): string[] {
  return names
    .map((name) => ({ name, likeness: similarity(wanted.toLowerCase(), name.toLowerCase()) }))
    .filter((one) => one.likeness >= nearEnough)
    .toSorted((one, other) => other.likeness - one.likeness)
    .slice(0, shown)
    .map(({ name }) => name)
}

/** From 0 to 1: the share of letter pairs that two words have in common. */
function similarity(one: string, other: string): number {
  const left = pairs(one)
  const right = pairs(other)
  let common = 0
  for (const [pair, count] of left) common += Math.min(count, right.get(pair) ?? 0)
  const all = one.length + other.length - 2
  return all <= 0 ? Number(one === other) : (2 * common) / all
}

function pairs(word: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (let at = 0; at + 1 < word.length; at += 1) {
    const pair = word.slice(at, at + 2)
    counts.set(pair, (counts.get(pair) ?? 0) + 1)
  }
  return counts
}
