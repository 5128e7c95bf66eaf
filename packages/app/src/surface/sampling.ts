import type { HostAnswers, HostQuestion } from '@jackfield/host'
import type { CreateMessageParams, CreateMessageResult, SamplingMessage } from '@jackfield/sdk'
import { cancelled, type Prompter } from '../forms/prompter.ts'
import { block } from '../output/content.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { editJson, editText } from './edit.ts'
import { showText } from './long-text.ts'

type Of<K extends HostQuestion['kind']> = Extract<HostQuestion, { kind: K }>

/** Shows what a server wants to ask a model, all of it, before anything is sent. */
export async function reviewRequest(
  question: Of<'sampling-request'>,
  prompter: Prompter,
  palette: Palette,
  env: NodeJS.ProcessEnv,
): Promise<HostAnswers['sampling-request']> {
  prompter.say([
    `${palette.bold(oneLine(question.cause.server))} wants to ask your model.`,
    `Model: ${palette.bold(question.choice.model)} (${oneLine(question.choice.why)})`,
  ])
  let params = question.params
  let edited = false
  let { all } = showText(requestText(params, palette), prompter)
  for (;;) {
    const choice = await prompter.select({
      message: 'Send this to the model?',
      options: [
        { value: 'deny', label: 'Deny' },
        { value: 'allow', label: 'Send' },
        { value: 'edit', label: 'Edit' },
        ...(all ? [] : [{ value: 'show' as const, label: 'Show all of it' }]),
      ],
      initial: 'deny',
    })
    if (choice === 'allow') return { verdict: 'allow', ...(edited && { params }) }
    if (choice === 'show') {
      prompter.say(requestText(params, palette).split('\n'))
      all = true
    } else if (choice === 'edit') {
      const changes = await editJson(editable(params), {
        prompter,
        env,
        read: (changed) => readEditable(changed, question.params.maxTokens),
      })
      if (changes === cancelled) continue
      params = withChanges(params, changes)
      edited = true
      ;({ all } = showText(requestText(params, palette), prompter))
    } else {
      return { verdict: 'deny' }
    }
  }
}

/** Shows what the model answered before the server gets it. */
export async function reviewResult(
  question: Of<'sampling-result'>,
  prompter: Prompter,
  palette: Palette,
  env: NodeJS.ProcessEnv,
): Promise<HostAnswers['sampling-result']> {
  let result = question.result
  let edited = false
  prompter.say([
    `${palette.bold(oneLine(result.model))} answered ${palette.bold(oneLine(question.cause.server))}:`,
  ])
  let { all } = showText(resultText(result, palette), prompter)
  for (;;) {
    const choice = await prompter.select({
      message: 'Give this answer to the server?',
      options: [
        { value: 'deny', label: 'Deny' },
        { value: 'allow', label: 'Give it' },
        ...(onlyText(result) === undefined ? [] : [{ value: 'edit' as const, label: 'Edit' }]),
        ...(all ? [] : [{ value: 'show' as const, label: 'Show all of it' }]),
      ],
      initial: 'deny',
    })
    if (choice === 'allow') return { verdict: 'allow', ...(edited && { result }) }
    if (choice === 'show') {
      prompter.say(resultText(result, palette).split('\n'))
      all = true
    } else if (choice === 'edit') {
      const text = await editText(onlyText(result) ?? '', { prompter, env, suffix: '.txt' })
      if (text === cancelled) continue
      result = { ...result, content: { type: 'text', text } }
      edited = true
      ;({ all } = showText(resultText(result, palette), prompter))
    } else {
      return { verdict: 'deny' }
    }
  }
}

