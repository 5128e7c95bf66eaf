import type { SamplingContent } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import type { GenerateTextResult, LanguageModel, ModelMessage, ToolSet } from 'ai'
import { isRecord } from '../shared/json.ts'
import { pause } from '../shared/signals.ts'
import type { Model, ModelReply, ModelRequest } from '../types/index.ts'
import { chatMedia, type MediaKind, type MediaSupport } from './media.ts'
import {
  blocksOf,
  limitTokens,
  type RetainedParts,
  type ToolNames,
  toModelMessages,
  toolNames,
} from './messages.ts'
import { ModelError, type ModelSettings, toModelError } from './model-error.ts'

type Generated = GenerateTextResult<ToolSet, Record<string, unknown>, never>
/** The parts of an AI SDK result used for a reply. */
interface GeneratedReply {
  content: Generated['content']
  finishReason: Generated['finishReason']
  rawFinishReason: string | undefined
  usage: { inputTokens: number | undefined; outputTokens: number | undefined }
  response: { modelId: string }
}

/**
 * A language model created by a provider package of the AI SDK. Declared here with its identifying members, because the AI SDK's
 * declarations do not compile with every TypeScript version that this package supports.
 */
export interface AiLanguageModel {
  /** The version of the AI SDK's provider interface: `v4`. */
  readonly specificationVersion: string
  /** The name of the provider, as the AI SDK reports it. */
  readonly provider: string
  /** The provider's own name of the model. */
  readonly modelId: string
  /** Generates a whole reply, as `LanguageModel` of the AI SDK defines it. */
  doGenerate(options: never): PromiseLike<object>
  /** Generates a reply as a stream, as `LanguageModel` of the AI SDK defines it. */
  doStream(options: never): PromiseLike<object>
}

/** A language model of the AI SDK: its name and its provider. */
export interface AiModelOptions {
  /** The user's name for it: `provider/model`. */
  id: string
  /**
   * Imports the provider at the first request, so that startup stays fast. A string names a model of the AI SDK's global
   * provider.
   */
  load: () => Promise<AiLanguageModel | string>
  /** The provider's API key, redacted in errors even if the provider repeats it. */
  apiKey?: string | undefined
  /** The variables of its settings, for error messages. */
  settings?: ModelSettings
  /** Lists the provider's models for error messages; undefined if it lists none. */
  list?: () => Promise<readonly string[] | undefined>
  /** Options for the provider by its name. */
  providerOptions?: Record<string, Record<string, string | number | boolean>>
  /**
   * The media types that the model accepts; a function is called once, before the first request with media. Default: types that a
   * Chat Completions server may accept.
   */
  media?: MediaSupport | (() => Promise<MediaSupport>)
  /** Provider options that mark the cacheable parts of a request. Default none. */
  cacheMark?: Record<string, Record<string, Record<string, string>>>
}

/** Maximum tool calls whose provider data is remembered; the oldest are dropped. */
const maxRetainedCalls = 2_000

/** A language model behind a provider of the AI SDK. Throws `ModelError`, or the signal's reason when aborted. */
export function aiModel(options: AiModelOptions): Model {
  const retained = new Map<string, RetainedParts>()
  /** Media kinds that the model rejected although it was assumed to accept them. */
  const refused = new Set<MediaKind>()
  let loading: Promise<LanguageModel> | undefined
  let support: Promise<MediaSupport> | undefined
  const context = { key: options.apiKey, settings: options.settings }

  async function failureOf(error: unknown): Promise<ModelError> {
    const modelError = toModelError(options.id, error, context)
    if (modelError.status !== 404 || options.list === undefined) return modelError
    return toModelError(options.id, error, { ...context, listed: await options.list() })
  }

  async function generate(request: ModelRequest): Promise<ModelReply> {
    request.signal?.throwIfAborted()
    const names = toolNames(namesIn(request))
    loading ??= load(options).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    const model = await loading
    if (hasMedia(request)) {
      const configuredMedia = options.media ?? chatMedia
      support ??= typeof configuredMedia === 'function' ? configuredMedia() : Promise.resolve(configuredMedia)
    }
    const media = (await support) ?? chatMedia
    const work = async (onText: ModelRequest['onText']): Promise<ModelReply> => {
      const rejectedKinds = new Set(refused)
      for (;;) {
        const { messages, sent } = toModelMessages(request.messages, {
          names,
          retained,
          media,
          rejectedKinds,
        })
        try {
          const answer = await ask(model, { ...request, onText }, messages, names, options)
          if (media.assumed === true) for (const kind of rejectedKinds) refused.add(kind)
          return toReply(options.id, answer, request, names, retained)
        } catch (error) {
          request.signal?.throwIfAborted()
          const refusal = await failureOf(error)
          if (sent.size === 0 || !refusal.mayConcernMedia) throw refusal
          // Images are removed last, since most models accept them.
          const rest = [...sent].filter((kind) => kind !== 'image')
          for (const kind of rest.length > 0 ? rest : sent) rejectedKinds.add(kind)
        }
      }
    }
    return withRetries(request, work, (error) => toModelError(options.id, error, context))
  }

  return { id: options.id, isLanguageModel: true, generate }
}

