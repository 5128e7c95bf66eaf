import { ErrorCode, invalid, invalidParams, McpError, messageOf, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { dropOldest } from '../jsonrpc/rotating-map.ts'
import type { SamplingContent } from '../protocol/content.ts'
import type { ClientCapabilities } from '../protocol/definitions.ts'
import {
  checkElicitContent,
  checkElicitSchema,
  checkFormHints,
  fillDefaults,
  isElicitSchema,
} from '../protocol/elicitation.ts'
import { isExtensionId } from '../protocol/meta.ts'
import type { ProtocolVersion } from '../protocol/methods.ts'
import { supports } from '../protocol/revision.ts'
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  QuestionMethod,
  Root,
} from '../protocol/server-requests.ts'
import { checkSampling, toolRounds } from '../protocol/server-requests.ts'
import { type OnOmitted, samplingParams } from '../protocol/shapes.ts'
import { limits } from '../request/limits.ts'
import { type TelemetrySpan, withSpan } from './telemetry.ts'
import type { AnswerHandlers, AnswerOptions, AskContext, ConnectOptions } from './types.ts'

/** The option with the handler of each request of a server. */
const handlerNames: ReadonlyMap<string, keyof AnswerHandlers> = new Map([
  ['elicitation/create', 'onElicit'],
  ['sampling/createMessage', 'onSample'],
  ['roots/list', 'onRoots'],
])

/** Why a request of the server is refused, and the option that allows it. */
export function notDeclared(method: string): string {
  const handler = handlerNames.get(method)
  return handler === undefined
    ? `The server requested ${method}, which is no request that a client answers`
    : `The server requested ${method}, which this client does not declare. Give connect the option "${handler}".`
}

/** Runs the caller's handlers for requests of the server, and validates both the requests and the results. */
export class ClientHandlers {
  readonly #pendingElicitations: PendingUrlElicitations
  readonly #options: ConnectOptions
  readonly #capabilities: ClientCapabilities

  constructor(options: ConnectOptions, pendingElicitations: PendingUrlElicitations) {
    this.#pendingElicitations = pendingElicitations
    this.#options = options
    this.#capabilities = capabilitiesOf(options)
  }

  /** The capabilities to declare. Only sessions have `roots.listChanged`. */
  capabilities(era: 'session' | 'stateless'): ClientCapabilities {
    if (this.#options.relay !== undefined) return this.#options.relay.capabilities
    const { roots, ...rest } = this.#capabilities
    if (roots === undefined) return rest
    return { ...rest, roots: era === 'session' ? { listChanged: true } : {} }
  }

  canHandle(method: string): method is QuestionMethod {
    const handler = handlerNames.get(method)
    return handler !== undefined && (this.#options.relay ?? this.#options[handler]) !== undefined
  }

  /** Whether sampling requests are accepted while no request of this client is in flight. Relays accept all. */
  get allowsUnrelatedSampling(): boolean {
    return this.#options.relay !== undefined || this.#options.sampling?.unrelated === true
  }

  /**
   * Runs the handler for one request of the server.
   * @throws RpcError for invalid params, or the RpcError that the handler threw
   * @throws McpError 'INVALID' for an invalid result of the handler
   */
  async handle(
    method: QuestionMethod,
    params: JsonObject,
    context: AskContext,
    version: ProtocolVersion,
    parent?: TelemetrySpan,
  ): Promise<JsonObject> {
    const work = async (): Promise<JsonObject> => {
      const answer = await this.#answer({ method, params }, context, version)
      try {
        JSON.stringify(answer)
        return answer
      } catch (error) {
        const { notSentError } = await import('../request/json-value.ts')
        throw notSentError(`The result of ${method}`, answer, error) ?? error
      }
    }
    const span = this.#options.telemetry?.begin({
      by: 'server',
      method,
      params,
      revision: version,
      transport: undefined,
      session: undefined,
      parent,
    })
    return span === undefined ? work() : withSpan(span, work, (result) => result)
  }

