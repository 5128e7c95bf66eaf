/**
 * `McpServer` of the official SDK 1: tools, resources and prompts are registered one by one and can be changed while clients
 * are connected. Their requests are handled by a `Server`.
 */
import type { TaskToolExecution, ToolTaskHandler } from '../experimental/tasks/interfaces.ts'
import { isTerminal } from '../experimental/tasks/interfaces.ts'
import type { RequestHandlerExtra } from '../shared/protocol.ts'
import type { Transport } from '../shared/transport.ts'
import { UriTemplate, type Variables } from '../shared/uriTemplate.ts'
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResult,
  type CompleteRequest,
  CompleteRequestSchema,
  type CompleteResult,
  type CreateTaskResult,
  ErrorCode,
  GetPromptRequestSchema,
  type GetPromptResult,
  type Implementation,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  type ListResourcesResult,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  type LoggingMessageNotification,
  McpError,
  ReadResourceRequestSchema,
  type ReadResourceResult,
  type Resource,
  type ServerNotification,
  type ServerRequest,
  type Tool,
  type ToolAnnotations,
  type ToolExecution,
} from '../types.ts'
import { getCompleter, isCompletable } from './completable.ts'
import { runningCall } from './engine.ts'
import { Server, type ServerOptions } from './index.ts'
import {
  type AnyObjectSchema,
  type AnySchema,
  getObjectShape,
  getParseErrorMessage,
  getSchemaDescription,
  isRawShape,
  isSchema,
  isSchemaOptional,
  jsonSchemaOf,
  normalizeObjectSchema,
  objectFromShape,
  type SchemaOutput,
  type ShapeOutput,
  safeParseAsync,
  type ZodRawShapeCompat,
} from './schemas.ts'
import { pause } from './tasks.ts'

