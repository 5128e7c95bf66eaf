import type {
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  SamplingMessage,
  ToolResultContent,
  ToolUseContent,
} from '@jackfield/sdk'
import { isForPersonOnly } from '../../shared/audience.ts'
import type { ModelReply } from '../../types/index.ts'
import { blocksOf, toMessageBlocks } from '../messages.ts'

/** The tool calls of a reply. */
export function toolUses({ content }: Pick<ModelReply | SamplingMessage, 'content'>): ToolUseContent[] {
  return blocksOf(content).filter((block) => block.type === 'tool_use')
}

/** The text of a message. */
export function messageText({ content }: Pick<SamplingMessage, 'content'>): string {
  return blocksOf(content)
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n\n')
}

/** The result of a call, with the model's version of it. */
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

/** A message of the user with one text. */
export function userText(text: string): SamplingMessage {
  return { role: 'user', content: { type: 'text', text } }
}

/**
 * Converts a prompt's messages for a conversation: embedded images and audio become messages, other resources and links become
 * text, and content for the user alone is left out.
 */
export function promptMessages(prompt: Pick<GetPromptResult, 'messages'>): SamplingMessage[] {
  const forModels = prompt.messages.filter(({ content }) => !isForPersonOnly(content.annotations))
  return forModels.flatMap(({ role, content }) =>
    toMessageBlocks(content).map((block) => ({ role, content: block })),
  )
}
