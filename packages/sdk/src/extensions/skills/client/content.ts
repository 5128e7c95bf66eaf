import { McpError } from '../../../jsonrpc/error.ts'
import type { ResourceContents } from '../../../protocol/content.ts'
import { bytesOf } from '../bytes.ts'

/** The bytes of what was read; undefined for more than were promised. */
export function contentAt(content: ResourceContents, size: number): Uint8Array | undefined {
  if ('text' in content && typeof content.text === 'string') {
    return content.text.length > size ? undefined : bytesOf(content.text)
  }
  if ('blob' in content && typeof content.blob === 'string') {
    return content.blob.length > 4 * Math.ceil(size / 3) ? undefined : fromBase64(content.uri, content.blob)
  }
  throw new McpError('PROTOCOL', `The content of ${content.uri} is neither text nor bytes`)
}

function fromBase64(uri: string, text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch (error) {
    throw new McpError('PROTOCOL', `The content of ${uri} is not base64`, { cause: error })
  }
}
