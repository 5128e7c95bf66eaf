/** A filter cannot be read: the message says where, why and what could stand there. */
export class TraceFilterError extends Error {
  override readonly name: string = 'TraceFilterError'
  readonly filter: string
  /** The place in the filter, counted from 1. */
  readonly column: number

  constructor(filter: string, column: number, message: string) {
    super(`${message} (column ${column} of the filter)`)
    this.filter = filter
    this.column = column
  }
}
