/** What came of an attempt of one size: undefined where it was taken, else the words it was refused with. */
export type Attempt = (size: number) => Promise<string | undefined>

/** A limit, an attempt under it, and what is said beyond it. */
export interface Row {
  readonly limit: number
  readonly attempt: Attempt
  readonly refusal: RegExp
}
