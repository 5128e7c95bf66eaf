/** `Server` and `McpServer` of version 2 of the official SDK: handlers by method name, and schemas of any library. */
import { z } from 'zod/v4'
import { Server as Server1, type ServerOptions } from '../server/index.ts'
import type {
  AnyHandler,
  Awaitable,
  Extra,
  RegisteredPrompt as Prompt1,
  ReadResourceTemplateCallback as ReadTemplate1,
  RegisteredResource,
  RegisteredResourceTemplate,
  ResourceMetadata,
  ResourceTemplate,
  RegisteredTool as Tool1,
} from '../server/registered.ts'
import { Registrations } from '../server/registrations.ts'
import { type AnySchema, isSchema, parseWith, StandardSchema } from '../server/schemas.ts'
import type { RequestOptions } from '../shared/protocol.ts'
import type { Transport } from '../shared/transport.ts'
import type { Variables } from '../shared/uriTemplate.ts'
import type {
  CallToolRequest,
  CallToolResult,
  ClientCapabilities,
  CompleteRequest,
  CreateMessageRequest,
  CreateMessageResult,
  CreateMessageResultWithTools,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  GetPromptRequest,
  GetPromptResult,
  Icon,
  Implementation,
  ListPromptsRequest,
  ListResourcesRequest,
  ListResourceTemplatesRequest,
  ListRootsResult,
  ListToolsRequest,
  LoggingMessageNotification,
  Notification,
  ReadResourceRequest,
  ReadResourceResult,
  Result,
  ServerCapabilities,
  SetLevelRequest,
  SubscribeRequest,
  ToolAnnotations,
  UnsubscribeRequest,
} from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import {
  type InputRequiredResult,
  runWithInput,
  type ServerContext,
  type StandardSchemaWithJSON,
} from './context.ts'
import { ProtocolError, ProtocolErrorCode, toV2Error } from './errors.ts'

type ZodRawShape = Record<string, StandardSchemaWithJSON>
type Output<S> = S extends StandardSchemaWithJSON<never, infer Out> ? Out : never
type Arguments<S> = S extends ZodRawShape ? { [K in keyof S]: Output<S[K]> } : Output<S>

export type McpServerOptions = ServerOptions & { maxToolInputElements?: number }

export type ToolCallback<Args extends StandardSchemaWithJSON | ZodRawShape | undefined = undefined> =
  Args extends undefined
    ? (ctx: ServerContext) => Awaitable<CallToolResult | InputRequiredResult>
    : (args: Arguments<Args>, ctx: ServerContext) => Awaitable<CallToolResult | InputRequiredResult>
export type PromptCallback<Args extends StandardSchemaWithJSON | ZodRawShape | undefined = undefined> =
  Args extends undefined
    ? (ctx: ServerContext) => Awaitable<GetPromptResult | InputRequiredResult>
    : (args: Arguments<Args>, ctx: ServerContext) => Awaitable<GetPromptResult | InputRequiredResult>
export type ReadResourceCallback = (
  uri: URL,
  ctx: ServerContext,
) => Awaitable<ReadResourceResult | InputRequiredResult>
export type ReadResourceTemplateCallback = (
  uri: URL,
  variables: Variables,
  ctx: ServerContext,
) => Awaitable<ReadResourceResult | InputRequiredResult>

/** Handles for changing what was registered. Handlers are changed by removing and registering again. */
export type RegisteredTool = Pick<
  Tool1,
  'enabled' | 'enable' | 'disable' | 'remove' | 'title' | 'description'
>
export type RegisteredPrompt = Pick<
  Prompt1,
  'enabled' | 'enable' | 'disable' | 'remove' | 'title' | 'description'
>

