import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { SamplingContent } from '../protocol/content.ts'
import type { ClientCapabilities } from '../protocol/definitions.ts'
import {
  checkElicitContent,
  checkElicitSchema,
  checkFormHints,
  checkSampling,
  fillDefaults,
  isElicitSchema,
  toolRounds,
} from '../protocol/elicitation.ts'
import { isExtensionId } from '../protocol/meta.ts'
import type { ProtocolVersion } from '../protocol/methods.ts'
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  QuestionMethod,
  Root,
} from '../protocol/server-requests.ts'
import { type OnOmitted, samplingParams } from '../protocol/shapes.ts'
import { limits } from '../request/limits.ts'
import { followed, type TelemetrySpan } from './telemetry.ts'
import type { AnswerHandlers, AnswerOptions, AskContext, ConnectOptions } from './types.ts'

/** Answers a server's questions with the caller's handlers, and holds both sides to the rules. */
export class ClientHandlers {
  readonly #visits: PendingUrlElicitations
  readonly #handlers: AnswerHandlers
  readonly #capabilities: ClientCapabilities
  readonly #sampling: ConnectOptions['sampling']
  readonly #relay: ConnectOptions['relay']
  readonly #telemetry: ConnectOptions['telemetry']

  constructor(options: ConnectOptions, visits: PendingUrlElicitations) {
    this.#visits = visits
    this.#handlers = options
    this.#capabilities = capabilitiesOf(options)
    this.#sampling = options.sampling
    this.#relay = options.relay
    this.#telemetry = options.telemetry
  }