export type McpServerOptions = ServerOptions & {
  /** The most array elements and object members of one call's arguments. Default: no limit of its own. */
  maxToolInputElements?: number
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>
type Awaitable<T> = T | Promise<T>

export type BaseToolCallback<
  SendResultT,
  ExtraT,
  Args extends undefined | ZodRawShapeCompat | AnySchema,
> = Args extends ZodRawShapeCompat
  ? (args: ShapeOutput<Args>, extra: ExtraT) => Awaitable<SendResultT>
  : Args extends AnySchema
    ? (args: SchemaOutput<Args>, extra: ExtraT) => Awaitable<SendResultT>
    : (extra: ExtraT) => Awaitable<SendResultT>

/** Serves calls of a tool. */
export type ToolCallback<Args extends undefined | ZodRawShapeCompat | AnySchema = undefined> =
  BaseToolCallback<CallToolResult, Extra, Args>
export type AnyToolHandler<Args extends undefined | ZodRawShapeCompat | AnySchema = undefined> =
  | ToolCallback<Args>
  | ToolTaskHandler<Args>

/** A registered tool, for changing it. */
export type RegisteredTool = {
  title?: string | undefined
  description?: string | undefined
  inputSchema?: AnySchema | undefined
  outputSchema?: AnySchema | undefined
  annotations?: ToolAnnotations | undefined
  execution?: ToolExecution | undefined
  _meta?: Record<string, unknown> | undefined
  handler: AnyHandler
  enabled: boolean
  enable(): void
  disable(): void
  update<InputArgs extends ZodRawShapeCompat, OutputArgs extends ZodRawShapeCompat>(updates: {
    name?: string | null
    title?: string
    description?: string
    paramsSchema?: InputArgs
    outputSchema?: OutputArgs
    annotations?: ToolAnnotations
    _meta?: Record<string, unknown>
    callback?: ToolCallback<InputArgs>
    enabled?: boolean
  }): void
  remove(): void
}

/** Metadata of a resource besides its name and URI. */
export type ResourceMetadata = Omit<Resource, 'uri' | 'name'>
export type ListResourcesCallback = (extra: Extra) => Awaitable<ListResourcesResult>
export type ReadResourceCallback = (uri: URL, extra: Extra) => Awaitable<ReadResourceResult>
export type ReadResourceTemplateCallback = (
  uri: URL,
  variables: Variables,
  extra: Extra,
) => Awaitable<ReadResourceResult>
export type CompleteResourceTemplateCallback = (
  value: string,
  context?: { arguments?: Record<string, string> },
) => Awaitable<string[]>

/** A registered resource, for changing it. */
export type RegisteredResource = {
  name: string
  title?: string | undefined
  metadata?: ResourceMetadata | undefined
  readCallback: ReadResourceCallback
  enabled: boolean
  enable(): void
  disable(): void
  update(updates: {
    name?: string
    title?: string
    uri?: string | null
    metadata?: ResourceMetadata
    callback?: ReadResourceCallback
    enabled?: boolean
  }): void
  remove(): void
}

/** A registered resource template, for changing it. */
export type RegisteredResourceTemplate = {
  resourceTemplate: ResourceTemplate
  title?: string | undefined
  metadata?: ResourceMetadata | undefined
  readCallback: ReadResourceTemplateCallback
  enabled: boolean
  enable(): void
  disable(): void
  update(updates: {
    name?: string | null
    title?: string
    template?: ResourceTemplate
    metadata?: ResourceMetadata
    callback?: ReadResourceTemplateCallback
    enabled?: boolean
  }): void
  remove(): void
}

type PromptArgsRawShape = ZodRawShapeCompat
export type PromptCallback<Args extends undefined | PromptArgsRawShape = undefined> =
  Args extends PromptArgsRawShape
    ? (args: ShapeOutput<Args>, extra: Extra) => Awaitable<GetPromptResult>
    : (extra: Extra) => Awaitable<GetPromptResult>

/** A registered prompt, for changing it. */
export type RegisteredPrompt = {
  title?: string | undefined
  description?: string | undefined
  argsSchema?: AnyObjectSchema | undefined
  callback: (...args: never[]) => Awaitable<GetPromptResult>
  enabled: boolean
  enable(): void
  disable(): void
  update<Args extends PromptArgsRawShape>(updates: {
    name?: string | null
    title?: string
    description?: string
    argsSchema?: Args
    callback?: PromptCallback<Args>
    enabled?: boolean
  }): void
  remove(): void
}

/** A handler whose arguments are those of its own schema, which are parsed before it is called. */
type AnyHandler = ((...args: never[]) => Awaitable<CallToolResult>) | TaskHandler
type TaskHandler = { createTask(...args: never[]): Awaitable<CreateTaskResult> } & Record<
  'getTask' | 'getTaskResult',
  (...args: never[]) => unknown
>

/** A URI template, with its list and its completions. */
export class ResourceTemplate {
  readonly #template: UriTemplate
  readonly #callbacks: {
    list: ListResourcesCallback | undefined
    complete?: { [variable: string]: CompleteResourceTemplateCallback }
  }

  constructor(
    uriTemplate: string | UriTemplate,
    callbacks: {
      /** Lists resources of the template. Required, so that it is not forgotten: `undefined` lists none. */
      list: ListResourcesCallback | undefined
      complete?: { [variable: string]: CompleteResourceTemplateCallback }
    },
  ) {
    this.#template = typeof uriTemplate === 'string' ? new UriTemplate(uriTemplate) : uriTemplate
    this.#callbacks = callbacks
  }

  get uriTemplate(): UriTemplate {
    return this.#template
  }

  get listCallback(): ListResourcesCallback | undefined {
    return this.#callbacks.list
  }

  completeCallback(variable: string): CompleteResourceTemplateCallback | undefined {
    return this.#callbacks.complete?.[variable]
  }
}

/** A server of tools, resources and prompts. */
export class McpServer {
  /** The server with the request handlers. */
  readonly server: Server
  readonly #tools = new Map<string, RegisteredTool>()
  readonly #resources = new Map<string, RegisteredResource>()
  readonly #templates = new Map<string, RegisteredResourceTemplate>()
  readonly #prompts = new Map<string, RegisteredPrompt>()
  readonly #served = new Set<'tools' | 'resources' | 'prompts' | 'completions'>()
  readonly #maxElements: number
  readonly #pollMs: number

  constructor(serverInfo: Implementation, options: McpServerOptions = {}) {
    const { capabilities = {}, maxToolInputElements = Number.POSITIVE_INFINITY } = options
    if (!(maxToolInputElements >= 1)) {
      throw new RangeError(`maxToolInputElements must be a number of at least 1, got ${maxToolInputElements}`)
    }
    this.#maxElements = maxToolInputElements
    this.#pollMs = options.defaultTaskPollInterval ?? 5_000
    this.server = new Server(serverInfo, options)
    if (capabilities.tools) this.#serveTools()
    if (capabilities.resources) this.#serveResources()
    if (capabilities.prompts) this.#servePrompts()
  }

