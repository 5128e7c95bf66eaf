/** `Client` of the official SDK 1 over Jackfield's client, which negotiates the newest revision that both sides have. */
import {
  type JsonObject,
  type JsonRpcMessage,
  McpError as LocalError,
  RpcError,
  type SubscriptionFilter,
} from '@jackfield/sdk'
import {
  type AskContext,
  type CallOptions,
  type Client as Connection,
  type ConnectOptions,
  connect,
  type Watch,
} from '@jackfield/sdk/client'
import { toOfficialError } from '../official-error.ts'
import {
  type AnyObjectSchema,
  type AnySchema,
  getParseErrorMessage,
  methodOf,
  type SchemaOutput,
  safeParse,
} from '../server/schemas.ts'
import { isObject } from '../server/served-call.ts'
import type { ProtocolOptions, RequestHandlerExtra, RequestOptions } from '../shared/protocol.ts'
import type { Transport } from '../shared/transport.ts'
import {
  type CallToolRequest,
  type CallToolResult,
  CallToolResultSchema,
  type ClientCapabilities,
  type ClientNotification,
  type ClientRequest,
  type ClientResult,
  type CompatibilityCallToolResultSchema,
  type CompleteRequest,
  type CompleteResult,
  CompleteResultSchema,
  CreateMessageResultWithToolsSchema,
  ElicitResultSchema,
  EmptyResultSchema,
  ErrorCode,
  type GetPromptRequest,
  type GetPromptResult,
  GetPromptResultSchema,
  type Implementation,
  ImplementationSchema,
  type ListChangedHandlers,
  type ListChangedOptions,
  type ListPromptsRequest,
  type ListPromptsResult,
  ListPromptsResultSchema,
  type ListResourcesRequest,
  type ListResourcesResult,
  ListResourcesResultSchema,
  type ListResourceTemplatesRequest,
  type ListResourceTemplatesResult,
  ListResourceTemplatesResultSchema,
  ListRootsResultSchema,
  type ListToolsRequest,
  type ListToolsResult,
  ListToolsResultSchema,
  type LoggingLevel,
  McpError,
  type Notification,
  type ReadResourceRequest,
  type ReadResourceResult,
  ReadResourceResultSchema,
  type Request,
  type Result,
  type ServerCapabilities,
  ServerCapabilitiesSchema,
  type SubscribeRequest,
  type UnsubscribeRequest,
} from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import { isConnecting, MessageTransport } from './connecting.ts'

export type ClientOptions = ProtocolOptions & {
  capabilities?: ClientCapabilities
  /** Has no effect: Jackfield validates structured content. */
  jsonSchemaValidator?: object
  /** Handlers of changed lists, on all revisions. */
  listChanged?: ListChangedHandlers
}

type Handler = (request: { method: string; params: JsonObject }, context: AskContext) => unknown

/** Requests that a server can send. */
const serverRequests: ReadonlySet<string> = new Set([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
])
const listNotifications: ReadonlyMap<string, SubscriptionFilter> = new Map([
  ['notifications/tools/list_changed', { toolsListChanged: true }],
  ['notifications/prompts/list_changed', { promptsListChanged: true }],
  ['notifications/resources/list_changed', { resourcesListChanged: true }],
])
const defaultTimeoutMs = 60_000
const defaultDebounceMs = 300
/** Limit of a request with `resetTimeoutOnProgress` and without `maxTotalTimeout`. */
const maxTotalTimeoutMs = 3_600_000

/** Which kinds of elicitation a client declares: without a kind, forms. */
export function getSupportedElicitationModes(capabilities: ClientCapabilities['elicitation']): {
  supportsFormMode: boolean
  supportsUrlMode: boolean
} {
  const { form, url } = capabilities ?? {}
  return {
    supportsFormMode: capabilities !== undefined && (form !== undefined || url === undefined),
    supportsUrlMode: url !== undefined,
  }
}

/** A client with handlers for the requests and notifications of a server. */
export class Client<
  RequestT extends Request = Request,
  NotificationT extends Notification = Notification,
  ResultT extends Result = Result,
