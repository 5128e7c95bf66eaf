/**
 * `Server` of the official SDK 1: request handlers by schema. They are served by an engine, which is a server value of Jackfield.
 */

import { toOfficialError } from '../official-error.ts'
import type {
  NotificationOptions,
  ProtocolOptions,
  RequestHandlerExtra,
  RequestOptions,
  RequestTaskStore,
} from '../shared/protocol.ts'
import type { Transport } from '../shared/transport.ts'
import {
  type ClientCapabilities,
  ClientCapabilitiesSchema,
  type CreateMessageRequest,
  type CreateMessageRequestParamsBase,
  type CreateMessageRequestParamsWithTools,
  type CreateMessageResult,
  CreateMessageResultSchema,
  type CreateMessageResultWithTools,
  CreateMessageResultWithToolsSchema,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type ElicitResult,
  ElicitResultSchema,
  ErrorCode,
  type Implementation,
  type ListRootsRequest,
  type ListRootsResult,
  ListRootsResultSchema,
  type LoggingMessageNotification,
  McpError,
  type Notification,
  type Request,
  type RequestMeta,
  type ResourceUpdatedNotification,
  type Result,
  type ServerCapabilities,
  type ServerNotification,
  type ServerRequest,
  type ServerResult,
} from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import { Engine, type WireMessage } from './engine.ts'
import {
  type AnyObjectSchema,
  type AnySchema,
  getParseErrorMessage,
  methodOf,
  type SchemaOutput,
  safeParse,
} from './schemas.ts'
import { isObject, type ServedCall } from './served-call.ts'
import { type ConnectedServer, isServing, serveMessages } from './serving.ts'
import { serveTasks, taskStoreOf } from './tasks.ts'

export type ServerOptions = ProtocolOptions & {
  capabilities?: ServerCapabilities
  instructions?: string
  /** Has no effect: Jackfield validates answers to forms. */
  jsonSchemaValidator?: object
}

/** The capability that a handler needs, by the beginning of its method. */
const capabilityOfMethod: readonly (readonly [prefix: string, capability: keyof ServerCapabilities])[] = [
  ['tools/', 'tools'],
  ['prompts/', 'prompts'],
  ['resources/', 'resources'],
  ['logging/', 'logging'],
  ['completion/', 'completions'],
  ['tasks/', 'tasks'],
]

/** Methods that Jackfield serves itself. */
const ownMethods: ReadonlySet<string> = new Set(['initialize', 'server/discover', 'subscriptions/listen'])

/** A server with handlers for request methods. */
export class Server<
  RequestT extends Request = Request,
  NotificationT extends Notification = Notification,
  ResultT extends Result = Result,