  /** Tools that create tasks (2025-11-25). */
  get experimental(): { tasks: ExperimentalMcpServerTasks } {
    return { tasks: { registerToolTask: (...args: ToolTask) => this.#registerToolTask(...args) } }
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

  /** Registers a tool. @throws Error if the name is taken, or for a schema that is none of Zod */
  registerTool<
    OutputArgs extends ZodRawShapeCompat | AnySchema,
    InputArgs extends undefined | ZodRawShapeCompat | AnySchema = undefined,
  >(
    name: string,
    config: {
      title?: string
      description?: string
      inputSchema?: InputArgs
      outputSchema?: OutputArgs
      annotations?: ToolAnnotations
      _meta?: Record<string, unknown>
    },
    cb: ToolCallback<InputArgs>,
  ): RegisteredTool {
    return this.#addTool(name, { ...config, execution: { taskSupport: 'forbidden' } }, cb)
  }

  /** @deprecated Use `registerTool`. */
  tool(name: string, cb: ToolCallback): RegisteredTool
  /** @deprecated Use `registerTool`. */
  tool(name: string, description: string, cb: ToolCallback): RegisteredTool
  /** @deprecated Use `registerTool`. */
  tool<Args extends ZodRawShapeCompat>(
    name: string,
    paramsSchemaOrAnnotations: Args | ToolAnnotations,
    cb: ToolCallback<Args>,
  ): RegisteredTool
  /** @deprecated Use `registerTool`. */
  tool<Args extends ZodRawShapeCompat>(
    name: string,
    description: string,
    paramsSchemaOrAnnotations: Args | ToolAnnotations,
    cb: ToolCallback<Args>,
  ): RegisteredTool
  /** @deprecated Use `registerTool`. */
  tool<Args extends ZodRawShapeCompat>(
    name: string,
    paramsSchema: Args,
    annotations: ToolAnnotations,
    cb: ToolCallback<Args>,
  ): RegisteredTool
  /** @deprecated Use `registerTool`. */
  tool<Args extends ZodRawShapeCompat>(
    name: string,
    description: string,
    paramsSchema: Args,
    annotations: ToolAnnotations,
    cb: ToolCallback<Args>,
  ): RegisteredTool
  tool(name: string, ...given: unknown[]): RegisteredTool {
    const handler = given.pop()
    if (!isHandler(handler)) throw new TypeError(`Tool ${name} needs a function as its last argument`)
    const [first] = given
    const description = typeof first === 'string' ? first : undefined
    const [shapeOrAnnotations, annotations] = description === undefined ? given : given.slice(1)
    const config: ToolConfig = { description, execution: { taskSupport: 'forbidden' } }
    if (isRawShape(shapeOrAnnotations)) {
      config.inputSchema = shapeOrAnnotations
      if (isAnnotations(annotations)) config.annotations = annotations
    } else if (isAnnotations(shapeOrAnnotations)) {
      config.annotations = shapeOrAnnotations
    } else if (shapeOrAnnotations !== undefined) {
      throw new Error(
        `Tool ${name} expected a Zod schema or ToolAnnotations, but received an unrecognized object`,
      )
    }
    return this.#addTool(name, config, handler)
  }

  /** Registers a resource at a URI, or resources of a template. @throws Error if the URI or the template's name is taken */
  registerResource(
    name: string,
    uriOrTemplate: string,
    config: ResourceMetadata,
    readCallback: ReadResourceCallback,
  ): RegisteredResource
  registerResource(
    name: string,
    uriOrTemplate: ResourceTemplate,
    config: ResourceMetadata,
    readCallback: ReadResourceTemplateCallback,
  ): RegisteredResourceTemplate
  registerResource(
    name: string,
    uriOrTemplate: string | ResourceTemplate,
    config: ResourceMetadata,
    readCallback: ReadResourceCallback | ReadResourceTemplateCallback,
  ): RegisteredResource | RegisteredResourceTemplate {
    return typeof uriOrTemplate === 'string'
      ? this.#addResource(name, uriOrTemplate, config, readsResource(readCallback))
      : this.#addTemplate(name, uriOrTemplate, config, readCallback)
  }

  /** @deprecated Use `registerResource`. */
  resource(name: string, uri: string, readCallback: ReadResourceCallback): RegisteredResource
  /** @deprecated Use `registerResource`. */
  resource(
    name: string,
    uri: string,
    metadata: ResourceMetadata,
    readCallback: ReadResourceCallback,
  ): RegisteredResource
  /** @deprecated Use `registerResource`. */
  resource(
    name: string,
    template: ResourceTemplate,
    readCallback: ReadResourceTemplateCallback,
  ): RegisteredResourceTemplate
  /** @deprecated Use `registerResource`. */
  resource(
    name: string,
    template: ResourceTemplate,
    metadata: ResourceMetadata,
    readCallback: ReadResourceTemplateCallback,
  ): RegisteredResourceTemplate
  resource(
    name: string,
    uriOrTemplate: string | ResourceTemplate,
    metadataOrRead: ResourceMetadata | ReadResourceCallback | ReadResourceTemplateCallback,
    read?: ReadResourceCallback | ReadResourceTemplateCallback,
  ): RegisteredResource | RegisteredResourceTemplate {
    const metadata = typeof metadataOrRead === 'function' ? undefined : metadataOrRead
    const readCallback = typeof metadataOrRead === 'function' ? metadataOrRead : read
    if (readCallback === undefined) throw new TypeError(`Resource ${name} needs a function that reads it`)
    return typeof uriOrTemplate === 'string'
      ? this.#addResource(name, uriOrTemplate, metadata, readsResource(readCallback))
      : this.#addTemplate(name, uriOrTemplate, metadata, readCallback)
  }

  /** Registers a prompt. @throws Error if the name is taken */
  registerPrompt<Args extends PromptArgsRawShape>(
    name: string,
    config: { title?: string; description?: string; argsSchema?: Args },
    cb: PromptCallback<Args>,
  ): RegisteredPrompt {
    return this.#addPrompt(name, config, cb)
  }

  /** @deprecated Use `registerPrompt`. */
  prompt(name: string, cb: PromptCallback): RegisteredPrompt
  /** @deprecated Use `registerPrompt`. */
  prompt(name: string, description: string, cb: PromptCallback): RegisteredPrompt
  /** @deprecated Use `registerPrompt`. */
  prompt<Args extends PromptArgsRawShape>(
    name: string,
    argsSchema: Args,
    cb: PromptCallback<Args>,
  ): RegisteredPrompt
  /** @deprecated Use `registerPrompt`. */
  prompt<Args extends PromptArgsRawShape>(
    name: string,
    description: string,
    argsSchema: Args,
    cb: PromptCallback<Args>,
  ): RegisteredPrompt
  prompt(name: string, ...given: unknown[]): RegisteredPrompt {
    const callback = given.pop()
    if (!isPromptCallback(callback))
      throw new TypeError(`Prompt ${name} needs a function as its last argument`)
    const [first] = given
    const description = typeof first === 'string' ? first : undefined
    const argsSchema = given[description === undefined ? 0 : 1]
    if (argsSchema !== undefined && !isRawShape(argsSchema)) {
      throw new TypeError(`The arguments of prompt ${name} must be an object of Zod schemas`)
    }
    return this.#addPrompt(name, { description, argsSchema }, callback)
  }

  sendLoggingMessage(params: LoggingMessageNotification['params'], sessionId?: string): Promise<void> {
    return this.server.sendLoggingMessage(params, sessionId)
  }

  sendResourceListChanged(): void {
    if (this.isConnected()) void this.server.sendResourceListChanged()
  }

  sendToolListChanged(): void {
    if (this.isConnected()) void this.server.sendToolListChanged()
  }

  sendPromptListChanged(): void {
    if (this.isConnected()) void this.server.sendPromptListChanged()
  }

  #registerToolTask(...[name, config, handler]: ToolTask): RegisteredTool {
    const execution: ToolExecution = { taskSupport: 'required', ...config.execution }
    if (execution.taskSupport === 'forbidden') {
      throw new Error(
        `Cannot register task-based tool '${name}' with taskSupport 'forbidden'. Use registerTool() instead.`,
      )
    }
    return this.#addTool(name, { ...config, execution }, handler)
  }

  #addTool(name: string, config: ToolConfig, handler: AnyHandler): RegisteredTool {
    if (this.#tools.has(name)) throw new Error(`Tool ${name} is already registered`)
    warnOfToolName(name)
    const { title, description, annotations, execution, _meta } = config
    const entry: RegisteredTool = {
      title,
      description,
      inputSchema: zodSchema(config.inputSchema),
      outputSchema: zodSchema(config.outputSchema),
      annotations,
      execution,
      _meta,
      handler,
      enabled: true,
      enable: () => entry.update({ enabled: true }),
      disable: () => entry.update({ enabled: false }),
      remove: () => entry.update({ name: null }),
      update: ({ name: renamed, paramsSchema, outputSchema, callback, ...others }) => {
        if (typeof renamed === 'string') warnOfToolName(renamed)
        rename(this.#tools, entry, renamed)
        assignDefined(entry, others)
        if (paramsSchema !== undefined) entry.inputSchema = objectFromShape(paramsSchema)
        if (outputSchema !== undefined) entry.outputSchema = objectFromShape(outputSchema)
        if (callback !== undefined) entry.handler = callback
        this.sendToolListChanged()
      },
    }
    this.#tools.set(name, entry)
    this.#serveTools()
    this.sendToolListChanged()
    return entry
  }

  #addResource(
    name: string,
    uri: string,
    metadata: ResourceMetadata | undefined,
    readCallback: ReadResourceCallback,
  ): RegisteredResource {
    if (this.#resources.has(uri)) throw new Error(`Resource ${uri} is already registered`)
    const entry: RegisteredResource = {
      name,
      title: metadata?.title,
      metadata,
      readCallback,
      enabled: true,
      enable: () => entry.update({ enabled: true }),
      disable: () => entry.update({ enabled: false }),
      remove: () => entry.update({ uri: null }),
      update: ({ uri: moved, callback, ...others }) => {
        rename(this.#resources, entry, moved)
        assignDefined(entry, others)
        if (callback !== undefined) entry.readCallback = callback
        this.sendResourceListChanged()
      },
    }
    this.#resources.set(uri, entry)
    this.#serveResources()
    this.sendResourceListChanged()
    return entry
  }

  #addTemplate(
    name: string,
    resourceTemplate: ResourceTemplate,
    metadata: ResourceMetadata | undefined,
    readCallback: ReadResourceTemplateCallback | ReadResourceCallback,
  ): RegisteredResourceTemplate {
    if (this.#templates.has(name)) throw new Error(`Resource template ${name} is already registered`)
    const entry: RegisteredResourceTemplate = {
      resourceTemplate,
      title: metadata?.title,
      metadata,
      readCallback: readsTemplate(readCallback),
      enabled: true,
      enable: () => entry.update({ enabled: true }),
      disable: () => entry.update({ enabled: false }),
      remove: () => entry.update({ name: null }),
      update: ({ name: renamed, template, callback, ...others }) => {
        rename(this.#templates, entry, renamed)
        assignDefined(entry, others)
        if (template !== undefined) entry.resourceTemplate = template
        if (callback !== undefined) entry.readCallback = callback
        this.sendResourceListChanged()
      },
    }
    this.#templates.set(name, entry)
    const { variableNames } = resourceTemplate.uriTemplate
    if (variableNames.some((variable) => resourceTemplate.completeCallback(variable) !== undefined)) {
      this.#serveCompletions()
    }
    this.#serveResources()
    this.sendResourceListChanged()
    return entry
  }

  #addPrompt(
    name: string,
    config: {
      title?: string | undefined
      description?: string | undefined
      argsSchema?: PromptArgsRawShape | undefined
    },
    callback: RegisteredPrompt['callback'],
  ): RegisteredPrompt {
    if (this.#prompts.has(name)) throw new Error(`Prompt ${name} is already registered`)
    const { title, description, argsSchema } = config
    const entry: RegisteredPrompt = {
      title,
      description,
      argsSchema: argsSchema === undefined ? undefined : objectFromShape(argsSchema),
      callback,
      enabled: true,
      enable: () => entry.update({ enabled: true }),
      disable: () => entry.update({ enabled: false }),
      remove: () => entry.update({ name: null }),
      update: ({ name: renamed, argsSchema: changed, callback: other, ...others }) => {
        rename(this.#prompts, entry, renamed)
        assignDefined(entry, others)
        if (changed !== undefined) entry.argsSchema = objectFromShape(changed)
        if (other !== undefined) entry.callback = other
        this.sendPromptListChanged()
      },
    }
    this.#prompts.set(name, entry)
    if (Object.values(argsSchema ?? {}).some((field) => completerOf(field) !== undefined))
      this.#serveCompletions()
    this.#servePrompts()
    this.sendPromptListChanged()
    return entry
  }

  #serveTools(): void {
    if (this.#isServed('tools')) return
    this.server.registerCapabilities({ tools: { listChanged: true } })
    this.server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [...this.#tools]
        .filter(([, { enabled }]) => enabled)
        .map(([name, tool]) => listedTool(name, tool)),
    }))
    this.server.setRequestHandler(CallToolRequestSchema, (request, extra) => this.#call(request, extra))
  }

  async #call(request: CallToolRequest, extra: Extra): Promise<CallToolResult | CreateTaskResult> {
    const { name, task } = request.params
    try {
      const tool = this.#tools.get(name)
      if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `Tool ${name} not found`)
      if (!tool.enabled) throw new McpError(ErrorCode.InvalidParams, `Tool ${name} disabled`)
      const args = await this.#parseArguments(name, tool, request.params.arguments)
      const { handler } = tool
      if (typeof handler !== 'function')
        return await this.#createTask(name, tool, handler, args, task !== undefined, extra)
      const result: CallToolResult = await invoke(handler, args, extra)
      await checkOutput(name, tool, result)
      return result
    } catch (error) {
      if (error instanceof McpError && error.code === ErrorCode.UrlElicitationRequired) throw error
      if (extra.signal.aborted) throw error
      const text = error instanceof Error ? error.message : String(error)
      return { content: [{ type: 'text', text }], isError: true }
    }
  }

  async #parseArguments(name: string, { inputSchema }: RegisteredTool, given: unknown): Promise<unknown[]> {
    if (this.#maxElements !== Number.POSITIVE_INFINITY && exceeds(given, this.#maxElements)) {
      throw new McpError(
        ErrorCode.InvalidParams,
        `Invalid arguments for tool ${name}: arguments contain more than the maximum of ${this.#maxElements} elements`,
      )
    }
    if (inputSchema === undefined) return []
    const parsed = await safeParseAsync(inputSchema, given ?? {})
    if (parsed.success) return [parsed.data]
    throw new McpError(
      ErrorCode.InvalidParams,
      `Input validation error: Invalid arguments for tool ${name}: ${getParseErrorMessage(parsed.error)}`,
    )
  }

  /**
   * Creates the task of a tool. A client that did not ask for a task gets the result; one of 2025-11-25 must ask where the tool
   * requires it.
   */
  async #createTask(
    name: string,
    { execution }: RegisteredTool,
    handler: TaskHandler,
    args: unknown[],
    isTaskRequest: boolean,
    extra: Extra,
  ): Promise<CallToolResult | CreateTaskResult> {
    const { taskStore } = extra
    if (taskStore === undefined) throw new Error('No task store provided.')
    const hasTasks = runningCall()?.peer.revision.version === '2025-11-25'
    if (execution?.taskSupport === 'required' && !isTaskRequest && hasTasks) {
      throw new McpError(
        ErrorCode.MethodNotFound,
        `Tool ${name} requires task augmentation (taskSupport: 'required')`,
      )
    }
    const created: CreateTaskResult = await invoke(handler.createTask.bind(handler), args, extra)
    if (isTaskRequest && hasTasks) return created
    const { taskId, pollInterval } = created.task
    for (let { task } = created; !isTerminal(task.status); task = await taskStore.getTask(taskId)) {
      await pause(pollInterval ?? this.#pollMs, extra.signal)
    }
    const result = await taskStore.getTaskResult(taskId)
    return isToolResult(result) ? result : { content: [], ...result }
  }

  #serveResources(): void {
    if (this.#isServed('resources')) return
    this.server.registerCapabilities({ resources: { listChanged: true } })
    this.server.setRequestHandler(ListResourcesRequestSchema, async (_request, extra) => {
      const resources = [...this.#resources]
        .filter(([, { enabled }]) => enabled)
        .map(([uri, { name, title, metadata }]) => ({ uri, name, ...titled(title), ...metadata }))
      const lists = [...this.#templates.values()].map(async ({ enabled, resourceTemplate, metadata }) => {
        const listed = enabled ? await resourceTemplate.listCallback?.(extra) : undefined
        return (listed?.resources ?? []).map((resource) => ({ ...metadata, ...resource }))
      })
      return { resources: [...resources, ...(await Promise.all(lists)).flat()] }
    })
    this.server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: [...this.#templates]
        .filter(([, { enabled }]) => enabled)
        .map(([name, { resourceTemplate, title, metadata }]) => ({
          name,
          uriTemplate: resourceTemplate.uriTemplate.toString(),
          ...titled(title),
          ...metadata,
        })),
    }))
    this.server.setRequestHandler(ReadResourceRequestSchema, ({ params }, extra) =>
      this.#read(params.uri, extra),
    )
  }

