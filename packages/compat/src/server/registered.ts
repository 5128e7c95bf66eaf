/** Tools, resources and prompts as they are registered one by one, and the handles for changing them. */
import type { TaskToolExecution, ToolTaskHandler } from '../experimental/tasks/interfaces.ts'
import type { RequestHandlerExtra } from '../shared/protocol.ts'
import { UriTemplate, type Variables } from '../shared/uriTemplate.ts'
import type {
  CallToolResult,
  CreateTaskResult,
  GetPromptResult,
  Icon,
  ListResourcesResult,
  ReadResourceResult,
  Resource,
  ServerNotification,
  ServerRequest,
  ToolAnnotations,
  ToolExecution,
} from '../types.ts'
import type { AnySchema, SchemaOutput, ShapeOutput, ToolSchema, ZodRawShapeCompat } from './schemas.ts'

export type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>
export type Awaitable<T> = T | Promise<T>

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
  inputSchema?: ToolSchema | undefined
  outputSchema?: ToolSchema | undefined
  annotations?: ToolAnnotations | undefined
  execution?: ToolExecution | undefined
  icons?: Icon[] | undefined
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

export type PromptArgsRawShape = ZodRawShapeCompat
export type PromptCallback<Args extends undefined | PromptArgsRawShape = undefined> =
  Args extends PromptArgsRawShape
    ? (args: ShapeOutput<Args>, extra: Extra) => Awaitable<GetPromptResult>
    : (extra: Extra) => Awaitable<GetPromptResult>

/** A registered prompt, for changing it. */
export type RegisteredPrompt = {
  title?: string | undefined
  description?: string | undefined
  argsSchema?: ToolSchema | undefined
  icons?: Icon[] | undefined
  _meta?: Record<string, unknown> | undefined
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
export type AnyHandler = ((...args: never[]) => Awaitable<CallToolResult>) | TaskHandler
export type TaskHandler = { createTask(...args: never[]): Awaitable<CreateTaskResult> } & Record<
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

export interface ToolConfig {
  icons?: Icon[] | undefined
  title?: string | undefined
  description?: string | undefined
  inputSchema?: ZodRawShapeCompat | ToolSchema | undefined
  outputSchema?: ZodRawShapeCompat | ToolSchema | undefined
  annotations?: ToolAnnotations | undefined
  execution?: ToolExecution | undefined
  _meta?: Record<string, unknown> | undefined
}

export type ToolTask = [name: string, config: ToolConfig, handler: TaskHandler]

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
