import { utf8 } from './bytes.ts'
import type { JsonRpcResponse } from './message.ts'

/** Shorter lists are serialized as fast as they are looked up. */
const minLength = 8

/** JSON of a list; each form is created on first use. */
interface CacheEntry {
  text: string | undefined
  bytes: Bytes | undefined
}

const lists = new WeakMap<readonly unknown[], CacheEntry>()

/** Caches the JSON of a list that will not change any more. */
export function cacheJson<T extends readonly unknown[]>(list: T): T {
  if (list.length >= minLength) lists.set(list, { text: undefined, bytes: undefined })
  return list
}

/** Whether a list was passed to `cacheJson`. */
export function hasCachedJson(list: readonly unknown[]): boolean {
  return cacheEntry(list) !== undefined
}

/** JSON text of a response, with the cached JSON of the lists in its result. */
export function responseText(response: JsonRpcResponse): string {
  return splitAtCachedLists(response, cachedText)?.join('') ?? JSON.stringify(response)
}

/** JSON as text, or in parts of which some are UTF-8 already. */
export type JsonBody = string | readonly (string | Bytes)[]

type Bytes = ReturnType<typeof utf8>

/** The JSON of a response, in parts if its result has a cached list, so that the list is neither encoded again nor copied. */
export function responseBody(response: JsonRpcResponse): JsonBody {
  return splitAtCachedLists(response, cachedBytes) ?? JSON.stringify(response)
}

/** The text of a body. */
export function textOfBody(body: JsonBody): string {
  if (typeof body === 'string') return body
  const decoder = new TextDecoder()
  return body.map((part) => (typeof part === 'string' ? part : decoder.decode(part))).join('')
}

/** The parts of a body as one array of bytes. */
export function joinParts(parts: readonly (string | Bytes)[]): Bytes {
  const chunks = parts.map((part) => (typeof part === 'string' ? utf8(part) : part))
  const body = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}

/** The JSON of a response in pieces, one for each cached list; undefined if it has none. */
function splitAtCachedLists<T>(
  response: JsonRpcResponse,
  write: (entry: CacheEntry, list: readonly unknown[]) => T,
): (T | string)[] | undefined {
  if (!('result' in response)) return undefined
  const { result } = response
  let hasList = false
  for (const name in result) hasList ||= cacheEntry(result[name]) !== undefined
  if (!hasList) return undefined
  const parts: (T | string)[] = []
  let text = `{"jsonrpc":"2.0","id":${JSON.stringify(response.id)},"result":{`
  let separator = ''
  for (const [name, value] of Object.entries(result)) {
    const entry = cacheEntry(value)
    const json = entry === undefined ? JSON.stringify(value) : ''
    if (json === undefined) continue
    text += `${separator}${JSON.stringify(name)}:${json}`
    separator = ','
    if (entry !== undefined && Array.isArray(value)) {
      parts.push(text, write(entry, value))
      text = ''
    }
  }
  parts.push(`${text}}}`)
  return parts
}

function cacheEntry(value: unknown): CacheEntry | undefined {
  return Array.isArray(value) && value.length >= minLength ? lists.get(value) : undefined
}

function cachedText(entry: CacheEntry, list: readonly unknown[]): string {
  entry.text ??= JSON.stringify(list)
  return entry.text
}

function cachedBytes(entry: CacheEntry, list: readonly unknown[]): Bytes {
  entry.bytes ??= utf8(JSON.stringify(list))
  return entry.bytes
}
