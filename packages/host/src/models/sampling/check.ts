import type { CreateMessageParams, CreateMessageResult, SamplingContent } from '@jackfield/sdk'
import { checkSampling } from '@jackfield/sdk/internal'
import { inWords, isRecord } from '../../shared/json.ts'
import type { ModelReply } from '../../types/index.ts'
import { blocksOf } from '../messages.ts'

const blockTypes = ['text', 'image', 'audio', 'tool_use', 'tool_result']

/** Why an edited request cannot be sent; undefined when it can. */
export function requestProblem(params: CreateMessageParams): string | undefined {
  if (!isRecord(params) || !Array.isArray(params.messages) || params.messages.length === 0) {
    return 'a request needs at least one message'
  }
  for (const [index, message] of params.messages.entries()) {
    if (!isRecord(message) || (message.role !== 'user' && message.role !== 'assistant')) {
      return `message ${index + 1} needs a role, user or assistant`
    }
    const problem = blocksOf(message.content).map(blockProblem).find(Boolean)
    if (problem !== undefined) return `message ${index + 1}: ${problem}`
  }
  const { systemPrompt, temperature, stopSequences, tools, toolChoice } = params
  if (systemPrompt !== undefined && typeof systemPrompt !== 'string')
    return 'the system prompt must be a string'
  if (temperature !== undefined && !Number.isFinite(temperature)) return 'the temperature must be a number'
  if (stopSequences !== undefined && !isStringList(stopSequences)) return 'stop sequences must be strings'
  if (tools !== undefined && !(Array.isArray(tools) && tools.every(isTool))) {
    return 'each tool needs a name and an inputSchema with "type": "object"'
  }
  const modes: unknown[] = ['auto', 'required', 'none', undefined]
  if (toolChoice !== undefined && !(isRecord(toolChoice) && modes.includes(toolChoice.mode))) {
    return 'the tool choice must be auto, required or none'
  }
  return checkSampling(params)
}

/** Why a result does not match its request; undefined if it does. */
export function resultProblem(params: CreateMessageParams, result: CreateMessageResult): string | undefined {
  if (!isRecord(result) || (result.role !== 'assistant' && result.role !== 'user')) {
    return 'an answer needs a role, assistant or user'
  }
  if (typeof result.model !== 'string' || result.model === '') return 'an answer needs the name of its model'
  if (result.stopReason !== undefined && typeof result.stopReason !== 'string') {
    return 'the stop reason must be a string'
  }
  const blocks = blocksOf(result.content)
  const problem = blocks.map(blockProblem).find(Boolean)
  if (problem !== undefined) return problem
  if (blocks.some((block) => block.type === 'tool_result')) return 'an answer must not contain tool results'
  return toolUseProblem(params, blocks)
}

/** Why a model's reply is not a valid result of `sampling/createMessage`; undefined if it is. */
export function replyProblem(params: CreateMessageParams, reply: ModelReply): string | undefined {
  return toolUseProblem(params, blocksOf(reply.content))
}

function toolUseProblem(
  { tools, toolChoice }: CreateMessageParams,
  blocks: readonly SamplingContent[],
): string | undefined {
  const uses = blocks.filter((block) => block.type === 'tool_use')
  const offered = toolChoice?.mode === 'none' ? [] : (tools ?? [])
  const unknownUse = uses.find((use) => !offered.some((tool) => tool.name === use.name))
  if (unknownUse !== undefined)
    return `it uses the tool "${unknownUse.name}", which the request does not offer`
  return new Set(uses.map((use) => use.id)).size === uses.length ? undefined : 'two tool uses share one id'
}

function blockProblem(block: SamplingContent): string | undefined {
  if (!isRecord(block) || !blockTypes.includes(inWords(block.type))) {
    return `a content block must be one of ${blockTypes.join(', ')}`
  }
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? undefined : 'a text block needs "text"'
    case 'image':
    case 'audio':
      return typeof block.data === 'string' && typeof block.mimeType === 'string'
        ? undefined
        : `${block.type} needs "data" and "mimeType"`
    case 'tool_use':
      return typeof block.id === 'string' && typeof block.name === 'string' && isRecord(block.input)
        ? undefined
        : 'a tool use needs "id", "name" and "input"'
    case 'tool_result':
      return typeof block.toolUseId === 'string' && Array.isArray(block.content)
        ? undefined
        : 'a tool result needs "toolUseId" and "content"'
  }
}

function isStringList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isTool(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value['name'] === 'string' &&
    value['name'] !== '' &&
    isRecord(value['inputSchema']) &&
    value['inputSchema']['type'] === 'object'
  )
}