  /** What to declare. Only sessions can hear that roots change. */
  capabilities(era: 'session' | 'stateless'): ClientCapabilities {
    if (this.#relay !== undefined) return this.#relay.capabilities
    const { roots, ...rest } = this.#capabilities
    if (roots === undefined) return rest
    return { ...rest, roots: era === 'session' ? { listChanged: true } : {} }
  }

  /** Whether there is a handler for this kind of question. */
  can(method: string): method is QuestionMethod {
    switch (method) {
      case 'elicitation/create':
        return this.#relay !== undefined || this.#handlers.onElicit !== undefined
      case 'sampling/createMessage':
        return this.#relay !== undefined || this.#handlers.onSample !== undefined
      case 'roots/list':
        return this.#relay !== undefined || this.#handlers.onRoots !== undefined
      default:
        return false
    }
  }

  /** Whether samples are answered that belong to no request of this client. What is relayed is for others to judge. */
  get samplesUnrelated(): boolean {
    return this.#relay !== undefined || this.#sampling?.unrelated === true
  }

  /**
   * The answer to one question.
   * @throws RpcError for a question against the rules, or the one its handler threw
   * @throws McpError 'INVALID' for a handler's answer against the rules
   */
  async answer(
    method: QuestionMethod,
    params: JsonObject,
    context: AskContext,
    version: ProtocolVersion,
    parent?: TelemetrySpan,
  ): Promise<JsonObject> {
    const work = async (): Promise<JsonObject> => {
      const answer = await this.#answer(method, params, context, version)
      try {
        JSON.stringify(answer)
        return answer
      } catch (error) {
        const { unsent } = await import('../request/json-value.ts')
        throw unsent(`The answer to ${method}`, answer, error) ?? error
      }
    }
    const span = this.#telemetry?.begin({
      by: 'server',
      method,
      params,
      revision: version,
      transport: undefined,
      session: undefined,
      parent,
    })
    return span === undefined ? work() : followed(span, work, (result) => result)
  }

  async #answer(
    method: QuestionMethod,
    params: JsonObject,
    context: AskContext,
    version: ProtocolVersion,
  ): Promise<JsonObject> {
    if (this.#relay !== undefined) {
      if (method === 'elicitation/create') this.#visits.begin(params['elicitationId'])
      return this.#relay.answer({ method, params }, context)
    }
    switch (method) {
      case 'elicitation/create':
        return this.#elicit(params, context, version)
      case 'sampling/createMessage':
        return this.#sample(params, context, version)
      case 'roots/list':
        return this.#roots(context)
    }
  }

  async #elicit(params: JsonObject, context: AskContext, version: ProtocolVersion): Promise<JsonObject> {
    const question = this.#form(params) ?? this.#visit(params, version)
    const answer = await handler(this.#handlers.onElicit, 'elicitation')(question, context)
    if (!isElicitResult(answer)) {
      throw invalid('onElicit must return an object whose action is accept, decline or cancel')
    }
    const bare: JsonObject = answer._meta === undefined ? {} : { _meta: answer._meta }
    if (answer.action !== 'accept' || question.mode === 'url') return { ...bare, action: answer.action }
    const content = fillDefaults(question.requestedSchema, answer.content ?? {})
    const fault = checkElicitContent(question.requestedSchema, content)
    if (fault !== undefined) throw invalid(`onElicit accepted with values that do not fit the form: ${fault}`)
    return { ...bare, action: 'accept', content }
  }

  #form(params: JsonObject): Extract<ElicitParams, { mode?: 'form' }> | undefined {
    const { mode = 'form', message, requestedSchema } = params
    if (mode !== 'form') return undefined
    if (this.#capabilities.elicitation?.form === undefined) throw refused('this client shows no forms')
    if (typeof message !== 'string') throw refused('a form needs a "message"')
    if (!isElicitSchema(requestedSchema)) throw refused(checkElicitSchema(requestedSchema) ?? 'bad form')
    const odd = checkFormHints(requestedSchema)
    if (odd !== undefined) throw refused(odd)
    return { ...params, mode: 'form', message, requestedSchema }
  }

  #visit(params: JsonObject, version: ProtocolVersion): Extract<ElicitParams, { mode: 'url' }> {
    const { mode, message, url } = params
    if (mode !== 'url') throw refused(`there is no elicitation mode ${JSON.stringify(mode)}`)
    if (this.#capabilities.elicitation?.url === undefined) throw refused('this client visits no URLs')
    if (typeof message !== 'string') throw refused('a URL needs a "message"')
    if (typeof url !== 'string' || !isWebUrl(url)) throw refused('"url" must be an http or https URL')
    if (version === '2025-11-25' && typeof params['elicitationId'] !== 'string')
      throw refused('a URL needs an "elicitationId" here')
    this.#visits.begin(params['elicitationId'])
    return { ...params, mode, message, url }
  }

  async #sample(params: JsonObject, context: AskContext, version: ProtocolVersion): Promise<JsonObject> {
    let wrong: string | undefined
    const isWhole = isSampling(params, (name, value) => {
      if (value !== null) wrong ??= name
    })
    if (!isWhole)
      throw refused('"messages" must be a list of messages with a role and content, and "maxTokens" a number')
    if (wrong !== undefined) throw refused(`"${wrong}" is not what it must be`)
    const { sampling: can } = this.#capabilities
    if ((params.tools !== undefined || params.toolChoice !== undefined) && can?.tools === undefined) {
      throw refused('this client does not sample with tools')
    }
    const fault = checkSampling(params)
    if (fault !== undefined) throw refused(fault)
    const { maxToolRounds = limits.samplingToolRounds } = this.#sampling ?? {}
    if (toolRounds(params) > maxToolRounds) {
      throw refused(
        `the model used tools more than ${maxToolRounds} times in a row, and this client answers no more`,
      )
    }
    const { includeContext, ...rest } = params
    const request: CreateMessageParams =
      includeContext === undefined || can?.context === undefined ? rest : { ...rest, includeContext }
    const answer = await handler(this.#handlers.onSample, 'sampling')(request, context)
    return sampled(answer, request, version)
  }

  async #roots(context: AskContext): Promise<JsonObject> {
    const { onRoots } = this.#handlers
    const roots = Array.isArray(onRoots) ? onRoots : await handler(onRoots, 'roots')(context)
    if (!Array.isArray(roots) || !roots.every(isRoot)) {
      throw invalid('onRoots must give a list of roots whose "uri" begins with file://')
    }
    return { roots }
  }
}

function capabilitiesOf(options: ConnectOptions): ClientCapabilities {
  const { elicitation, sampling, onElicit, onSample, onRoots, experimental, extensions } = options
  if (onElicit === undefined && (elicitation?.form || elicitation?.url)) {
    throw invalid('"elicitation" needs the handler "onElicit"')
  }
  if (onSample === undefined && (sampling?.tools || sampling?.context)) {
    throw invalid('"sampling" needs the handler "onSample"')
  }
  const all: ClientCapabilities = {}
  if (onElicit !== undefined) {
    const { form = elicitation?.url !== true, url = false } = elicitation ?? {}
    if (!form && !url) throw invalid('"elicitation" must allow forms, URLs or both')
    all.elicitation = { ...(form ? { form: {} } : {}), ...(url ? { url: {} } : {}) }
  }
  if (onSample !== undefined) {
    all.sampling = {
      ...(sampling?.tools ? { tools: {} } : {}),
      ...(sampling?.context ? { context: {} } : {}),
    }
  }
  if (onRoots !== undefined) all.roots = {}
  if (experimental !== undefined) all.experimental = experimental
  if (extensions !== undefined) {
    for (const { id } of extensions) {
      if (!isExtensionId(id)) throw invalid(`"extensions" names one without a prefix: "${id}"`)
    }
    all.extensions = Object.fromEntries(extensions.map(({ id, settings = {} }) => [id, settings]))
  }
  return all
}

