import type { CreateMessageParams, CreateMessageResult, SamplingMessage, Tool } from '@jackfield/sdk'
import { isObject } from '../cli/arguments.ts'
import { type Cancelled, cancelled, type Prompter } from '../forms/prompter.ts'
import { editJson, editText } from './edit.ts'

/** The parts of a request that the user can change. */
type Editable = Pick<
  CreateMessageParams,
  'systemPrompt' | 'messages' | 'maxTokens' | 'temperature' | 'stopSequences' | 'tools' | 'toolChoice'
>
type Part = keyof Editable | 'all'
type ParseResult<T> = { value: T } | { problem: string }

const parts: readonly { value: Part; label: string }[] = [
  { value: 'messages', label: 'The messages' },
  { value: 'systemPrompt', label: 'The system prompt' },
  { value: 'maxTokens', label: 'The token limit' },
  { value: 'temperature', label: 'The temperature' },
  { value: 'stopSequences', label: 'The stop sequences' },
  { value: 'tools', label: 'The tools' },
  { value: 'toolChoice', label: 'The tool choice' },
  { value: 'all', label: 'All of it, as JSON' },
]
const names = parts.map(({ value }) => value)

interface EditOptions {
  prompter: Prompter
  env: NodeJS.ProcessEnv
}

/** Lets the user change one part of a request, or all of it; `most` is the server's token limit. */
export async function editRequest(
  params: CreateMessageParams,
  most: number,
  editing: EditOptions,
): Promise<CreateMessageParams | Cancelled> {
  const part = await editing.prompter.select<Part>({
    message: 'Edit what?',
    options: [...parts],
    initial: 'messages',
  })
  if (part === cancelled) return cancelled
  if (part === 'systemPrompt') {
    const text = await editText(params.systemPrompt ?? '', { ...editing, suffix: '.txt' })
    if (text === cancelled) return cancelled
    const { systemPrompt: _before, ...others } = params
    return text === '' ? others : { ...others, systemPrompt: text }
  }
  if (part === 'all') {
    const changes = await editJson(editableParts(params), {
      ...editing,
      read: (value) => parseEdit(value, most),
    })
    return changes === cancelled ? cancelled : withChanges(params, changes)
  }
  // Null means an omitted part, since JSON has no undefined.
  const value: unknown = params[part] ?? null
  const changed = await editJson(value, {
    ...editing,
    read: (edited): ParseResult<unknown> => {
      const read = parseEdit({ ...editableParts(params), [part]: edited ?? undefined }, most)
      return 'problem' in read ? read : { value: edited }
    },
  })
  if (changed === cancelled) return cancelled
  const read = parseEdit({ ...editableParts(params), [part]: changed ?? undefined }, most)
  return 'problem' in read ? cancelled : withChanges(params, read.value)
}

/** Lets the user change a response: its text, or its content as JSON if it has other blocks. */
export async function editResult(
  result: CreateMessageResult,
  editing: EditOptions,
): Promise<CreateMessageResult | Cancelled> {
  const only = onlyText(result)
  if (only !== undefined) {
    const text = await editText(only, { ...editing, suffix: '.txt' })
    return text === cancelled ? cancelled : { ...result, content: { type: 'text', text } }
  }
  const content = await editJson(result.content, {
    ...editing,
    read: (value): ParseResult<CreateMessageResult['content']> =>
      isContent(value)
        ? { value }
        : { problem: 'it must be a content block with a "type", or a list of them.' },
  })
  return content === cancelled ? cancelled : { ...result, content }
}

function onlyText({ content }: CreateMessageResult): string | undefined {
  const blocks = Array.isArray(content) ? content : [content]
  const [only] = blocks
  return blocks.length === 1 && only?.type === 'text' ? only.text : undefined
}

function editableParts(
  params: { [K in keyof Editable]?: Editable[K] | undefined } & Pick<Editable, 'messages' | 'maxTokens'>,
): Editable {
  const { systemPrompt, messages, maxTokens, temperature, stopSequences, tools, toolChoice } = params
  return {
    ...(systemPrompt !== undefined && { systemPrompt }),
    messages,
    maxTokens,
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences !== undefined && { stopSequences }),
    ...(tools !== undefined && { tools }),
    ...(toolChoice !== undefined && { toolChoice }),
  }
}

function withChanges(params: CreateMessageParams, changes: Editable): CreateMessageParams {
  const { modelPreferences, includeContext, metadata, _meta } = params
  return {
    ...(modelPreferences !== undefined && { modelPreferences }),
    ...(includeContext !== undefined && { includeContext }),
    ...(metadata !== undefined && { metadata }),
    ...(_meta !== undefined && { _meta }),
    ...changes,
  }
}

/** Validates the edit; it may not exceed the server's token limit. */
function parseEdit(value: unknown, most: number): ParseResult<Editable> {
  if (!isObject(value)) return { problem: 'it must be a JSON object.' }
  const unknownKey = Object.keys(value).find((key) => !names.some((name) => name === key && name !== 'all'))
  if (unknownKey !== undefined) return { problem: `"${unknownKey}" cannot be changed here.` }
  const { systemPrompt, messages, maxTokens, temperature, stopSequences, tools, toolChoice } = value
  if (!isListOf(messages, isMessage) || messages.length === 0) {
    return {
      problem:
        '"messages" must be a list of messages, each with "role" (user or assistant) and "content" with a "type".',
    }
  }
  if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens) || maxTokens < 1 || maxTokens > most) {
    return {
      problem: `"maxTokens" must be a whole number from 1 to ${most}, the limit that the server set.`,
    }
  }
  if (systemPrompt !== undefined && typeof systemPrompt !== 'string') {
    return { problem: '"systemPrompt" must be a string.' }
  }
  if (temperature !== undefined && typeof temperature !== 'number') {
    return { problem: '"temperature" must be a number.' }
  }
  if (stopSequences !== undefined && !isListOf(stopSequences, isText)) {
    return { problem: '"stopSequences" must be a list of strings.' }
  }
  if (tools !== undefined && !isListOf(tools, isTool)) {
    return { problem: '"tools" must be tools, each with "name" and an "inputSchema" of type "object".' }
  }
  if (toolChoice !== undefined && !isToolChoice(toolChoice)) {
    return { problem: '"toolChoice" must be { "mode": "auto" }, "required" or "none".' }
  }
  return {
    value: editableParts({
      ...{ systemPrompt, messages, maxTokens, temperature, stopSequences, tools, toolChoice },
    }),
  }
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(is)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isMessage(value: unknown): value is SamplingMessage {
  return isObject(value) && (value.role === 'user' || value.role === 'assistant') && isContent(value.content)
}

function isContent(value: unknown): value is CreateMessageResult['content'] {
  const blocks: unknown[] = Array.isArray(value) ? value : [value]
  return blocks.every((entry) => isObject(entry) && typeof entry.type === 'string')
}

function isTool(value: unknown): value is Tool {
  return (
    isObject(value) &&
    typeof value.name === 'string' &&
    isObject(value.inputSchema) &&
    value.inputSchema.type === 'object'
  )
}

function isToolChoice(value: unknown): value is NonNullable<CreateMessageParams['toolChoice']> {
  return isObject(value) && [undefined, 'auto', 'required', 'none'].some((mode) => mode === value.mode)
}