> {
  /** Called when the connection is closed, by either side. */
  onclose?: () => void
  /** Called with errors that no response reports. */
  onerror?: (error: Error) => void
  /** Handles requests of methods without a handler. */
  fallbackRequestHandler?: (
    request: Request,
    extra: RequestHandlerExtra<ServerRequest | RequestT, ServerNotification | NotificationT>,
  ) => Promise<ServerResult | ResultT>
  readonly #engine: Engine
  readonly #options: ServerOptions
  #transport: Transport | undefined

  constructor(serverInfo: Implementation, options: ServerOptions = {}) {
    this.#options = options
    this.#engine = new Engine(withoutUndefined(serverInfo), {
      capabilities: options.capabilities,
      instructions: options.instructions,
      onError: (error) => this.#report(error),
    })
    if (options.taskStore !== undefined)
      serveTasks(this.#engine, options.taskStore, (call) => this.#sessionIdOf(call))
  }

  /** Called once a client is known: after `initialize`, or at the first request of 2026-07-28. */
  get oninitialized(): (() => void) | undefined {
    const { onInitialized } = this.#engine
    return onInitialized === undefined ? undefined : () => void onInitialized()
  }

  set oninitialized(handler: (() => void) | undefined) {
    this.#engine.onInitialized = handler
  }

  /** Handles notifications without a handler. */
  get fallbackNotificationHandler(): ((notification: Notification) => Promise<void>) | undefined {
    const { fallbackNotification } = this.#engine
    return fallbackNotification === undefined
      ? undefined
      : async (notification) => void (await fallbackNotification(notification))
  }

  set fallbackNotificationHandler(handler: ((notification: Notification) => Promise<void>) | undefined) {
    this.#engine.fallbackNotification = handler
  }

  get experimental(): { tasks: object } {
    throw new NotCoveredError(
      'server.experimental',
      'Use mcpServer.experimental.tasks.registerToolTask, or the tasks extension of @jackfield/sdk/extensions/tasks',
    )
  }

  get transport(): Transport | undefined {
    return this.#transport
  }

  registerCapabilities(capabilities: ServerCapabilities): void {
    this.#engine.declare(capabilities)
  }

  setRequestHandler<T extends AnyObjectSchema>(
    requestSchema: T,
    handler: (
      request: SchemaOutput<T>,
      extra: RequestHandlerExtra<ServerRequest | RequestT, ServerNotification | NotificationT>,
    ) => ServerResult | ResultT | Promise<ServerResult | ResultT>,
  ): void {
    const method = methodOf(requestSchema)
    if (ownMethods.has(method)) {
      throw new NotCoveredError(
        `a handler for "${method}"`,
        'Jackfield serves it on every revision: remove the handler',
      )
    }
    this.#requireCapability(method)
    this.#engine.handlers.set(method, (request, call) => {
      const parsed = safeParse(requestSchema, request)
      if (!parsed.success) throw new McpError(ErrorCode.InvalidParams, getParseErrorMessage(parsed.error))
      return handler(parsed.data, this.#extra(call))
    })
  }

  /** Called when a subscription of 2026-07-28 begins and ends; for handlers that create a server for each request. */
  set onlisten(handler: (isOpen: boolean) => void) {
    this.#engine.onListen = handler
  }

  removeRequestHandler(method: string): void {
    this.#engine.handlers.delete(method)
  }

  /** @throws Error if the method has a handler */
  assertCanSetRequestHandler(method: string): void {
    if (this.#engine.handlers.has(method)) {
      throw new Error(`A request handler for ${method} already exists, which would be overridden`)
    }
  }

  setNotificationHandler<T extends AnyObjectSchema>(
    notificationSchema: T,
    handler: (notification: SchemaOutput<T>) => void | Promise<void>,
  ): void {
    this.#engine.notificationHandlers.set(methodOf(notificationSchema), (notification) => {
      const parsed = safeParse(notificationSchema, notification)
      if (!parsed.success) throw parsed.error
      return handler(parsed.data)
    })
  }

  removeNotificationHandler(method: string): void {
    this.#engine.notificationHandlers.delete(method)
  }

  /**
   * Serves the transport. A transport of this package is served by Jackfield on all revisions; any other one is adapted.
   * @throws Error if the server is connected
   */
  async connect(transport: Transport): Promise<void> {
    if (this.#transport !== undefined) {
      throw new Error(
        'Already connected to a transport. Call close() before connecting to a new transport, or use a separate server for each connection.',
      )
    }
    const engine = this.#engine
    const fallback = this.fallbackRequestHandler
    engine.fallback =
      fallback === undefined ? undefined : (request, call) => fallback(request, this.#extra(call))
    this.#transport = transport
    const connected: ConnectedServer = {
      engine,
      onClose: () => this.#closed(transport),
      onError: (error) => this.#report(error),
    }
    try {
      await (isServing(transport) ? transport['~serve'](connected) : serveMessages(transport, connected))
    } catch (error) {
      this.#transport = undefined
      throw error
    }
  }

  async close(): Promise<void> {
    const transport = this.#transport
    await transport?.close()
    if (transport !== undefined) this.#closed(transport)
  }

  /** The capabilities of the client: on 2026-07-28 those of the current request, or of the last one. */
  getClientCapabilities(): ClientCapabilities | undefined {
    const { client } = this.#engine
    return client === undefined ? undefined : ClientCapabilitiesSchema.parse(client.capabilities)
  }

  /** The name and version of the client, if it sent them. */
  getClientVersion(): Implementation | undefined {
    return this.#engine.client?.info
  }

  /** @throws NotCoveredError: Jackfield checks connections itself */
  async ping(): Promise<Result> {
    throw new NotCoveredError('ping from a server', 'Remove it: a closed connection is reported by onclose')
  }

  createMessage(
    params: CreateMessageRequestParamsBase,
    options?: RequestOptions,
  ): Promise<CreateMessageResult>
  createMessage(
    params: CreateMessageRequestParamsWithTools,
    options?: RequestOptions,
  ): Promise<CreateMessageResultWithTools>
  createMessage(
    params: CreateMessageRequest['params'],
    options?: RequestOptions,
  ): Promise<CreateMessageResult | CreateMessageResultWithTools>
  createMessage(
    params: CreateMessageRequest['params'],
    options?: RequestOptions,
  ): Promise<CreateMessageResult | CreateMessageResultWithTools> {
    const { tools, toolChoice } = params
    const request = { method: 'sampling/createMessage', params }
    return tools === undefined && toolChoice === undefined
      ? this.#send(request, CreateMessageResultSchema, options)
      : this.#send(request, CreateMessageResultWithToolsSchema, options)
  }

  /** Asks the user to fill in a form, or to visit a URL. */
  elicitInput(
    params: ElicitRequestFormParams | ElicitRequestURLParams,
    options?: RequestOptions,
  ): Promise<ElicitResult> {
    const withMode = params.mode === 'url' ? params : { ...params, mode: 'form' }
    return this.#send({ method: 'elicitation/create', params: withMode }, ElicitResultSchema, options)
  }

  /** A function that notifies the client of the completion of a URL elicitation (2025-11-25). */
  createElicitationCompletionNotifier(elicitationId: string): () => Promise<void> {
    return () =>
      this.notification({ method: 'notifications/elicitation/complete', params: { elicitationId } })
  }

  listRoots(params?: ListRootsRequest['params'], options?: RequestOptions): Promise<ListRootsResult> {
    return this.#send(
      { method: 'roots/list', ...(params === undefined ? {} : { params }) },
      ListRootsResultSchema,
      options,
    )
  }

  /** Sends a request to the client: elicitation, sampling or roots. */
  request<T extends AnySchema>(
    request: ServerRequest | RequestT,
    resultSchema: T,
    options?: RequestOptions,
  ): Promise<SchemaOutput<T>> {
    return this.#send(request, resultSchema, options)
  }

  /** Sends a notification to the client. */
  async notification(
    notification: ServerNotification | NotificationT,
    _options?: NotificationOptions,
  ): Promise<void> {
    this.#notify(notification)
  }

  /** Sends a log message, if its level reaches that of the client. */
  async sendLoggingMessage(params: LoggingMessageNotification['params'], _sessionId?: string): Promise<void> {
    if (this.#engine.capabilities['logging'] === undefined) return
    this.#notify({ method: 'notifications/message', params })
  }

  async sendResourceUpdated(params: ResourceUpdatedNotification['params']): Promise<void> {
    this.#notify({ method: 'notifications/resources/updated', params })
  }

  async sendResourceListChanged(): Promise<void> {
    this.#notify({ method: 'notifications/resources/list_changed' })
  }

  async sendToolListChanged(): Promise<void> {
    this.#notify({ method: 'notifications/tools/list_changed' })
  }

  async sendPromptListChanged(): Promise<void> {
    this.#notify({ method: 'notifications/prompts/list_changed' })
  }

  #notify({ method, params }: { method: string; params?: object | undefined }, call?: ServedCall): void {
    try {
      this.#engine.notify({ method, ...(params === undefined ? {} : { params: { ...params } }) }, call)
    } catch (error) {
      throw toOfficialError(error)
    }
  }

  async #send<T extends AnySchema>(
    { method, params }: { method: string; params?: object | undefined },
    resultSchema: T,
    { signal, timeout, task }: RequestOptions = {},
    call?: ServedCall,
  ): Promise<SchemaOutput<T>> {
    if (task !== undefined) {
      throw new NotCoveredError('requests to a client as tasks', 'Leave out the option "task"')
    }
    requireClient(this.#engine.client?.capabilities, method, params)
    const request: WireMessage = { method, ...(params === undefined ? {} : { params: { ...params } }) }
    try {
      const parsed = safeParse(
        resultSchema,
        await this.#engine.request(request, { signal, timeoutMs: timeout }, call),
      )
      if (parsed.success) return parsed.data
      throw parsed.error
    } catch (error) {
      throw toOfficialError(error)
    }
  }

  #extra(
    call: ServedCall,
  ): RequestHandlerExtra<ServerRequest | RequestT, ServerNotification | NotificationT> {
    const { http, meta, detach } = call
    const sessionId = this.#sessionIdOf(call)
    const { taskStore } = this.#options
    const task = call.params['task']
    const ttl = isObject(task) ? task['ttl'] : undefined
    const store: RequestTaskStore | undefined =
      taskStore === undefined ? undefined : taskStoreOf(taskStore, call, sessionId)
    return {
      signal: call.signal,
      requestId: call.id,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(isRequestMeta(meta) ? { _meta: meta } : {}),
      ...(http?.authInfo === undefined ? {} : { authInfo: http.authInfo }),
      ...(http === undefined
        ? {}
        : { requestInfo: { headers: http.headers, ...(http.url === undefined ? {} : { url: http.url }) } }),
      ...(detach === undefined ? {} : { closeSSEStream: detach }),
      ...(store === undefined ? {} : { taskStore: store }),
      ...(typeof ttl === 'number' ? { taskRequestedTtl: ttl } : {}),
      sendNotification: async (notification) => this.#notify(notification, call),
      sendRequest: (request, resultSchema, options) => this.#send(request, resultSchema, options, call),
    }
  }

  /** The session id that the client has: that of `sessionIdGenerator`, if there is one. */
  #sessionIdOf(call: ServedCall): string | undefined {
    return this.#transport?.sessionId ?? call.sessionId
  }

  #requireCapability(method: string): void {
    const [, capability] = capabilityOfMethod.find(([prefix]) => method.startsWith(prefix)) ?? []
    if (capability === undefined || this.#engine.capabilities[capability] !== undefined) return
    throw new Error(`Server does not support ${capability} (required for ${method})`)
  }

  #closed(transport: Transport): void {
    if (this.#transport !== transport) return
    this.#transport = undefined
    this.#engine.disconnect()
    this.onclose?.()
  }

  #report(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)))
  }
}