  #read(text: string, extra: Extra): Awaitable<ReadResourceResult> {
    if (!URL.canParse(text)) throw new McpError(ErrorCode.InvalidParams, `Invalid URL: ${text}`)
    const uri = new URL(text)
    const resource = this.#resources.get(uri.toString()) ?? this.#resources.get(text)
    if (resource?.enabled === true) return resource.readCallback(uri, extra)
    if (resource !== undefined) throw new McpError(ErrorCode.InvalidParams, `Resource ${uri} disabled`)
    for (const { enabled, resourceTemplate, readCallback } of this.#templates.values()) {
      const variables = enabled ? resourceTemplate.uriTemplate.match(uri.toString()) : null
      if (variables !== null) return readCallback(uri, variables, extra)
    }
    throw new McpError(ErrorCode.InvalidParams, `Resource ${uri} not found`)
  }

  #servePrompts(): void {
    if (this.#isServed('prompts')) return
    this.server.registerCapabilities({ prompts: { listChanged: true } })
    this.server.setRequestHandler(ListPromptsRequestSchema, () => ({
      prompts: [...this.#prompts]
        .filter(([, { enabled }]) => enabled)
        .map(([name, { title, description, argsSchema }]) => ({
          name,
          ...titled(title),
          ...(description === undefined ? {} : { description }),
          ...(argsSchema === undefined ? {} : { arguments: promptArguments(argsSchema) }),
        })),
    }))
    this.server.setRequestHandler(GetPromptRequestSchema, async ({ params }, extra) => {
      const prompt = this.#prompts.get(params.name)
      if (prompt === undefined) throw new McpError(ErrorCode.InvalidParams, `Prompt ${params.name} not found`)
      if (!prompt.enabled) throw new McpError(ErrorCode.InvalidParams, `Prompt ${params.name} disabled`)
      if (prompt.argsSchema === undefined) return invoke(prompt.callback, [], extra)
      const parsed = await safeParseAsync(prompt.argsSchema, params.arguments ?? {})
      if (parsed.success) return invoke(prompt.callback, [parsed.data], extra)
      throw new McpError(
        ErrorCode.InvalidParams,
        `Invalid arguments for prompt ${params.name}: ${getParseErrorMessage(parsed.error)}`,
      )
    })
  }

  #serveCompletions(): void {
    if (this.#isServed('completions')) return
    this.server.registerCapabilities({ completions: {} })
    this.server.setRequestHandler(CompleteRequestSchema, (request) => this.#complete(request))
  }

  async #complete({ params }: CompleteRequest): Promise<CompleteResult> {
    const { ref, argument, context } = params
    const others = context?.arguments === undefined ? undefined : { arguments: context.arguments }
    const values = await this.#completerOf(ref, argument.name)?.(argument.value, others)
    if (values === undefined) return { completion: { values: [], hasMore: false } }
    return {
      completion: { values: values.slice(0, 100), total: values.length, hasMore: values.length > 100 },
    }
  }

  #completerOf(
    ref: CompleteRequest['params']['ref'],
    argument: string,
  ): CompleteResourceTemplateCallback | undefined {
    if (ref.type === 'ref/prompt') {
      const prompt = this.#prompts.get(ref.name)
      if (prompt === undefined) throw new McpError(ErrorCode.InvalidParams, `Prompt ${ref.name} not found`)
      if (!prompt.enabled) throw new McpError(ErrorCode.InvalidParams, `Prompt ${ref.name} disabled`)
      const field = getObjectShape(prompt.argsSchema)?.[argument]
      return field === undefined ? undefined : completerOf(field)
    }
    const template = [...this.#templates.values()].find(
      ({ resourceTemplate }) => resourceTemplate.uriTemplate.toString() === ref.uri,
    )
    if (template !== undefined) return template.resourceTemplate.completeCallback(argument)
    if (this.#resources.has(ref.uri)) return undefined
    throw new McpError(ErrorCode.InvalidParams, `Resource template ${ref.uri} not found`)
  }

  /** Whether the handlers of a kind are set; marks them as set. */
  #isServed(kind: 'tools' | 'resources' | 'prompts' | 'completions'): boolean {
    if (this.#served.has(kind)) return true
    this.#served.add(kind)
    return false
  }
}

