import { isObject } from '../jsonrpc/parse.ts'
import type { ContentBlock, ResourceContents } from '../protocol/content.ts'

const mimeType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;.*)?$/
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Whether a value is a content block with everything its type must have. */
export function isContent(value: unknown): value is ContentBlock {
  if (!isObject(value)) return false
  switch (value['type']) {
    case 'text':
      return typeof value['text'] === 'string'
    case 'image':
    case 'audio':
      return (
        isBase64(value['data']) && typeof value['mimeType'] === 'string' && mimeType.test(value['mimeType'])
      )
    case 'resource_link':
      return typeof value['uri'] === 'string' && typeof value['name'] === 'string'
    case 'resource':
      return isContents(value['resource'])
    default:
      return false
  }
}

/** Whether a value is the contents of a resource: a URI with either text or bytes in base64. */
export function isContents(value: unknown): value is ResourceContents {
  if (!isObject(value) || typeof value['uri'] !== 'string') return false
  const { text, blob } = value
  return blob === undefined ? typeof text === 'string' : text === undefined && isBase64(blob)
}

function isBase64(value: unknown): boolean {
  return typeof value === 'string' && value.length % 4 === 0 && base64.test(value)
}
