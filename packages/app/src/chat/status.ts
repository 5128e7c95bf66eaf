import type { ModelFacts } from '@jackfield/host'
import { truncate, wrapText } from '../output/flow.ts'
import type { Palette } from '../output/palette.ts'
import { count, oneLine } from '../output/sanitize.ts'
import type { ConversationView } from './conversation-view.ts'
import type { ChatState } from './state.ts'

/** Share of the context from which a summary is offered. */
const minFullShare = 0.8

/** Model data for the meters. */
interface ContextSource {
  readonly conversation: Pick<ConversationView, 'info'>
  /** The user's model settings. */
  readonly facts: readonly ModelFacts[]
}

/** One line about the conversation: model, tokens, cost, context, servers, questions. */
export async function statusLine(
  state: Pick<ChatState, 'client' | 'conversation' | 'facts'>,
  palette: Palette,
  columns: number | undefined,
): Promise<string> {
  const { client, conversation } = state
  const { model, usage, toolSwitches } = conversation.info
  const tokens = usage.reduce(
    (sum, { inputTokens, outputTokens }) => ({ in: sum.in + inputTokens, out: sum.out + outputTokens }),
    { in: 0, out: 0 },
  )
  const [open, servers, tools] = await Promise.all([
    client.call('inbox.list', { state: 'open' }),
    client.call('servers.list', {}),
    toolSwitches.length === 0 ? [] : client.call('catalog.tools', {}),
  ])
  const up = servers.filter(({ connection: { state } }) => ['ready', 'degraded', 'asleep'].includes(state))
  const off = tools.filter((tool) => !conversation.isToolOn(tool)).length
  const parts = [
    truncate(oneLine(model), 30),
    ...(tokens.in + tokens.out > 0
      ? [`${tokenCount(tokens.in)} tokens in, ${tokenCount(tokens.out)} out`]
      : []),
    ...costParts(state),
    ...contextParts(state),
    ...(servers.length > 0 ? [`${up.length}/${servers.length} servers`] : []),
    ...(off > 0 ? [`${count(off, 'tool')} off`] : []),
    ...(open.length > 0 ? [`${count(open.length, 'open question')}: /inbox`] : []),
  ]
  return palette.dim(wrapText(parts.join(' · '), columns))
}

/** Advice when the context is nearly full; undefined when it is not, or its size is unknown. */
export function contextAdvice(meter: ContextSource): string | undefined {
  const { filled, limit } = contextUsage(meter)
  if (filled === undefined || limit === undefined || filled < limit * minFullShare) return undefined
  return `${percent(filled, limit)} of the model's context is full. /compact replaces the messages so far with a summary.`
}

/** Share of the model's context used by the last request and its reply. */
function contextUsage({ conversation: { info } }: ContextSource): {
  filled: number | undefined
  limit: number | undefined
} {
  return { filled: info.contextTokens, limit: info.contextLimit }
}

function contextParts(meter: ContextSource): string[] {
  const { filled, limit } = contextUsage(meter)
  if (filled === undefined) return []
  return [
    limit === undefined
      ? `context ${tokenCount(filled)}`
      : `context ${percent(filled, limit)} of ${tokenCount(limit)}`,
  ]
}

/** The cost, when the configuration has a price for every model that answered. */
function costParts({ conversation, facts }: ContextSource): string[] {
  const sums = new Map<string, number>()
  for (const { model, inputTokens, outputTokens } of conversation.info.usage) {
    const { cost, currency = 'USD' } = facts.find(({ id }) => id === model) ?? {}
    if (cost === undefined) return []
    const spent = (inputTokens * cost.input + outputTokens * cost.output) / 1_000_000
    sums.set(currency, (sums.get(currency) ?? 0) + spent)
  }
  return [...sums].map(([currency, sum]) => `${money(sum)} ${oneLine(currency)}`)
}

function money(sum: number): string {
  return sum >= 1 || sum === 0 ? sum.toFixed(2) : String(Number(sum.toPrecision(2)))
}

function percent(part: number, whole: number): string {
  return `${Math.round((part / whole) * 100)} %`
}

/** `1 234` becomes `1.2k`. */
export function tokenCount(tokens: number): string {
  if (tokens < 1_000) return String(tokens)
  const [value, unit] = tokens < 1_000_000 ? [tokens / 1_000, 'k'] : [tokens / 1_000_000, 'M']
  return `${value < 100 ? Number(value.toFixed(1)) : Math.round(value)}${unit}`
}
