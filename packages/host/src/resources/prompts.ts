import { McpError, type PromptMessage, parseTemplate } from '@jackfield/sdk'
import { promptMessages } from '../models/agent/blocks.ts'
import { isForPersonOnly } from '../shared/audience.ts'
import type { Host, LibraryPrompt, PromptPreview, TemplateField } from '../types/index.ts'
import { tokensOf } from './contents.ts'

/** Gets a prompt after validating its arguments. */
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
  checkArguments(`The prompt ${prompt.command}`, fields, Object.keys(args))
  const result = await host.prompt(prompt.name, { ...args }, options)
  const messages = promptMessages(result)
  return {
    prompt,
    ...(result.description !== undefined && { description: result.description }),
    messages: result.messages.map(withTokens),
    input: messages,
    tokens: tokensOf(messages),
  }
}

function promptNamed(prompts: readonly LibraryPrompt[], name: string): LibraryPrompt {
  const requestedName = name.replace(/^\//, '')
  const match =
    prompts.find(({ command }) => command === requestedName) ??
    prompts.find((prompt) => prompt.name === requestedName)
  if (match !== undefined) return match
  const samePlainName = prompts
    .filter(({ prompt }) => prompt.name === requestedName)
    .map(({ command }) => command)
  const hint = samePlainName.length === 0 ? '' : `. Did you mean ${samePlainName.join(' or ')}?`
  throw new McpError('NOT_FOUND', `There is no prompt ${JSON.stringify(requestedName)} at present${hint}`)
}

function withTokens(message: PromptMessage): PromptPreview['messages'][number] {
  return isForPersonOnly(message.content.annotations)
    ? { ...message, tokens: 0, withheld: 'its server marks it for the user only' }
    : { ...message, tokens: tokensOf(promptMessages({ messages: [message] })) }
}

/** The variables of a template in their order. */
export function fieldsOf(uriTemplate: string): TemplateField[] {
  const { names } = parseTemplate(uriTemplate)
  const optional = new Set(
    [...uriTemplate.matchAll(/\{[#;?&]([^}]*)\}/g)].flatMap(([, list = '']) =>
      list.split(',').map((spec) => spec.replace(/(?:\*|:\d+)$/, '')),
    ),
  )
  return names.map((name) => ({ name, required: !optional.has(name) }))
}

/** The URI for these variables; list items are joined with a slash. */
export function expand(uriTemplate: string, values: Readonly<Record<string, string>>): string {
  const fields = fieldsOf(uriTemplate)
  checkArguments(
    `The template ${uriTemplate}`,
    fields,
    // An empty value expands like a missing one.
    Object.keys(values).filter((name) => values[name] !== ''),
  )
  const exploded = new Set([...uriTemplate.matchAll(/[{,+#./;?&]([\w%.]+)\*/g)].map(([, name]) => name))
  return parseTemplate(uriTemplate).expand(
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, exploded.has(name) ? value.split('/') : value]),
    ),
  )
}

/** Throws an McpError 'INVALID' that names missing and unknown arguments. */
function checkArguments(
  subject: string,
  fields: readonly TemplateField[],
  givenNames: readonly string[],
): void {
  const missing = fields.filter(({ name, required }) => required && !givenNames.includes(name))
  const unknown = givenNames.filter((name) => !fields.some((field) => field.name === name))
  if (missing.length === 0 && unknown.length === 0) return
  const names = fields.map(({ name }) => name).join(', ')
  const reasons = [
    ...(missing.length > 0 ? [`needs ${missing.map(({ name }) => name).join(', ')}`] : []),
    ...(unknown.length > 0
      ? [`does not have ${unknown.join(', ')}; ${names === '' ? 'it takes nothing' : `it takes ${names}`}`]
      : []),
  ]
  throw new McpError('INVALID', `${subject} ${reasons.join(', and ')}`)
}
