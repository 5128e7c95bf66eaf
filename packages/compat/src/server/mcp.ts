import type { Transport } from '../shared/transport.ts'
import {
  type CallToolResult,
  type Implementation,
  type LoggingMessageNotification,
  McpError,
  type ToolAnnotations,
  type ToolExecution,
} from '../types.ts'
import { Server, type ServerOptions } from './index.ts'
import type {
  Awaitable,
  ExperimentalMcpServerTasks,
  PromptArgsRawShape,
  PromptCallback,
  ReadResourceCallback,
  ReadResourceTemplateCallback,
  RegisteredPrompt,
  RegisteredResource,
  RegisteredResourceTemplate,
  RegisteredTool,
  ResourceMetadata,
  ResourceTemplate,
  ToolCallback,
  ToolConfig,
  ToolTask,
} from './registered.ts'
import { Registrations } from './registrations.ts'
import { type AnySchema, isRawShape, type ZodRawShapeCompat } from './schemas.ts'

export {
  type AnyToolHandler,
  type BaseToolCallback,
  type CompleteResourceTemplateCallback,
  type ExperimentalMcpServerTasks,
  type ListResourcesCallback,
  type PromptCallback,
  type ReadResourceCallback,
  type ReadResourceTemplateCallback,
  type RegisteredPrompt,
  type RegisteredResource,
  type RegisteredResourceTemplate,
  type RegisteredTool,
  type ResourceMetadata,
  ResourceTemplate,
  type ToolCallback,
} from './registered.ts'

export type McpServerOptions = ServerOptions & {
  /** The most array elements and object members of one call's arguments. Default: no limit of its own. */
  maxToolInputElements?: number
}

/** A server of tools, resources and prompts. */
export class McpServer {
  /** The server with the request handlers. */
  readonly server: Server
  readonly #registrations: Registrations

  constructor(serverInfo: Implementation, options: McpServerOptions = {}) {
    this.server = new Server(serverInfo, options)
    this.#registrations = new Registrations(this.server, options, {
      execution: { taskSupport: 'forbidden' },
      unknownToolFails: false,
      error: (code, message) => new McpError(code, message),
    })
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
    return this.#registrations.addTool(name, config, cb)
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
    const config: ToolConfig = { description }
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
    return this.#registrations.addTool(name, config, handler)
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
      ? this.#registrations.addResource(name, uriOrTemplate, config, readCallback)
      : this.#registrations.addTemplate(name, uriOrTemplate, config, readCallback)
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
      ? this.#registrations.addResource(name, uriOrTemplate, metadata, readCallback)
      : this.#registrations.addTemplate(name, uriOrTemplate, metadata, readCallback)
  }

  /** Registers a prompt. @throws Error if the name is taken */
  registerPrompt<Args extends PromptArgsRawShape>(
    name: string,
    config: { title?: string; description?: string; argsSchema?: Args },
    cb: PromptCallback<Args>,
  ): RegisteredPrompt {
    return this.#registrations.addPrompt(name, config, cb)
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
    return this.#registrations.addPrompt(name, { description, argsSchema }, callback)
  }

  sendLoggingMessage(params: LoggingMessageNotification['params'], sessionId?: string): Promise<void> {
    return this.server.sendLoggingMessage(params, sessionId)
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

  #registerToolTask(...[name, config, handler]: ToolTask): RegisteredTool {
    const execution: ToolExecution = { taskSupport: 'required', ...config.execution }
    if (execution.taskSupport === 'forbidden') {
      throw new Error(
        `Cannot register task-based tool '${name}' with taskSupport 'forbidden'. Use registerTool() instead.`,
      )
    }
    return this.#registrations.addTool(name, { ...config, execution }, handler)
  }
}

function isHandler(value: unknown): value is (...args: never[]) => Awaitable<CallToolResult> {
  return typeof value === 'function'
}

function isPromptCallback(value: unknown): value is RegisteredPrompt['callback'] {
  return typeof value === 'function'
}

function isAnnotations(value: unknown): value is ToolAnnotations {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((member) => typeof member !== 'object')
  )
}
