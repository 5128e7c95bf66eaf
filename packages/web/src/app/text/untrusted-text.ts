/**
 * A text that a server, a model or a file wrote. It is a string at run time, but to the compiler it is neither a string nor
 * something React can show: only the components of `text/` show it, with every unseen character made visible.
 */
export interface UntrustedText {
  readonly [brand]: 'untrusted'
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

/** A row of the host in which every text that others wrote is `UntrustedText`. */
export type FromHost<T> = T extends string
  ? string extends T
    ? UntrustedText
    : T
  : T extends number | boolean | null | undefined
    ? T
    : T extends readonly (infer Item)[]
      ? readonly FromHost<Item>[]
      : T extends object
        ? { readonly [K in keyof T]: K extends OwnMember ? T[K] : FromHost<T[K]> }
        : T

/** The text as it is, to compute with or to send back; never to show. */
export function plainText(text: UntrustedText): string
export function plainText(text: unknown): unknown {
  return text
}

/** The value as the contract types it, to compute with or to send back; never to show. */
export function plain<T>(value: FromHost<T>): T
export function plain(value: unknown): unknown {
  return value
}

/** Marks a text that others wrote. */
export function untrusted(text: string): UntrustedText
export function untrusted(text: unknown): unknown {
  return text
}

/** Marks the texts of a value that came from the host. */
export function fromHost<T>(value: T): FromHost<T>
export function fromHost(value: unknown): unknown {
  return value
}
