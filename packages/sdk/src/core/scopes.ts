import type { Caller } from './exchange.ts'

/** Whether a caller was allowed everything that something needs. */
export function allows({ scopes }: Caller, needed: readonly string[]): boolean {
  return scopes === 'any' || needed.every((scope) => scopes.has(scope))
}

const scopeName = /^[\x21\x23-\x5B\x5D-\x7E]+$/

/** Whether a text can be the name of a scope (RFC 6749, section 3.3). */
export function isScope(text: string): boolean {
  return scopeName.test(text)
}
