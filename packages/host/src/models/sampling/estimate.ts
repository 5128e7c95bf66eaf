import type { CreateMessageParams, SamplingContent } from '@jackfield/sdk'
import type { ModelFacts, ModelReply, SamplingEstimate } from '../../types/index.ts'

const bytesPerToken = 4
const tokensPerMessage = 4
const tokensPerImage = 1_600
const audioBytesPerToken = 640

/** Tokens of a text, estimated: one for every four bytes of UTF-8. */
export function textTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken)
}

/**
 * Tokens of a request, estimated: one for every four bytes of its texts and of tool definitions as JSON, four for each
 * message, 1 600 for each image, and one for every 640 bytes of sound.
 */
export function requestTokens({
  systemPrompt,
  messages,
  tools,
}: Pick<CreateMessageParams, 'systemPrompt' | 'messages' | 'tools'>): number {
  const said = messages.reduce(
    (sum, { content }) =>
      sum +
      tokensPerMessage +
      (Array.isArray(content) ? content : [content]).reduce((all, block) => all + blockTokens(block), 0),
    0,
  )
  const offered = tools === undefined ? 0 : textTokens(JSON.stringify(tools))
  return said + offered + (systemPrompt === undefined ? 0 : textTokens(systemPrompt) + tokensPerMessage)
}

/** Tokens of an answer, estimated in the same way where its model does not count them. */
export function replyTokens({ content }: Pick<ModelReply, 'content'>): number {
  return (Array.isArray(content) ? content : [content]).reduce((sum, block) => sum + blockTokens(block), 0)
}

function blockTokens(block: SamplingContent): number {
  switch (block.type) {
    case 'text':
      return textTokens(block.text)
    case 'image':
      return tokensPerImage
    case 'audio':
      return Math.ceil((block.data.length * 3) / 4 / audioBytesPerToken)
    default:
      return textTokens(JSON.stringify(block))
  }
}

/** Money for so many tokens; undefined where the person gave no price. */
export function costOf(
  facts: ModelFacts | undefined,
  inputTokens: number,
  outputTokens: number,
): { cost: number; currency: string } | undefined {
  if (facts?.cost === undefined) return undefined
  const cost = (inputTokens * facts.cost.input + outputTokens * facts.cost.output) / 1_000_000
  return { cost, currency: facts.currency ?? 'USD' }
}

/** What a request may use of one model at most. */
export function estimateOf(params: CreateMessageParams, facts: ModelFacts | undefined): SamplingEstimate {
  const inputTokens = requestTokens(params)
  const outputTokens = params.maxTokens
  return { inputTokens, outputTokens, ...costOf(facts, inputTokens, outputTokens) }
}