function handler<T>(found: T | undefined, kind: string): T {
  if (found === undefined) throw new RpcError(ErrorCode.MethodNotFound, `This client answers no ${kind}`)
  return found
}

function sampled(
  answer: CreateMessageResult,
  request: CreateMessageParams,
  version: ProtocolVersion,
): JsonObject {
  if (!isObject(answer) || typeof answer.model !== 'string') throw invalid('onSample must name its "model"')
  if (answer.role !== 'assistant' && answer.role !== 'user') throw invalid('onSample must give a "role"')
  const blocks: SamplingContent[] = Array.isArray(answer.content) ? answer.content : [answer.content]
  if (!blocks.every(isBlock)) throw invalid('onSample must give "content" blocks')
  const offersNone = request.tools === undefined || request.toolChoice?.mode === 'none'
  if (offersNone && blocks.some((block) => block.type === 'tool_use')) {
    throw invalid('onSample used a tool, but the request offers none')
  }
  const [only] = blocks
  if (!Array.isArray(answer.content) || version >= '2025-11-25') return { ...answer }
  if (blocks.length !== 1 || only === undefined) {
    throw invalid(`Revision ${version} has room for one content block in a sampled message`)
  }
  return { ...answer, content: only }
}

function isElicitResult(value: unknown): value is ElicitResult {
  return isObject(value) && ['accept', 'decline', 'cancel'].includes(String(value['action']))
}

function isSampling(params: JsonObject, left: OnOmitted): params is JsonObject & CreateMessageParams {
  return samplingParams(params, left)
}

function isBlock(value: unknown): value is SamplingContent {
  return isObject(value) && typeof value['type'] === 'string'
}

function isRoot(value: unknown): value is Root {
  if (!isObject(value) || typeof value['uri'] !== 'string') return false
  return value['uri'].startsWith('file://') && URL.canParse(value['uri'])
}

function isWebUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}

function refused(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}

function invalid(why: string): McpError {
  return new McpError('INVALID', why)
}

/** The URL visits a server asked for, so that word of any other is not taken for news. */
export class PendingUrlElicitations {
  readonly #open = new Set<string>()

  /** Remembers a visit by its `elicitationId`; the oldest one is forgotten where there are too many. */
  begin(id: unknown): void {
    if (typeof id !== 'string' || id.length > limits.uriChars) return
    const [oldest] = this.#open
    if (oldest !== undefined && this.#open.size >= limits.subscribedUris) this.#open.delete(oldest)
    this.#open.add(id)
  }

  /** Remembers the visits an error of code -32042 asks for. */
  beginAll(error: unknown): void {
    if (!(error instanceof RpcError) || error.code !== ErrorCode.UrlElicitationRequired) return
    const asked = isObject(error.data) ? error.data['elicitations'] : undefined
    if (!Array.isArray(asked)) return
    for (const visit of asked) if (isObject(visit)) this.begin(visit['elicitationId'])
  }

  /** Whether this visit was asked for and had not ended yet. */
  end(id: string): boolean {
    return this.#open.delete(id)
  }
}

/** What a client can answer at the moment, and what its session was told. */
export class HandlerRegistry {
  readonly visits: PendingUrlElicitations = new PendingUrlElicitations()
  readonly #options: ConnectOptions
  #now: ClientHandlers
  #session: ClientHandlers

  constructor(options: ConnectOptions) {
    this.#options = options
    this.#now = new ClientHandlers(options, this.visits)
    this.#session = this.#now
  }

  /** What the next request declares, and what its questions are answered with. */
  get now(): ClientHandlers {
    return this.#now
  }

  /** What `initialize` declared: a session cannot be told anything else later. */
  get session(): ClientHandlers {
    return this.#session
  }

  /** What to declare now. A session is held to it from here on. */
  declare(era: 'session' | 'stateless'): ClientCapabilities {
    if (era === 'session') this.#session = this.#now
    return this.#now.capabilities(era)
  }

  /** Takes the place of everything that could be answered. */
  set(answers: AnswerOptions): void {
    this.#now = this.apart(answers)
  }

  /** The same client with other answers. */
  apart(answers: AnswerOptions): ClientHandlers {
    if (this.#options.relay !== undefined) {
      throw new McpError(
        'INVALID',
        'A client that hands questions over ("relay") has no answers of its own to set',
      )
    }
    const { onElicit, onSample, onRoots, elicitation, sampling, ...rest } = this.#options
    return new ClientHandlers({ ...rest, ...answers }, this.visits)
  }
}

/** A caller's callback, whose own failures are reported instead of breaking the connection. */
export function guarded<A extends unknown[]>(
  callback: (...args: A) => void,
  name: string,
  warn: (text: string) => void,
): (...args: A) => void {
  return (...args) => {
    try {
      callback(...args)
    } catch (error) {
      warn(`${name} threw: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
