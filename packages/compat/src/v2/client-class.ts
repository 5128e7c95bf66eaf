/** `Client` of version 2 of the official SDK: handlers by method name, over the client of version 1. */
import { z } from 'zod/v4'
import { Client as Client1, type ClientOptions as Options1 } from '../client/index.ts'
import { parseWith, StandardSchema } from '../server/schemas.ts'
import type { RequestOptions } from '../shared/protocol.ts'
import type { Transport } from '../shared/transport.ts'
import {
  type CallToolRequest,
  type CallToolResult,
  type ClientCapabilities,
  type CompleteRequest,
  type CompleteResult,
  type CreateMessageRequest,
  CreateMessageRequestSchema,
  type CreateMessageResult,
  type CreateMessageResultWithTools,
  type ElicitRequest,
  ElicitRequestSchema,
  type ElicitResult,
  type GetPromptRequest,
  type GetPromptResult,
  type Implementation,
  type ListPromptsResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ListRootsRequest,
  ListRootsRequestSchema,
  type ListRootsResult,
  type ListToolsResult,
  type LoggingLevel,
  type Notification,
  type ReadResourceRequest,
  type ReadResourceResult,
  type Request,
  type Result,
  ResultSchema,
  type ServerCapabilities,
} from '../types.ts'
import type { StandardSchemaWithJSON } from './context.ts'
import { toV2Error } from './errors.ts'

export type ClientOptions = Options1 & {
  /** Has no effect: the newest common revision is negotiated. */
  versionNegotiation?: object
}

type Awaitable<T> = T | Promise<T>

/** The requests of a server, with their results. */
export interface ServerRequestMap {
  'elicitation/create': { request: ElicitRequest; result: ElicitResult }
  'sampling/createMessage': {
    request: CreateMessageRequest
    result: CreateMessageResult | CreateMessageResultWithTools
  }
  'roots/list': { request: ListRootsRequest; result: ListRootsResult }
}

type Handler<M extends keyof ServerRequestMap> = (
  request: ServerRequestMap[M]['request'],
  ctx: { mcpReq: { signal: AbortSignal } },
) => Awaitable<ServerRequestMap[M]['result']>

/** A client with handlers by method. */
export class Client {
  readonly #client: Client1
  /** The client of version 1 has the same callbacks. */
  onclose?: () => void
  onerror?: (error: Error) => void

  constructor(clientInfo: Implementation, { versionNegotiation: _any, ...options }: ClientOptions = {}) {
    this.#client = new Client1(clientInfo, options)
    this.#client.onclose = () => this.onclose?.()
    this.#client.onerror = (error) => this.onerror?.(error)
  }

  get transport(): Transport | undefined {
    return this.#client.transport
  }

  registerCapabilities(capabilities: ClientCapabilities): void {
    this.#client.registerCapabilities(capabilities)
  }

  connect(transport: Transport, options?: RequestOptions): Promise<void> {
    return this.#client.connect(transport, options).catch(rethrow)
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  setRequestHandler(method: 'elicitation/create', handler: Handler<'elicitation/create'>): void
  setRequestHandler(method: 'sampling/createMessage', handler: Handler<'sampling/createMessage'>): void
  setRequestHandler(method: 'roots/list', handler: Handler<'roots/list'>): void
  setRequestHandler(method: keyof ServerRequestMap, handler: (...args: never[]) => Awaitable<Result>): void {
    const schema = {
      'elicitation/create': ElicitRequestSchema,
      'sampling/createMessage': CreateMessageRequestSchema,
      'roots/list': ListRootsRequestSchema,
    }[method]
    this.#client.setRequestHandler(schema, (request, { signal }) =>
      Reflect.apply(handler, undefined, [request, { mcpReq: { signal } }]),
    )
  }

  removeRequestHandler(method: string): void {
    this.#client.removeRequestHandler(method)
  }

