import MiniSearch from 'minisearch'
import { isRecord } from '../../shared/json.ts'
import type { CatalogTool, ToolMatch, ToolSearchResult, ToolSearchService } from '../../types/index.ts'
import { createMeter } from './meter.ts'
import { parseQuery, synonyms, words } from './words.ts'

interface Entry {
  id: string
  name: string
  title: string
  description: string
  parameters: string
  server: string
}

const bounds = { description: 3_000, parameters: 4_000, name: 300, query: 1_000, words: 32, results: 100 }
const weights = {
  synonym: 0.7,
  intent: 0.7,
  prefix: 0.4,
  fuzzy: 0.3,
  server: 0.6,
  adjacent: 0.2,
  exactName: 1_000,
}
const boost = { name: 3, title: 2, description: 1, parameters: 0.5, server: 1.2 }

/** A search index of tools. Only changes since the last update are indexed. */
export class ToolIndex {
  readonly #tools = new Map<string, CatalogTool>()
  /** Adjacent words of descriptions, computed on first use. */
  readonly #pairs = new Map<string, ReadonlySet<string>>()
  readonly #index = new MiniSearch<Entry>({
    fields: ['name', 'title', 'description', 'parameters', 'server'],
    tokenize: words,
    processTerm: (term) => term,
  })

  /** Updates the index to these tools; returns how many were indexed. */
  update(tools: readonly CatalogTool[]): number {
    const present = new Map(tools.map((entry) => [entry.name, entry]))
    for (const name of this.#tools.keys()) if (!present.has(name)) this.#drop(name)
    let read = 0
    for (const [name, entry] of present) {
      const before = this.#tools.get(name)
      if (before !== undefined && before.tool === entry.tool && before.server === entry.server) continue
      this.#drop(name)
      this.#tools.set(name, entry)
      this.#index.add(toEntry(entry))
      read += 1
    }
    return read
  }

  search(
    query: string,
    options: {
      server?: string | undefined
      limit?: number | undefined
      isOn?: ((tool: CatalogTool) => boolean) | undefined
    } = {},
  ): ToolSearchResult {
    const limit = Math.min(Math.max(1, Math.trunc(options.limit ?? 10)), bounds.results)
    const asked = query.slice(0, bounds.query)
    const scores = this.#scores(asked)
    for (const name of this.#named(asked)) scores.set(name, (scores.get(name) ?? 0) + weights.exactName)
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
    const asked = all.slice(0, bounds.words)
    const scores = new Map<string, { score: number; answered: number }>()
    for (const [at, word] of asked.entries()) {
      if (asked.indexOf(word) < at) continue
      // Names often join words that users write separately.
      const joined = [`${asked[at - 1] ?? ''}${word}`, `${word}${asked[at + 1] ?? ''}`]
      for (const [name, score] of this.#best(word, joined)) {
        const before = scores.get(name)
        scores.set(name, { score: (before?.score ?? 0) + score, answered: (before?.answered ?? 0) + 1 })
      }
    }
    const wanted = new Map(
      verbs.flatMap((verb) =>
        this.#index
          .search(verb, { fields: ['name'], tokenize: whole })
          .map(({ id, score }) => [String(id), score]),
      ),
    )
    const different = new Set(asked)
    const servers = this.#servers(different)
    const pairs = pairsOf(asked)
    return new Map(
      [...scores].map(([name, { score, answered }]) => {
        const covered = 0.35 + (0.65 * answered) / Math.max(1, different.size)
        const place = 1 + (servers.get(this.#tools.get(name)?.server ?? '') ?? 0)
        const together = 1 + weights.adjacent * this.#together(name, pairs)
        return [name, (score + weights.intent * (wanted.get(name) ?? 0)) * covered * place * together]
      }),
    )
  }

  /** Servers whose name is among the words, with a weight: less if other servers' tools contain the word as well. */
  #servers(asked: ReadonlySet<string>): Map<string, number> {
    const all = new Set([...this.#tools.values()].map(({ server }) => server))
    const scores = new Map<string, number>()
    for (const server of all) {
      for (const word of words(server).filter((one) => asked.has(one))) {
        const others = this.#index
          .search(word, { fields: ['name', 'title', 'description'], tokenize: whole })
          .filter(({ id }) => this.#tools.get(String(id))?.server !== server)
        const says = weights.server / (1 + others.length / 5)
        scores.set(server, Math.max(scores.get(server) ?? 0, says))
      }
    }
    return scores
  }

  /** How many of these adjacent words are also adjacent in a tool's description. */
  #together(name: string, pairs: ReadonlySet<string>): number {
    if (pairs.size === 0) return 0
    let own = this.#pairs.get(name)
    if (own === undefined) {
      const description = this.#tools.get(name)?.tool.description ?? ''
      own = pairsOf(words(description.slice(0, bounds.description)))
      this.#pairs.set(name, own)
    }
    return [...pairs].filter((pair) => own.has(pair)).length
  }

  /** The score of each tool for one word, by the word's best form. */
  #best(word: string, joined: readonly string[]): Map<string, number> {
    const best = new Map<string, number>()
    const addMatches = (
      term: string,
      weight: number,
      loose: { prefix?: boolean; fuzzy?: number } = {},
    ): void => {
      const options = { ...loose, boost, weights: loosely, tokenize: whole }
      for (const { id, score } of this.#index.search(term, options)) {
        best.set(String(id), Math.max(best.get(String(id)) ?? 0, score * weight))
      }
    }
    addMatches(word, 1, { prefix: word.length > 3 })
    // A word that occurs nowhere is probably misspelled.
    if (best.size === 0 && word.length > 4) addMatches(word, 1, { fuzzy: 0.25 })
    for (const other of synonyms(word)) addMatches(other, weights.synonym)
    for (const one of joined) if (one !== word) addMatches(one, 1)
    return best
  }

  /** Tools whose exact name is in the query, alone or among other words. */
  #named(query: string): string[] {
    const pasted = new Set(query.toLowerCase().split(/[\s,;"'`()]+/))
    const whole = query.trim().toLowerCase()
    return [...this.#tools.values()].flatMap(({ name, tool }) => {
      const own = tool.name.toLowerCase()
      const is = pasted.has(name.toLowerCase()) || own === whole || (/[^a-z0-9]/.test(own) && pasted.has(own))
      return is ? [name] : []
    })
  }

  #drop(name: string): void {
    if (!this.#tools.delete(name)) return
    this.#pairs.delete(name)
    this.#index.discard(name)
  }
}

const loosely = { prefix: weights.prefix, fuzzy: weights.fuzzy }
const pairsOf = (list: readonly string[]): Set<string> =>
  new Set(list.slice(1).map((word, at) => `${list[at]} ${word}`))
const whole = (term: string): string[] => [term]

function toEntry({ name, server, tool }: CatalogTool): Entry {
  return {
    id: name,
    name: nameText(tool.name.slice(0, bounds.name)),
    title: (tool.title ?? tool.annotations?.title ?? '').slice(0, bounds.name),
    description: (tool.description ?? '').slice(0, bounds.description),
    parameters: parameterText(tool.inputSchema).slice(0, bounds.parameters),
    server: server.slice(0, bounds.name),
  }
}

/** A name, and its adjacent parts joined. */
function nameText(name: string): string {
  const parts = words(name)
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
