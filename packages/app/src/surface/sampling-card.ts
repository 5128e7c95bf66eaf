import type { HostQuestion } from '@jackfield/host'
import type { CreateMessageParams, CreateMessageResult, SamplingMessage } from '@jackfield/sdk'
import { blockText } from '../output/content.ts'
import { exactJson } from '../output/exact.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'

type Of<K extends HostQuestion['kind']> = Extract<HostQuestion, { kind: K }>

/** Who requests sampling for what, with model and price, before the request itself. */
export function requestHeading(question: Of<'sampling-request'>, model: string, palette: Palette): string[] {
  const { cause, choice, estimate, redactions, context, problem } = question
  const reason = model === choice.model ? choice.reason : 'you chose it'
  const others = choice.ranking.filter((entry) => entry.model !== model)
  const known = choice.ranking.some(({ score }) => score > 0)
  const redactionTexts = redactions.map(({ rule, count, at }) => `${count} × ${rule} (${at.join(', ')})`)
  return [
    `${palette.bold(oneLine(cause.server))} wants to use your model.`,
    ...(cause.tool === undefined ? [] : [palette.dim(`  during ${oneLine(cause.tool)}`)]),
    `Model: ${palette.bold(oneLine(model))} (${oneLine(reason)})`,
    ...(others.length === 0
      ? []
      : [
          palette.dim(
            `  others: ${others.map((entry) => `${oneLine(entry.model)}${known ? ` ${entry.score.toFixed(2)}` : ''}`).join(' · ')}`,
          ),
        ]),
    palette.dim(
      `  about ${estimate.inputTokens} input tokens, at most ${estimate.outputTokens} output tokens${price(estimate)}`,
    ),
    ...(redactionTexts.length === 0
      ? []
      : [palette.yellow(`  redacted before it is sent: ${redactionTexts.join('; ')}`)]),
    ...(context === undefined ? [] : [palette.yellow(`  ${contextLine(context)}`)]),
    ...(problem === undefined ? [] : [palette.red(`✗ this could not be sent: ${oneLine(problem)}`)]),
  ]
}

function contextLine({ wanted, texts }: NonNullable<Of<'sampling-request'>['context']>): string {
  const part = wanted === 'thisServer' ? 'its part' : 'every server’s part'
  if (texts.length === 0) {
    return `it also requests ${part} of the conversation; the conversation is unknown, so nothing can be added`
  }
  const characters = texts.reduce((sum, { text }) => sum + text.length, 0)
  return `it also requests ${part} of the conversation: ${texts.length} texts, ${characters} characters, not added unless you say so`
}

/** An estimated price, if known. */
export function price({ cost, currency }: { cost?: number; currency?: string }): string {
  return cost === undefined ? '' : `, about ${Number(cost.toPrecision(2))} ${oneLine(currency ?? '')}`
}

/** Everything in a request that affects the model's behaviour and cost. */
export function requestText(params: CreateMessageParams, palette: Palette): string {
  const { systemPrompt, messages, maxTokens, temperature, stopSequences, tools, toolChoice } = params
  const facts = [
    `at most ${maxTokens} tokens`,
    ...(temperature === undefined ? [] : [`temperature ${temperature}`]),
    ...(stopSequences === undefined
      ? []
      : [`stops at ${stopSequences.map((text) => exactJson(text)).join(', ')}`]),
    ...(tools === undefined ? [] : [`${tools.length} tools (${oneLine(toolChoice?.mode ?? 'auto')})`]),
  ]
  return [
    palette.dim(facts.join(' · ')),
    ...(systemPrompt === undefined ? [] : [`${palette.bold('system:')} ${plain(systemPrompt)}`]),
    ...messages.map((message) => messageText(message, palette)),
    ...(tools ?? []).map((tool) => `${palette.bold('tool:')} ${exactJson(tool)}`),
  ].join('\n')
}

function messageText(message: SamplingMessage, palette: Palette): string {
  const blocks = Array.isArray(message.content) ? message.content : [message.content]
  return `${palette.bold(`${message.role}:`)} ${blocks.map((entry) => blockText(entry, palette)).join('\n')}`
}

/** Which model answered, and its usage. */
export function resultHeading(question: Of<'sampling-result'>, palette: Palette): string[] {
  const { cause, result, usage, problem } = question
  return [
    `${palette.bold(oneLine(result.model))} answered ${palette.bold(oneLine(cause.server))}:`,
    ...(usage === undefined
      ? []
      : [
          palette.dim(
            `  ${usage.inputTokens} input tokens, ${usage.outputTokens} output tokens${price(usage)}`,
          ),
        ]),
    ...(problem === undefined ? [] : [palette.red(`✗ this could not be returned: ${oneLine(problem)}`)]),
  ]
}

/** A response in full, with its stop reason unless it is the normal one. */
export function resultText(result: CreateMessageResult, palette: Palette): string {
  const blocks = Array.isArray(result.content) ? result.content : [result.content]
  const why =
    result.stopReason === undefined || result.stopReason === 'endTurn'
      ? []
      : [palette.dim(`stopped: ${oneLine(result.stopReason)}`)]
  return [...blocks.map((entry) => blockText(entry, palette)), ...why].join('\n')
}