function hasMedia({ messages }: ModelRequest): boolean {
  return messages.some((message) =>
    blocksOf(message.content).some((block) =>
      block.type === 'tool_result'
        ? block.content.some(({ type }) => type !== 'text')
        : block.type === 'image' || block.type === 'audio',
    ),
  )
}

async function load({ id, load }: AiModelOptions): Promise<LanguageModel> {
  const model = await load()
  if (isLanguageModel(model)) return model
  throw new ModelError(
    'request',
    id,
    '"load" gave no language model: give what a provider package of the AI SDK returns for a model name',
  )
}

function isLanguageModel(model: AiLanguageModel | string): model is LanguageModel {
  if (typeof model === 'string') return true
  return (
    isRecord(model) && typeof model['doGenerate'] === 'function' && typeof model['doStream'] === 'function'
  )
}

function namesIn(request: ModelRequest): string[] {
  const used = request.messages.flatMap((message) =>
    blocksOf(message.content).flatMap((block) => (block.type === 'tool_use' ? [block.name] : [])),
  )
  return [...(request.tools ?? []).map((tool) => tool.name), ...used]
}

async function ask(
  model: LanguageModel,
  request: Omit<ModelRequest, 'onText'> & { onText: ModelRequest['onText'] },
  messages: ModelMessage[],
  names: ToolNames,
  { providerOptions, cacheMark }: Pick<AiModelOptions, 'providerOptions' | 'cacheMark'>,
): Promise<GeneratedReply> {
  const ai = await import('ai')
  const { temperature, stopSequences } = request
  // The AI SDK prints warnings to stdout, which belongs to the caller.
  globalThis.AI_SDK_LOG_WARNINGS = false
  const mark = cacheMark === undefined ? {} : { providerOptions: cacheMark }
  const tools: ToolSet = {}
  for (const [at, tool] of (request.tools ?? []).entries()) {
    tools[names.toWire(tool.name)] = ai.tool({
      ...(tool.description !== undefined && { description: tool.description }),
      inputSchema: ai.jsonSchema(() => tool.inputSchema),
      ...(at === (request.tools ?? []).length - 1 && mark),
    })
  }
  const call = {
    model,
    messages: cacheMark === undefined ? messages : withCacheMarks(messages, cacheMark),
    maxOutputTokens: request.maxTokens,
    maxRetries: 0,
    ...(request.system !== undefined && {
      instructions: { role: 'system' as const, content: request.system, ...mark },
    }),
    ...(request.tools !== undefined &&
      request.tools.length > 0 && { tools, toolChoice: request.toolChoice ?? ('auto' as const) }),
    ...defined({ temperature, stopSequences, abortSignal: request.signal, providerOptions }),
  }
  if (request.onText === undefined) return ai.generateText(call)

  const stream = ai.streamText({ ...call, onError: () => {} })
  for await (const part of stream.fullStream) {
    if (part.type === 'text-delta') request.onText(part.text)
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') request.signal?.throwIfAborted()
  }
  const [content, finishReason, rawFinishReason, usage, response] = await Promise.all([
    stream.content,
    stream.finishReason,
    stream.rawFinishReason,
    stream.usage,
    stream.response,
  ])
  return { content, finishReason, rawFinishReason, usage, response }
}

/**
 * Sets cache points: at the end of this request, and of the previous one (before the last reply), because providers only look
 * back a few blocks for a cached prefix.
 */
function withCacheMarks(
  messages: readonly ModelMessage[],
  mark: NonNullable<AiModelOptions['cacheMark']>,
): ModelMessage[] {
  const last = messages.length - 1
  const previous = messages.findLastIndex(({ role }) => role === 'assistant') - 1
  return messages.map((message, at) =>
    at === last || at === previous ? { ...message, providerOptions: mark } : message,
  )
}

