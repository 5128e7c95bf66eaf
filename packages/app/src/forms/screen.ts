/** A key as the terminal reports it. */
export interface ScreenKey {
  /** The name of the key, such as `return`, `up` or `a`. */
  readonly name?: string | undefined
  readonly ctrl?: boolean | undefined
  readonly meta?: boolean | undefined
  readonly shift?: boolean | undefined
  /** The text it inserts, if any; for a paste all of it, with line feeds. */
  readonly typed?: string | undefined
}

/** Screen content: lines that fit, and the cursor position; without one the cursor is hidden. */
export interface ScreenFrame {
  readonly lines: readonly string[]
  readonly cursor?: { readonly row: number; readonly column: number }
}

/** A view that is redrawn after every key, until a key returns an answer. */
export interface ScreenView<T> {
  /** At most `rows` lines of at most `columns` columns. */
  draw(columns: number, rows: number): ScreenFrame
  press(key: ScreenKey): { readonly done: T } | undefined
  /** Receives two callbacks for changes without a key: one redraws, the other ends the view with an answer. */
  onStart?(redraw: () => void, end: (done: T) => void): void
}