interface ToolConfig {
  title?: string | undefined
  description?: string | undefined
  inputSchema?: ZodRawShapeCompat | AnySchema | undefined
  outputSchema?: ZodRawShapeCompat | AnySchema | undefined
  annotations?: ToolAnnotations | undefined
  execution?: ToolExecution | undefined
  _meta?: Record<string, unknown> | undefined
}

type ToolTask = [
  name: string,
  config: Omit<ToolConfig, 'execution'> & { execution?: ToolExecution | undefined },
  handler: TaskHandler,
]

/** Registers tools that create tasks. */
export interface ExperimentalMcpServerTasks {
  registerToolTask<
    InputArgs extends undefined | ZodRawShapeCompat | AnySchema = undefined,
    OutputArgs extends undefined | ZodRawShapeCompat | AnySchema = undefined,
  >(
    name: string,
    config: {
      title?: string
      description?: string
      inputSchema?: InputArgs
      outputSchema?: OutputArgs
      annotations?: ToolAnnotations
      execution?: TaskToolExecution
      _meta?: Record<string, unknown>
    },
    handler: ToolTaskHandler<InputArgs>,
  ): RegisteredTool
}

const noArguments: Tool['inputSchema'] = { type: 'object', properties: {} }

function listedTool(name: string, tool: RegisteredTool): Tool {
  const { title, description, inputSchema, outputSchema, annotations, execution, _meta } = tool
  const input = normalizeObjectSchema(inputSchema)
  const output = normalizeObjectSchema(outputSchema)
  return {
    name,
    ...titled(title),
    ...(description === undefined ? {} : { description }),
    inputSchema: input === undefined ? noArguments : { ...jsonSchemaOf(input, 'input'), type: 'object' },
    ...(annotations === undefined ? {} : { annotations }),
    ...(execution === undefined ? {} : { execution }),
    ...(_meta === undefined ? {} : { _meta }),
    ...(output === undefined ? {} : { outputSchema: { ...jsonSchemaOf(output, 'output'), type: 'object' } }),
  }
}

