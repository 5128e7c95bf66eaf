import { jsonBytes } from '../jsonrpc/bytes.ts'
import { McpError } from '../jsonrpc/error.ts'
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
  ServerCapabilities,
  SubscriptionFilter,
  Tool,
} from '../protocol/definitions.ts'
import { type ClientMethod, type ClientRequests, methods } from '../protocol/methods.ts'
import { limits } from '../request/limits.ts'
import { Cache, changeIn } from './cache.ts'
import type { ClientConnection } from './client-connection.ts'
import type { ClientExtension } from './extension.ts'
import { guarded, type HandlerRegistry } from './handlers.ts'
import type { Page } from './lists.ts'
import type { Era } from './negotiate.ts'
import { Requests } from './requests.ts'
import { assertResult } from './result-shapes.ts'
import { ToolDefinitions } from './tools.ts'
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

const clientMethods: ReadonlySet<string> = new Set(
  Object.entries(methods).flatMap(([name, { from }]) => (from === 'client' ? [name] : [])),
)

const capabilityOf = {
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resources',
  'prompts/list': 'prompts',
} as const

type ListMethod = keyof typeof capabilityOf

export interface ClientParts {
  readonly wire: ClientConnection
  readonly answers: HandlerRegistry
  readonly options: ConnectOptions
  /** Makes the era; `publish` is how it tells the client of changes, `forget` how it says what may be stale. */
  readonly era: (publish: (change: ServerChange) => void, forget: (change: ServerChange) => void) => Era
}

/** One connection to one server, of either era. */
export class McpClient implements Client {
  readonly closed: Promise<Error | undefined>
  readonly #wire: ClientConnection
  readonly #era: Era
  readonly #answers: HandlerRegistry
  readonly #options: ConnectOptions
  readonly #cache = new Cache()
  readonly #tools: ToolDefinitions
  readonly #requests: Requests
  readonly #warn: (text: string) => void

