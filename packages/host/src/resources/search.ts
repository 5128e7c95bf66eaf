import MiniSearch from 'minisearch'
import type { LibraryEntry, LibrarySearchOptions } from '../types/index.ts'
import type { TextMatch } from './texts.ts'

/** The fields of an entry with their weights, the most important first. */
const weights = { name: 8, title: 7, uri: 4, server: 3, mimeType: 2, description: 1 }
const bounds = { query: 200, words: 8, results: 200, field: 500, slips: 4, vocabulary: 200_000 }
const wholeWord = 1.5
const slip = 0.5
const exactly = 1_000
/** The maximum weight of a match in a text: less than any word in a name. */
const inText = 0.5

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
    let read = 0
    this.#entries = entries.map((entry) => {
      const fields = fieldsOf(entry)
      const names = namesOf(entry)
      const key = JSON.stringify([entry.kind, ...names, ...fields])
      const before = this.#known.get(key)
      if (before === undefined) read += 1
      const indexed = { ...(before ?? textOf(fields)), entry, names }
      known.set(key, indexed)
      return indexed
    })
    this.#known = known
    this.#vocabulary = undefined
    return read
  }

  /** `texts` finds resource texts by normalized words. */
  search(
    query: string,
    { server, kinds, limit = 20 }: LibrarySearchOptions = {},
    texts: (words: readonly string[]) => readonly TextMatch[] = () => [],
  ): { matches: SearchHit[]; total: number; words: string[] } {
    const asked = query.slice(0, bounds.query)
    const covers = (entry: Pick<LibraryEntry, 'server' | 'kind'>): boolean =>
      (server === undefined || entry.server === server) && (kinds === undefined || kinds.includes(entry.kind))
    const listed = this.#entries.filter(({ entry }) => covers(entry))
    const words = [...new Set(wordsOf(asked))].slice(0, bounds.words)
    const inTexts = texts(words).filter((text) => covers({ server: text.server, kind: 'resource' }))
    const { among, textAt } = withTexts(listed, inTexts)
    const { scores, named } = this.#scores(words, among, textAt)
    const name = asked.trim().toLowerCase()
    const hits: SearchHit[] = []
    let n = -1
    for (const { entry, names } of among) {
      n += 1
      const text = textAt.get(n)
      const isExact = names.includes(name)
      const score = (scores[n] ?? 0) + (isExact ? exactly : 0)
      const isNamed = isExact || (named[n] ?? 0) > 0
      if (score > 0) hits.push({ entry, score, isNamed, ...(text !== undefined && { text }) })
    }
    const most = Math.min(Math.max(1, Math.trunc(limit)), bounds.results)
    hits.sort((one, other) => other.score - one.score)
    return { total: hits.length, matches: hits.slice(0, most), words }
  }

  /** All words must match; if no entry has them all, those with the most match. */
  #scores(
    words: readonly string[],
    among: readonly IndexedEntry[],
    textAt: ReadonlyMap<number, TextMatch>,
  ): { scores: Float64Array; named: Float64Array } {
    const scores = new Float64Array(among.length)
    const answered = new Uint8Array(among.length)
    for (const [at, word] of words.entries()) {
      const texts = [...textAt].filter(([, text]) => text.words.has(at))
      const weighed = this.#weigh(word, among, texts.length > 0)
      for (let n = 0; n < among.length; n++) {
        const weight = weighed[n] ?? 0
        if (weight === 0) continue
        scores[n] = (scores[n] ?? 0) + weight
        answered[n] = (answered[n] ?? 0) + 1
      }
      for (const [n] of texts) if ((weighed[n] ?? 0) === 0) answered[n] = (answered[n] ?? 0) + 1
    }
    const named = scores.slice()
    for (const [n, { relevance }] of textAt) {
      const positive = Math.max(relevance, Number.EPSILON)
      scores[n] = (scores[n] ?? 0) + inText * (positive / (1 + positive))
    }
    const most = answered.reduce((a, b) => Math.max(a, b), 0)
    return { scores: scores.map((score, n) => (answered[n] === most ? score : 0)), named }
  }

  #weigh(word: string, among: readonly IndexedEntry[], isWritten: boolean): Float64Array {
    const weights = weigh(word, among, 1)
    if (isWritten || word.length < 4 || weights.some((weight) => weight > 0)) return weights
    // A word that occurs nowhere is probably misspelled.
    for (const { id } of this.#words().search(word, { fuzzy: 0.25 }).slice(0, bounds.slips)) {
      const others = weigh(String(id), among, slip)
      for (let n = 0; n < weights.length; n++) weights[n] = Math.max(weights[n] ?? 0, others[n] ?? 0)
    }
    return weights
  }

  #words(): MiniSearch<{ id: string }> {
    if (this.#vocabulary !== undefined) return this.#vocabulary
    const all = new Set<string>()
    for (const { text } of this.#entries) {
      for (const word of text.split(' ')) if (word.length > 2 && /\p{L}/u.test(word)) all.add(word)
      if (all.size > bounds.vocabulary) break
    }
    const vocabulary = new MiniSearch<{ id: string }>({ fields: ['id'], processTerm: (term) => term })
    vocabulary.addAll([...all].map((id) => ({ id })))
    this.#vocabulary = vocabulary
    return vocabulary
  }
}

/** Entries together with unlisted resources that were read, and those with a matching text. */
function withTexts(
  listed: readonly IndexedEntry[],
  texts: readonly TextMatch[],
): { among: readonly IndexedEntry[]; textAt: ReadonlyMap<number, TextMatch> } {
  if (texts.length === 0) return { among: listed, textAt: new Map() }
  const places = new Map<string, number>()
  for (const [n, { entry }] of listed.entries()) {
    if (entry.kind === 'resource') places.set(JSON.stringify([entry.server, entry.resource.uri]), n)
  }
  const among = [...listed]
  const textAt = new Map<number, TextMatch>()
  for (const text of texts) {
    const { server, uri, mimeType } = text
    const place = places.get(JSON.stringify([server, uri]))
    textAt.set(place ?? among.length, text)
    if (place !== undefined) continue
    const resource = { uri, name: uri, ...(mimeType !== undefined && { mimeType }) }
    among.push({
      entry: { kind: 'resource', server, resource },
      text: '',
      ends: [],
      names: [uri.toLowerCase()],
    })
  }
  return { among, textAt }
}

/** By entry: the weight of a word prefix in it, by the most important field. */
function weigh(word: string, among: readonly IndexedEntry[], share: number): Float64Array {
  const begun = ` ${word}`
  const weights = new Float64Array(among.length)
  let n = -1
  for (const { text, ends } of among) {
    n += 1
    const at = text.indexOf(begun)
    if (at === -1) continue
    const weight = fieldWeights[ends.findIndex((end) => at < end)] ?? 1
    weights[n] = weight * share * (text[at + begun.length] === ' ' ? wholeWord : 1)
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
  return [name, title, uri, entry.server, mimeType, description].map((text) => text.slice(0, bounds.field))
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
