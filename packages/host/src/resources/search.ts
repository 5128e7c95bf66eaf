import MiniSearch from 'minisearch'
import type { LibraryEntry, LibrarySearchOptions } from '../types/index.ts'
import type { TextMatch } from './texts.ts'

/** The fields of an entry with their weights, the most important first. */
const weights = { name: 8, title: 7, uri: 4, server: 3, mimeType: 2, description: 1 }
const limits = { query: 200, words: 8, results: 200, field: 500, slips: 4, vocabulary: 200_000 }
const wholeWordFactor = 1.5
const misspelledWeight = 0.5
const exactNameBonus = 1_000
/** The maximum weight of a match in a text: less than any word in a name. */
const maxTextWeight = 0.5

interface IndexedEntry {
  entry: LibraryEntry
  /** Its words, field by field, each with a leading space. */
  text: string
  /** Where each field ends in `text`, in the order of `weights`. */
  ends: number[]
  names: string[]
}

const fieldWeights = Object.values(weights)

/** A matching entry, with its matching text. */
export interface SearchHit {
  entry: LibraryEntry
  score: number
  /** Whether its name, URI or description matches, not only its text. */
  isNamed: boolean
  text?: TextMatch
}

/** A search index of entries. Unchanged entries are not indexed again. */
export class LibraryIndex {
  #entries: IndexedEntry[] = []
  /** By content, so that a refetched list costs almost nothing. */
  #known = new Map<string, IndexedEntry>()
  #seen: readonly LibraryEntry[] | undefined
  #vocabulary: MiniSearch<{ id: string }> | undefined

  /** Updates the index to these entries; returns how many were indexed. */
  update(entries: readonly LibraryEntry[]): number {
    if (entries === this.#seen) return 0
    this.#seen = entries
    const known = new Map<string, IndexedEntry>()
    let indexedCount = 0
    this.#entries = entries.map((entry) => {
      const fields = fieldsOf(entry)
      const names = namesOf(entry)
      const key = JSON.stringify([entry.kind, ...names, ...fields])
      const before = this.#known.get(key)
      if (before === undefined) indexedCount += 1
      const indexed = { ...(before ?? textOf(fields)), entry, names }
      known.set(key, indexed)
      return indexed
    })
    this.#known = known
    this.#vocabulary = undefined
    return indexedCount
  }

  /** `texts` finds resource texts by normalized words. */
  search(
    query: string,
    { server, kinds, limit = 20 }: LibrarySearchOptions = {},
    texts: (words: readonly string[]) => readonly TextMatch[] = () => [],
  ): { matches: SearchHit[]; total: number; words: string[] } {
    const trimmedQuery = query.slice(0, limits.query)
    const isIncluded = (entry: Pick<LibraryEntry, 'server' | 'kind'>): boolean =>
      (server === undefined || entry.server === server) && (kinds === undefined || kinds.includes(entry.kind))
    const listedEntries = this.#entries.filter(({ entry }) => isIncluded(entry))
    const words = [...new Set(wordsOf(trimmedQuery))].slice(0, limits.words)
    const textMatches = texts(words).filter((text) => isIncluded({ server: text.server, kind: 'resource' }))
    const { among: candidates, textAt: textsByIndex } = withTexts(listedEntries, textMatches)
    const { scores, named } = this.#scores(words, candidates, textsByIndex)
    const name = trimmedQuery.trim().toLowerCase()
    const hits: SearchHit[] = []
    let entryIndex = -1
    for (const { entry, names } of candidates) {
      entryIndex += 1
      const text = textsByIndex.get(entryIndex)
      const isExact = names.includes(name)
      const score = (scores[entryIndex] ?? 0) + (isExact ? exactNameBonus : 0)
      const isNamed = isExact || (named[entryIndex] ?? 0) > 0
      if (score > 0) hits.push({ entry, score, isNamed, ...(text !== undefined && { text }) })
    }
    const max = Math.min(Math.max(1, Math.trunc(limit)), limits.results)
    hits.sort((one, other) => other.score - one.score)
    return { total: hits.length, matches: hits.slice(0, max), words }
  }

  /** All words must match; if no entry has them all, those with the most match. */
  #scores(
    words: readonly string[],
    candidates: readonly IndexedEntry[],
    textsByIndex: ReadonlyMap<number, TextMatch>,
  ): { scores: Float64Array; named: Float64Array } {
    const scores = new Float64Array(candidates.length)
    const matchedWords = new Uint8Array(candidates.length)
    for (const [position, word] of words.entries()) {
      const texts = [...textsByIndex].filter(([, text]) => text.words.has(position))
      const wordWeights = this.#wordWeights(word, candidates, texts.length > 0)
      for (let entryIndex = 0; entryIndex < candidates.length; entryIndex++) {
        const weight = wordWeights[entryIndex] ?? 0
        if (weight === 0) continue
        scores[entryIndex] = (scores[entryIndex] ?? 0) + weight
        matchedWords[entryIndex] = (matchedWords[entryIndex] ?? 0) + 1
      }
      for (const [entryIndex] of texts)
        if ((wordWeights[entryIndex] ?? 0) === 0)
          matchedWords[entryIndex] = (matchedWords[entryIndex] ?? 0) + 1
    }
    const named = scores.slice()
    for (const [entryIndex, { relevance }] of textsByIndex) {
      const positive = Math.max(relevance, Number.EPSILON)
      scores[entryIndex] = (scores[entryIndex] ?? 0) + maxTextWeight * (positive / (1 + positive))
    }
    const max = matchedWords.reduce((a, b) => Math.max(a, b), 0)
    return {
      scores: scores.map((score, entryIndex) => (matchedWords[entryIndex] === max ? score : 0)),
      named,
    }
  }

  #wordWeights(word: string, candidates: readonly IndexedEntry[], occursInText: boolean): Float64Array {
    const weights = weigh(word, candidates, 1)
    if (occursInText || word.length < 4 || weights.some((weight) => weight > 0)) return weights
    // A word that occurs nowhere is probably misspelled.
    for (const { id } of this.#allWords().search(word, { fuzzy: 0.25 }).slice(0, limits.slips)) {
      const others = weigh(String(id), candidates, misspelledWeight)
      for (let entryIndex = 0; entryIndex < weights.length; entryIndex++)
        weights[entryIndex] = Math.max(weights[entryIndex] ?? 0, others[entryIndex] ?? 0)
    }
    return weights
  }

  #allWords(): MiniSearch<{ id: string }> {
    if (this.#vocabulary !== undefined) return this.#vocabulary
    const all = new Set<string>()
    for (const { text } of this.#entries) {
      for (const word of text.split(' ')) if (word.length > 2 && /\p{L}/u.test(word)) all.add(word)
      if (all.size > limits.vocabulary) break
    }
    const vocabulary = new MiniSearch<{ id: string }>({ fields: ['id'], processTerm: (term) => term })
    vocabulary.addAll([...all].map((id) => ({ id })))
    this.#vocabulary = vocabulary
    return vocabulary
  }
}