  constructor({ wire, answers, options, era }: ClientParts) {
    this.#wire = wire
    this.#answers = answers
    this.#options = options
    this.#era = era(
      (change) => this.#publish(change),
      (change) => this.#cache.drop(change),
    )
    this.#warn = (text) => wire.warn(text)
    this.#tools = new ToolDefinitions(wire.link.hasHeaders && this.#era.facts.era === 'stateless', this.#warn)
    this.#requests = new Requests({
      wire,
      era: this.#era,
      answers,
      tools: this.#tools,
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      maxTotalMs: options.maxTotalMs ?? defaultMaxTotalMs,
      maxRounds: options.maxRounds ?? defaultMaxRounds,
      maxQuestions: options.maxQuestions ?? limits.questions,
      extensions: options.extensions ?? [],
      relist: async () => {
        await this.tools({ cache: 'refresh' })
      },
    })
    this.closed = wire.link.closed
    this.#attach(options.extensions ?? [])
  }

  get server(): ServerFacts {
    return this.#era.facts
  }

  tools(options: ReadOptions = {}): Promise<Tool[]> {
    return this.#all('tools/list', ({ tools }) => tools, options)
  }

  resources(options: ReadOptions = {}): Promise<Resource[]> {
    return this.#all('resources/list', ({ resources }) => resources, options)
  }

  templates(options: ReadOptions = {}): Promise<ResourceTemplate[]> {
    return this.#all('resources/templates/list', ({ resourceTemplates }) => resourceTemplates, options)
  }

  prompts(options: ReadOptions = {}): Promise<Prompt[]> {
    return this.#all('prompts/list', ({ prompts }) => prompts, options)
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
    if (!notifiesChanges(this.server.capabilities)) {
      throw new McpError(
        'CAPABILITY',
        'The server sends no notifications of changes: it declared neither "listChanged" nor "subscribe", so nothing can be watched',
      )
    }
    return this.#era.watch(filter, guarded(onChange ?? (() => {}), 'onChange', this.#warn))
  }

  setLogLevel(level: LoggingLevel | undefined): Promise<void> {
    return this.#era.setLogLevel(level)
  }

  setAnswers(answers: AnswerOptions): void {
    this.#answers.set(answers)
  }

  async rootsChanged(): Promise<void> {
    const { now, session } = this.#answers
    if (!(this.server.era === 'session' ? session : now).can('roots/list')) {
      throw new McpError('CAPABILITY', 'This client has no roots: give connect the option "onRoots"')
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
    if (options.relay !== undefined) return this.#relayed(method, { ...params }, options)
    const done = isClientMethod(method)
      ? await this.#known(method, { ...params }, options)
      : await this.#requests.perform(method, { ...params }, options)
    return done.result
  }

  close(): Promise<void> {
    return this.#wire.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** A notice came that belongs to no request and no subscription. */
  notice(message: JsonRpcNotification): void {
    const { method, params } = message
    if (method === 'notifications/elicitation/complete' && typeof params?.['elicitationId'] === 'string') {
      if (this.#answers.visits.end(params['elicitationId'])) {
        this.#options.onElicitationComplete?.(params['elicitationId'])
      }
      return
    }
    const change = changeIn(message)
    if (change === undefined) {
      for (const extension of this.#options.extensions ?? []) extension.onNotice?.(message)
      return
    }
    this.#publish(change)
    this.#era.changed(change)
  }

  async #all<M extends ListMethod, T>(
    method: M,
    entriesOf: (result: ClientRequests[M]['result']) => T[],
    options: ReadOptions,
  ): Promise<T[]> {
    if (this.server.capabilities[capabilityOf[method]] === undefined) return []
    const { allPages } = await import('./lists.ts')
    const page = async (cursor: string | undefined): Promise<Page<T>> => {
      const { result, cached, bytes } = await this.#cached(
        method,
        cursor === undefined ? {} : { cursor },
        options,
      )
      return { entries: entriesOf(result), nextCursor: result['nextCursor'], cached, bytes }
    }
    return allPages(method, page, () => this.#cache.dropMethod(method), {
      bytes: this.#options.maxListBytes ?? limits.listBytes,
      pages: this.#options.maxListPages ?? limits.pages,
      of: 'connect',
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
    const { result, rounds, bytes } = await this.#known(method, params, options)
    if (keeps && rounds === 0) this.#cache.put(method, key, { result, bytes }, epoch)
    return { result, cached: false, bytes }
  }

  /** A request of the protocol itself, its result held to what the protocol and the tools promise. */
  async #known<M extends ClientMethod>(
    method: M,
    params: JsonObject,
    options: CallOptions,
  ): Promise<{ result: JsonObject & ClientRequests[M]['result']; rounds: number; bytes: number }> {
    const { result, rounds } = await this.#requests.perform(method, params, options)
    // Before entries are left out of it.
    const bytes = Object.hasOwn(capabilityOf, method) ? jsonBytes(result) : 0
    if (method === 'tools/list') {
      assertResult('tools/list', result, this.#warn)
      result.tools = await this.#tools.learn(result.tools)
    }
    this.#check(method, params, result)
    return { result, rounds, bytes }
  }

  /** Holds a result to what the protocol and the tools promise. */
  #check<M extends ClientMethod>(
    method: M,
    params: JsonObject,
    result: JsonObject,
  ): asserts result is JsonObject & ClientRequests[M]['result'] {
    assertResult(method, result, this.#warn)
    if (method === 'tools/call') {
      this.#tools.checkResult(params['name'], result, this.server.revision >= '2025-06-18')
    }
  }

  /** A request passed on for somebody else: its result as it came, but with the shape its method promises. */
  async #relayed(method: string, params: JsonObject, options: CallOptions): Promise<JsonObject> {
    const { result } = await this.#requests.perform(method, params, options)
    const { resultType = 'complete', ...complete } = result
    if (resultType !== 'complete') return result
    if (isClientMethod(method)) assertResult(method, complete, this.#warn)
    if (method === 'tools/list') {
      assertResult('tools/list', complete, this.#warn)
      complete.tools = await this.#tools.learn(complete.tools)
    }
    return complete
  }

  #attach(extensions: readonly ClientExtension[]): void {
    for (const extension of extensions) {
      extension.attach?.(this, {
        first: (method, params, options) => this.#requests.first(method, params, options),
        during: (method, params, options, run) => this.#requests.during(method, params, options, run),
        tool: (name) => this.#requests.tool(name),
        check: (method, params, result) => this.#check(method, params, result),
      })
    }
  }

  #publish(change: ServerChange): void {
    this.#cache.drop(change)
    if (change.type === 'tools') this.#tools.clear()
    this.#options.onChange?.(change)
  }
}

function notifiesChanges({ tools, prompts, resources }: ServerCapabilities): boolean {
  const lists = [tools, prompts, resources].some((one) => one?.listChanged === true)
  return lists || resources?.subscribe === true
}

function isClientMethod(method: string): method is ClientMethod {
  return clientMethods.has(method)
}
