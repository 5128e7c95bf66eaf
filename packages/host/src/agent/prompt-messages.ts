import type { GetPromptResult, SamplingContent, SamplingMessage } from '@jackfield/sdk'
import { isForPersonOnly } from '../audience.ts'
import { textOf } from '../models/messages.ts'

/**
 * A prompt's messages as the conversation takes them: embedded resources and links become words, and what is meant for
 * the person alone is left out.
 */
export function promptMessages(prompt: Pick<GetPromptResult, 'messages'>): SamplingMessage[] {
  const forModels = prompt.messages.filter(({ content }) => !isForPersonOnly(content.annotations))
  return forModels.map(({ role, content }) => {
    const block: SamplingContent =
      content.type === 'resource' || content.type === 'resource_link'
        ? { type: 'text', text: textOf(content) }
        : content
    return { role, content: block }
  })
}
