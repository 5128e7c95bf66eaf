import type { SamplingContent } from '@jackfield/sdk'
import type { Model, ModelReply, ModelRequest } from '../../types/index.ts'
import { blocksOf } from '../messages.ts'
import { planTrip } from './planner.ts'
import { rankFlights } from './ranking.ts'

const sign = '[offline planner — not a language model]'
/** Within one turn, after it was said in full. */
const shortSign = '[offline planner]'

/** Characters that count as one token, fewer than any tokenizer needs on average. */
const charactersPerToken = 3

/**
 * Answers by rules where no language model is set up: it plans and books trips with a travel server's tools, ranks
 * flights a server lists, and says of everything else that it cannot. It says what it is wherever it speaks.
 */
export const offlineModel: Model = {
  id: 'offline',
  isLanguageModel: false,
  async generate(request): Promise<ModelReply> {
    request.signal?.throwIfAborted()
    const reply = fit(answer(request), request)
    const blocks = Array.isArray(reply.content) ? reply.content : [reply.content]
    for (const block of blocks) if (block.type === 'text') request.onText?.(block.text)
    return reply
  },
}

function answer(request: ModelRequest): SamplingContent[] {
  const ranking = rankFlights(lastText(request.messages))
  if (ranking !== undefined) return [{ type: 'text', text: ranking }]
  const hasTools = request.tools !== undefined && request.tools.length > 0 && request.toolChoice !== 'none'
  const move = hasTools ? planTrip(request, new Date()) : undefined
  if (move === undefined) return [{ type: 'text', text: `${sign} ${help(hasTools)}` }]
  const begun = move.uses.length > 0 && isResult(request.messages.at(-1))
  return [
    { type: 'text', text: `${begun ? shortSign : sign} ${move.text}` },
    ...move.uses.map(({ name, input }, n) => ({
      type: 'tool_use' as const,
      id: `offline-${request.messages.length}-${n + 1}`,
      name,
      input,
    })),
  ]
}

function lastText(messages: ModelRequest['messages']): string {
  const last = messages.at(-1)
  return blocksOf(last?.content ?? [])
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n')
    .slice(0, 200_000)
}

function isResult(message: ModelRequest['messages'][number] | undefined): boolean {
  return blocksOf(message?.content ?? []).some((block) => block.type === 'tool_result')
}

function help(hasTools: boolean): string {
  const model =
    'Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OLLAMA_HOST to have a language model answer.'
  return hasTools
    ? `I can only plan trips, by rules: try "Plan a trip from New York to Barcelona on 2027-06-15 for 7 days". ${model}`
    : `I cannot answer this. ${model}`
}

/** Keeps to the limits a language model would keep to. */
function fit(content: SamplingContent[], request: ModelRequest): ModelReply {
  const uses = content.some((block) => block.type === 'tool_use')
  let stopReason: ModelReply['stopReason'] = uses ? 'toolUse' : 'endTurn'
  let room = request.maxTokens * charactersPerToken
  const kept = content.map((block) => {
    if (block.type !== 'text') return block
    const stop = Math.min(
      ...(request.stopSequences ?? []).map((text) => place(block.text, text)),
      block.text.length,
    )
    const text = block.text.slice(0, Math.min(stop, room))
    if (text.length < block.text.length && !uses) stopReason = room < stop ? 'maxTokens' : 'stopSequence'
    room -= text.length
    return { ...block, text }
  })
  return { content: kept, stopReason, model: 'jackfield-offline-planner' }
}

function place(text: string, part: string): number {
  const at = part === '' ? -1 : text.indexOf(part)
  return at === -1 ? text.length : at
}
