/** Reads a table of `|`-separated columns, one row per line. */
export function rows(table: string): Row[] {
  return table
    .trim()
    .split('\n')
    .map((line) => new Row(line.split('|').map((cell) => cell.trim())))
}

export class Row {
  readonly #cells: readonly string[]

  constructor(cells: readonly string[]) {
    this.#cells = cells
  }

  text(column: number): string {
    return this.#cells[column] ?? ''
  }

  number(column: number): number {
    const value = Number(this.text(column))
    if (this.text(column) === '' || Number.isNaN(value)) {
      throw new TypeError(`Column ${column} of "${this.#cells.join(' | ')}" is not a number`)
    }
    return value
  }
}
