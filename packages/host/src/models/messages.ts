import type { ContentBlock, SamplingContent, SamplingMessage } from '@jackfield/sdk'
import type { ModelMessage, ToolResultPart } from 'ai'
import type { ToolNames } from './tool-names.ts'

type AssistantPart = Exclude<Extract<ModelMessage, { role: 'assistant' }>['content'], string>[number]
type UserPart = Exclude<Extract<ModelMessage, { role: 'user' }>['content'], string>[number]
type ToolOutput = ToolResultPart['output']
type ProviderOptions = NonNullable<ToolResultPart['providerOptions']>

/** What a provider wants back with a tool call it made: the thinking before it, and its own marks on it. */
export interface KeptParts {
  before: Extract<AssistantPart, { type: 'reasoning' }>[]
  options: ProviderOptions | undefined
}

/** Turns MCP sampling messages into those of the AI SDK. */
export function toModelMessages(
  messages: readonly SamplingMessage[],
  names: ToolNames,
  kept: ReadonlyMap<string, KeptParts>,
): ModelMessage[] {
  const calls = new Map<string, string>()
  const out: ModelMessage[] = []
  for (const message of messages) {
    const blocks = blocksOf(message.content)
    if (message.role === 'assistant') {
      const content = blocks.flatMap((block) => assistantParts(block, names, kept, calls))
      if (content.length > 0) out.push({ role: 'assistant', content })
      continue
    }
    const results = blocks.filter((block) => block.type === 'tool_result')
    if (results.length > 0) {
      out.push({
        role: 'tool',
        content: results.map((block) => ({
          type: 'tool-result',
          toolCallId: block.toolUseId,
          toolName: calls.get(block.toolUseId) ?? 'unknown',
          output: toolOutput(block.content, block.structuredContent, block.isError === true),
        })),
      })
    }
    const content = blocks.flatMap(userParts)
    if (content.length > 0) out.push({ role: 'user', content })
  }
  return out
}

/** The blocks of a message, which may hold one or many. */
export function blocksOf(content: SamplingMessage['content']): SamplingContent[] {
  return Array.isArray(content) ? content : [content]
}

function assistantParts(
  block: SamplingContent,
  names: ToolNames,
  kept: ReadonlyMap<string, KeptParts>,
  calls: Map<string, string>,
): AssistantPart[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ type: 'text', text: block.text }]
    case 'image':
    case 'audio':
      return [file(block)]
    case 'tool_use': {
      const toolName = names.toWire(block.name)
      calls.set(block.id, toolName)
      const extra = kept.get(block.id)
      return [
        ...(extra?.before ?? []),
        {
          type: 'tool-call',
          toolCallId: block.id,
          toolName,
          input: block.input,
          ...(extra?.options !== undefined && { providerOptions: extra.options }),
        },
      ]
    }
    case 'tool_result':
      return []
  }
}

function userParts(block: SamplingContent): UserPart[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ type: 'text', text: block.text }]
    case 'image':
    case 'audio':
      return [file(block)]
    case 'tool_use':
    case 'tool_result':
      return []
  }
}

function file(block: { data: string; mimeType: string }): Extract<UserPart, { type: 'file' }> {
  return { type: 'file', data: { type: 'data', data: block.data }, mediaType: block.mimeType }
}

function toolOutput(content: readonly ContentBlock[], structured: unknown, isError: boolean): ToolOutput {
  const images = content.filter((block) => block.type === 'image')
  const texts = content.filter((block) => block.type !== 'image').map(textOf)
  if (content.length === 0) texts.push(structured === undefined ? '(no output)' : JSON.stringify(structured))
  const text = texts.join('\n\n')
  if (isError) return { type: 'error-text', value: text }
  if (images.length === 0) return { type: 'text', value: text }
  return {
    type: 'content',
    value: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...images.map((image) => ({
        type: 'file' as const,
        data: { type: 'data' as const, data: image.data },
        mediaType: image.mimeType,
      })),
    ],
  }
}

/** A block of a tool's result in words, for models that take only text there. */
export function textOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
    case 'audio':
      return `[${block.mimeType}, ${bytesOf(block.data)} bytes, not shown to you]`
    case 'resource_link':
      return `[resource ${block.uri}: ${block.title ?? block.name}]`
    case 'resource':
      return 'text' in block.resource
        ? `[resource ${block.resource.uri}]\n${block.resource.text}`
        : `[resource ${block.resource.uri}, ${block.resource.mimeType ?? 'binary'}, ${bytesOf(block.resource.blob)} bytes, not shown to you]`
  }
}

/** Bytes behind a base64 text. */
export function bytesOf(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding)
}
