/** The outcome of an attempt of one size: undefined if it was accepted, else the error message. */
export type Attempt = (size: number) => Promise<string | undefined>

/** A limit, an attempt below it, and the error above it. */
export interface Row {
  readonly limit: number
  readonly attempt: Attempt
  readonly refusal: RegExp
}
