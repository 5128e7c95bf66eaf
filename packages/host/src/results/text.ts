import type { CallToolResult, ContentBlock } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'

/** The content, and the structured content as text where no block says the same already. */
export function blocksOf({ content, structuredContent }: CallToolResult): readonly ContentBlock[] {
  if (structuredContent === undefined)
    return content.length > 0 ? content : [{ type: 'text', text: '(no output)' }]
  const json = JSON.stringify(structuredContent)
  if (content.some((block) => block.type === 'text' && sameJson(block.text, json))) return content
  return [...content, { type: 'text', text: json }]
}

/** The text of a block, if that is what it is. */
export function textIn(block: ContentBlock): string | undefined {
  if (block.type === 'text') return block.text
  return block.type === 'resource' && 'text' in block.resource ? block.resource.text : undefined
}

/** All texts of a result, one after another. */
export function wholeText(result: CallToolResult): string {
  return blocksOf(result)
    .flatMap((block) => textIn(block) ?? [])
    .join('\n')
}

/** What paths are looked up in: the structured content, else the JSON that its only text is, else the whole result. */
export function documentOf(result: CallToolResult): unknown {
  if (result.structuredContent !== undefined) return result.structuredContent
  const texts = result.content.flatMap((block) => textIn(block) ?? [])
  const [only] = texts
  if (texts.length === 1 && only !== undefined) {
    try {
      return readJson(only)
    } catch {
      return result
    }
  }
  return result
}

function sameJson(text: string, json: string): boolean {
  if (text === json) return true
  // Longer than its pretty form could be: not the same, and not worth parsing.
  if (text.length < json.length || text.length > json.length * 20) return false
  try {
    return JSON.stringify(readJson(text)) === json
  } catch {
    return false
  }
}