/** The requests of the specification by method. */
export interface RequestTypeMap {
  'tools/list': ListToolsRequest
  'tools/call': CallToolRequest
  'resources/list': ListResourcesRequest
  'resources/templates/list': ListResourceTemplatesRequest
  'resources/read': ReadResourceRequest
  'resources/subscribe': SubscribeRequest
  'resources/unsubscribe': UnsubscribeRequest
  'prompts/list': ListPromptsRequest
  'prompts/get': GetPromptRequest
  'completion/complete': CompleteRequest
  'logging/setLevel': SetLevelRequest
}

/** A server with handlers by method. */
export class Server {
  /** The server of version 1 that it is a layer over. */
  readonly inner: Server1

  constructor(serverInfo: Implementation, options: ServerOptions = {}) {
    this.inner = new Server1(serverInfo, options)
  }

  get onclose(): (() => void) | undefined {
    return this.inner.onclose
  }

  set onclose(handler: () => void) {
    this.inner.onclose = handler
  }

  get onerror(): ((error: Error) => void) | undefined {
    return this.inner.onerror
  }

  set onerror(handler: (error: Error) => void) {
    this.inner.onerror = handler
  }

  get oninitialized(): (() => void) | undefined {
    return this.inner.oninitialized
  }

  set oninitialized(handler: (() => void) | undefined) {
    this.inner.oninitialized = handler
  }

  get transport(): Transport | undefined {
    return this.inner.transport
  }

  connect(transport: Transport): Promise<void> {
    return this.inner.connect(transport)
  }

  close(): Promise<void> {
    return this.inner.close()
  }

  registerCapabilities(capabilities: ServerCapabilities): void {
    this.inner.registerCapabilities(capabilities)
  }

  /** Handles a method of the specification, or a method of your own with a schema of its params. */
  setRequestHandler<M extends keyof RequestTypeMap>(
    method: M,
    handler: (request: RequestTypeMap[M], ctx: ServerContext) => Awaitable<Result>,
  ): void
  setRequestHandler<Params>(
    method: string,
    schemas: { params: StandardSchemaWithJSON<unknown, Params>; result?: StandardSchemaWithJSON },
    handler: (params: Params, ctx: ServerContext) => Awaitable<Result>,
  ): void
  setRequestHandler(
    method: string,
    schemasOrHandler: { params: StandardSchemaWithJSON } | ((...args: never[]) => Awaitable<Result>),
    handler?: (...args: never[]) => Awaitable<Result>,
  ): void {
    const run = typeof schemasOrHandler === 'function' ? schemasOrHandler : handler
    const schema =
      typeof schemasOrHandler === 'function' ? undefined : new StandardSchema(schemasOrHandler.params)
    if (run === undefined) throw new TypeError(`The handler of ${method} must be a function`)
    this.inner.setRequestHandler(messageSchema(method), async (request, extra) => {
      const given = schema === undefined ? request : await parsedParams(schema, request.params)
      return runWithInput<Result>(extra, (ctx) => Reflect.apply(run, undefined, [given, ctx]))
    })
  }

  removeRequestHandler(method: string): void {
    this.inner.removeRequestHandler(method)
  }

  setNotificationHandler(method: string, handler: (notification: Notification) => Awaitable<void>): void {
    this.inner.setNotificationHandler(messageSchema(method), (notification) => handler(notification))
  }

  getClientCapabilities(): ClientCapabilities | undefined {
    return this.inner.getClientCapabilities()
  }

  getClientVersion(): Implementation | undefined {
    return this.inner.getClientVersion()
  }

  createMessage(
    params: CreateMessageRequest['params'],
    options?: RequestOptions,
  ): Promise<CreateMessageResult | CreateMessageResultWithTools> {
    return this.inner.createMessage(params, options).catch(rethrow)
  }

  elicitInput(
    params: ElicitRequestFormParams | ElicitRequestURLParams,
    options?: RequestOptions,
  ): Promise<ElicitResult> {
    return this.inner.elicitInput(params, options).catch(rethrow)
  }

