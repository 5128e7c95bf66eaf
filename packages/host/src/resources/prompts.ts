import { McpError, type PromptMessage } from '@jackfield/sdk'
import { promptMessages } from '../models/agent/prompt-messages.ts'
import { isForPersonOnly } from '../shared/audience.ts'
import type { Host, LibraryPrompt, PromptPreview } from '../types/index.ts'
import { tokensOf } from './contents.ts'
import { refuseUnfit } from './fields.ts'

/** What a prompt would say, once its arguments are found to be whole. */
export async function previewPrompt(
  host: Pick<Host, 'prompt'>,
  prompts: readonly LibraryPrompt[],
  name: string,
  args: Readonly<Record<string, string>>,
  options: { signal?: AbortSignal; conversation?: string },
): Promise<PromptPreview> {
  const prompt = promptNamed(prompts, name)
  const fields = (prompt.prompt.arguments ?? []).map((one) => ({
    name: one.name,
    required: one.required === true,
  }))
  refuseUnfit(`The prompt ${prompt.command}`, fields, Object.keys(args))
  const result = await host.prompt(prompt.name, { ...args }, options)
  const said = promptMessages(result)
  return {
    prompt,
    ...(result.description !== undefined && { description: result.description }),
    messages: result.messages.map(weighed),
    said,
    tokens: tokensOf(said),
  }
}

function promptNamed(prompts: readonly LibraryPrompt[], name: string): LibraryPrompt {
  const wanted = name.replace(/^\//, '')
  const found =
    prompts.find(({ command }) => command === wanted) ?? prompts.find((prompt) => prompt.name === wanted)
  if (found !== undefined) return found
  const same = prompts.filter(({ prompt }) => prompt.name === wanted).map(({ command }) => command)
  const hint = same.length === 0 ? '' : `. Did you mean ${same.join(' or ')}?`
  throw new McpError('INVALID', `There is no prompt ${JSON.stringify(wanted)} at present${hint}`)
}

function weighed(message: PromptMessage): PromptPreview['messages'][number] {
  return isForPersonOnly(message.content.annotations)
    ? { ...message, tokens: 0, withheld: 'its server means it for the person alone' }
    : { ...message, tokens: tokensOf(promptMessages({ messages: [message] })) }
}
