import type { CreateMessageParams, SamplingMessage } from './server-requests.ts'

/**
 * How a sampling request violates the rules on tool use, or undefined: a message with tool results has nothing else, and the
 * next message has a result for every tool use.
 */
export function checkSampling(params: CreateMessageParams): string | undefined {
  if (!Number.isInteger(params.maxTokens) || params.maxTokens < 1)
    return '"maxTokens" must be a positive integer'
  let open: string[] = []
  for (const message of params.messages) {
    const blocks = blocksOf(message)
    const results = blocks.filter((block) => block.type === 'tool_result')
    if (results.length > 0 && (results.length !== blocks.length || message.role !== 'user')) {
      return 'tool results must stand alone in a user message'
    }
    const answered = results.map((block) => block.toolUseId)
    const missing = open.find((id) => !answered.includes(id))
    if (missing !== undefined) return `the tool use "${missing}" has no result in the next message`
    const stray = answered.find((id) => !open.includes(id))
    if (stray !== undefined) return `the tool result "${stray}" answers no tool use of the message before`
    const uses = blocks.filter((block) => block.type === 'tool_use')
    if (uses.length > 0 && message.role !== 'assistant') return 'only an assistant message may use tools'
    open = uses.map((block) => block.id)
  }
  return open.length === 0 ? undefined : `the tool use "${open[0]}" has no result`
}

/** The number of tool rounds since the last user message without tool results. */
export function toolRounds({ messages }: Pick<CreateMessageParams, 'messages'>): number {
  let rounds = 0
  for (const message of [...messages].reverse()) {
    if (message.role !== 'user') continue
    if (!blocksOf(message).some((block) => block.type === 'tool_result')) break
    rounds++
  }
  return rounds
}

function blocksOf(message: SamplingMessage): Extract<SamplingMessage['content'], unknown[]> {
  return Array.isArray(message.content) ? message.content : [message.content]
}
