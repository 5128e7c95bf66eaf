import type { Annotations, CallToolResult, ContentBlock } from '@jackfield/sdk'
import { parsed } from './json.ts'

/** Whether content is for the user alone, so that no model may get it. */
export function isForPersonOnly(annotations: Annotations | undefined): boolean {
  const audience = annotations?.audience ?? []
  return audience.length > 0 && audience.every((role) => role === 'user')
}

/** A result without the content for the user alone, with a note about it. The result itself is not changed. */
export function forModel(result: CallToolResult): CallToolResult {
  const modelBlocks = result.content.filter((block) => !isForPersonOnly(block.annotations))
  const hiddenCount = result.content.length - modelBlocks.length
  if (hiddenCount === 0) return result
  const parts = hiddenCount === 1 ? '1 part of this result is' : `${hiddenCount} parts of this result are`
  const note: ContentBlock = { type: 'text', text: `[${parts} for the person alone and not given to you]` }
  const { structuredContent, ...rest } = result
  const hidden = result.content.filter((block) => isForPersonOnly(block.annotations))
  const isRepeated = hidden.some((block) => block.type === 'text' && isJsonOf(block.text, structuredContent))
  return {
    ...rest,
    content: [...modelBlocks, note],
    ...(structuredContent !== undefined && !isRepeated && { structuredContent }),
  }
}

function isJsonOf(text: string, value: unknown): boolean {
  const json = parsed(text)
  return json !== undefined && JSON.stringify(json) === JSON.stringify(value)
}
