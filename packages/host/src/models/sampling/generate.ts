import type { CreateMessageParams, CreateMessageResult, SamplingMessage } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import type { ActivityLog } from '../../log/store/activity-log.ts'
import { isRecord } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type {
  Activity,
  Cause,
  ContextText,
  Model,
  ModelReply,
  Redaction,
  SamplingContext,
} from '../../types/index.ts'
import { blocksOf, limitTokens } from '../messages.ts'
import { estimateTokens } from '../tool-search/meter.ts'
import { costOf, factsOf, replyTokens, requestTokens, reserveFor, type Spending } from './budget.ts'
import { replyProblem } from './check.ts'
import { runStep, type SamplingDeps, type SamplingRequest } from './deps.ts'
import type { SamplingRedactor } from './redact.ts'
import type { ReviewedRequest } from './review.ts'

/** A model's reply as a sampling result, and its usage. */
export interface GeneratedResult {
  result: CreateMessageResult
  usage: { inputTokens: number; outputTokens: number; cost?: number; currency?: string }
}

/** Sends the approved request to the chosen model, with redactions applied. */
export async function generate(
  { params: reviewedParams, choice, context }: ReviewedRequest,
  spending: Spending,
  { server, models, row, signal }: SamplingRequest,
  deps: SamplingDeps & { redactor: SamplingRedactor },
): Promise<GeneratedResult> {
  const { recorder, settings, redactor } = deps
  const model = models.find(({ id }) => id === choice.model)
  if (model === undefined) throw new Error(`There is no model ${choice.model}`)
  const request =
    context === undefined
      ? reviewedParams
      : { ...reviewedParams, messages: [contextMessage(context), ...reviewedParams.messages] }
  const { params, redactions } = redactor.redact(request)
  const facts = factsOf(settings, model.id)
  spending.reserve(reserveFor(params, facts))
  const step = recorder.open({
    kind: 'model',
    server,
    cause: row.id,
    summary: `${model.id} answers ${server}`,
    detail: {
      model: model.id,
      why: choice.reason,
      maxTokens: params.maxTokens,
      ...(redactions.length > 0 && { redactions: redactionSummary(redactions) }),
    },
  })
  const reply = await runStep(step, signal, async (stepSignal) => {
    const modelReply = await model.generate(modelRequestOf(params, stepSignal))
    const inputTokens = modelReply.usage?.inputTokens ?? requestTokens(params)
    const outputTokens = modelReply.usage?.outputTokens ?? replyTokens(modelReply)
    spending.spend({ tokens: inputTokens + outputTokens, money: costOf(facts, inputTokens, outputTokens) })
    // A reply marked as cut reports the generated tokens, not the remaining ones.
    const countedTokens = modelReply.stopReason === 'maxTokens' ? replyTokens(modelReply) : outputTokens
    const limited = limitTokens(modelReply, params.maxTokens, countedTokens)
    const problem = unreadableProblem(limited) ?? replyProblem(params, limited)
    if (problem !== undefined) throw new Error(`The answer of ${model.id} cannot be used: ${problem}`)
    return { ...limited, usage: { inputTokens, outputTokens } }
  })
  const usage = { ...reply.usage, ...costOf(facts, reply.usage.inputTokens, reply.usage.outputTokens) }
  step.close('ok', { answeredBy: reply.model, stopReason: reply.stopReason, usage })
  return { result: resultOf(reply), usage }
}

function unreadableProblem({ unreadable = {}, stopReason }: ModelReply): string | undefined {
  // Tool calls cut off at the limit are not run.
  if (stopReason === 'maxTokens' || Object.keys(unreadable).length === 0) return undefined
  return 'it calls a tool with arguments that are no JSON object'
}

function modelRequestOf(params: CreateMessageParams, signal: AbortSignal): Parameters<Model['generate']>[0] {
  const { messages, maxTokens, systemPrompt: system, tools, toolChoice, temperature, stopSequences } = params
  const options = { system, tools, toolChoice: toolChoice?.mode, temperature, stopSequences }
  return { messages, maxTokens, signal, ...defined(options) }
}

function redactionSummary(redactions: readonly Redaction[]): { rule: string; count: number }[] {
  return redactions.map(({ rule, count }) => ({ rule, count }))
}

/** A single block is not an array, as in every revision. */
function resultOf(reply: ModelReply): CreateMessageResult {
  const blocks = blocksOf(reply.content)
  const [first = { type: 'text', text: '' } as const] = blocks
  return {
    role: 'assistant',
    content: blocks.length <= 1 ? first : blocks,
    model: reply.model,
    stopReason: reply.stopReason,
  }
}

const maxTexts = 20
const maxCharacters = 4_000
const maxSearchedRows = 500

/**
 * The context for a server's `includeContext`: calls of the request's conversation with their results, of that server or of all.
 * Undefined if it asks for none.
 */
export function contextFor(
  { includeContext }: CreateMessageParams,
  cause: Cause,
  activity: Pick<ActivityLog, 'list'>,
): SamplingContext | undefined {
  if (includeContext !== 'thisServer' && includeContext !== 'allServers') return undefined
  const { conversation, server } = cause
  if (conversation === undefined) return { wanted: includeContext, texts: [] }
  const filter = includeContext === 'thisServer' ? { server } : {}
  const texts = activity
    .list({ kind: 'call', limit: maxSearchedRows, ...filter })
    .filter(({ detail, outcome }) => detail['conversation'] === conversation && outcome === 'ok')
    .flatMap(textOf)
    .slice(-maxTexts)
  return { wanted: includeContext, texts }
}

/** The texts as a message before the others. */
function contextMessage({ texts }: SamplingContext): SamplingMessage {
  return { role: 'user', content: texts.map(({ text }) => ({ type: 'text', text })) }
}

function textOf({ id, server, detail }: Activity): ContextText[] {
  const { tool, arguments: args, result } = detail
  if (server === null || typeof tool !== 'string' || !isRecord(result)) return []
  const blocks: unknown[] = Array.isArray(result['content']) ? result['content'] : []
  const texts = blocks
    .flatMap((block) => (isRecord(block) && typeof block['text'] === 'string' ? [block['text']] : []))
    .join('\n')
  if (texts === '') return []
  const label = oneLine(`${tool} ${JSON.stringify(args ?? {})}`)
  const request = `${label} of ${server} gave:\n${texts}`
  const excess = request.length - maxCharacters
  const text = excess > 0 ? `${request.slice(0, maxCharacters)}… [${excess} more characters]` : request
  return [{ id: String(id), server, label, text, tokens: estimateTokens(text) }]
}
