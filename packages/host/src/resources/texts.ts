import type { ResourceContents } from '@jackfield/sdk'
import type { SecretRedactor } from '../config/secrets/redactor.ts'
import type { ResourceTextRow, ResourceTextTable } from '../log/store/resource-text-table.ts'
import type { ServerConnection } from '../servers/connections/connection.ts'
import { oneLine, reasonOf } from '../shared/text.ts'
import type { SnippetPiece } from '../types/index.ts'

/** The server of a text. Texts read by another account, or from another program with the same name, are not found. */
type TextSource = Pick<ServerConnection, 'identity' | 'principal'>

interface ResourceTextsDeps {
  table: ResourceTextTable
  redactor: Pick<SecretRedactor, 'text'>
  /** The servers whose texts are searched, by name. */
  servers: () => readonly (readonly [name: string, connection: ServerConnection])[]
  /** Decides which resources of a server may be shown: those with accepted definitions. */
  usable: (connection: ServerConnection) => (uri: string) => boolean
}

/** A text that matches at least one word of a query. */
export interface TextMatch {
  readonly server: string
  readonly uri: string
  readonly mimeType: string | undefined
  readonly readAt: string
  /** Relevance by BM25: a higher number is a better match. */
  readonly relevance: number
  /** The indexes of the matching query words. */
  readonly words: ReadonlySet<number>
  readonly seq: number
}

/** Maximum characters of one resource that are searched, and of one snippet. */
const limits = { indexed: 1_000_000, snippet: 160, before: 40, places: 2_000 }

/** The texts of resources that were read, for search. Secrets are redacted on storing and again on reading. */
export class ResourceTexts {
  readonly #deps: ResourceTextsDeps

  constructor(deps: ResourceTextsDeps) {
    this.#deps = deps
  }

  /** Why texts cannot be searched, in a sentence; undefined if they can. */
  get unavailable(): string | undefined {
    return this.#deps.table.unavailable
  }

  /** Stores the text of a resource; empty for binary content. A failure is a warning, since the read itself succeeded. */
  add({ identity, principal }: TextSource, address: string, contents: readonly ResourceContents[]): void {
    const { redactor, table } = this.#deps
    const texts = contents.flatMap((entry) => ('text' in entry ? [entry.text] : []))
    const text = redactor.text(texts.join('\n')).slice(0, limits.indexed).toWellFormed()
    if (this.unavailable !== undefined) return
    const uri = redactor.text(address)
    const mimeType = contents.find((entry) => 'text' in entry)?.mimeType ?? null
    try {
      table.put({
        ...{ identity, principal, uri, mimeType, text },
        uriWords: spacedWords(uri),
        textWords: spacedWords(text),
        at: new Date().toISOString(),
      })
    } catch (error) {
      process.emitWarning(`The text of ${oneLine(uri)} could not be indexed for search: ${reasonOf(error)}`)
    }
  }

  /** Texts of configured servers that match any of these normalized words. */
  find(words: readonly string[]): TextMatch[] {
    const phrases = words.map(spacedWords).filter((phrase) => phrase !== '')
    if (phrases.length === 0 || this.unavailable !== undefined) return []
    const { table, servers, usable, redactor } = this.#deps
    const rows = table.match(phrases)
    if (rows.length === 0) return []
    const matching = words.map((word) => {
      const phrase = spacedWords(word)
      return phrase === '' ? new Set<number>() : table.matching(phrase)
    })
    const wordsOf = (row: ResourceTextRow): Set<number> =>
      new Set(matching.flatMap((found, word) => (found.has(row.seq) ? [word] : [])))
    return servers().flatMap(([server, connection]) => {
      const { identity, principal } = connection
      const serverRows = rows.filter((row) => row.identity === identity && row.principal === principal)
      if (serverRows.length === 0) return []
      const isUsable = usable(connection)
      return serverRows
        .filter(({ uri }) => isUsable(uri))
        .map((row) => ({
          server,
          uri: redactor.text(row.uri),
          mimeType: row.mimeType ?? undefined,
          readAt: row.at,
          relevance: row.relevance,
          words: wordsOf(row),
          seq: row.seq,
        }))
    })
  }

