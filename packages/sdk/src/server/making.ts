import { McpError } from '../jsonrpc/error.ts'

/** Under this a definition carries what makes it ready, so that a server holds what its own kinds need and no more. */
export const making: unique symbol = Symbol('making')

/** Makes a definition ready to be served. */
export type Make<Value, Entry> = (name: string, value: Value) => Entry

/**
 * A definition made ready.
 * @param kind which it must be of to stand where it does
 * @throws McpError 'INVALID' for one that cannot be served, stands in the wrong place, or was not made by its own function
 */
export function entryOf<
  Kind extends string,
  Value extends { kind: Kind; [making]?: Make<Value, Entry> },
  Entry,
>(kind: Kind, name: string, value: Value): Entry {
  const make = value[making]
  if (make !== undefined && value.kind === kind) return make(name, value)
  throw new McpError('INVALID', `"${name}" cannot stand among what ${kind}() makes: make it with that`)
}
