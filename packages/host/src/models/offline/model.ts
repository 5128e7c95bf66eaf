import type { SamplingContent } from '@jackfield/sdk'
import type { Model, ModelReply, ModelRequest } from '../../types/index.ts'
import { blocksOf } from '../messages.ts'
import { addDays, iso } from './dates.ts'
import { canPlan, planTrip } from './planner.ts'
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
  const today = localDay(new Date())
  const isAble = canPlan(request) && request.toolChoice !== 'none'
  const move = isAble ? planTrip(request, today) : undefined
  if (move === undefined) return [{ type: 'text', text: `${sign} ${help(isAble, today)}` }]
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

/** What the planner can do, with an example that works on this day. */
function help(isAble: boolean, today: Date): string {
  const model =
    'For anything else, set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OLLAMA_HOST, and a language model answers.'
  if (!isAble)
    return `I cannot answer this: I can only plan trips, by rules, with the tools of a travel server, and there are none here. \`jackfield start\` brings one. ${model}`
  return [
    'I follow rules and plan trips: I search flights, recommend the best ones, book a trip once you confirm it, enter it in the calendar and save an itinerary. Try:',
    `  Plan a trip from New York to Barcelona on ${addDays(iso(today), 60)} for 7 days, budget $3000`,
    '  Show me flights from Oslo to Rome next Friday',
    model,
  ].join('\n')
}

/** The calendar day here, as midnight UTC. */
function localDay(now: Date): Date {
  return new Date(Date.UTC(now.getFullYear(), now.getMonth(), now.getDate()))
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
