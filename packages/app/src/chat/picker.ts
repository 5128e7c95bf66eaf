import type { LibraryEntry } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import type { ScreenFrame, ScreenKey, ScreenView } from '../forms/screen.ts'
import { formatBytes } from '../output/content.ts'
import { truncate } from '../output/flow.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { widthOf, wrap } from '../output/width.ts'
import { tokenCount } from './status.ts'

/** A resource or a template. */
export type Attachable = Extract<LibraryEntry, { kind: 'resource' | 'template' }>

export interface PickerOptions {
  entries: readonly Attachable[]
  client: Pick<HostClient, 'call'>
  /** Why a resource cannot be sent to a model; undefined if it can. */
  withheld: (server: string, uri: string) => string | undefined
  palette: Palette
  /** The initial search text. */
  query?: string
}

const maxResults = 200
const maxQuery = 200
const descriptionRows = 3
const pageRows = 8

/** Token count of a resource, if known. */
type TokenCount = { tokens: number } | 'reading' | 'unknown'

/**
 * A list of everything that can be attached: filtered by typing, navigated with the arrow keys, selected with the space bar.
 * Returns the selection, or undefined for Esc. A selected resource is read once, for its token count only.
 */
export class Picker implements ScreenView<readonly Attachable[] | undefined> {
  readonly #options: PickerOptions
  readonly #selected = new Map<string, Attachable>()
  readonly #tokenCounts = new Map<string, TokenCount>()
  readonly #closing = new AbortController()
  #query: string
  #results: readonly Attachable[]
  #cursor = 0
  #redraw = (): void => {}
  #finish = (_done: readonly Attachable[] | undefined): void => {}
  #isSearching = false
  /** Keys pressed during a search, applied to its results. */
  #queued: ScreenKey[] = []

  constructor(options: PickerOptions) {
    this.#options = options
    this.#query = options.query ?? ''
    this.#results = options.entries
    this.#search()
  }

  onStart(redraw: () => void, end: (done: readonly Attachable[] | undefined) => void): void {
    this.#redraw = redraw
    this.#finish = end
  }

