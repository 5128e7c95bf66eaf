import type { ScreenKey } from './screen.ts'

/** One of the values of an open list. */
export interface ListOption {
  readonly label: string
  /** The value sent, if it differs from the label. */
  readonly hint?: string
  /** Undefined leaves the field out. */
  readonly value: string | undefined
}

const pageRows = 8
const maxFilter = 200

/** The open list of a field's choices: filtered by typing, navigated with the arrow keys. */
export class OptionList {
  readonly options: readonly ListOption[]
  /** The selected values; undefined for single selection. */
  readonly selected: Set<string> | undefined
  #filter = ''
  #cursor: number

  constructor(options: readonly ListOption[], cursor: number, ticked?: Iterable<string>) {
    this.options = options
    this.#cursor = Math.max(0, cursor)
    this.selected = ticked === undefined ? undefined : new Set(ticked)
  }

  get filter(): string {
    return this.#filter
  }

  /** The choices that match the typed text. */
  get shown(): ListOption[] {
    const wanted = this.#filter.toLowerCase()
    return this.options.filter(({ label, value }) =>
      `${label}\n${value ?? ''}`.toLowerCase().includes(wanted),
    )
  }

  /** The cursor position among the shown choices. */
  get at(): number {
    return Math.min(this.#cursor, Math.max(0, this.shown.length - 1))
  }

  /** 'take': closes the list with its selection; 'close': closes it without a change. */
  press({ name, typed, ctrl, meta }: ScreenKey): 'take' | 'close' | undefined {
    if (name === 'escape') return 'close'
    if (name === 'return' || name === 'enter' || name === 'tab') {
      return this.selected !== undefined || this.shown.length > 0 ? 'take' : undefined
    }
    const last = this.shown.length - 1
    const moves: Record<string, number> = {
      up: this.at === 0 ? last : this.at - 1,
      down: this.at >= last ? 0 : this.at + 1,
      pageup: Math.max(0, this.at - pageRows),
      pagedown: Math.min(last, this.at + pageRows),
      home: 0,
      end: last,
    }
    const to = name === undefined || !Object.hasOwn(moves, name) ? undefined : moves[name]
    if (to !== undefined) this.#cursor = Math.max(0, to)
    else if (this.selected !== undefined && name === 'space') this.#toggle(this.selected)
    else if (name === 'backspace') this.#narrow(this.#filter.slice(0, -1))
    else if (typed !== undefined && ctrl !== true && meta !== true) this.#narrow(this.#filter + typed)
    return undefined
  }

  #narrow(filter: string): void {
    this.#filter = filter.slice(0, maxFilter)
    this.#cursor = 0
  }

  #toggle(ticked: Set<string>): void {
    const value = this.shown[this.at]?.value
    if (value === undefined) return
    if (!ticked.delete(value)) ticked.add(value)
  }
}