/** Everything of a request that decides what the model does and costs. */
export function requestText(params: CreateMessageParams, palette: Palette): string {
  const { systemPrompt, messages, maxTokens, temperature, stopSequences, includeContext, tools, toolChoice } =
    params
  const facts = [
    `at most ${maxTokens} tokens`,
    ...(temperature === undefined ? [] : [`temperature ${temperature}`]),
    ...(stopSequences === undefined
      ? []
      : [`stops at ${stopSequences.map((text) => JSON.stringify(text)).join(', ')}`]),
    ...(includeContext === undefined || includeContext === 'none'
      ? []
      : [`wants context: ${includeContext}`]),
    ...(tools === undefined
      ? []
      : [`tools: ${tools.map((tool) => oneLine(tool.name)).join(', ')} (${toolChoice?.mode ?? 'auto'})`]),
  ]
  return [
    palette.dim(facts.join(' · ')),
    ...(systemPrompt === undefined ? [] : [`${palette.bold('system:')} ${plain(systemPrompt)}`]),
    ...messages.map((message) => messageText(message, palette)),
  ].join('\n')
}

function messageText(message: SamplingMessage, palette: Palette): string {
  const blocks = Array.isArray(message.content) ? message.content : [message.content]
  return `${palette.bold(`${message.role}:`)} ${blocks.map((entry) => block(entry, palette)).join('\n')}`
}

function resultText(result: CreateMessageResult, palette: Palette): string {
  const blocks = Array.isArray(result.content) ? result.content : [result.content]
  const why =
    result.stopReason === undefined || result.stopReason === 'endTurn'
      ? []
      : [palette.dim(`stopped: ${oneLine(result.stopReason)}`)]
  return [...blocks.map((entry) => block(entry, palette)), ...why].join('\n')
}

function onlyText(result: CreateMessageResult): string | undefined {
  const blocks = Array.isArray(result.content) ? result.content : [result.content]
  const [only] = blocks
  return blocks.length === 1 && only?.type === 'text' ? only.text : undefined
}

/** What a person may change about a request. */
interface Editable {
  systemPrompt?: string
  messages: SamplingMessage[]
  maxTokens: number
}

function editable({ systemPrompt, messages, maxTokens }: CreateMessageParams): Editable {
  return { ...(systemPrompt !== undefined && { systemPrompt }), messages, maxTokens }
}

function withChanges(params: CreateMessageParams, changes: Editable): CreateMessageParams {
  const { systemPrompt: _before, ...kept } = params
  return { ...kept, ...changes }
}

/** Checks what the person wrote; more tokens than the server asked for are not given. */
function readEditable(value: unknown, most: number): { value: Editable } | { problem: string } {
  if (typeof value !== 'object' || value === null) return { problem: 'it must be a JSON object.' }
  const strange = Object.keys(value).find((key) => !['systemPrompt', 'messages', 'maxTokens'].includes(key))
  if (strange !== undefined) return { problem: `"${strange}" cannot be changed here.` }
  const messages: unknown[] = 'messages' in value && Array.isArray(value.messages) ? value.messages : []
  if (messages.length === 0) return { problem: '"messages" must hold at least one message.' }
  if (!messages.every(isMessage)) {
    return { problem: 'each message needs "role" (user or assistant) and "content" with a "type".' }
  }
  const maxTokens = 'maxTokens' in value ? value.maxTokens : undefined
  if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens) || maxTokens < 1 || maxTokens > most) {
    return {
      problem: `"maxTokens" must be a whole number from 1 to ${most}, which is what the server asked for.`,
    }
  }
  const systemPrompt = 'systemPrompt' in value ? value.systemPrompt : undefined
  if (systemPrompt !== undefined && typeof systemPrompt !== 'string') {
    return { problem: '"systemPrompt" must be a text.' }
  }
  return { value: { ...(systemPrompt !== undefined && { systemPrompt }), messages, maxTokens } }
}

function isMessage(value: unknown): value is SamplingMessage {
  if (typeof value !== 'object' || value === null || !('role' in value) || !('content' in value)) return false
  if (value.role !== 'user' && value.role !== 'assistant') return false
  const blocks: unknown[] = Array.isArray(value.content) ? value.content : [value.content]
  return blocks.every((entry) => typeof entry === 'object' && entry !== null && 'type' in entry)
}
