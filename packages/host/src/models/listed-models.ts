import { isRecord } from '../shared/json.ts'

const requestTimeoutMs = 3_000
const maxListedModels = 2_000
const maxSuggestions = 5
const minSimilarity = 0.5

/** The names of the models that a provider lists at a URL; undefined if it lists none. */
export async function listedModels(
  send: typeof fetch,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string[] | undefined> {
  try {
    const response = await send(url, { headers, signal: AbortSignal.timeout(requestTimeoutMs) })
    const json: unknown = response.ok ? await response.json() : undefined
    if (!isRecord(json)) return undefined
    // OpenAI and Anthropic list ids in `data`; Google lists names such as `models/gemini-flash-latest` in `models`.
    const entries = Array.isArray(json.data) ? json.data : Array.isArray(json.models) ? json.models : []
    const names = entries.slice(0, maxListedModels).flatMap((entry: unknown) => {
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
export function nearNames(requested: string, names: readonly string[]): string[] {
  return names
    .map((name) => ({ name, likeness: similarityOf(requested.toLowerCase(), name.toLowerCase()) }))
    .filter((one) => one.likeness >= minSimilarity)
    .toSorted((one, other) => other.likeness - one.likeness)
    .slice(0, maxSuggestions)
    .map(({ name }) => name)
}

/** From 0 to 1: the share of letter pairs that two words have in common. */
function similarityOf(one: string, other: string): number {
  const left = pairs(one)
  const right = pairs(other)
  let common = 0
  for (const [pair, count] of left) common += Math.min(count, right.get(pair) ?? 0)
  const pairCount = one.length + other.length - 2
  return pairCount <= 0 ? Number(one === other) : (2 * common) / pairCount
}

function pairs(word: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (let index = 0; index + 1 < word.length; index += 1) {
    const pair = word.slice(index, index + 2)
    counts.set(pair, (counts.get(pair) ?? 0) + 1)
  }
  return counts
}
