/** A key as a terminal sends it. */
export interface ScreenKey {
  /** The name of the key, such as `return`, `up` or `a`. */
  readonly name?: string | undefined
  readonly ctrl?: boolean | undefined
  readonly meta?: boolean | undefined
  readonly shift?: boolean | undefined
  /** What it writes, where it writes something; of a paste all of it, line feeds too. */
  readonly typed?: string | undefined
}

/** What stands on the screen: lines that fit, and where the cursor is; without a cursor it is hidden. */
export interface ScreenFrame {
  readonly lines: readonly string[]
  readonly cursor?: { readonly row: number; readonly column: number }
}

/** Something that is drawn anew after every key, until a key gives an answer. */
export interface ScreenView<T> {
  /** At most `rows` lines of at most `columns` columns. */
  draw(columns: number, rows: number): ScreenFrame
  press(key: ScreenKey): { readonly done: T } | undefined
  /** Is given functions for changes that no key made: one draws it again, the other ends it with an answer. */
  onStart?(redraw: () => void, end: (done: T) => void): void
}
