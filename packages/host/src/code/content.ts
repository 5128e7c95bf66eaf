import type { CallToolResult, ContentBlock } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import type { JsonRecord } from '../json.ts'

/** Content that programs got, which they hold by its number. */
export class KeptContent {
  readonly #blocks: ContentBlock[] = []

  /** A result as the program sees it: texts are there, everything else is a piece it can show. */
  add(result: CallToolResult): JsonRecord {
    const content = result.content.map((block) => {
      this.#blocks.push(block)
      return { ...facts(block), handle: this.#blocks.length - 1 }
    })
    const text = textOf(result)
    const data = result.structuredContent ?? jsonIn(text)
    return { text, ...(data !== undefined && { data }), content }
  }

  get(handle: number): ContentBlock | undefined {
    return this.#blocks[handle]
  }
}

/** All text of a result. */
export function textOf(result: CallToolResult): string {
  return result.content
    .flatMap((block) => {
      if (block.type === 'text') return [block.text]
      return block.type === 'resource' && 'text' in block.resource ? [block.resource.text] : []
    })
    .join('\n')
}

function facts(block: ContentBlock): JsonRecord {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
    case 'audio':
      return { type: block.type, mimeType: block.mimeType }
    case 'resource_link':
      return { type: block.type, uri: block.uri, name: block.name, mimeType: block.mimeType }
    case 'resource': {
      const { uri, mimeType } = block.resource
      return {
        type: block.type,
        uri,
        mimeType,
        ...('text' in block.resource && { text: block.resource.text }),
      }
    }
  }
}

function jsonIn(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}