> {
  onclose?: () => void
  onerror?: (error: Error) => void
  /** Handles notifications without a handler. */
  fallbackNotificationHandler?: (notification: Notification) => Promise<void>
  readonly #info: Implementation
  readonly #options: ClientOptions
  #capabilities: ClientCapabilities
  readonly #handlers = new Map<string, Handler>()
  readonly #notificationHandlers = new Map<string, (notification: unknown) => unknown>()
  readonly #watches = new Map<string, Promise<Watch>>()
  #transport: Transport | undefined
  #connection: Connection | undefined

  constructor(clientInfo: Implementation, options: ClientOptions = {}) {
    this.#info = clientInfo
    this.#options = options
    this.#capabilities = options.capabilities ?? {}
  }

  get experimental(): { tasks: object } {
    throw new NotCoveredError(
      'client.experimental',
      'Use client/tasks of @jackfield/sdk for tasks, on 2025-11-25 and 2026-07-28',
    )
  }

  get transport(): Transport | undefined {
    return this.#transport
  }

  registerCapabilities(capabilities: ClientCapabilities): void {
    if (this.#transport !== undefined)
      throw new Error('Cannot register capabilities after connecting to transport')
    this.#capabilities = { ...this.#capabilities, ...capabilities }
  }

  setRequestHandler<T extends AnyObjectSchema>(
    requestSchema: T,
    handler: (
      request: SchemaOutput<T>,
      extra: RequestHandlerExtra<ClientRequest | RequestT, ClientNotification | NotificationT>,
    ) => ClientResult | ResultT | Promise<ClientResult | ResultT>,
  ): void {
    const method = methodOf(requestSchema)
    if (!serverRequests.has(method)) {
      throw new NotCoveredError(
        `a client's handler for "${method}"`,
        'A server can send elicitation/create, sampling/createMessage and roots/list; Jackfield answers ping itself',
      )
    }
    this.#requireCapability(method)
    this.#handlers.set(method, (request, context) => {
      const parsed = safeParse(requestSchema, request)
      if (!parsed.success) throw new McpError(ErrorCode.InvalidParams, getParseErrorMessage(parsed.error))
      return handler(parsed.data, this.#extra(context))
    })
  }

  removeRequestHandler(method: string): void {
    this.#handlers.delete(method)
  }

  assertCanSetRequestHandler(method: string): void {
    if (this.#handlers.has(method)) throw new Error(`A request handler for ${method} already exists`)
  }

  /** Handles a notification of the server. One of a changed list subscribes to it on 2026-07-28. */
  setNotificationHandler<T extends AnyObjectSchema>(
    notificationSchema: T,
    handler: (notification: SchemaOutput<T>) => void | Promise<void>,
  ): void {
    const method = methodOf(notificationSchema)
    this.#notificationHandlers.set(method, (notification) => {
      const parsed = safeParse(notificationSchema, notification)
      if (!parsed.success) throw parsed.error
      return handler(parsed.data)
    })
    this.#watchList(method)
  }

  removeNotificationHandler(method: string): void {
    this.#notificationHandlers.delete(method)
  }

  /** Connects over any transport, and negotiates the revision: the newest that both sides have. */
  async connect(transport: Transport, options: RequestOptions = {}): Promise<void> {
    if (this.#transport !== undefined) {
      throw new Error('Already connected to a transport. Call close() before connecting to a new transport.')
    }
    this.#transport = transport
    try {
      const target = isConnecting(transport) ? transport['~target']() : new MessageTransport(transport)
      const { signal, timeout } = options
      const connection = await connect(target, {
        ...this.#handlerOptions(),
        info: implementationOf(this.#info),
        ...(signal === undefined ? {} : { signal }),
        connectTimeoutMs: timeout ?? defaultTimeoutMs,
        cache: false,
        // Requests log messages on 2026-07-28, where a server sends none by itself. #receive calls the handler.
        ...(this.#notificationHandlers.has('notifications/message') && { onLog() {} }),
        onMessage: (direction, message) => {
          if (direction === 'received') this.#receive(message)
        },
        onWarning: (text) => this.onerror?.(new Error(text)),
        onClose: () => this.#closed(transport),
      })
      this.#connection = connection
      transport.setProtocolVersion?.(connection.server.revision)
    } catch (error) {
      this.#transport = undefined
      throw toOfficialError(error)
    }
    for (const method of this.#notificationHandlers.keys()) this.#watchList(method)
    this.#watchOptions()
  }

  async close(): Promise<void> {
    await this.#connection?.close()
    const transport = this.#transport
    if (transport !== undefined) this.#closed(transport)
  }

  getServerCapabilities(): ServerCapabilities | undefined {
    const server = this.#connection?.server
    return server === undefined ? undefined : ServerCapabilitiesSchema.parse(server.capabilities)
  }

  getServerVersion(): Implementation | undefined {
    const info = this.#connection?.server.info
    return info === undefined ? undefined : ImplementationSchema.parse(info)
  }

  getInstructions(): string | undefined {
    return this.#connection?.server.instructions
  }

  /** Sends any request. */
  async request<T extends AnySchema>(
    { method, params }: ClientRequest | RequestT,
    resultSchema: T,
    options: RequestOptions = {},
  ): Promise<SchemaOutput<T>> {
    const connection = this.#requireConnection()
    if (options.task !== undefined) {
      throw new NotCoveredError('requests as tasks', 'Use client/tasks of @jackfield/sdk')
    }
    const { _meta, ...given }: JsonObject = { ...params }
    try {
      const result = await connection.request(method, given, callOptions(options, _meta))
      const parsed = safeParse(resultSchema, result)
      if (parsed.success) return parsed.data
      throw parsed.error
    } catch (error) {
      const { signal } = options
      throw signal?.aborted === true
        ? new McpError(ErrorCode.RequestTimeout, String(signal.reason))
        : toOfficialError(error)
    }
  }

  /** Sends `notifications/roots/list_changed`; the client sends all other notifications itself. @throws NotCoveredError for any other */
  async notification({ method }: ClientNotification | NotificationT): Promise<void> {
    if (method === 'notifications/roots/list_changed') return this.sendRootsListChanged()
    throw new NotCoveredError(`the notification "${method}" to a server`, 'Leave it out, or use a request')
  }

  async ping(options?: RequestOptions): Promise<Result> {
    await this.#requireConnection().ping(callOptions(options)).catch(rethrowOfficial)
    return {}
  }

  complete(params: CompleteRequest['params'], options?: RequestOptions): Promise<CompleteResult> {
    return this.request({ method: 'completion/complete', params }, CompleteResultSchema, options)
  }

  async setLoggingLevel(level: LoggingLevel): Promise<Result> {
    await this.#requireConnection().setLogLevel(level).catch(rethrowOfficial)
    return {}
  }

  getPrompt(params: GetPromptRequest['params'], options?: RequestOptions): Promise<GetPromptResult> {
    return this.request({ method: 'prompts/get', params }, GetPromptResultSchema, options)
  }

  listPrompts(params?: ListPromptsRequest['params'], options?: RequestOptions): Promise<ListPromptsResult> {
    return this.request({ method: 'prompts/list', params }, ListPromptsResultSchema, options)
  }

  listResources(
    params?: ListResourcesRequest['params'],
    options?: RequestOptions,
  ): Promise<ListResourcesResult> {
    return this.request({ method: 'resources/list', params }, ListResourcesResultSchema, options)
  }

  listResourceTemplates(
    params?: ListResourceTemplatesRequest['params'],
    options?: RequestOptions,
  ): Promise<ListResourceTemplatesResult> {
    return this.request(
      { method: 'resources/templates/list', params },
      ListResourceTemplatesResultSchema,
      options,
    )
  }

  readResource(params: ReadResourceRequest['params'], options?: RequestOptions): Promise<ReadResourceResult> {
    return this.request({ method: 'resources/read', params }, ReadResourceResultSchema, options)
  }

  /** Subscribes to a resource: by `resources/subscribe`, on 2026-07-28 by `subscriptions/listen`. */
  async subscribeResource({ uri }: SubscribeRequest['params'], options?: RequestOptions): Promise<Result> {
    const { server } = this.#requireConnection()
    if (server.era === 'session') {
      return this.request({ method: 'resources/subscribe', params: { uri } }, EmptyResultSchema, options)
    }
    await this.#watch(`resource ${uri}`, { resourceSubscriptions: [uri] }).catch(rethrowOfficial)
    return {}
  }

  async unsubscribeResource(
    { uri }: UnsubscribeRequest['params'],
    options?: RequestOptions,
  ): Promise<Result> {
    const { server } = this.#requireConnection()
    if (server.era === 'session') {
      return this.request({ method: 'resources/unsubscribe', params: { uri } }, EmptyResultSchema, options)
    }
    const watch = await this.#watches.get(`resource ${uri}`)
    this.#watches.delete(`resource ${uri}`)
    await watch?.close()
    return {}
  }

  /** Calls a tool. Structured content is checked against the tool's output schema, once the tools were listed. */
  callTool(
    params: CallToolRequest['params'],
    resultSchema?: typeof CallToolResultSchema | typeof CompatibilityCallToolResultSchema,
    options?: RequestOptions,
  ): Promise<CallToolResult>
  callTool(
    params: CallToolRequest['params'],
    resultSchema: AnySchema = CallToolResultSchema,
    options?: RequestOptions,
  ): Promise<unknown> {
    return this.request({ method: 'tools/call', params }, resultSchema, options)
  }

  listTools(params?: ListToolsRequest['params'], options?: RequestOptions): Promise<ListToolsResult> {
    return this.request({ method: 'tools/list', params }, ListToolsResultSchema, options)
  }

  async sendRootsListChanged(): Promise<void> {
    await this.#requireConnection().rootsChanged().catch(rethrowOfficial)
  }

  #requireConnection(): Connection {
    if (this.#connection === undefined) throw new Error('Not connected')
    return this.#connection
  }

  /** The handlers for Jackfield's client: those of declared capabilities, which may be set later. */
  #handlerOptions(): Pick<
    ConnectOptions,
    'onElicit' | 'onSample' | 'onRoots' | 'elicitation' | 'sampling' | 'experimental'
  > {
    const { elicitation, sampling, roots, experimental } = this.#capabilities
    const modes = getSupportedElicitationModes(elicitation)
    return {
      ...(elicitation === undefined
        ? {}
        : {
            onElicit: async (params, context) =>
              this.#callHandler('elicitation/create', params, context, isElicitResult),
            elicitation: { form: modes.supportsFormMode, url: modes.supportsUrlMode },
          }),
      ...(sampling === undefined
        ? {}
        : {
            onSample: async (params, context) =>
              this.#callHandler('sampling/createMessage', params, context, isSamplingResult),
            sampling: {
              tools: sampling.tools !== undefined,
              context: sampling.context !== undefined,
              unrelated: true,
            },
          }),
      ...(roots === undefined
        ? {}
        : {
            onRoots: async (context) =>
              (await this.#callHandler('roots/list', {}, context, isRootsResult)).roots,
          }),
      ...(experimental === undefined ? {} : { experimental: { ...experimental } }),
    }
  }

  async #callHandler<T>(
    method: string,
    params: object,
    context: AskContext,
    isResult: (result: unknown) => result is T,
  ): Promise<T> {
    const handler = this.#handlers.get(method)
    if (handler === undefined) throw new RpcError(ErrorCode.MethodNotFound, 'Method not found')
    const result = await handler({ method, params: { ...params } }, context)
    if (isResult(result)) return result
    throw new McpError(ErrorCode.InternalError, `The handler of ${method} returned an invalid result`)
  }

  #extra({
    signal,
    cause,
  }: AskContext): RequestHandlerExtra<ClientRequest | RequestT, ClientNotification | NotificationT> {
    const sessionId = this.#transport?.sessionId
    return {
      signal,
      requestId: cause?.id ?? '',
      ...(sessionId === undefined ? {} : { sessionId }),
      sendNotification: (notification) => this.notification(notification),
      sendRequest: (request, resultSchema, options) => this.request(request, resultSchema, options),
    }
  }

  #requireCapability(method: string): void {
    const { elicitation, sampling, roots } = this.#capabilities
    const [name, declared] =
      method === 'elicitation/create'
        ? ['elicitation', elicitation]
        : method === 'roots/list'
          ? ['roots', roots]
          : ['sampling', sampling]
    if (declared !== undefined) return
    throw new Error(`Client does not support ${name} capability (required for ${method})`)
  }

  #receive(message: JsonRpcMessage): void {
    if (!('method' in message) || 'id' in message) return
    const { method, params } = message
    const handler = this.#notificationHandlers.get(method)
    const notification = params === undefined ? { method } : { method, params }
    const handled = async (): Promise<unknown> =>
      handler === undefined ? this.fallbackNotificationHandler?.(notification) : handler(notification)
    handled().catch((error) => this.onerror?.(error instanceof Error ? error : new Error(String(error))))
  }

  /** Subscribes to a list where the revision requires it. */
  #watchList(method: string): void {
    const filter = listNotifications.get(method)
    if (filter === undefined || this.#connection?.server.era !== 'stateless') return
    this.#watch(method, filter).catch((error) => {
      if (!(error instanceof LocalError && error.code === 'CAPABILITY')) this.onerror?.(error)
    })
  }

  #watch(key: string, filter: SubscriptionFilter): Promise<Watch> {
    const open = this.#watches.get(key)
    if (open !== undefined) return open
    const watch = this.#requireConnection().watch(filter)
    this.#watches.set(key, watch)
    watch.catch(() => this.#watches.delete(key))
    return watch
  }

  /** Calls the `listChanged` handlers of the options. */
  #watchOptions(): void {
    const { listChanged = {} } = this.#options
    const { tools, prompts, resources } = this.#connection?.server.capabilities ?? {}
    if (tools?.listChanged === true) {
      this.#onList(
        'notifications/tools/list_changed',
        listChanged.tools,
        async () => (await this.listTools()).tools,
      )
    }
    if (prompts?.listChanged === true) {
      this.#onList(
        'notifications/prompts/list_changed',
        listChanged.prompts,
        async () => (await this.listPrompts()).prompts,
      )
    }
    if (resources?.listChanged === true) {
      this.#onList(
        'notifications/resources/list_changed',
        listChanged.resources,
        async () => (await this.listResources()).resources,
      )
    }
  }

  #onList<T>(method: string, options: ListChangedOptions<T> | undefined, read: () => Promise<T[]>): void {
    if (options === undefined) return
    const { autoRefresh = true, debounceMs = defaultDebounceMs, onChanged } = options
    let timer: ReturnType<typeof setTimeout> | undefined
    const changed = async (): Promise<void> => {
      if (!autoRefresh) return onChanged(null, null)
      try {
        onChanged(null, await read())
      } catch (error) {
        onChanged(error instanceof Error ? error : new Error(String(error)), null)
      }
    }
    this.#notificationHandlers.set(method, () => {
      clearTimeout(timer)
      if (debounceMs === 0) return changed()
      timer = setTimeout(changed, debounceMs)
      return undefined
    })
    this.#watchList(method)
  }

  #closed(transport: Transport): void {
    if (this.#transport !== transport) return
    this.#transport = undefined
    this.#connection = undefined
    this.#watches.clear()
    if (isConnecting(transport)) transport.onclose?.()
    this.onclose?.()
  }
}

