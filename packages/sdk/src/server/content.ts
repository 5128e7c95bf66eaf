import { toBase64 } from '../jsonrpc/bytes.ts'
import { invalid, kindOf } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceContents,
} from '../protocol/content.ts'
import { faultInJson } from '../request/json-value.ts'

const mimeTypePattern = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;.*)?$/
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * An image as a content block.
 * @param data bytes, or base64
 * @throws McpError 'INVALID' for text that is not base64, such as a `data:` URL, and for a missing MIME type
 */
export function image(data: Uint8Array | string, mimeType: string): ImageContent {
  return checked({ type: 'image', data: encoded(data), mimeType })
}

/** Audio as a content block, since 2025-03-26. As `image` otherwise. */
export function audio(data: Uint8Array | string, mimeType: string): AudioContent {
  return checked({ type: 'audio', data: encoded(data), mimeType })
}

/** Bytes at a URI as a content block: an embedded resource, whose `resource` can also be returned by a `read`. As `image` otherwise. */
export function blob(uri: string, data: Uint8Array | string, mimeType: string): EmbeddedResource {
  return checked({ type: 'resource', resource: { uri, mimeType, blob: encoded(data) } })
}

function encoded(data: Uint8Array | string): string {
  return typeof data === 'string' ? data : toBase64(data)
}

function checked<B extends ContentBlock>(block: B): B {
  const fault = faultOfContent(block)
  if (fault === undefined) return block
  throw invalid(`This ${block.type} cannot be sent: ${fault}`)
}

/** Why a value is not a valid content block, naming the member; undefined for a valid one. */
export function faultOfContent(value: unknown): string | undefined {
  if (!isObject(value)) return `it must be an object with a "type", not ${kindOf(value)}`
  switch (value['type']) {
    case 'text':
      return typeof value['text'] === 'string' ? undefined : '"text" is not a string'
    case 'image':
    case 'audio':
      return faultOfBase64('data', value['data']) ?? faultOfMimeType(value['mimeType'])
    case 'resource_link':
      return faultOfTexts(value, ['uri', 'name'])
    case 'resource': {
      const fault = faultOfContents(value['resource'])
      return fault === undefined ? undefined : `in "resource", ${fault}`
    }
    default:
      return `"type" is ${JSON.stringify(value['type'])}: use text, image, audio, resource_link or resource`
  }
}

/** Whether a value is the contents of a resource: a URI with either text or bytes in base64. */
export function isContents(value: unknown): value is ResourceContents {
  return faultOfContents(value) === undefined
}

/** Why a value is not valid resource contents, naming the member; undefined for valid ones. */
export function faultOfContents(value: unknown): string | undefined {
  if (!isObject(value)) return `it must be an object with a "uri", not ${kindOf(value)}`
  if (typeof value['uri'] !== 'string') return '"uri" is missing'
  const { text, blob: bytes } = value
  if (bytes === undefined) return typeof text === 'string' ? undefined : '"text" or "blob" is missing'
  return text === undefined ? faultOfBase64('blob', bytes) : 'it has both "text" and "blob"'
}

/** A value of a handler that cannot be serialized. `withJsonPath` finds the member when the error is reported. */
class UnserializableValue extends TypeError {
  readonly place: string
  readonly value: unknown

  constructor(place: string, value: unknown, cause: unknown) {
    super(`The result cannot be written as JSON: ${place}`, { cause })
    this.place = place
    this.value = value
  }
}

/**
 * The JSON text of a value, undefined if it has none.
 * @throws UnserializableValue for what JSON cannot represent, such as a BigInt, NaN, a Map or a cyclic object
 */
export function requireSerializable(place: string, value: unknown): string | undefined {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw new UnserializableValue(place, value, error)
  }
  if (losesParts(value)) throw new UnserializableValue(place, value, undefined)
  return text
}

/** Whether JSON has null for a number of the value, or {} for a map or set. It was serialized before, so it has no cycles. */
function losesParts(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(losesParts)
  if (value instanceof Map || value instanceof Set) return true
  if ('toJSON' in value && typeof value.toJSON === 'function') return false
  for (const name in value) if (losesParts(Reflect.get(value, name))) return true
  return false
}

/** An error to report; of an `UnserializableValue` it names the member that cannot be serialized. */
export function withJsonPath(error: unknown): unknown {
  if (!(error instanceof UnserializableValue)) return error
  const { place, value, message, cause } = error
  const { path, what } = faultInJson(value, 'lossless') ?? { path: '', what: String(cause) }
  const at = path === '' || path.startsWith('[') ? `${place}${path}` : `${place}.${path}`
  return new TypeError(`${message.slice(0, -place.length)}${at} is ${what}`, { cause })
}

/** As `requireSerializable`, for the metadata and annotations of a content block or resource contents. */
export function requireSerializableBlock(place: string, block: unknown): void {
  if (!isObject(block)) return
  const { _meta: meta, annotations, resource } = block
  if (meta !== undefined) requireSerializable(`${place}._meta`, meta)
  if (annotations !== undefined) requireSerializable(`${place}.annotations`, annotations)
  requireSerializableBlock(`${place}.resource`, resource)
}

function faultOfTexts(value: Record<string, unknown>, names: readonly string[]): string | undefined {
  const missing = names.find((name) => typeof value[name] !== 'string')
  return missing === undefined ? undefined : `"${missing}" is missing`
}

function faultOfBase64(member: string, value: unknown): string | undefined {
  if (value === undefined) return `"${member}" is missing`
  if (value instanceof Uint8Array) return `"${member}" has bytes: encode them with image(), audio() or blob()`
  if (typeof value !== 'string') return `"${member}" is not base64`
  if (value.startsWith('data:')) {
    return `"${member}" is a data: URL: use the part after its comma, and its type as "mimeType"`
  }
  return value.length % 4 === 0 && base64.test(value) ? undefined : `"${member}" is not base64`
}

function faultOfMimeType(value: unknown): string | undefined {
  if (value === undefined) return '"mimeType" is missing'
  const isType = typeof value === 'string' && mimeTypePattern.test(value)
  return isType ? undefined : `"mimeType" is not a media type such as image/png: ${JSON.stringify(value)}`
}
