import { jsonBytes } from '../jsonrpc/bytes.ts'
import { describeValue, invalid, McpError } from '../jsonrpc/error.ts'
import type { JsonObject, JsonRpcNotification } from '../jsonrpc/message.ts'
import type {
  CallToolResult,
  CompleteParams,
  CompleteResult,
  GetPromptResult,
  LoggingLevel,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  SubscriptionFilter,
  Tool,
} from '../protocol/definitions.ts'
import { loggingLevels } from '../protocol/meta.ts'
import { type ClientMethod, type ClientRequests, rowOf } from '../protocol/methods.ts'
import { supports } from '../protocol/revision.ts'
import { listFlags } from '../request/changes.ts'
import { limits } from '../request/limits.ts'
import { requireKnown } from '../request/object-members.ts'
import { Cache, changeOf } from './cache.ts'
import type { ClientConnection, EraClient } from './client-connection.ts'
import { guardCallback, type HandlerRegistry } from './handlers.ts'
import type { Page } from './lists.ts'
import { Requests } from './requests.ts'
import { assertResult } from './result-shapes.ts'
import { ToolDefinitions } from './tool-definitions.ts'
import type {
  AnswerOptions,
  CallOptions,
  Client,
  ConnectOptions,
  ReadOptions,
  ServerChange,
  ServerFacts,
  Watch,
} from './types.ts'

export const defaultTimeoutMs = 60_000
const defaultMaxTotalMs = 3_600_000
const defaultMaxRounds = 10

const capabilityOf = {
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resources',
  'prompts/list': 'prompts',
} as const

const filterMembers = [...Object.values(listFlags), 'resourceSubscriptions', 'taskIds']

type ListMethod = keyof typeof capabilityOf

export interface McpClientOptions {
  readonly connection: ClientConnection
  readonly handlers: HandlerRegistry
  readonly options: ConnectOptions
  /** Creates the era's part: `publish` notifies the client of a change, `invalidate` drops results that a change made stale. */
  readonly era: (
    publish: (change: ServerChange) => void,
    invalidate: (change: ServerChange) => void,
  ) => EraClient
}

/** One connection to one server, of either era. */
export class McpClient implements Client {
  readonly closed: Promise<Error | undefined>
  readonly #connection: ClientConnection
  readonly #era: EraClient
  readonly #handlers: HandlerRegistry
  readonly #options: ConnectOptions
  readonly #cache = new Cache()
  readonly #tools: ToolDefinitions
  readonly #requests: Requests
  readonly #warn: (text: string) => void

