import { applyKey, insertText, type Line, maxTyped } from '../forms/line-edit.ts'
import type { ScreenKey } from '../forms/screen.ts'

/** The action of a key, besides a change of the text. */
export type InputAction = 'submit' | 'complete' | 'interrupt' | 'escape' | 'end'

/** The text of a message while it is typed: several lines, with history and search. */
export class InputEditor {
  readonly #history: () => readonly string[]
  #line: Line
  /** Steps back in the history; 0 is the text being typed. */
  #historySteps = 0
  #unsentLine: Line
  #search: { query: string; skip: number } | undefined
  #note: string | undefined

  /** `history`: earlier inputs, newest last. Read on first use. */
  constructor(draft: string, history: () => readonly string[] = () => []) {
    this.#history = history
    this.#line = { text: draft, cursor: draft.length }
    this.#unsentLine = this.#line
  }

  get text(): string {
    return this.#line.text
  }

  get line(): Line {
    return this.#line
  }

  /** The search text and whether it matched; undefined outside a search. */
  get search(): { query: string; found: boolean } | undefined {
    if (this.#search === undefined) return undefined
    return { query: this.#search.query, found: this.#match() !== undefined }
  }

  /** A message about the last key. */
  get note(): string | undefined {
    return this.#note
  }

  replace(text: string): void {
    this.#line = { text, cursor: text.length }
    this.#historySteps = 0
    this.#search = undefined
  }

  insert(text: string): void {
    const { line, isCut } = insertText(this.#line, text)
    this.#line = line
    if (isCut) this.#note = `Only ${maxTyped.toLocaleString('en')} characters fit; the rest was left out.`
  }

  /** Replaces the end of the text before the cursor with a completion. */
  completeWith(part: string, completion: string): void {
    const { text, cursor } = this.#line
    const head = text.slice(0, cursor - part.length) + completion
    this.#line = { text: head + text.slice(cursor), cursor: head.length }
  }

  press(key: ScreenKey): InputAction | undefined {
    this.#note = undefined
    if (this.#search !== undefined) return this.#pressInSearch(this.#search, key)
    const { name, ctrl = false, meta = false, typed } = key
    if (ctrl && name === 'c') return 'interrupt'
    if (name === 'escape') return 'escape'
    if (ctrl && name === 'd' && this.text === '') return 'end'
    if (ctrl && name === 'r') {
      this.#search = { query: '', skip: 0 }
      return undefined
    }
    if (name === 'return' && meta) return this.#insertTyped('\n')
    if (name === 'enter') return this.#insertTyped('\n')
    if (name === 'return') return this.#enter()
    if (name === 'tab') return 'complete'
    if (name === 'up' || (ctrl && name === 'p')) return this.#moveVertically(-1)
    if (name === 'down' || (ctrl && name === 'n')) return this.#moveVertically(1)
    if (name === 'home' || (ctrl && name === 'a')) return this.#moveTo(this.#lineStart())
    if (name === 'end' || (ctrl && name === 'e')) return this.#moveTo(this.#lineEnd())
    if (meta && (name === 'b' || name === 'left')) return this.#moveTo(this.#wordLeft())
    if (meta && (name === 'f' || name === 'right')) return this.#moveTo(this.#wordRight())
    const changed = applyKey(this.#line, ctrl && name === 'd' ? { name: 'delete' } : key)
    if (changed !== undefined) {
      this.#line = changed
      return undefined
    }
    if (typed === undefined || ctrl || meta) return undefined
    return this.#insertTyped(typed)
  }

  #insertTyped(text: string): undefined {
    this.insert(text)
    return undefined
  }

  /** Enter after a backslash inserts a line break. */
  #enter(): 'submit' | undefined {
    const { text, cursor } = this.#line
    if (text[cursor - 1] !== '\\') return 'submit'
    this.#line = { text: `${text.slice(0, cursor - 1)}\n${text.slice(cursor)}`, cursor }
    return undefined
  }

  #moveTo(position: number): undefined {
    this.#line = { text: this.#line.text, cursor: position }
    return undefined
  }

  #lineStart(): number {
    const { text, cursor } = this.#line
    return text.lastIndexOf('\n', cursor - 1) + 1
  }

  #lineEnd(): number {
    const { text, cursor } = this.#line
    const end = text.indexOf('\n', cursor)
    return end === -1 ? text.length : end
  }

  #wordLeft(): number {
    const { text, cursor } = this.#line
    return text.slice(0, cursor).replace(/\S+\s*$/, '').length
  }

  #wordRight(): number {
    const { text, cursor } = this.#line
    return cursor + (/^\s*\S+/.exec(text.slice(cursor))?.[0].length ?? text.length - cursor)
  }

  /** Moves to the line above or below; from the first or last line, through the history. */
  #moveVertically(by: 1 | -1): undefined {
    const { text, cursor } = this.#line
    const start = this.#lineStart()
    const column = cursor - start
    if (by === -1 && start > 0) {
      const above = text.lastIndexOf('\n', start - 2) + 1
      return this.#moveTo(Math.min(above + column, start - 1))
    }
    const end = this.#lineEnd()
    if (by === 1 && end < text.length) {
      const below = text.indexOf('\n', end + 1)
      return this.#moveTo(Math.min(end + 1 + column, below === -1 ? text.length : below))
    }
    const history = this.#history()
    const back = this.#historySteps - by
    if (back < 0 || back > history.length) return undefined
    if (this.#historySteps === 0) this.#unsentLine = this.#line
    this.#historySteps = back
    const entry = back === 0 ? undefined : history.at(-back)
    this.#line = entry === undefined ? this.#unsentLine : { text: entry, cursor: entry.length }
    return undefined
  }

  #match(): string | undefined {
    if (this.#search === undefined) return undefined
    const { query, skip } = this.#search
    const wanted = query.toLowerCase()
    const fitting = this.#history().filter((entry) => query !== '' && entry.toLowerCase().includes(wanted))
    return fitting.at(-1 - Math.min(skip, Math.max(0, fitting.length - 1)))
  }

  /** Enter accepts the match without sending it; Esc and Ctrl+C restore the text. */
  #pressInSearch(search: { query: string; skip: number }, key: ScreenKey): undefined {
    const { name, ctrl = false, meta = false, typed } = key
    if (ctrl && name === 'r') this.#search = { ...search, skip: search.skip + 1 }
    else if (name === 'escape' || (ctrl && (name === 'c' || name === 'g'))) this.#search = undefined
    else if (name === 'backspace') this.#search = { query: [...search.query].slice(0, -1).join(''), skip: 0 }
    else if (typed !== undefined && !ctrl && !meta && name !== 'return' && name !== 'tab' && name !== 'enter')
      this.#search = { query: search.query + typed.replaceAll(/\s+/g, ' '), skip: 0 }
    else {
      const match = this.#match()
      if (match !== undefined) this.replace(match)
      this.#search = undefined
    }
    return undefined
  }

  /** The text shown during a search: the match, or the text as it was. */
  get shown(): Line {
    const match = this.#match()
    return match === undefined ? this.#line : { text: match, cursor: match.length }
  }
}
