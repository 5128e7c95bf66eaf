import type { GetPromptResult, SamplingMessage } from '@jackfield/sdk'
import { isForPersonOnly } from '../../shared/audience.ts'
import { textBlock } from '../messages.ts'

/**
 * Converts a prompt's messages for a conversation: embedded images and audio become messages, other resources and links become
 * text, and content for the user alone is left out.
 */
export function promptMessages(prompt: Pick<GetPromptResult, 'messages'>): SamplingMessage[] {
  const forModels = prompt.messages.filter(({ content }) => !isForPersonOnly(content.annotations))
  return forModels.flatMap(({ role, content }) =>
    textBlock(content).map((block) => ({ role, content: block })),
  )
}