async function checkOutput(
  name: string,
  { outputSchema }: RegisteredTool,
  result: CallToolResult,
): Promise<void> {
  if (outputSchema === undefined || result.isError === true || !('content' in result)) return
  if (!result.structuredContent) {
    throw new McpError(
      ErrorCode.InvalidParams,
      `Output validation error: Tool ${name} has an output schema but no structured content was provided`,
    )
  }
  const parsed = await safeParseAsync(outputSchema, result.structuredContent)
  if (parsed.success) return
  throw new McpError(
    ErrorCode.InvalidParams,
    `Output validation error: Invalid structured content for tool ${name}: ${getParseErrorMessage(parsed.error)}`,
  )
}

/** Calls a handler with its parsed arguments, if it has a schema, and `extra`. */
function invoke<T>(handler: (...args: never[]) => T, args: readonly unknown[], extra: Extra): T {
  return Reflect.apply(handler, undefined, [...args, extra])
}

function zodSchema(schema: ZodRawShapeCompat | AnySchema | undefined): AnySchema | undefined {
  if (schema === undefined || isSchema(schema)) return schema
  if (isRawShape(schema)) return objectFromShape(schema)
  throw new Error('inputSchema must be a Zod schema or raw shape, received an unrecognized object')
}

function promptArguments(
  schema: AnyObjectSchema,
): { name: string; description?: string; required: boolean }[] {
  return Object.entries(getObjectShape(schema) ?? {}).map(([name, field]) => {
    const description = getSchemaDescription(field)
    return { name, ...(description === undefined ? {} : { description }), required: !isSchemaOptional(field) }
  })
}