  press(key: ScreenKey): { readonly done: readonly Attachable[] | undefined } | undefined {
    const { name, typed, ctrl = false, meta = false } = key
    if (name === 'escape') return this.#end(undefined)
    const isText = (typed !== undefined && !ctrl && !meta && name !== 'space') || name === 'backspace'
    if (this.#isSearching && (!isText || this.#queued.length > 0)) {
      this.#queued.push(key)
      return undefined
    }
    if (name === 'return' || name === 'enter') return this.#enter()
    const last = Math.max(0, this.#results.length - 1)
    const moves: Record<string, number> = {
      up: this.#cursor === 0 ? last : this.#cursor - 1,
      down: this.#cursor >= last ? 0 : this.#cursor + 1,
      pageup: Math.max(0, this.#cursor - pageRows),
      pagedown: Math.min(last, this.#cursor + pageRows),
      home: 0,
      end: last,
    }
    const to = name === undefined || !Object.hasOwn(moves, name) ? undefined : moves[name]
    if (to !== undefined) this.#cursor = to
    else if (name === 'space') this.#toggle()
    else if (name === 'backspace') this.#setQuery([...this.#query].slice(0, -1).join(''))
    else if (ctrl && name === 'u') this.#setQuery('')
    else if (typed !== undefined && !ctrl && !meta) this.#setQuery(this.#query + oneLine(typed))
    return undefined
  }

  draw(columns: number, rows: number): ScreenFrame {
    const { palette } = this.#options
    const room = Math.max(10, columns - 1)
    const head = [
      palette.dim(truncate(this.#summary(), room)),
      truncate(`search › ${oneLine(this.#query)}`, room),
    ]
    const foot = [
      '',
      ...this.#details(room),
      palette.dim(truncate(room < hint.length ? narrowHint : hint, room)),
    ]
    const space = Math.max(1, rows - head.length - foot.length - 1)
    const height = Math.min(space, this.#results.length)
    const from = Math.max(0, Math.min(this.#cursor - Math.floor(height / 2), this.#results.length - height))
    const list = this.#results.slice(from, from + height).map((entry, n) => this.#row(entry, from + n, room))
    if (list.length === 0)
      list.push(
        palette.yellow(truncate(this.#query === '' ? 'No server offers a resource.' : 'No match.', room)),
      )
    const column = Math.min(widthOf(`search › ${oneLine(this.#query)}`), room)
    return { lines: [...head, ...list, ...foot].slice(0, Math.max(1, rows)), cursor: { row: 1, column } }
  }

  #end(done: readonly Attachable[] | undefined): { readonly done: readonly Attachable[] | undefined } {
    this.#closing.abort()
    return { done }
  }

  /** Without a selection, Enter takes the entry at the cursor. */
  #enter(): { readonly done: readonly Attachable[] | undefined } | undefined {
    if (this.#selected.size > 0) return this.#end([...this.#selected.values()])
    const entry = this.#results[this.#cursor]
    return entry === undefined || this.#withheld(entry) !== undefined ? undefined : this.#end([entry])
  }

  #toggle(): void {
    const entry = this.#results[this.#cursor]
    if (entry === undefined || this.#withheld(entry) !== undefined) return
    const key = keyOf(entry)
    if (this.#selected.delete(key)) return
    this.#selected.set(key, entry)
    if (entry.kind === 'resource' && !this.#tokenCounts.has(key)) this.#countTokens(key, entry)
  }

  #countTokens(key: string, { server, resource }: Extract<Attachable, { kind: 'resource' }>): void {
    this.#tokenCounts.set(key, 'reading')
    const { signal } = this.#closing
    this.#options.client
      .call('library.preview', { server, uri: resource.uri, characters: 1 }, { signal })
      .then(
        ({ tokens }): TokenCount => ({ tokens }),
        (): TokenCount => 'unknown',
      )
      .then((cost) => {
        if (signal.aborted) return
        this.#tokenCounts.set(key, cost)
        this.#redraw()
      })
  }

  #setQuery(query: string): void {
    this.#query = query.slice(0, maxQuery)
    this.#cursor = 0
    this.#search()
  }

  /** Shows search results as they arrive, unless the search text has changed. */
  #search(): void {
    const { entries, client } = this.#options
    const query = this.#query
    this.#isSearching = query.trim() !== ''
    if (!this.#isSearching) {
      this.#results = entries
      return
    }
    client
      .call(
        'library.search',
        { query, content: true, kinds: ['resource', 'template'], limit: maxResults },
        { signal: this.#closing.signal },
      )
      .then(
        ({ matches }) => {
          if (this.#query === query)
            this.#showResults(matches.flatMap(({ entry }) => (entry.kind === 'prompt' ? [] : [entry])))
        },
        () => {
          if (this.#query === query) this.#showResults([])
        },
      )
  }

  #showResults(matches: readonly Attachable[]): void {
    this.#isSearching = false
    this.#results = matches
    const queuedKeys = this.#queued
    this.#queued = []
    for (const key of queuedKeys) {
      const answer = this.press(key)
      if (answer === undefined) continue
      this.#finish(answer.done)
      return
    }
    this.#redraw()
  }

  #withheld(entry: Attachable): string | undefined {
    return entry.kind === 'template' ? undefined : this.#options.withheld(entry.server, entry.resource.uri)
  }

  #summary(): string {
    const chosen = [...this.#selected.keys()]
    if (chosen.length === 0) return `Attach: ${this.#results.length} of ${this.#options.entries.length} shown`
    const costs = chosen.map((key) => this.#tokenCounts.get(key))
    const known = costs.flatMap((cost) => (typeof cost === 'object' ? [cost.tokens] : []))
    const sum = known.reduce((total, tokens) => total + tokens, 0)
    const open = known.length < chosen.length ? ' and more' : ''
    return `Attach: ${chosen.length} chosen, ${tokenCount(sum)} tokens${open}`
  }

  #row(entry: Attachable, index: number, columns: number): string {
    const { palette } = this.#options
    const isHere = index === this.#cursor
    const mark = this.#withheld(entry) !== undefined ? '✗' : this.#selected.has(keyOf(entry)) ? '◉' : '○'
    const facts = [oneLine(entry.server, 20), this.#facts(entry)].filter((fact) => fact !== '').join('  ')
    const room = columns - 4
    const title = truncate(titleOf(entry), Math.max(8, room - widthOf(facts) - 2))
    const rest = truncate(facts, Math.max(0, room - widthOf(title) - 2))
    return `${isHere ? palette.cyan('▸') : ' '} ${mark} ${isHere ? palette.bold(title) : title}  ${palette.dim(rest)}`
  }

  #facts(entry: Attachable): string {
    if (entry.kind === 'template') return 'template'
    const cost = this.#tokenCounts.get(keyOf(entry))
    if (cost === 'reading') return 'counting …'
    if (cost === 'unknown') return 'cannot be read'
    if (cost !== undefined) return `${tokenCount(cost.tokens)} tokens`
    return entry.resource.size === undefined ? '' : formatBytes(entry.resource.size)
  }

  /** The description of the entry at the cursor, from its server. */
  #details(columns: number): string[] {
    const entry = this.#results[this.#cursor]
    if (entry === undefined) return []
    const { palette } = this.#options
    const about = entry.kind === 'resource' ? entry.resource : entry.template
    const bytes = entry.kind === 'resource' ? entry.resource.size : undefined
    const facts = [oneLine(about.mimeType ?? ''), bytes === undefined ? '' : formatBytes(bytes)].filter(
      (fact) => fact !== '',
    )
    const withheld = this.#withheld(entry)
    const description = wrap(plain(about.description ?? '').replaceAll(/\s+/g, ' '), columns)
    return [
      truncate(uriOf(entry), columns),
      ...(description.join('') === '' ? [] : description.slice(0, descriptionRows)),
      ...(facts.length === 0 ? [] : [palette.dim(truncate(facts.join(', '), columns))]),
      ...(withheld === undefined
        ? []
        : [palette.yellow(truncate(`Not given to a model: ${oneLine(withheld)}`, columns))]),
    ]
  }
}

const hint = 'type to search · space chooses · enter attaches · esc cancels'
const narrowHint = 'space chooses · enter attaches'

function keyOf(entry: Attachable): string {
  const uri = entry.kind === 'resource' ? entry.resource.uri : entry.template.uriTemplate
  return JSON.stringify([entry.kind, entry.server, uri])
}

function uriOf(entry: Attachable): string {
  return oneLine(entry.kind === 'resource' ? entry.resource.uri : entry.template.uriTemplate)
}

function titleOf(entry: Attachable): string {
  const about = entry.kind === 'resource' ? entry.resource : entry.template
  return oneLine(about.title ?? about.name)
}
