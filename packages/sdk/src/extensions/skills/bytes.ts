import type { ResourceContents } from '../../protocol/content.ts'
import { toBase64 } from '../../server/content.ts'

/** The digest of some bytes as an entry carries it. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)))
  return `sha256:${Array.from(sum, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** The text these bytes are, which gives the very same bytes again; undefined when they are none. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

export function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content
}

/** A file as `resources/read` gives it: text where its bytes are text. */
export function contentsOf(uri: string, bytes: Uint8Array): ResourceContents {
  const mimeType = mimeTypeOf(uri)
  const text = textOf(bytes)
  if (text !== undefined) return { uri, mimeType: mimeType ?? 'text/plain', text }
  return { uri, mimeType: mimeType ?? 'application/octet-stream', blob: toBase64(bytes) }
}

/** The media type that goes with a file's ending; undefined for an ending that says nothing. */
export function mimeTypeOf(path: string): string | undefined {
  const ending = /\.([A-Za-z0-9]{1,8})$/.exec(path)?.[1]?.toLowerCase()
  return ending === undefined ? undefined : types.get(ending)
}

const types: ReadonlyMap<string, string> = new Map([
  ['md', 'text/markdown'],
  ['txt', 'text/plain'],
  ['html', 'text/html'],
  ['css', 'text/css'],
  ['csv', 'text/csv'],
  ['js', 'text/javascript'],
  ['mjs', 'text/javascript'],
  ['ts', 'text/x-typescript'],
  ['py', 'text/x-python'],
  ['sh', 'application/x-sh'],
  ['json', 'application/json'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['toml', 'application/toml'],
  ['xml', 'application/xml'],
  ['svg', 'image/svg+xml'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['pdf', 'application/pdf'],
  ['zip', 'application/zip'],
])