  createElicitationCompletionNotifier(elicitationId: string): () => Promise<void> {
    return this.inner.createElicitationCompletionNotifier(elicitationId)
  }

  listRoots(): Promise<ListRootsResult> {
    return this.inner.listRoots().catch(rethrow)
  }

  sendLoggingMessage(params: LoggingMessageNotification['params']): Promise<void> {
    return this.inner.sendLoggingMessage(params)
  }

  sendResourceUpdated(params: { uri: string }): Promise<void> {
    return this.inner.sendResourceUpdated(params)
  }

  sendResourceListChanged(): Promise<void> {
    return this.inner.sendResourceListChanged()
  }

  sendToolListChanged(): Promise<void> {
    return this.inner.sendToolListChanged()
  }

  sendPromptListChanged(): Promise<void> {
    return this.inner.sendPromptListChanged()
  }
}

interface DefinitionOptions {
  title?: string
  description?: string
  icons?: Icon[]
  /** Not covered: a value is refused. */
  scopeChallenge?: object
  _meta?: Record<string, unknown>
}

/** A server of tools, resources and prompts. */
export class McpServer {
  readonly server: Server
  readonly #registrations: Registrations

  constructor(serverInfo: Implementation, options: McpServerOptions = {}) {
    this.server = new Server(serverInfo, options)
    this.#registrations = new Registrations(this.server.inner, options, {
      execution: undefined,
      unknownToolFails: true,
      error: (code, message) => new ProtocolError(code, message),
    })
  }

  connect(transport: Transport): Promise<void> {
    return this.server.connect(transport)
  }

  close(): Promise<void> {
    return this.server.close()
  }

  isConnected(): boolean {
    return this.server.transport !== undefined
  }

  registerTool<
    InputArgs extends StandardSchemaWithJSON | ZodRawShape | undefined = undefined,
    OutputArgs extends StandardSchemaWithJSON | ZodRawShape | undefined = undefined,
  >(
    name: string,
    config: DefinitionOptions & {
      inputSchema?: InputArgs
      outputSchema?: OutputArgs
      annotations?: ToolAnnotations
    },
    cb: ToolCallback<InputArgs>,
  ): RegisteredTool {
    const { inputSchema, outputSchema, icons, scopeChallenge, ...definition } = config
    rejectScopeChallenge(`Tool ${name}`, scopeChallenge)
    const handler: AnyHandler = (...args) => withContext(args, cb)
    return this.#registrations.addTool(
      name,
      { ...definition, icons, inputSchema: schemaOf(inputSchema), outputSchema: schemaOf(outputSchema) },
      handler,
    )
  }

  registerResource(
    name: string,
    uriOrTemplate: string,
    config: ResourceMetadata & Pick<DefinitionOptions, 'scopeChallenge'>,
    readCallback: ReadResourceCallback,
  ): RegisteredResource
  registerResource(
    name: string,
    uriOrTemplate: ResourceTemplate,
    config: ResourceMetadata & Pick<DefinitionOptions, 'scopeChallenge'>,
    readCallback: ReadResourceTemplateCallback,
  ): RegisteredResourceTemplate
  registerResource(
    name: string,
    uriOrTemplate: string | ResourceTemplate,
    { scopeChallenge, ...config }: ResourceMetadata & Pick<DefinitionOptions, 'scopeChallenge'>,
    readCallback: ReadResourceCallback | ReadResourceTemplateCallback,
  ): RegisteredResource | RegisteredResourceTemplate {
    rejectScopeChallenge(`Resource ${name}`, scopeChallenge)
    const read: ReadTemplate1 = (...args) => withContext<ReadResourceResult>(args, readCallback)
    return typeof uriOrTemplate === 'string'
      ? this.#registrations.addResource(name, uriOrTemplate, config, read)
      : this.#registrations.addTemplate(name, uriOrTemplate, config, read)
  }

  registerPrompt<Args extends StandardSchemaWithJSON | ZodRawShape | undefined = undefined>(
    name: string,
    config: DefinitionOptions & { argsSchema?: Args },
    cb: PromptCallback<Args>,
  ): RegisteredPrompt {
    const { argsSchema, scopeChallenge, ...definition } = config
    rejectScopeChallenge(`Prompt ${name}`, scopeChallenge)
    return this.#registrations.addPrompt(
      name,
      { ...definition, argsSchema: schemaOf(argsSchema) },
      (...args) => withContext<GetPromptResult>(args, cb),
    )
  }

  sendLoggingMessage(params: LoggingMessageNotification['params']): Promise<void> {
    return this.server.sendLoggingMessage(params)
  }

  sendResourceListChanged(): void {
    this.#registrations.notifyListChanged('resources')
  }

  sendToolListChanged(): void {
    this.#registrations.notifyListChanged('tools')
  }

  sendPromptListChanged(): void {
    this.#registrations.notifyListChanged('prompts')
  }
}

