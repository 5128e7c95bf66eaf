import type { SamplingContent } from '@jackfield/sdk'
import type { GenerateTextResult, LanguageModel, ModelMessage, ToolSet } from 'ai'
import { isRecord } from '../shared/json.ts'
import type { Model, ModelReply, ModelRequest } from '../types/index.ts'
import { limitTokens } from './limit-tokens.ts'
import { chatMedia, type MediaKind, type MediaSupport } from './media.ts'
import { blocksOf, type RetainedParts, type ToolNames, toModelMessages, toolNames } from './messages.ts'
import { ModelError, type ModelSettings, toModelError } from './model-error.ts'

type Generated = GenerateTextResult<ToolSet, Record<string, unknown>, never>
/** The parts of an AI SDK result that a reply is made of. */
interface Answer {
  content: Generated['content']
  finishReason: Generated['finishReason']
  rawFinishReason: string | undefined
  usage: { inputTokens: number | undefined; outputTokens: number | undefined }
  response: { modelId: string }
}

/**
 * A language model as a provider package of the AI SDK makes it. Declared here with the parts that identify one, because
 * the declarations of the AI SDK itself do not compile with every TypeScript that this package supports.
 */
export interface AiLanguageModel {
  /** The version of the AI SDK's provider interface: `v4`. */
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doGenerate(options: never): PromiseLike<object>
  doStream(options: never): PromiseLike<object>
}

/** A language model of the AI SDK: its name, and the way to its provider. */
export interface AiModelOptions {
  /** As the person names it: `provider/model`. */
  id: string
  /**
   * Imports the provider at the first request, so that starting costs nothing. A string names a model of the AI SDK's
   * global provider.
   */
  load: () => Promise<AiLanguageModel | string>
  /** The key of the provider, which no failure shows, also where the provider repeats it. */
  apiKey?: string | undefined
  /** The variables that its settings came from, which failures name. */
  settings?: ModelSettings
  /** The names of the provider's models, for a failure that says which there are; undefined where it lists none. */
  list?: () => Promise<readonly string[] | undefined>
  /** Options for the provider by its name. */
  providerOptions?: Record<string, Record<string, string | number | boolean>>
  /**
   * The media that the model accepts; a function is called once, before the first request that holds any. Default what a
   * server of Chat Completions may accept.
   */
  media?: MediaSupport | (() => Promise<MediaSupport>)
  /** Options by provider that mark the parts of a request for the provider's cache. Default none. */
  cacheMark?: Record<string, Record<string, Record<string, string>>>
  /** Waits before the provider is asked again. Default a timer. */
  sleep?: RetryOptions['sleep']
}

/** Tool calls whose provider parts are remembered; the oldest go first. */
const maxRetainedCalls = 2_000

