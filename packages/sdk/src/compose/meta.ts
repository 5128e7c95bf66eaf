import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { MetaKey } from '../protocol/meta.ts'

/**
 * The part of a `_meta` that is meant for whoever is at the other end: not what speaks of one hop (the progress token,
 * who sends, in which revision), and no other key reserved for the protocol but those of relayed extensions. Trace
 * context travels.
 */
export function endToEnd(meta: unknown, relayed: ReadonlySet<string>): JsonObject | undefined {
  if (!isObject(meta)) return undefined
  const travelling = Object.entries(meta).filter(([key]) => relayed.has(key) || !isOfOneHop(key))
  return travelling.length === 0 ? undefined : Object.fromEntries(travelling)
}

/** A result or the params of a question with the `_meta` that travels. */
export function withEndToEnd(value: JsonObject, relayed: ReadonlySet<string>): JsonObject {
  const { _meta, ...rest } = value
  const meta = endToEnd(_meta, relayed)
  return meta === undefined ? rest : { ...rest, _meta: meta }
}

function isOfOneHop(key: string): boolean {
  if (key === MetaKey.progressToken) return true
  const slash = key.indexOf('/')
  const [, second] = slash === -1 ? [] : key.slice(0, slash).toLowerCase().split('.')
  return second === 'modelcontextprotocol' || second === 'mcp'
}
