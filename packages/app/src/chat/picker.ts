import type { LibraryEntry } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import type { ScreenFrame, ScreenKey, ScreenView } from '../forms/screen.ts'
import { size } from '../output/content.ts'
import { fitting } from '../output/flow.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { widthOf, wrap } from '../output/width.ts'
import { count } from './status.ts'

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

const maxFound = 200
const maxQuery = 200
const descriptionRows = 3
const pageRows = 8

/** Token count of a resource, if known. */
type Cost = { tokens: number } | 'reading' | 'unknown'

/**
 * A list of everything that can be attached: filtered by typing, navigated with the arrow keys, selected with the space bar.
 * Returns the selection, or undefined for Esc. A selected resource is read once, for its token count only.
 */
export class Picker implements ScreenView<readonly Attachable[] | undefined> {
  readonly #options: PickerOptions
  readonly #chosen = new Map<string, Attachable>()
  readonly #costs = new Map<string, Cost>()
  readonly #ended = new AbortController()
  #query: string
  #found: readonly Attachable[]
  #at = 0
  #redraw = (): void => {}
  #finish = (_done: readonly Attachable[] | undefined): void => {}
  #isSearching = false
  /** Keys pressed during a search, applied to its results. */
  #queued: ScreenKey[] = []

  constructor(options: PickerOptions) {
    this.#options = options
    this.#query = options.query ?? ''
    this.#found = options.entries
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
    const last = Math.max(0, this.#found.length - 1)
    const moves: Record<string, number> = {
      up: this.#at === 0 ? last : this.#at - 1,
      down: this.#at >= last ? 0 : this.#at + 1,
      pageup: Math.max(0, this.#at - pageRows),
      pagedown: Math.min(last, this.#at + pageRows),
      home: 0,
      end: last,
    }
    const to = name === undefined || !Object.hasOwn(moves, name) ? undefined : moves[name]
    if (to !== undefined) this.#at = to
    else if (name === 'space') this.#toggle()
    else if (name === 'backspace') this.#narrow([...this.#query].slice(0, -1).join(''))
    else if (ctrl && name === 'u') this.#narrow('')
    else if (typed !== undefined && !ctrl && !meta) this.#narrow(this.#query + oneLine(typed))
    return undefined
  }

  draw(columns: number, rows: number): ScreenFrame {
    const { palette } = this.#options
    const room = Math.max(10, columns - 1)
    const head = [
      palette.dim(fitting(this.#summary(), room)),
      fitting(`search › ${oneLine(this.#query)}`, room),
    ]
    const foot = [
      '',
      ...this.#details(room),
      palette.dim(fitting(room < hint.length ? shortHint : hint, room)),
    ]
    const space = Math.max(1, rows - head.length - foot.length - 1)
    const height = Math.min(space, this.#found.length)
    const from = Math.max(0, Math.min(this.#at - Math.floor(height / 2), this.#found.length - height))
    const list = this.#found.slice(from, from + height).map((entry, n) => this.#row(entry, from + n, room))
    if (list.length === 0)
      list.push(
        palette.yellow(fitting(this.#query === '' ? 'No server offers a resource.' : 'No match.', room)),
      )
    const column = Math.min(widthOf(`search › ${oneLine(this.#query)}`), room)
    return { lines: [...head, ...list, ...foot].slice(0, Math.max(1, rows)), cursor: { row: 1, column } }
  }

  #end(done: readonly Attachable[] | undefined): { readonly done: readonly Attachable[] | undefined } {
    this.#ended.abort()
    return { done }
  }

  /** Without a selection, Enter takes the entry at the cursor. */
  #enter(): { readonly done: readonly Attachable[] | undefined } | undefined {
    if (this.#chosen.size > 0) return this.#end([...this.#chosen.values()])
    const entry = this.#found[this.#at]
    return entry === undefined || this.#withheld(entry) !== undefined ? undefined : this.#end([entry])
  }

  #toggle(): void {
    const entry = this.#found[this.#at]
    if (entry === undefined || this.#withheld(entry) !== undefined) return
    const key = keyOf(entry)
    if (this.#chosen.delete(key)) return
    this.#chosen.set(key, entry)
    if (entry.kind === 'resource' && !this.#costs.has(key)) this.#weigh(key, entry)
  }

  #weigh(key: string, { server, resource }: Extract<Attachable, { kind: 'resource' }>): void {
    this.#costs.set(key, 'reading')
    const { signal } = this.#ended
    this.#options.client
      .call('library.preview', { server, uri: resource.uri, characters: 1 }, { signal })
      .then(
        ({ tokens }): Cost => ({ tokens }),
        (): Cost => 'unknown',
      )
      .then((cost) => {
        if (signal.aborted) return
        this.#costs.set(key, cost)
        this.#redraw()
      })
  }

  #narrow(query: string): void {
    this.#query = query.slice(0, maxQuery)
    this.#at = 0
    this.#search()
  }

  /** Shows search results as they arrive, unless the search text has changed. */
  #search(): void {
    const { entries, client } = this.#options
    const query = this.#query
    this.#isSearching = query.trim() !== ''
    if (!this.#isSearching) {
      this.#found = entries
      return
    }
    client
      .call(
        'library.search',
        { query, content: true, kinds: ['resource', 'template'], limit: maxFound },
        { signal: this.#ended.signal },
      )
      .then(
        ({ matches }) => {
          if (this.#query === query)
            this.#searched(matches.flatMap(({ entry }) => (entry.kind === 'prompt' ? [] : [entry])))
        },
        () => {
          if (this.#query === query) this.#searched([])
        },
      )
  }

  #searched(matches: readonly Attachable[]): void {
    this.#isSearching = false
    this.#found = matches
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
    const chosen = [...this.#chosen.keys()]
    if (chosen.length === 0) return `Attach: ${this.#found.length} of ${this.#options.entries.length} shown`
    const costs = chosen.map((key) => this.#costs.get(key))
    const known = costs.flatMap((cost) => (typeof cost === 'object' ? [cost.tokens] : []))
    const sum = known.reduce((total, tokens) => total + tokens, 0)
    const open = known.length < chosen.length ? ' and more' : ''
    return `Attach: ${chosen.length} chosen, ${count(sum)} tokens${open}`
  }

  #row(entry: Attachable, at: number, columns: number): string {
    const { palette } = this.#options
    const isHere = at === this.#at
    const mark = this.#withheld(entry) !== undefined ? '✗' : this.#chosen.has(keyOf(entry)) ? '◉' : '○'
    const facts = [oneLine(entry.server, 20), this.#cost(entry)].filter((fact) => fact !== '').join('  ')
    const room = columns - 4
    const title = fitting(titleOf(entry), Math.max(8, room - widthOf(facts) - 2))
    const rest = fitting(facts, Math.max(0, room - widthOf(title) - 2))
    return `${isHere ? palette.cyan('▸') : ' '} ${mark} ${isHere ? palette.bold(title) : title}  ${palette.dim(rest)}`
  }

  #cost(entry: Attachable): string {
    if (entry.kind === 'template') return 'template'
    const cost = this.#costs.get(keyOf(entry))
    if (cost === 'reading') return 'counting …'
    if (cost === 'unknown') return 'cannot be read'
    if (cost !== undefined) return `${count(cost.tokens)} tokens`
    return entry.resource.size === undefined ? '' : size(entry.resource.size)
  }

  /** The description of the entry at the cursor, from its server. */
  #details(columns: number): string[] {
    const entry = this.#found[this.#at]
    if (entry === undefined) return []
    const { palette } = this.#options
    const about = entry.kind === 'resource' ? entry.resource : entry.template
    const bytes = entry.kind === 'resource' ? entry.resource.size : undefined
    const facts = [oneLine(about.mimeType ?? ''), bytes === undefined ? '' : size(bytes)].filter(
      (fact) => fact !== '',
    )
    const withheld = this.#withheld(entry)
    const description = wrap(plain(about.description ?? '').replaceAll(/\s+/g, ' '), columns)
    return [
      fitting(uriOf(entry), columns),
      ...(description.join('') === '' ? [] : description.slice(0, descriptionRows)),
      ...(facts.length === 0 ? [] : [palette.dim(fitting(facts.join(', '), columns))]),
      ...(withheld === undefined
        ? []
        : [palette.yellow(fitting(`Not given to a model: ${oneLine(withheld)}`, columns))]),
    ]
  }
}

const hint = 'type to search · space chooses · enter attaches · esc cancels'
const shortHint = 'space chooses · enter attaches'

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
