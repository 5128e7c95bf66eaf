import type {
  CallToolResult,
  ContentBlock,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
  ToolUseContent,
} from '@jackfield/sdk'
import type { ModelReply } from '../../types/index.ts'

/** The blocks of a message, also where it has a single one. */
export function blocksOf(content: SamplingMessage['content']): SamplingContent[] {
  return Array.isArray(content) ? content : [content]
}

/** The calls that a reply asks for. */
export function toolUses({ content }: Pick<ModelReply | SamplingMessage, 'content'>): ToolUseContent[] {
  return blocksOf(content).filter((block) => block.type === 'tool_use')
}

/** What a message says in words. */
export function wordsOf({ content }: Pick<SamplingMessage, 'content'>): string {
  return blocksOf(content)
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n\n')
}

/** The result of a call, with what the model gets of it. */
export function toolResult(
  use: Pick<ToolUseContent, 'id'>,
  result: CallToolResult,
  content: readonly ContentBlock[] = result.content,
): ToolResultContent {
  return {
    type: 'tool_result',
    toolUseId: use.id,
    content: [...content],
    ...(result.isError === true && { isError: true }),
  }
}

/** A result that says why there is none. */
export function failed(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true }
}