function toReply(
  id: string,
  answer: GeneratedReply,
  request: ModelRequest,
  names: ToolNames,
  retained: Map<string, RetainedParts>,
): ModelReply {
  const content: SamplingContent[] = []
  const unreadable: [id: string, written: string][] = []
  let previous: RetainedParts['before'] = []
  for (const part of answer.content) {
    if (part.type === 'text') {
      if (part.text !== '') content.push({ type: 'text', text: part.text })
    } else if (part.type === 'reasoning') {
      previous.push({
        type: 'reasoning',
        text: part.text,
        ...(part.providerMetadata !== undefined && { providerOptions: part.providerMetadata }),
      })
    } else if (part.type === 'file' && part.file.mediaType.startsWith('image/')) {
      content.push({ type: 'image', data: part.file.base64, mimeType: part.file.mediaType })
    } else if (part.type === 'tool-call') {
      retain(retained, part.toolCallId, { before: previous, options: part.providerMetadata })
      previous = []
      const name = names.fromWire(part.toolName)
      const input = argumentsIn(part.input)
      if (input === undefined) unreadable.push([part.toolCallId, argumentsText(part.input)])
      content.push({ type: 'tool_use', id: part.toolCallId, name, input: input ?? {} })
    }
  }
  const callsTools = content.some((block) => block.type === 'tool_use')
  const stopReason = stopReasonOf(id, answer, callsTools, content.length > 0)
  const { inputTokens, outputTokens } = answer.usage
  const reply: ModelReply = {
    content,
    stopReason,
    model: answer.response.modelId,
    ...(isCount(inputTokens) && isCount(outputTokens) && { usage: { inputTokens, outputTokens } }),
    ...(unreadable.length > 0 && { unreadable: Object.fromEntries(unreadable) }),
  }
  // Some compatible servers ignore the limit.
  return limitTokens(reply, request.maxTokens, reply.usage?.outputTokens ?? 0)
}

function retain(retained: Map<string, RetainedParts>, id: string, parts: RetainedParts): void {
  if (parts.before.length === 0 && parts.options === undefined) return
  retained.set(id, parts)
  if (retained.size <= maxRetainedCalls) return
  const [oldest] = retained.keys()
  if (oldest !== undefined) retained.delete(oldest)
}

function stopReasonOf(
  id: string,
  answer: GeneratedReply,
  callsTools: boolean,
  hasContent: boolean,
): ModelReply['stopReason'] {
  switch (answer.finishReason) {
    case 'length':
      return 'maxTokens'
    case 'content-filter':
      if (hasContent) return 'contentFilter'
      throw new ModelError(
        'withheld',
        id,
        `${id} withheld its answer (content filter). Say it in another way.`,
      )
    case 'error':
    case 'interrupted':
      throw new ModelError('unavailable', id, `${id} stopped in the middle of its answer. Try again.`)
    default:
      if (callsTools) return 'toolUse'
      return answer.rawFinishReason === 'stop_sequence' ? 'stopSequence' : 'endTurn'
  }
}

/** Compatible servers may report usage that is not a number. */
function isCount(tokens: number | undefined): tokens is number {
  return Number.isSafeInteger(tokens) && (tokens ?? -1) >= 0
}

function argumentsText(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input)
}

/** Undefined for text that is no JSON object; an empty text means no arguments. */
function argumentsIn(input: unknown): Record<string, unknown> | undefined {
  if (isRecord(input)) return { ...input }
  return input === undefined || input === null || input === '' ? {} : undefined
}

const maxAttempts = 4
const maxWaitMs = 60_000
const initialWaitMs = 1_000

/** Retry behaviour. */
interface RetryOptions {
  /** Waits until the signal aborts. Default a timer. */
  sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/**
 * Sends a request up to four times while the provider is rate limited, failing or unreachable, and no part of a reply was emitted
 * yet. It waits as long as the provider says, or 1, 2 and 4 seconds, and reports every wait; it does not wait longer than a
 * minute.
 */
export async function withRetries<T>(
  request: Pick<ModelRequest, 'signal' | 'onText' | 'onWait'>,
  work: (onText: ModelRequest['onText']) => Promise<T>,
  failure: (error: unknown) => ModelError,
  { sleep = pause }: RetryOptions = {},
): Promise<T> {
  const { signal } = request
  let hasEmitted = false
  const onText =
    request.onText === undefined
      ? undefined
      : (delta: string): void => {
          hasEmitted = true
          request.onText?.(delta)
        }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(onText)
    } catch (error) {
      signal?.throwIfAborted()
      const modelError = failure(error)
      const waitMs = modelError.retryAfterMs ?? initialWaitMs * 2 ** (attempt - 1)
      const isRetryable = modelError.kind === 'limit' || modelError.kind === 'unavailable'
      if (!isRetryable || !modelError.passes || hasEmitted || attempt === maxAttempts || waitMs > maxWaitMs)
        throw modelError
      request.onWait?.({ forMs: waitMs, reason: modelError.message, attempt, attempts: maxAttempts })
      await sleep(waitMs, signal)
      signal?.throwIfAborted()
    }
  }
}