  constructor({ connection, handlers, options, era }: McpClientOptions) {
    this.#connection = connection
    this.#handlers = handlers
    this.#options = options
    this.#era = era(
      (change) => this.#publish(change),
      (change) => this.#cache.invalidate(change),
    )
    this.#warn = (text) => connection.warn(text)
    const mirrorsHeaders = connection.transport.hasHeaders && this.#era.facts.era === 'stateless'
    this.#tools = new ToolDefinitions(mirrorsHeaders, this.#warn)
    this.#requests = new Requests({
      connection,
      era: this.#era,
      handlers,
      tools: this.#tools,
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      maxTotalMs: options.maxTotalMs ?? defaultMaxTotalMs,
      maxRounds: options.maxRounds ?? defaultMaxRounds,
      maxQuestions: options.maxQuestions ?? limits.questions,
      extensions: options.extensions ?? [],
      refreshTools: async () => {
        await this.tools({ cache: 'refresh' })
      },
    })
    this.closed = connection.transport.closed
    for (const extension of options.extensions ?? []) {
      extension.attach?.(this, {
        first: (method, params, options) => this.#requests.performUnfinished(method, params, options),
        during: (method, params, options, run) => this.#requests.runAsCall(method, params, options, run),
        tool: (name) => this.#requests.tool(name),
        check: (method, params, result) => this.#assertResult(method, params, result),
      })
    }
  }

  get server(): ServerFacts {
    return this.#era.facts
  }

  tools(options: ReadOptions = {}): Promise<Tool[]> {
    return this.#listAll('tools/list', ({ tools }) => tools, options)
  }

  resources(options: ReadOptions = {}): Promise<Resource[]> {
    return this.#listAll('resources/list', ({ resources }) => resources, options)
  }

  templates(options: ReadOptions = {}): Promise<ResourceTemplate[]> {
    return this.#listAll('resources/templates/list', ({ resourceTemplates }) => resourceTemplates, options)
  }

  prompts(options: ReadOptions = {}): Promise<Prompt[]> {
    return this.#listAll('prompts/list', ({ prompts }) => prompts, options)
  }

  call(name: string, args: JsonObject = {}, options: CallOptions = {}): Promise<CallToolResult> {
    return this.request('tools/call', { name, arguments: args }, options)
  }

  async read(uri: string, options: ReadOptions = {}): Promise<ReadResourceResult> {
    return (await this.#cached('resources/read', { uri }, options)).result
  }

  prompt(
    name: string,
    args: Record<string, string | undefined> = {},
    options: CallOptions = {},
  ): Promise<GetPromptResult> {
    const given: Record<string, string> = {}
    for (const [key, value] of Object.entries(args)) if (value !== undefined) given[key] = value
    return this.request('prompts/get', { name, arguments: given }, options)
  }

  async complete(params: CompleteParams, options: CallOptions = {}): Promise<CompleteResult['completion']> {
    return (await this.request('completion/complete', params, options)).completion
  }

  async watch(filter: SubscriptionFilter, onChange?: ConnectOptions['onChange']): Promise<Watch> {
    requireKnown('The filter of watch', filter, filterMembers)
    const { tools, prompts, resources } = this.server.capabilities
    const isNotified =
      [tools, prompts, resources].some((one) => one?.listChanged === true) || resources?.subscribe === true
    if (!isNotified) {
      throw new McpError(
        'CAPABILITY',
        'The server does not support change notifications: it declared neither "listChanged" nor "subscribe"',
      )
    }
    return this.#era.watch(filter, guardCallback(onChange ?? (() => {}), 'onChange', this.#warn))
  }

  async setLogLevel(level: LoggingLevel | undefined): Promise<void> {
    if (level !== undefined && !loggingLevels.includes(level)) {
      throw invalid(`${describeValue(level)} is no log level. Use one of ${loggingLevels.join(', ')}`)
    }
    return this.#era.setLogLevel(level)
  }

  setAnswers(answers: AnswerOptions): void {
    this.#handlers.replace(answers)
  }

  async rootsChanged(): Promise<void> {
    const { current, session } = this.#handlers
    if (!(this.server.era === 'session' ? session : current).canHandle('roots/list')) {
      throw new McpError('CAPABILITY', 'This client has no roots. Give connect the option "onRoots"')
    }
    await this.#era.rootsChanged()
  }

  ping(options: CallOptions = {}): Promise<void> {
    return this.#era.ping(options)
  }

  request<M extends ClientMethod>(
    method: M,
    params?: ClientRequests[M]['params'],
    options?: CallOptions,
  ): Promise<ClientRequests[M]['result']>
  request(method: string, params?: JsonObject, options?: CallOptions): Promise<JsonObject>
  async request(method: string, params: object = {}, options: CallOptions = {}): Promise<object> {
    if (options.relay !== undefined) return this.#requestRelayed(method, { ...params }, options)
    const done = isClientMethod(method)
      ? await this.#requestChecked(method, { ...params }, options)
      : await this.#requests.perform(method, { ...params }, options)
    return done.result
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Handles a notification outside any request or subscription. */
  onNotification(message: JsonRpcNotification): void {
    const { method, params } = message
    if (method === 'notifications/elicitation/complete' && typeof params?.['elicitationId'] === 'string') {
      if (this.#handlers.pendingElicitations.complete(params['elicitationId'])) {
        this.#options.onElicitationComplete?.(params['elicitationId'])
      }
      return
    }
    const change = changeOf(message)
    if (change === undefined) {
      for (const extension of this.#options.extensions ?? []) extension.onNotification?.(message)
      return
    }
    this.#publish(change)
    this.#era.changed(change)
  }

  async #listAll<M extends ListMethod, T>(
    method: M,
    entriesOf: (result: ClientRequests[M]['result']) => T[],
    options: ReadOptions,
  ): Promise<T[]> {
    if (this.server.capabilities[capabilityOf[method]] === undefined) return []
    const { allPages } = await import('./lists.ts')
    const page = async (cursor: string | undefined): Promise<Page<T>> => {
      const params = cursor === undefined ? {} : { cursor }
      const { result, cached, bytes } = await this.#cached(method, params, options)
      return { entries: entriesOf(result), nextCursor: result['nextCursor'], cached, bytes }
    }
    return allPages(method, page, () => this.#cache.invalidateMethod(method), {
      bytes: this.#options.maxListBytes ?? limits.listBytes,
      pages: this.#options.maxListPages ?? limits.pages,
      optionsOf: 'connect',
    })
  }

  async #cached<M extends ListMethod | 'resources/read'>(
    method: M,
    params: JsonObject,
    { cache = 'use', ...options }: ReadOptions,
  ): Promise<{ result: JsonObject & ClientRequests[M]['result']; cached: boolean; bytes: number }> {
    const keeps = this.#options.cache !== false && cache !== 'bypass'
    const key = options.meta === undefined ? params : { ...params, _meta: options.meta }
    const hit = keeps && cache === 'use' ? this.#cache.get(method, key) : undefined
    if (hit !== undefined) {
      const { result, bytes } = hit
      assertResult(method, result, this.#warn)
      return { result, cached: true, bytes }
    }
    const { epoch } = this.#cache
    const { result, rounds, bytes } = await this.#requestChecked(method, params, options)
    if (keeps && rounds === 0) this.#cache.set(method, key, { result, bytes }, epoch)
    return { result, cached: false, bytes }
  }

  /** Sends a request of the core protocol and checks its result. */
  async #requestChecked<M extends ClientMethod>(
    method: M,
    params: JsonObject,
    options: CallOptions,
  ): Promise<{ result: JsonObject & ClientRequests[M]['result']; rounds: number; bytes: number }> {
    const { result, rounds } = await this.#requests.perform(method, params, options)
    // Before entries are removed.
    const bytes = Object.hasOwn(capabilityOf, method) ? jsonBytes(result) : 0
    if (method === 'tools/list') {
      assertResult('tools/list', result, this.#warn)
      result.tools = await this.#tools.update(result.tools)
    }
    this.#assertResult(method, params, result)
    return { result, rounds, bytes }
  }

  /** Checks a result against the protocol and the tool's output schema. */
  #assertResult<M extends ClientMethod>(
    method: M,
    params: JsonObject,
    result: JsonObject,
  ): asserts result is JsonObject & ClientRequests[M]['result'] {
    assertResult(method, result, this.#warn)
    if (method === 'tools/call') {
      this.#tools.checkResult(params['name'], result, supports(this.server.revision, 'structuredContent'))
    }
  }

  /** Sends a relayed request: the result is checked for its shape, but otherwise unchanged. */
  async #requestRelayed(method: string, params: JsonObject, options: CallOptions): Promise<JsonObject> {
    const { result } = await this.#requests.perform(method, params, options)
    const { resultType = 'complete', ...complete } = result
    if (resultType !== 'complete') return result
    if (isClientMethod(method)) assertResult(method, complete, this.#warn)
    if (method === 'tools/list') {
      assertResult('tools/list', complete, this.#warn)
      complete.tools = await this.#tools.update(complete.tools)
    }
    return complete
  }

  #publish(change: ServerChange): void {
    this.#cache.invalidate(change)
    if (change.type === 'tools') this.#tools.clear()
    this.#options.onChange?.(change)
  }
}

function isClientMethod(method: string): method is ClientMethod {
  return rowOf(method)?.from === 'client'
}
