import MiniSearch from 'minisearch'
import { isRecord } from '../../shared/json.ts'
import type { CatalogTool, ToolMatch, ToolSearchResult, ToolSearchService } from '../../types/index.ts'
import { createMeter } from './meter.ts'
import { parseQuery, searchWords, synonyms } from './words.ts'

interface Entry {
  id: string
  name: string
  title: string
  description: string
  parameters: string
  server: string
}

const limits = { description: 3_000, parameters: 4_000, name: 300, query: 1_000, words: 32, results: 100 }
const weights = {
  synonym: 0.7,
  intent: 0.7,
  prefix: 0.4,
  fuzzy: 0.3,
  server: 0.6,
  adjacent: 0.2,
  exactName: 1_000,
}
const fieldBoosts = { name: 3, title: 2, description: 1, parameters: 0.5, server: 1.2 }

/** A full-text index of tools. `update` indexes only what changed. */
export class ToolIndex {
  readonly #tools = new Map<string, CatalogTool>()
  /** Adjacent words of descriptions, computed on first use. */
  readonly #adjacentPairs = new Map<string, ReadonlySet<string>>()
  readonly #index = new MiniSearch<Entry>({
    fields: ['name', 'title', 'description', 'parameters', 'server'],
    tokenize: searchWords,
    processTerm: (term) => term,
  })

  /** Updates the index to these tools; returns how many were indexed. */
  update(tools: readonly CatalogTool[]): number {
    const present = new Map(tools.map((entry) => [entry.name, entry]))
    for (const name of this.#tools.keys()) if (!present.has(name)) this.#remove(name)
    let indexedCount = 0
    for (const [name, entry] of present) {
      const before = this.#tools.get(name)
      if (before !== undefined && before.tool === entry.tool && before.server === entry.server) continue
      this.#remove(name)
      this.#tools.set(name, entry)
      this.#index.add(toEntry(entry))
      indexedCount += 1
    }
    return indexedCount
  }

  search(
    query: string,
    options: {
      server?: string | undefined
      limit?: number | undefined
      isOn?: ((tool: CatalogTool) => boolean) | undefined
    } = {},
  ): ToolSearchResult {
    const limit = Math.min(Math.max(1, Math.trunc(options.limit ?? 10)), limits.results)
    const text = query.slice(0, limits.query)
    const scores = this.#scores(text)
    for (const name of this.#exactNames(text)) scores.set(name, (scores.get(name) ?? 0) + weights.exactName)
    const matches = [...scores].flatMap(([name, score]): ToolMatch[] => {
      const tool = this.#tools.get(name)
      if (tool === undefined || (options.server !== undefined && tool.server !== options.server)) return []
      if (options.isOn?.(tool) === false) return []
      return [{ tool, score }]
    })
    matches.sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
    return { matches: matches.slice(0, limit), total: matches.length }
  }

  /** Every word counts once, by its best form; tools that match more words rank higher. */
  #scores(query: string): Map<string, number> {
    const { words: all, verbs } = parseQuery(query)
    const queryWords = all.slice(0, limits.words)
    const scores = new Map<string, { score: number; answered: number }>()
    for (const [at, word] of queryWords.entries()) {
      if (queryWords.indexOf(word) < at) continue
      // Names often join words that users write separately.
      const joined = [`${queryWords[at - 1] ?? ''}${word}`, `${word}${queryWords[at + 1] ?? ''}`]
      for (const [name, score] of this.#bestScores(word, joined)) {
        const before = scores.get(name)
        scores.set(name, { score: (before?.score ?? 0) + score, answered: (before?.answered ?? 0) + 1 })
      }
    }
    const verbScores = new Map(
      verbs.flatMap((verb) =>
        this.#index
          .search(verb, { fields: ['name'], tokenize: asSingleTerm })
          .map(({ id, score }) => [String(id), score]),
      ),
    )
    const distinctWords = new Set(queryWords)
    const serverBoosts = this.#serverWeights(distinctWords)
    const pairs = adjacentPairs(queryWords)
    return new Map(
      [...scores].map(([name, { score, answered: matchedWords }]) => {
        const coverage = 0.35 + (0.65 * matchedWords) / Math.max(1, distinctWords.size)
        const serverFactor = 1 + (serverBoosts.get(this.#tools.get(name)?.server ?? '') ?? 0)
        const adjacencyFactor = 1 + weights.adjacent * this.#adjacentCount(name, pairs)
        return [
          name,
          (score + weights.intent * (verbScores.get(name) ?? 0)) * coverage * serverFactor * adjacencyFactor,
        ]
      }),
    )
  }

  /** Servers whose name is among the words, with a weight: less if other servers' tools contain the word as well. */
  #serverWeights(queryWords: ReadonlySet<string>): Map<string, number> {
    const all = new Set([...this.#tools.values()].map(({ server }) => server))
    const scores = new Map<string, number>()
    for (const server of all) {
      for (const word of searchWords(server).filter((part) => queryWords.has(part))) {
        const others = this.#index
          .search(word, { fields: ['name', 'title', 'description'], tokenize: asSingleTerm })
          .filter(({ id }) => this.#tools.get(String(id))?.server !== server)
        const weight = weights.server / (1 + others.length / 5)
        scores.set(server, Math.max(scores.get(server) ?? 0, weight))
      }
    }
    return scores
  }

  /** How many of these adjacent words are also adjacent in a tool's description. */
  #adjacentCount(name: string, pairs: ReadonlySet<string>): number {
    if (pairs.size === 0) return 0
    let own = this.#adjacentPairs.get(name)
    if (own === undefined) {
      const description = this.#tools.get(name)?.tool.description ?? ''
      own = adjacentPairs(searchWords(description.slice(0, limits.description)))
      this.#adjacentPairs.set(name, own)
    }
    return [...pairs].filter((pair) => own.has(pair)).length
  }

  /** The score of each tool for one word, by the word's best form. */
  #bestScores(word: string, joined: readonly string[]): Map<string, number> {
    const best = new Map<string, number>()
    const addMatches = (
      term: string,
      weight: number,
      looseOptions: { prefix?: boolean; fuzzy?: number } = {},
    ): void => {
      const options = { ...looseOptions, boost: fieldBoosts, weights: looseWeights, tokenize: asSingleTerm }
      for (const { id, score } of this.#index.search(term, options)) {
        best.set(String(id), Math.max(best.get(String(id)) ?? 0, score * weight))
      }
    }
    addMatches(word, 1, { prefix: word.length > 3 })
    // A word that occurs nowhere is probably misspelled.
    if (best.size === 0 && word.length > 4) addMatches(word, 1, { fuzzy: 0.25 })
    for (const other of synonyms(word)) addMatches(other, weights.synonym)
    for (const joinedWord of joined) if (joinedWord !== word) addMatches(joinedWord, 1)
    return best
  }

  /** Tools whose exact name is in the query, alone or among other words. */
  #exactNames(query: string): string[] {
    const tokens = new Set(query.toLowerCase().split(/[\s,;"'`()]+/))
    const wholeQuery = query.trim().toLowerCase()
    return [...this.#tools.values()].flatMap(({ name, tool }) => {
      const own = tool.name.toLowerCase()
      const isExact =
        tokens.has(name.toLowerCase()) || own === wholeQuery || (/[^a-z0-9]/.test(own) && tokens.has(own))
      return isExact ? [name] : []
    })
  }

  #remove(name: string): void {
    if (!this.#tools.delete(name)) return
    this.#adjacentPairs.delete(name)
    this.#index.discard(name)
  }
}

const looseWeights = { prefix: weights.prefix, fuzzy: weights.fuzzy }
const adjacentPairs = (list: readonly string[]): Set<string> =>
  new Set(list.slice(1).map((word, at) => `${list[at]} ${word}`))
const asSingleTerm = (term: string): string[] => [term]

function toEntry({ name, server, tool }: CatalogTool): Entry {
  return {
    id: name,
    name: nameText(tool.name.slice(0, limits.name)),
    title: (tool.title ?? tool.annotations?.title ?? '').slice(0, limits.name),
    description: (tool.description ?? '').slice(0, limits.description),
    parameters: parameterText(tool.inputSchema).slice(0, limits.parameters),
    server: server.slice(0, limits.name),
  }
}

/** A name, and its adjacent parts joined. */
function nameText(name: string): string {
  const parts = searchWords(name)
  const pairs = parts.slice(1).map((part, at) => `${parts[at]}${part}`)
  return [name, ...pairs].join(' ')
}

/** Names and descriptions of the parameters. */
function parameterText(schema: unknown): string {
  const properties = isRecord(schema) ? schema['properties'] : undefined
  if (!isRecord(properties)) return ''
  return Object.entries(properties)
    .slice(0, 100)
    .map(([name, property]) => {
      const description = isRecord(property) ? property['description'] : undefined
      return typeof description === 'string' ? `${name} ${description}` : name
    })
    .join('\n')
}

/** Search and token counts over the current tools. */
export function createToolSearch(tools: () => readonly CatalogTool[]): ToolSearchService {
  const index = new ToolIndex()
  const meter = createMeter()
  return {
    meter: ({ contextTokens, isOn = () => true } = {}) => meter(tools().filter(isOn), contextTokens),
    search(query, options) {
      index.update(tools())
      return index.search(query, options)
    },
  }
}