/** Entries together with unlisted resources that were read, and those with a matching text. */
function withTexts(
  listedEntries: readonly IndexedEntry[],
  texts: readonly TextMatch[],
): { among: readonly IndexedEntry[]; textAt: ReadonlyMap<number, TextMatch> } {
  if (texts.length === 0) return { among: listedEntries, textAt: new Map() }
  const indexes = new Map<string, number>()
  for (const [entryIndex, { entry }] of listedEntries.entries()) {
    if (entry.kind === 'resource') indexes.set(JSON.stringify([entry.server, entry.resource.uri]), entryIndex)
  }
  const candidates = [...listedEntries]
  const textsByIndex = new Map<number, TextMatch>()
  for (const text of texts) {
    const { server, uri, mimeType } = text
    const index = indexes.get(JSON.stringify([server, uri]))
    textsByIndex.set(index ?? candidates.length, text)
    if (index !== undefined) continue
    const resource = { uri, name: uri, ...(mimeType !== undefined && { mimeType }) }
    candidates.push({
      entry: { kind: 'resource', server, resource },
      text: '',
      ends: [],
      names: [uri.toLowerCase()],
    })
  }
  return { among: candidates, textAt: textsByIndex }
}

/** By entry: the weight of a word prefix in it, by the most important field. */
function weigh(word: string, candidates: readonly IndexedEntry[], share: number): Float64Array {
  const wordPrefix = ` ${word}`
  const weights = new Float64Array(candidates.length)
  let entryIndex = -1
  for (const { text, ends } of candidates) {
    entryIndex += 1
    const position = text.indexOf(wordPrefix)
    if (position === -1) continue
    const weight = fieldWeights[ends.findIndex((end) => position < end)] ?? 1
    weights[entryIndex] = weight * share * (text[position + wordPrefix.length] === ' ' ? wholeWordFactor : 1)
  }
  return weights
}

/** Words without accents and in lower case; names are split at case changes. */
function wordsOf(text: string): string[] {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

/** The full name of an entry. */
function namesOf(entry: LibraryEntry): string[] {
  if (entry.kind === 'resource') return [entry.resource.uri.toLowerCase()]
  if (entry.kind === 'template') return [entry.template.uriTemplate.toLowerCase()]
  return [entry.command.toLowerCase(), `/${entry.command.toLowerCase()}`, entry.name.toLowerCase()]
}

/** Fields in the order of `weights`. */
function fieldsOf(entry: LibraryEntry): string[] {
  const { name, title = '', description = '', uri, mimeType = '' } = partsOf(entry)
  return [name, title, uri, entry.server, mimeType, description].map((text) => text.slice(0, limits.field))
}

function textOf(fields: readonly string[]): Pick<IndexedEntry, 'text' | 'ends'> {
  const texts = fields.map((field) =>
    wordsOf(field)
      .map((word) => ` ${word}`)
      .join(''),
  )
  let end = 0
  const ends = texts.map((text) => {
    end += text.length
    return end
  })
  return { text: `${texts.join('')} `, ends }
}

function partsOf(entry: LibraryEntry): {
  name: string
  title?: string
  description?: string
  uri: string
  mimeType?: string
} {
  if (entry.kind === 'resource') return entry.resource
  if (entry.kind === 'template') return { ...entry.template, uri: entry.template.uriTemplate }
  return { ...entry.prompt, uri: '' }
}