/** The completer of a prompt's argument, which may be optional. */
function completerOf(field: AnySchema): CompleteResourceTemplateCallback | undefined {
  const inner = isCompletable(field) ? field : innerOf(field)
  const complete = inner === undefined ? undefined : getCompleter(inner)
  return complete === undefined
    ? undefined
    : async (value, context) => (await complete(value, context)).map(String)
}

function innerOf(field: AnySchema): AnySchema | undefined {
  const def: object = '_zod' in field ? field._zod.def : field._def
  return 'innerType' in def && isSchema(def.innerType) ? def.innerType : undefined
}

function titled(title: string | undefined): { title?: string } {
  return title === undefined ? {} : { title }
}

/** Moves an entry to another key, or removes it with `null`. */
function rename<E>(entries: Map<string, E>, entry: E, to: string | null | undefined): void {
  if (to === undefined) return
  for (const [key, one] of entries) if (one === entry) entries.delete(key)
  if (to !== null && to !== '') entries.set(to, entry)
}

function assignDefined<T extends object>(target: T, changes: Partial<T>): void {
  for (const [name, value] of Object.entries(changes))
    if (value !== undefined) Reflect.set(target, name, value)
}

function isHandler(value: unknown): value is (...args: never[]) => Awaitable<CallToolResult> {
  return typeof value === 'function'
}