  async #answer(
    question: { method: QuestionMethod; params: JsonObject },
    context: AskContext,
    version: ProtocolVersion,
  ): Promise<JsonObject> {
    const { method, params } = question
    if (this.#options.relay !== undefined) {
      if (method === 'elicitation/create') this.#pendingElicitations.add(params['elicitationId'])
      return this.#options.relay.answer(question, context)
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
    const request = this.#formRequest(params) ?? this.#urlRequest(params, version)
    const answer = await requireHandler(this.#options.onElicit, 'elicitation')(request, context)
    if (!isElicitResult(answer)) {
      throw invalid('onElicit must return an object whose action is accept, decline or cancel')
    }
    const base: JsonObject = answer._meta === undefined ? {} : { _meta: answer._meta }
    if (answer.action !== 'accept' || request.mode === 'url') return { ...base, action: answer.action }
    const content = fillDefaults(request.requestedSchema, answer.content ?? {})
    const fault = checkElicitContent(request.requestedSchema, content)
    if (fault !== undefined)
      throw invalid(`onElicit accepted with values that do not match the form: ${fault}`)
    return { ...base, action: 'accept', content }
  }

  #formRequest(params: JsonObject): Extract<ElicitParams, { mode?: 'form' }> | undefined {
    const { mode = 'form', message, requestedSchema } = params
    if (mode !== 'form') return undefined
    if (this.#capabilities.elicitation?.form === undefined)
      throw invalidParams('this client does not support forms (the option elicitation.form allows them)')
    if (typeof message !== 'string') throw invalidParams('a form requires a "message"')
    if (!isElicitSchema(requestedSchema))
      throw invalidParams(checkElicitSchema(requestedSchema) ?? 'invalid form')
    const unsupported = checkFormHints(requestedSchema)
    if (unsupported !== undefined) throw invalidParams(unsupported)
    return { ...params, mode: 'form', message, requestedSchema }
  }

  #urlRequest(params: JsonObject, version: ProtocolVersion): Extract<ElicitParams, { mode: 'url' }> {
    const { mode, message, url } = params
    if (mode !== 'url') throw invalidParams(`unknown elicitation mode ${JSON.stringify(mode)}`)
    if (this.#capabilities.elicitation?.url === undefined)
      throw invalidParams(
        'this client does not support URL elicitation (the option elicitation.url allows it)',
      )
    if (typeof message !== 'string') throw invalidParams('a URL elicitation requires a "message"')
    if (typeof url !== 'string' || !isWebUrl(url)) throw invalidParams('"url" must be an http or https URL')
    if (supports(version, 'elicitationIds') && typeof params['elicitationId'] !== 'string')
      throw invalidParams('a URL elicitation requires an "elicitationId"')
    this.#pendingElicitations.add(params['elicitationId'])
    return { ...params, mode, message, url }
  }

  async #sample(params: JsonObject, context: AskContext, version: ProtocolVersion): Promise<JsonObject> {
    let wrong: string | undefined
    const isWhole = isSampling(params, (name, value) => {
      if (value !== null) wrong ??= name
    })
    if (!isWhole)
      throw invalidParams('"messages" must be messages with a role and content, and "maxTokens" a number')
    if (wrong !== undefined) throw invalidParams(`"${wrong}" has the wrong type`)
    const { sampling: can } = this.#capabilities
    if ((params.tools !== undefined || params.toolChoice !== undefined) && can?.tools === undefined) {
      throw invalidParams(
        'this client does not support tools in sampling (the option sampling.tools allows them)',
      )
    }
    const fault = checkSampling(params)
    if (fault !== undefined) throw invalidParams(fault)
    const { maxToolRounds = limits.samplingToolRounds } = this.#options.sampling ?? {}
    if (toolRounds(params) > maxToolRounds) {
      throw invalidParams(`more than ${maxToolRounds} consecutive rounds of tool use, the limit here`)
    }
    const { includeContext, ...rest } = params
    const request: CreateMessageParams =
      includeContext === undefined || can?.context === undefined ? rest : { ...rest, includeContext }
    const answer = await requireHandler(this.#options.onSample, 'sampling')(request, context)
    return checkSample(answer, request, version)
  }

  async #roots(context: AskContext): Promise<JsonObject> {
    const { onRoots } = this.#options
    const roots = Array.isArray(onRoots) ? onRoots : await requireHandler(onRoots, 'roots')(context)
    if (!Array.isArray(roots) || !roots.every(isRoot)) {
      throw invalid('onRoots must return an array of roots whose "uri" starts with file://')
    }
    return { roots }
  }
}

function capabilitiesOf(options: ConnectOptions): ClientCapabilities {
  const { elicitation, sampling, onElicit, onSample, onRoots, experimental, extensions } = options
  if (onElicit === undefined && (elicitation?.form || elicitation?.url)) {
    throw invalid('"elicitation" requires the handler "onElicit"')
  }
  if (onSample === undefined && (sampling?.tools || sampling?.context)) {
    throw invalid('"sampling" requires the handler "onSample"')
  }
  const all: ClientCapabilities = {}
  if (onElicit !== undefined) {
    const { form = elicitation?.url !== true, url = false } = elicitation ?? {}
    if (!form && !url) throw invalid('"elicitation" must enable forms, URLs or both')
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
      if (!isExtensionId(id)) throw invalid(`"extensions" contains the id "${id}", which has no prefix`)
    }
    all.extensions = Object.fromEntries(extensions.map(({ id, settings = {} }) => [id, settings]))
  }
  return all
}

