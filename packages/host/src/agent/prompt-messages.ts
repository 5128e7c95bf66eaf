import type { GetPromptResult, SamplingContent, SamplingMessage } from '@jackfield/sdk'
import { textOf } from '../models/messages.ts'

/** A prompt's messages as the conversation takes them: embedded resources and links become words. */
export function promptMessages(prompt: GetPromptResult): SamplingMessage[] {
  return prompt.messages.map(({ role, content }) => {
    const block: SamplingContent =
      content.type === 'resource' || content.type === 'resource_link'
        ? { type: 'text', text: textOf(content) }
        : content
    return { role, content: block }
  })
}
