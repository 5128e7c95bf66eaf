import type { JsonObject, JsonRpcResponse } from './message.ts'

/** Lists shorter than this are written as quickly as they are looked up. */
const minLength = 8

/** JSON of a list, each form made when first needed. */
interface Written {
  text: string | undefined
  bytes: Uint8Array | undefined
}

const lists = new WeakMap<readonly unknown[], Written>()
// Made when first needed: its module of the runtime takes long to load.
let encoder: TextEncoder | undefined

/** Says that a list stays as it is from now on, so that its JSON has to be written once only. */
export function cacheJson<T extends readonly unknown[]>(list: T): T {
  if (list.length >= minLength) lists.set(list, { text: undefined, bytes: undefined })
  return list
}

/** Whether a list was said to stay as it is. */
export function hasCachedJson(list: readonly unknown[]): boolean {
  return writtenOf(list) !== undefined
}

/** JSON text of a response. Lists in its result that are kept are not written again. */
export function responseText(response: JsonRpcResponse): string {
  return partsOf(response, textOf)?.join('') ?? JSON.stringify(response)
}

/** The same as bytes in UTF-8 where its result holds a list that is kept, so that those are not encoded again. */
export function responseBody(response: JsonRpcResponse): string | Uint8Array<ArrayBuffer> {
  const parts = partsOf(response, bytesOf)
  if (parts === undefined) return JSON.stringify(response)
  const chunks = parts.map((part) => (typeof part === 'string' ? encoded(part) : part))
  const body = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}

/** The text of a response in pieces, one for each kept list; undefined for a response that has none. */
function partsOf<T>(
  response: JsonRpcResponse,
  write: (written: Written, list: readonly unknown[]) => T,
): (T | string)[] | undefined {
  if (!('result' in response) || !holdsKept(response.result)) return undefined
  const parts: (T | string)[] = []
  let text = `{"jsonrpc":"2.0","id":${JSON.stringify(response.id)},"result":{`
  let between = ''
  for (const [name, value] of Object.entries(response.result)) {
    const written = writtenOf(value)
    const json = written === undefined ? JSON.stringify(value) : ''
    if (json === undefined) continue
    text += `${between}${JSON.stringify(name)}:${json}`
    between = ','
    if (written !== undefined && Array.isArray(value)) {
      parts.push(text, write(written, value))
      text = ''
    }
  }
  parts.push(`${text}}}`)
  return parts
}

function holdsKept(result: JsonObject): boolean {
  for (const name in result) if (writtenOf(result[name]) !== undefined) return true
  return false
}

function writtenOf(value: unknown): Written | undefined {
  return Array.isArray(value) && value.length >= minLength ? lists.get(value) : undefined
}

function textOf(written: Written, list: readonly unknown[]): string {
  written.text ??= JSON.stringify(list)
  return written.text
}

function bytesOf(written: Written, list: readonly unknown[]): Uint8Array {
  written.bytes ??= encoded(JSON.stringify(list))
  return written.bytes
}

function encoded(text: string): Uint8Array {
  encoder ??= new TextEncoder()
  return encoder.encode(text)
}