function isPromptCallback(value: unknown): value is RegisteredPrompt['callback'] {
  return typeof value === 'function'
}

/** A function with two parameters serves a template as well: a resource's function ignores the third argument. */
function readsResource(read: ReadResourceCallback | ReadResourceTemplateCallback): ReadResourceCallback {
  return (uri, extra) => Reflect.apply(read, undefined, [uri, extra])
}

function readsTemplate(
  read: ReadResourceCallback | ReadResourceTemplateCallback,
): ReadResourceTemplateCallback {
  return (uri, variables, extra) => Reflect.apply(read, undefined, [uri, variables, extra])
}

function isAnnotations(value: unknown): value is ToolAnnotations {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((member) => typeof member !== 'object')
  )
}

function isToolResult(result: object): result is CallToolResult {
  return 'content' in result
}

/** Whether a value has more than a number of array elements and object members, all levels together. */
function exceeds(value: unknown, max: number): boolean {
  let count = 0
  const unread = [value]
  for (let next = unread.pop(); unread.length > 0 || next !== undefined; next = unread.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const members = Object.values(next)
    count += members.length
    if (count > max) return true
    for (const member of members) unread.push(member)
  }
  return false
}

const toolName = /^[A-Za-z0-9._-]{1,128}$/

function warnOfToolName(name: string): void {
  if (toolName.test(name)) return
  console.warn(`The tool name "${name}" is not valid: use 1 to 128 of A-Z a-z 0-9 _ - . (SEP-986)`)
}