/** @throws Error if the client has not declared the capability for a request */
function requireClient(
  capabilities: NonNullable<Engine['client']>['capabilities'] | undefined,
  method: string,
  params: object | undefined,
): void {
  if (capabilities === undefined) return
  const { sampling, elicitation, roots } = capabilities
  if (method === 'sampling/createMessage' && sampling === undefined) throw unsupported('sampling', method)
  if (method === 'roots/list' && roots === undefined) throw unsupported('listing roots', method)
  if (method !== 'elicitation/create') return
  if (elicitation === undefined) throw unsupported('elicitation', method)
  const isUrl = params !== undefined && 'mode' in params && params.mode === 'url'
  if (isUrl && elicitation.url === undefined) throw new Error('Client does not support url elicitation.')
  if (!isUrl && elicitation.form === undefined && elicitation.url !== undefined) {
    throw new Error('Client does not support form elicitation.')
  }
}

function unsupported(what: string, method: string): Error {
  return new Error(`Client does not support ${what} (required for ${method})`)
}

function withoutUndefined(info: Implementation): Engine['info'] {
  const { name, version, title, description, websiteUrl, icons } = info
  return {
    name,
    version,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(websiteUrl === undefined ? {} : { websiteUrl }),
    ...(icons === undefined ? {} : { icons: icons.map((icon) => JSON.parse(JSON.stringify(icon))) }),
  }
}

function isRequestMeta(meta: object | undefined): meta is RequestMeta {
  return meta !== undefined
}