/** The options of a call. Without `resetTimeoutOnProgress`, `timeout` applies to the whole request. */
function callOptions(options: RequestOptions = {}, meta?: unknown): CallOptions {
  const { signal, timeout = defaultTimeoutMs, resetTimeoutOnProgress, maxTotalTimeout, onprogress } = options
  const totalMs = maxTotalTimeout ?? maxTotalTimeoutMs
  return {
    timeoutMs: timeout,
    maxTotalMs: resetTimeoutOnProgress === true ? totalMs : Math.min(timeout, totalMs),
    ...(signal === undefined ? {} : { signal }),
    ...(onprogress === undefined ? {} : { onProgress: onprogress }),
    ...(isObject(meta) ? { meta } : {}),
  }
}

function rethrowOfficial(error: unknown): never {
  throw toOfficialError(error)
}

function implementationOf({ name, version, title }: Implementation): NonNullable<ConnectOptions['info']> {
  return { name, version, ...(title === undefined ? {} : { title }) }
}

type Answer<M extends 'onElicit' | 'onSample'> = Awaited<ReturnType<NonNullable<ConnectOptions[M]>>>

function isElicitResult(result: unknown): result is Answer<'onElicit'> {
  return ElicitResultSchema.safeParse(result).success
}

function isSamplingResult(result: unknown): result is Answer<'onSample'> {
  return CreateMessageResultWithToolsSchema.safeParse(result).success
}

function isRootsResult(result: unknown): result is { roots: { uri: string; name?: string }[] } {
  return ListRootsResultSchema.safeParse(result).success
}