/** A language model behind a provider of the AI SDK. Throws `ModelError`, or the signal's reason when aborted. */
export function aiModel(options: AiModelOptions): Model {
  const kept = new Map<string, RetainedParts>()
  /** Kinds of media that the model refused although it was assumed to accept them. */
  const refused = new Set<MediaKind>()
  let loading: Promise<LanguageModel> | undefined
  let support: Promise<MediaSupport> | undefined
  const context = { key: options.apiKey, settings: options.settings }

  async function failureOf(error: unknown): Promise<ModelError> {
    const failed = toModelError(options.id, error, context)
    if (failed.status !== 404 || options.list === undefined) return failed
    return toModelError(options.id, error, { ...context, listed: await options.list() })
  }

  async function generate(request: ModelRequest): Promise<ModelReply> {
    request.signal?.throwIfAborted()
    const names = toolNames(namesIn(request))
    loading ??= load(options)
    const model = await loading
    if (hasMedia(request)) {
      const given = options.media ?? chatMedia
      support ??= typeof given === 'function' ? given() : Promise.resolve(given)
    }
    const media = (await support) ?? chatMedia
    const work = async (onText: ModelRequest['onText']): Promise<ModelReply> => {
      const without = new Set(refused)
      for (;;) {
        const { messages, sent } = toModelMessages(request.messages, { names, kept, media, refused: without })
        try {
          const answer = await ask(model, { ...request, onText }, messages, names, options)
          if (media.assumed === true) for (const kind of without) refused.add(kind)
          return toReply(options.id, answer, request, names, kept)
        } catch (error) {
          request.signal?.throwIfAborted()
          const refusal = await failureOf(error)
          if (sent.size === 0 || !refusal.mayConcernMedia) throw refusal
          // More models accept images than anything else, so images go last.
          const rest = [...sent].filter((kind) => kind !== 'image')
          for (const kind of rest.length > 0 ? rest : sent) without.add(kind)
        }
      }
    }
    const retries = options.sleep === undefined ? {} : { sleep: options.sleep }
    return withRetries(request, work, (error) => toModelError(options.id, error, context), retries)
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
  const why =
    '"load" gave no language model: give what a provider package of the AI SDK returns for a model name'
  throw new ModelError('request', id, why)
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
): Promise<Answer> {
  const ai = await import('ai')
  // Its warnings go to stdout, which belongs to the caller.
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
    messages: cacheMark === undefined ? messages : marked(messages, cacheMark),
    maxOutputTokens: request.maxTokens,
    maxRetries: 0,
    ...(request.system !== undefined && {
      instructions: { role: 'system' as const, content: request.system, ...mark },
    }),
    ...(request.tools !== undefined &&
      request.tools.length > 0 && { tools, toolChoice: request.toolChoice ?? ('auto' as const) }),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.stopSequences !== undefined && { stopSequences: request.stopSequences }),
    ...(request.signal !== undefined && { abortSignal: request.signal }),
    ...(providerOptions !== undefined && { providerOptions }),
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
 * Marks where a provider's cache may end: after this request, and after the one before it (in front of the last reply),
 * because providers look back a few blocks only to find what they already have.
 */
function marked(
  messages: readonly ModelMessage[],
  mark: NonNullable<AiModelOptions['cacheMark']>,
): ModelMessage[] {
  const last = messages.length - 1
  const before = messages.findLastIndex(({ role }) => role === 'assistant') - 1
  return messages.map((message, at) =>
    at === last || at === before ? { ...message, providerOptions: mark } : message,
  )
}

function toReply(
  id: string,
  answer: Answer,
  request: ModelRequest,
  names: ToolNames,
  kept: Map<string, RetainedParts>,
): ModelReply {
  const content: SamplingContent[] = []
  const unreadable: [id: string, written: string][] = []
  let before: RetainedParts['before'] = []
  for (const part of answer.content) {
    if (part.type === 'text') {
      if (part.text !== '') content.push({ type: 'text', text: part.text })
    } else if (part.type === 'reasoning') {
      before.push({
        type: 'reasoning',
        text: part.text,
        ...(part.providerMetadata !== undefined && { providerOptions: part.providerMetadata }),
      })
    } else if (part.type === 'file' && part.file.mediaType.startsWith('image/')) {
      content.push({ type: 'image', data: part.file.base64, mimeType: part.file.mediaType })
    } else if (part.type === 'tool-call') {
      remember(kept, part.toolCallId, { before, options: part.providerMetadata })
      before = []
      const name = names.fromWire(part.toolName)
      const input = argumentsIn(part.input)
      if (input === undefined) unreadable.push([part.toolCallId, writtenAs(part.input)])
      content.push({ type: 'tool_use', id: part.toolCallId, name, input: input ?? {} })
    }
  }
  const asksForTools = content.some((block) => block.type === 'tool_use')
  const stopReason = stopReasonOf(id, answer, asksForTools, content.length > 0)
  const { inputTokens, outputTokens } = answer.usage
  const reply: ModelReply = {
    content,
    stopReason,
    model: answer.response.modelId,
    ...(isCount(inputTokens) && isCount(outputTokens) && { usage: { inputTokens, outputTokens } }),
    ...(unreadable.length > 0 && { unreadable: Object.fromEntries(unreadable) }),
  }
  // Some compatible servers take no notice of the limit.
  return limitTokens(reply, request.maxTokens, reply.usage?.outputTokens ?? 0)
}

function remember(kept: Map<string, RetainedParts>, id: string, parts: RetainedParts): void {
  if (parts.before.length === 0 && parts.options === undefined) return
  kept.set(id, parts)
  if (kept.size <= maxRetainedCalls) return
  const [oldest] = kept.keys()
  if (oldest !== undefined) kept.delete(oldest)
}

function stopReasonOf(
  id: string,
  answer: Answer,
  asksForTools: boolean,
  saidSomething: boolean,
): ModelReply['stopReason'] {
  switch (answer.finishReason) {
    case 'length':
      return 'maxTokens'
    case 'content-filter':
      if (saidSomething) return 'contentFilter'
      throw new ModelError(
        'withheld',
        id,
        `${id} withheld its answer (content filter). Say it in another way.`,
      )
    case 'error':
    case 'interrupted':
      throw new ModelError('unavailable', id, `${id} stopped in the middle of its answer. Try again.`)
    default:
      if (asksForTools) return 'toolUse'
      return answer.rawFinishReason === 'stop_sequence' ? 'stopSequence' : 'endTurn'
  }
}

/** Compatible servers may count in ways that no budget can add up. */
function isCount(tokens: number | undefined): tokens is number {
  return Number.isSafeInteger(tokens) && (tokens ?? -1) >= 0
}

function writtenAs(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input)
}

/** Undefined for what was no JSON, or no object; nothing at all stands for no arguments. */
function argumentsIn(input: unknown): Record<string, unknown> | undefined {
  if (isRecord(input)) return { ...input }
  return input === undefined || input === null || input === '' ? {} : undefined
}

const attempts = 4
const maxWaitMs = 60_000
const firstWaitMs = 1_000

/** How a provider is asked again. */
interface RetryOptions {
  /** Waits, unless the signal ends it first. Default a timer. */
  sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/**
 * Asks up to four times while the provider is over its limit, out of order or not there, and nothing of an answer was
 * shown yet. It waits as long as the provider says, or 1, 2 and 4 seconds, and tells of every wait; what would take
 * longer than a minute is not waited for.
 */
export async function withRetries<T>(
  request: Pick<ModelRequest, 'signal' | 'onText' | 'onWait'>,
  work: (onText: ModelRequest['onText']) => Promise<T>,
  failure: (error: unknown) => ModelError,
  { sleep = wait }: RetryOptions = {},
): Promise<T> {
  const { signal } = request
  let shown = false
  const onText =
    request.onText === undefined
      ? undefined
      : (delta: string): void => {
          shown = true
          request.onText?.(delta)
        }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(onText)
    } catch (error) {
      signal?.throwIfAborted()
      const failed = failure(error)
      const forMs = failed.retryAfterMs ?? firstWaitMs * 2 ** (attempt - 1)
      const isWorthIt = failed.kind === 'limit' || failed.kind === 'unavailable'
      if (!isWorthIt || !failed.passes || shown || attempt === attempts || forMs > maxWaitMs) throw failed
      request.onWait?.({ forMs, why: failed.message, attempt, attempts })
      await sleep(forMs, signal)
    }
  }
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