  /** The excerpt with most of the words; undefined if it has none. */
  snippet({ seq }: TextMatch, words: readonly string[]): SnippetPiece[] | undefined {
    const text = this.#deps.table.text(seq)
    // A secret that became known after the read is still in the stored text.
    return text === undefined ? undefined : snippetOf(this.#deps.redactor.text(text), words)
  }
}

interface WordMatch {
  from: number
  to: number
  /** The index of the word of the query. */
  word: number
}

/** The excerpt with most of the words, with every match marked; undefined if it has none. */
export function snippetOf(text: string, words: readonly string[]): SnippetPiece[] | undefined {
  const matches = matchesIn(text, words)
  const best = densestRange(matches)
  if (best === undefined) return undefined
  const from = cutPosition(text, Math.max(0, best.from - limits.before), 1)
  const to = cutPosition(text, Math.min(text.length, Math.max(best.to, from + limits.snippet)), -1)
  const end = Math.max(to, best.to)
  const pieces: SnippetPiece[] = from > 0 ? [{ text: '… ', isMatch: false }] : []
  const push = (start: number, until: number, isMatch: boolean): void => {
    if (until > start) pieces.push({ text: text.slice(start, until).replace(/\s+/g, ' '), isMatch })
  }
  let at = from
  for (const match of matches) {
    if (match.from < at || match.to > end) continue
    push(at, match.from, false)
    push(match.from, match.to, true)
    at = match.to
  }
  push(at, end, false)
  if (end < text.length) pieces.push({ text: ' …', isMatch: false })
  return pieces
}

/** Matches of the query words in a text, in order. */
function matchesIn(text: string, words: readonly string[]): WordMatch[] {
  const phrases = words.map((word) => spacedWords(word).split(' ')).map((parts, word) => ({ parts, word }))
  const maxWords = Math.max(...phrases.map(({ parts }) => parts.length))
  const matches: WordMatch[] = []
  const recentTokens: Token[] = []
  for (const token of tokensOf(text)) {
    recentTokens.push(token)
    if (recentTokens.length > maxWords) recentTokens.shift()
    for (const { parts, word } of phrases) {
      const run = recentTokens.slice(-parts.length)
      const [first] = run
      if (first === undefined || run.length < parts.length) continue
      const isMatch = run.every(({ word: found }, n) =>
        n === parts.length - 1 ? found.startsWith(parts[n] ?? '') : found === parts[n],
      )
      if (!isMatch) continue
      matches.push({ from: first.from, to: token.to, word })
      break
    }
    if (matches.length >= limits.places) break
  }
  return matches
}

/** The first stretch of snippet length with the most different words. */
function densestRange(matches: readonly WordMatch[]): { from: number; to: number } | undefined {
  let best: { from: number; to: number } | undefined
  let maxDifferent = 0
  for (const [n, first] of matches.entries()) {
    const words = new Set<number>()
    let to = first.to
    for (const match of matches.slice(n, n + limits.snippet)) {
      if (match.to - first.from > limits.snippet) break
      words.add(match.word)
      to = match.to
    }
    if (words.size > maxDifferent) {
      maxDifferent = words.size
      best = { from: first.from, to }
    }
  }
  return best
}

/** The nearest position for a cut, within a few characters in this direction. */
function cutPosition(text: string, at: number, direction: 1 | -1): number {
  if (at <= 0 || at >= text.length) return at
  for (let n = 0; n < 24; n += 1) {
    const place = at + n * direction
    if (/\s/.test(text.charAt(place))) return direction === 1 ? place + 1 : place
  }
  // Not between the halves of a character.
  return /[\udc00-\udfff]/.test(text.charAt(at)) ? at + direction : at
}

interface Token {
  /** Normalized. */
  word: string
  from: number
  to: number
}

/** Scripts without spaces between words: each character counts as a word. */
const unspaced = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => `\\p{Script=${script}}`)
  .join('')
const run = /[\p{L}\p{N}\p{M}]+/gu
const wordBreaks = new RegExp(
  `(?<=[\\p{Ll}\\p{N}])(?=\\p{Lu})|(?=[${unspaced}])|(?<=[${unspaced}]\\p{M}*)(?!\\p{M})`,
  'u',
)
const asciiWord = /^[a-z0-9]+$/

/** The words of a text: in lower case and without accents, names split at case changes. */
function* tokensOf(text: string): Generator<Token> {
  for (const { 0: letters, index } of text.matchAll(run)) {
    let from = index
    for (const part of asciiWord.test(letters) ? [letters] : letters.split(wordBreaks)) {
      const word = normalizeWord(part)
      const to = from + part.length
      if (word !== '') yield { word, from, to }
      from = to
    }
  }
}

function normalizeWord(word: string): string {
  if (asciiWord.test(word)) return word
  return word
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
}

/** The words of a text with a space between them. */
function spacedWords(text: string): string {
  return Array.from(tokensOf(text), ({ word }) => word).join(' ')
}