/** Calls a handler with the context of version 2 in place of the last argument. */
function withContext<T>(args: readonly unknown[], cb: (...args: never[]) => unknown): Promise<T> {
  const extra = args.at(-1)
  if (!isExtra(extra)) throw new TypeError('A handler was called without its context')
  return runWithInput<T>(extra, (ctx) => Reflect.apply(cb, undefined, [...args.slice(0, -1), ctx]))
}

function isExtra(value: unknown): value is Extra {
  return typeof value === 'object' && value !== null && 'sendRequest' in value
}

/** The schema for registrations: a raw shape of Zod is an object schema. */
function schemaOf(schema: StandardSchemaWithJSON | ZodRawShape | undefined): StandardSchema | undefined {
  if (schema === undefined) return undefined
  if (isStandard(schema)) {
    if (schema['~standard'].jsonSchema === undefined) {
      throw new TypeError(
        'The schema cannot describe itself as JSON Schema. Use zod 4.2, arktype 2.1.28 or newer, or wrap it with toStandardJsonSchema of @valibot/to-json-schema',
      )
    }
    return new StandardSchema(schema)
  }
  const shape: Record<string, AnySchema> = {}
  for (const [name, member] of Object.entries(schema)) {
    if (!isSchema(member))
      throw new TypeError(
        `"${name}" of a raw shape is not a Zod schema: wrap the schemas in an object schema`,
      )
    shape[name] = member
  }
  return new StandardSchema(z.object(zodShape(shape)))
}

function isStandard(schema: object): schema is StandardSchemaWithJSON {
  return '~standard' in schema
}

function zodShape(shape: Record<string, AnySchema>): z.ZodRawShape {
  const zod4Shape: Record<string, z.ZodRawShape[string]> = {}
  for (const [name, member] of Object.entries(shape)) {
    if (!('_zod' in member))
      throw new TypeError(`"${name}" is a Zod 3 schema, and version 2 of the official SDK needs Zod 4`)
    zod4Shape[name] = member
  }
  return zod4Shape
}

function messageSchema(method: string): z.ZodObject<{
  method: z.ZodLiteral<string>
  params: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodUnknown>>
}> {
  return z.object({ method: z.literal(method), params: z.record(z.string(), z.unknown()).optional() })
}

async function parsedParams(schema: StandardSchema, params: unknown): Promise<unknown> {
  const parsed = await parseWith(schema, params ?? {})
  if (parsed.success) return parsed.data
  const reason = parsed.error instanceof Error ? parsed.error.message : String(parsed.error)
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, reason)
}

function rejectScopeChallenge(what: string, scopeChallenge: object | undefined): void {
  if (scopeChallenge === undefined) return
  throw new NotCoveredError(
    `"scopeChallenge" (${what})`,
    'Use the "scopes" of definitions of @jackfield/sdk with bearer of @jackfield/sdk/auth',
  )
}

function rethrow(error: unknown): never {
  throw toV2Error(error)
}
