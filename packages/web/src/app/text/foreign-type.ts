/**
 * A text that a server, a model or a file wrote. It is a string at run time, but to the compiler it is neither a string nor
 * something React can show: only the components of `text/` show it, with every unseen character made visible.
 */
export interface Foreign {
  readonly [brand]: 'foreign'
}
declare const brand: unique symbol

/** Members whose texts the host itself or the person's configuration wrote. */
type OwnMember =
  | 'id'
  | 'at'
  | 'digest'
  | 'server'
  | 'model'
  | 'conversation'
  | 'since'
  | 'lastAt'
  | 'by'
  | 'rule'
  | 'scope'
  | 'code'
  | 'currency'
  | 'outcome'
  | 'of'

/** A row of the host in which every text that others wrote is `Foreign`. */
export type Wire<T> = T extends string
  ? string extends T
    ? Foreign
    : T
  : T extends number | boolean | null | undefined
    ? T
    : T extends readonly (infer Item)[]
      ? readonly Wire<Item>[]
      : T extends object
        ? { readonly [K in keyof T]: K extends OwnMember ? T[K] : Wire<T[K]> }
        : T

/** The text as it is, to compute with or to send back; never to show. */
export function plainText(text: Foreign): string
export function plainText(text: unknown): unknown {
  return text
}

/** The value as the contract types it, to compute with or to send back; never to show. */
export function plain<T>(value: Wire<T>): T
export function plain(value: unknown): unknown {
  return value
}

export function foreign(text: string): Foreign
export function foreign(text: unknown): unknown {
  return text
}

/** Marks the texts of a value that came from the host. */
export function wire<T>(value: T): Wire<T>
export function wire(value: unknown): unknown {
  return value
}