  setNotificationHandler(method: string, handler: (notification: Notification) => Awaitable<void>): void {
    const schema = z.object({
      method: z.literal(method),
      params: z.record(z.string(), z.unknown()).optional(),
    })
    this.#client.setNotificationHandler(schema, (notification) => handler(notification))
  }

  removeNotificationHandler(method: string): void {
    this.#client.removeNotificationHandler(method)
  }

  getServerCapabilities(): ServerCapabilities | undefined {
    return this.#client.getServerCapabilities()
  }

  getServerVersion(): Implementation | undefined {
    return this.#client.getServerVersion()
  }

  getInstructions(): string | undefined {
    return this.#client.getInstructions()
  }

  /** Sends any request, and parses its result with a schema. */
  async request<Out>(
    request: Request,
    resultSchema: StandardSchemaWithJSON<unknown, Out>,
    options?: RequestOptions,
  ): Promise<Out>
  async request(request: Request, options?: RequestOptions): Promise<Result>
  async request(
    request: Request,
    schemaOrOptions?: StandardSchemaWithJSON | RequestOptions,
    options?: RequestOptions,
  ): Promise<unknown> {
    const schema =
      schemaOrOptions !== undefined && '~standard' in schemaOrOptions ? schemaOrOptions : undefined
    const others =
      schemaOrOptions !== undefined && !('~standard' in schemaOrOptions) ? schemaOrOptions : options
    const result = await this.#client.request(request, ResultSchema, others).catch(rethrow)
    if (schema === undefined) return result
    const parsed = await parseWith(new StandardSchema(schema), result)
    if (parsed.success) return parsed.data
    throw parsed.error
  }

  ping(options?: RequestOptions): Promise<Result> {
    return this.#client.ping(options).catch(rethrow)
  }

  callTool(params: CallToolRequest['params'], options?: RequestOptions): Promise<CallToolResult> {
    return this.#client.callTool(params, undefined, options).catch(rethrow)
  }

  listTools(params?: { cursor?: string }, options?: RequestOptions): Promise<ListToolsResult> {
    return this.#client.listTools(params, options).catch(rethrow)
  }

  listResources(params?: { cursor?: string }, options?: RequestOptions): Promise<ListResourcesResult> {
    return this.#client.listResources(params, options).catch(rethrow)
  }

  listResourceTemplates(
    params?: { cursor?: string },
    options?: RequestOptions,
  ): Promise<ListResourceTemplatesResult> {
    return this.#client.listResourceTemplates(params, options).catch(rethrow)
  }

  listPrompts(params?: { cursor?: string }, options?: RequestOptions): Promise<ListPromptsResult> {
    return this.#client.listPrompts(params, options).catch(rethrow)
  }

  getPrompt(params: GetPromptRequest['params'], options?: RequestOptions): Promise<GetPromptResult> {
    return this.#client.getPrompt(params, options).catch(rethrow)
  }

  readResource(params: ReadResourceRequest['params'], options?: RequestOptions): Promise<ReadResourceResult> {
    return this.#client.readResource(params, options).catch(rethrow)
  }

  complete(params: CompleteRequest['params'], options?: RequestOptions): Promise<CompleteResult> {
    return this.#client.complete(params, options).catch(rethrow)
  }

  setLoggingLevel(level: LoggingLevel): Promise<Result> {
    return this.#client.setLoggingLevel(level).catch(rethrow)
  }

  subscribeResource(params: { uri: string }, options?: RequestOptions): Promise<Result> {
    return this.#client.subscribeResource(params, options).catch(rethrow)
  }

  unsubscribeResource(params: { uri: string }, options?: RequestOptions): Promise<Result> {
    return this.#client.unsubscribeResource(params, options).catch(rethrow)
  }

  sendRootsListChanged(): Promise<void> {
    return this.#client.sendRootsListChanged().catch(rethrow)
  }
}

function rethrow(error: unknown): never {
  throw toV2Error(error)
}
