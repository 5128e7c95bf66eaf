import { integer, type Statements, text } from './database.ts'
import type { Entity } from './types.ts'

/**
 * The full-text index: the words of every entity, in lower case, without diacritics, and separated in every script. FTS5 is not
 * compiled into the SQLite of every supported Node (22.13 does not have it), and processes with different builds may use one
 * file.
 */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })
const maxTermChars = 64
/** Maximum terms of one entity in the index. */
const maxTerms = 5_000
/** Maximum terms of a query. The others are ignored. */
const maxQueryTerms = 16
/** Maximum characters that a search without matching words reads. */
const maxScannedChars = 20_000_000

/** The weight of a word, by where it occurs. */
const weights = { name: 10, type: 4, observation: 1 }

/** Finds the entities of a graph by their words. */
export class SearchIndex {
  readonly #statements: Statements

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** Replaces the words of an entity. */
  update(graph: number, id: number, entity: Entity): void {
    this.#statements.prepare('DELETE FROM terms WHERE entity = ?').run(id)
    const insert = this.#statements.prepare(
      'INSERT INTO terms (graph, term, entity, weight) VALUES (?, ?, ?, ?)',
    )
    for (const [term, weight] of weightedTerms(entity)) insert.run(graph, term, id, weight)
  }

  /**
   * Ids of entities with words of a query, or words that begin with them, the best first.
   * @param total the number of entities in the graph
   */
  rank(graph: number | undefined, query: string, total: number): number[] {
    const scores = new Map<number, number>()
    const matching = this.#statements.prepare(
      `SELECT entity, max(weight * CASE term WHEN ? THEN 1 ELSE 0.5 END) AS weight FROM terms
       WHERE graph = ? AND term >= ? AND term < ? GROUP BY entity`,
    )
    for (const term of termsIn(query).slice(0, maxQueryTerms)) {
      // One or two letters would match the beginning of too many words.
      const end = term.length < 3 ? `${term}\0` : `${term}\u{10ffff}`
      const rows = matching.all(term, graph ?? 0, term, end)
      const rarity = Math.log(1 + total / Math.max(1, rows.length))
      for (const row of rows) {
        const id = integer(row, 'entity')
        scores.set(id, (scores.get(id) ?? 0) + rarity * Number(row['weight']))
      }
    }
    return [...scores].toSorted(([a, x], [b, y]) => y - x || a - b).map(([id]) => id)
  }

  /** Ids of entities whose text contains the query, among the most recently changed ones. */
  containing(graph: number | undefined, query: string): number[] {
    const wanted = fold(query)
    const rows = this.#statements
      .prepare(
        `SELECT e.id, e.name || ' ' || e.type || ' ' ||
           coalesce((SELECT group_concat(o.text, ' ') FROM observations o WHERE o.entity = e.id), '') AS text
         FROM entities e WHERE e.graph = ? ORDER BY e.changed_at DESC, e.id DESC`,
      )
      .iterate(graph ?? 0)
    const found: number[] = []
    let scanned = 0
    for (const row of rows) {
      const whole = text(row, 'text')
      if (fold(whole).includes(wanted)) found.push(integer(row, 'id'))
      scanned += whole.length
      if (scanned > maxScannedChars) break
    }
    return found
  }
}

/** The distinct words of a text in their order. */
function termsIn(text: string): string[] {
  const found = new Set<string>()
  for (const { segment, isWordLike } of segmenter.segment(fold(text))) {
    if (isWordLike !== true) continue
    // A segment can join several words, such as `snake_case` and `example.org`.
    for (const word of segment.split(/[^\p{L}\p{N}]+/u)) {
      if (word !== '') found.add(word.slice(0, maxTermChars))
    }
  }
  return [...found]
}

/** The words of an entity with their weights. */
function weightedTerms({ name, entityType, observations }: Entity): Map<string, number> {
  const found = new Map<string, number>()
  const add = (text: string, weight: number): void => {
    for (const term of termsIn(text)) {
      const before = found.get(term)
      if (before === undefined && found.size >= maxTerms) return
      found.set(term, Math.max(before ?? 0, weight))
    }
  }
  add(name, weights.name)
  add(entityType, weights.type)
  for (const observation of observations) add(observation, weights.observation)
  return found
}

/** A text in which upper and lower case, diacritics and compatibility forms are not distinguished. */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
}