function requireHandler<T>(handler: T | undefined, kind: string): T {
  if (handler === undefined)
    throw new RpcError(ErrorCode.MethodNotFound, `This client does not support ${kind}`)
  return handler
}

function checkSample(
  answer: CreateMessageResult,
  request: CreateMessageParams,
  version: ProtocolVersion,
): JsonObject {
  if (!isObject(answer) || typeof answer.model !== 'string') throw invalid('onSample must return a "model"')
  if (answer.role !== 'assistant' && answer.role !== 'user') throw invalid('onSample must return a "role"')
  const blocks: SamplingContent[] = Array.isArray(answer.content) ? answer.content : [answer.content]
  if (!blocks.every(isContentBlock)) throw invalid('onSample must return "content" blocks')
  const offersNone = request.tools === undefined || request.toolChoice?.mode === 'none'
  if (offersNone && blocks.some((block) => block.type === 'tool_use')) {
    throw invalid('onSample used a tool, but the request allows none')
  }
  const [only] = blocks
  if (!Array.isArray(answer.content) || supports(version, 'samplingTools')) return { ...answer }
  if (blocks.length !== 1 || only === undefined) {
    throw invalid(`Revision ${version} allows only one content block in a sampled message`)
  }
  return { ...answer, content: only }
}

function isElicitResult(value: unknown): value is ElicitResult {
  return isObject(value) && ['accept', 'decline', 'cancel'].includes(String(value['action']))
}

function isSampling(params: JsonObject, onOmitted: OnOmitted): params is JsonObject & CreateMessageParams {
  return samplingParams(params, onOmitted)
}

function isContentBlock(value: unknown): value is SamplingContent {
  return isObject(value) && typeof value['type'] === 'string'
}

function isRoot(value: unknown): value is Root {
  if (!isObject(value) || typeof value['uri'] !== 'string') return false
  return value['uri'].startsWith('file://') && URL.canParse(value['uri'])
}

function isWebUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}

/** URL elicitations that the server requested: completion notifications for any other are ignored. */
class PendingUrlElicitations {
  readonly #open = new Set<string>()

  /** Adds an `elicitationId`; above the limit the oldest is removed. */
  add(id: unknown): void {
    if (typeof id !== 'string' || id.length > limits.uriChars) return
    this.#open.add(id)
    dropOldest(this.#open, limits.subscribedUris)
  }

  /** Adds the elicitations in an error of code -32042. */
  addFromError(error: unknown): void {
    if (!(error instanceof RpcError) || error.code !== ErrorCode.UrlElicitationRequired) return
    const elicitations = isObject(error.data) ? error.data['elicitations'] : undefined
    if (!Array.isArray(elicitations)) return
    for (const elicitation of elicitations) if (isObject(elicitation)) this.add(elicitation['elicitationId'])
  }

  /** Removes an elicitation; whether it was pending. */
  complete(id: string): boolean {
    return this.#open.delete(id)
  }
}

/** A client's handlers: the current ones, and those that its session declared. */
export class HandlerRegistry {
  readonly pendingElicitations: PendingUrlElicitations = new PendingUrlElicitations()
  readonly #options: ConnectOptions
  /** Declared by the next request, and used for its input requests. */
  current: ClientHandlers
  /** Declared by `initialize`, for the whole session. */
  session: ClientHandlers

  constructor(options: ConnectOptions) {
    this.#options = options
    this.current = new ClientHandlers(options, this.pendingElicitations)
    this.session = this.current
  }

  /** The capabilities to declare; fixes them for a session. */
  declare(era: 'session' | 'stateless'): ClientCapabilities {
    if (era === 'session') this.session = this.current
    return this.current.capabilities(era)
  }

  replace(answers: AnswerOptions): void {
    this.current = this.withHandlers(answers)
  }

  withHandlers(answers: AnswerOptions): ClientHandlers {
    if (this.#options.relay !== undefined) {
      throw new McpError('INVALID', 'A client with the option "relay" has no handlers of its own to set')
    }
    const { onElicit, onSample, onRoots, elicitation, sampling, ...rest } = this.#options
    return new ClientHandlers({ ...rest, ...answers }, this.pendingElicitations)
  }
}

/** Wraps a callback of the caller: what it throws is reported as a warning. */
export function guardCallback<A extends unknown[]>(
  callback: (...args: A) => void,
  name: string,
  warn: (text: string) => void,
): (...args: A) => void {
  return (...args) => {
    try {
      callback(...args)
    } catch (error) {
      warn(`${name} threw: ${messageOf(error)}`)
    }
  }
}
