/** The registered tools, resources and prompts of a server, served by its request handlers. */
import { RpcError } from '@jackfield/sdk'
import { isTerminal } from '../experimental/tasks/interfaces.ts'
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
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  type ReadResourceResult,
  type Tool,
  type ToolExecution,
} from '../types.ts'
import { getCompleter, isCompletable } from './completable.ts'
import type { Server } from './index.ts'
import type { McpServerOptions } from './mcp.ts'
import type {
  AnyHandler,
  Awaitable,
  CompleteResourceTemplateCallback,
  Extra,
  PromptArgsRawShape,
  ReadResourceCallback,
  ReadResourceTemplateCallback,
  RegisteredPrompt,
  RegisteredResource,
  RegisteredResourceTemplate,
  RegisteredTool,
  ResourceMetadata,
  ResourceTemplate,
  TaskHandler,
  ToolConfig,
} from './registered.ts'
import {
  type AnySchema,
  describeSchema,
  getParseErrorMessage,
  getSchemaDescription,
  isRawShape,
  isSchema,
  isSchemaOptional,
  membersOf,
  objectFromShape,
  parseWith,
  StandardSchema,
  type ToolSchema,
  type ZodRawShapeCompat,
} from './schemas.ts'
import { isObject, runningCall } from './served-call.ts'
import { pause } from './tasks.ts'

/** The differences between the versions of the official SDK. */
export interface VersionBehavior {
  /** Default of `execution` in the list of tools. */
  readonly execution: ToolExecution | undefined
  /** Whether a call of an unknown tool returns a protocol error instead of a result with `isError`. */
  readonly unknownToolFails: boolean
  /** Creates a protocol error. */
  error(code: number, message: string): Error
}

/** The tools, resources and prompts of one server, and the handlers of their requests. */
export class Registrations {
  readonly #server: Server
  readonly #version: VersionBehavior
  readonly #tools = new Map<string, RegisteredTool>()
  readonly #resources = new Map<string, RegisteredResource>()
  readonly #templates = new Map<string, RegisteredResourceTemplate>()
  readonly #prompts = new Map<string, RegisteredPrompt>()
  readonly #served = new Set<'tools' | 'resources' | 'prompts' | 'completions'>()
  readonly #maxElements: number
  readonly #pollMs: number

  /** @throws RangeError for a `maxToolInputElements` that is no limit */
  constructor(server: Server, options: McpServerOptions, version: VersionBehavior) {
    const { capabilities = {}, maxToolInputElements = Number.POSITIVE_INFINITY } = options
    if (!(maxToolInputElements >= 1)) {
      throw new RangeError(`maxToolInputElements must be a number of at least 1, got ${maxToolInputElements}`)
    }
    this.#server = server
    this.#version = version
    this.#maxElements = maxToolInputElements
    this.#pollMs = options.defaultTaskPollInterval ?? 5_000
    if (capabilities.tools) this.#serveTools()
    if (capabilities.resources) this.#serveResources()
    if (capabilities.prompts) this.#servePrompts()
  }

  /** Notifies clients of a changed list, if the server is connected. */
  notifyListChanged(list: 'tools' | 'resources' | 'prompts'): void {
    if (this.#server.transport === undefined) return
    const sent = {
      tools: () => this.#server.sendToolListChanged(),
      resources: () => this.#server.sendResourceListChanged(),
      prompts: () => this.#server.sendPromptListChanged(),
    }
    sent[list]().catch((error) => this.#server.onerror?.(error))
  }

  addTool(name: string, config: ToolConfig, handler: AnyHandler): RegisteredTool {
    if (this.#tools.has(name)) throw new Error(`Tool ${name} is already registered`)
    warnOfInvalidToolName(name)
    const { title, description, annotations, execution, icons, _meta } = config
    const entry: RegisteredTool = {
      title,
      description,
      inputSchema: zodSchema(config.inputSchema),
      outputSchema: zodSchema(config.outputSchema),
      annotations,
      execution: execution ?? this.#version.execution,
      icons,
      _meta,
      handler,
      enabled: true,
      enable: () => entry.update({ enabled: true }),
      disable: () => entry.update({ enabled: false }),
      remove: () => entry.update({ name: null }),
      update: ({ name: renamed, paramsSchema, outputSchema, callback, ...others }) => {
        if (typeof renamed === 'string') warnOfInvalidToolName(renamed)
        rename(this.#tools, entry, renamed)
        assignDefined(entry, others)
        if (paramsSchema !== undefined) entry.inputSchema = objectFromShape(paramsSchema)
        if (outputSchema !== undefined) entry.outputSchema = objectFromShape(outputSchema)
        if (callback !== undefined) entry.handler = callback
        this.notifyListChanged('tools')
      },
    }
    this.#tools.set(name, entry)
    this.#serveTools()
    this.notifyListChanged('tools')
    return entry
  }

  addResource(
    name: string,
    uri: string,
    metadata: ResourceMetadata | undefined,
    readCallback: ReadResourceCallback | ReadResourceTemplateCallback,
  ): RegisteredResource {
    if (this.#resources.has(uri)) throw new Error(`Resource ${uri} is already registered`)
    const entry: RegisteredResource = {
      name,
      title: metadata?.title,
      metadata,
      readCallback: toResourceCallback(readCallback),
      enabled: true,
      enable: () => entry.update({ enabled: true }),
      disable: () => entry.update({ enabled: false }),
      remove: () => entry.update({ uri: null }),
      update: ({ uri: moved, callback, ...others }) => {
        rename(this.#resources, entry, moved)
        assignDefined(entry, others)
        if (callback !== undefined) entry.readCallback = callback
        this.notifyListChanged('resources')
      },
    }
    this.#resources.set(uri, entry)
    this.#serveResources()
    this.notifyListChanged('resources')
    return entry
  }

  addTemplate(
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
      readCallback: toTemplateCallback(readCallback),
      enabled: true,
      enable: () => entry.update({ enabled: true }),
      disable: () => entry.update({ enabled: false }),
      remove: () => entry.update({ name: null }),
      update: ({ name: renamed, template, callback, ...others }) => {
        rename(this.#templates, entry, renamed)
        assignDefined(entry, others)
        if (template !== undefined) entry.resourceTemplate = template
        if (callback !== undefined) entry.readCallback = callback
        this.notifyListChanged('resources')
      },
    }
    this.#templates.set(name, entry)
    const { variableNames } = resourceTemplate.uriTemplate
    if (variableNames.some((variable) => resourceTemplate.completeCallback(variable) !== undefined)) {
      this.#serveCompletions()
    }
    this.#serveResources()
    this.notifyListChanged('resources')
    return entry
  }

  addPrompt(
    name: string,
    config: {
      title?: string | undefined
      description?: string | undefined
      argsSchema?: PromptArgsRawShape | StandardSchema | undefined
      icons?: RegisteredPrompt['icons']
      _meta?: RegisteredPrompt['_meta']
    },
    callback: RegisteredPrompt['callback'],
  ): RegisteredPrompt {
    if (this.#prompts.has(name)) throw new Error(`Prompt ${name} is already registered`)
    const { title, description, argsSchema, icons, _meta } = config
    const entry: RegisteredPrompt = {
      title,
      description,
      argsSchema: zodSchema(argsSchema),
      icons,
      _meta,
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
        this.notifyListChanged('prompts')
      },
    }
    this.#prompts.set(name, entry)
    if (Object.values(membersOf(entry.argsSchema)).some((field) => completerOf(field) !== undefined))
      this.#serveCompletions()
    this.#servePrompts()
    this.notifyListChanged('prompts')
    return entry
  }

  #serveTools(): void {
    if (this.#markServed('tools')) return
    this.#server.registerCapabilities({ tools: { listChanged: true } })
    this.#server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [...this.#tools]
        .filter(([, { enabled }]) => enabled)
        .map(([name, tool]) => listedTool(name, tool)),
    }))
    this.#server.setRequestHandler(CallToolRequestSchema, (request, extra) => this.#call(request, extra))
  }

  async #call(request: CallToolRequest, extra: Extra): Promise<CallToolResult | CreateTaskResult> {
    const { name, task } = request.params
    const tool = this.#tools.get(name)
    if (this.#version.unknownToolFails && tool?.enabled !== true) {
      throw this.#version.error(
        ErrorCode.InvalidParams,
        `Tool ${name} ${tool === undefined ? 'not found' : 'disabled'}`,
      )
    }
    try {
      if (tool === undefined) throw this.#version.error(ErrorCode.InvalidParams, `Tool ${name} not found`)
      if (!tool.enabled) throw this.#version.error(ErrorCode.InvalidParams, `Tool ${name} disabled`)
      const args = await this.#parseArguments(name, tool, request.params.arguments)
      const { handler } = tool
      if (typeof handler !== 'function')
        return await this.#createTask(name, tool, handler, args, task !== undefined, extra)
      const result: CallToolResult = await invoke(handler, args, extra)
      await this.#checkOutput(name, tool, result)
      return result
    } catch (error) {
      if (error instanceof RpcError && error.code === ErrorCode.UrlElicitationRequired) throw error
      if (extra.signal.aborted) throw error
      const text = error instanceof Error ? error.message : String(error)
      return { content: [{ type: 'text', text }], isError: true }
    }
  }

  async #parseArguments(name: string, { inputSchema }: RegisteredTool, given: unknown): Promise<unknown[]> {
    if (this.#maxElements !== Number.POSITIVE_INFINITY && exceeds(given, this.#maxElements)) {
      throw this.#version.error(
        ErrorCode.InvalidParams,
        `Invalid arguments for tool ${name}: arguments contain more than the maximum of ${this.#maxElements} elements`,
      )
    }
    if (inputSchema === undefined) return []
    const parsed = await parseWith(inputSchema, given ?? {})
    if (parsed.success) return [parsed.data]
    throw this.#version.error(
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
      throw this.#version.error(
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

  async #checkOutput(name: string, { outputSchema }: RegisteredTool, result: CallToolResult): Promise<void> {
    if (outputSchema === undefined || result.isError === true || !('content' in result)) return
    if (!result.structuredContent) {
      throw this.#version.error(
        ErrorCode.InvalidParams,
        `Output validation error: Tool ${name} has an output schema but no structured content was provided`,
      )
    }
    const parsed = await parseWith(outputSchema, result.structuredContent)
    if (parsed.success) return
    throw this.#version.error(
      ErrorCode.InvalidParams,
      `Output validation error: Invalid structured content for tool ${name}: ${getParseErrorMessage(parsed.error)}`,
    )
  }

  #serveResources(): void {
    if (this.#markServed('resources')) return
    this.#server.registerCapabilities({ resources: { listChanged: true } })
    this.#server.setRequestHandler(ListResourcesRequestSchema, async (_request, extra) => {
      const resources = [...this.#resources]
        .filter(([, { enabled }]) => enabled)
        .map(([uri, { name, title, metadata }]) => ({ uri, name, ...titleField(title), ...metadata }))
      const lists = [...this.#templates.values()].map(async ({ enabled, resourceTemplate, metadata }) => {
        const listed = enabled ? await resourceTemplate.listCallback?.(extra) : undefined
        return (listed?.resources ?? []).map((resource) => ({ ...metadata, ...resource }))
      })
      return { resources: [...resources, ...(await Promise.all(lists)).flat()] }
    })
    this.#server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: [...this.#templates]
        .filter(([, { enabled }]) => enabled)
        .map(([name, { resourceTemplate, title, metadata }]) => ({
          name,
          uriTemplate: resourceTemplate.uriTemplate.toString(),
          ...titleField(title),
          ...metadata,
        })),
    }))
    this.#server.setRequestHandler(ReadResourceRequestSchema, ({ params }, extra) =>
      this.#read(params.uri, extra),
    )
  }

  #read(text: string, extra: Extra): Awaitable<ReadResourceResult> {
    if (!URL.canParse(text)) throw this.#version.error(ErrorCode.InvalidParams, `Invalid URL: ${text}`)
    const uri = new URL(text)
    const resource = this.#resources.get(uri.toString()) ?? this.#resources.get(text)
    if (resource?.enabled === true) return resource.readCallback(uri, extra)
    if (resource !== undefined) throw this.#version.error(ErrorCode.InvalidParams, `Resource ${uri} disabled`)
    for (const { enabled, resourceTemplate, readCallback } of this.#templates.values()) {
      const variables = enabled ? resourceTemplate.uriTemplate.match(uri.toString()) : null
      if (variables !== null) return readCallback(uri, variables, extra)
    }
    throw this.#version.error(ErrorCode.InvalidParams, `Resource ${uri} not found`)
  }

  #servePrompts(): void {
    if (this.#markServed('prompts')) return
    this.#server.registerCapabilities({ prompts: { listChanged: true } })
    this.#server.setRequestHandler(ListPromptsRequestSchema, () => ({
      prompts: [...this.#prompts]
        .filter(([, { enabled }]) => enabled)
        .map(([name, { title, description, argsSchema, icons, _meta }]) => ({
          name,
          ...titleField(title),
          ...(description === undefined ? {} : { description }),
          ...(argsSchema === undefined ? {} : { arguments: promptArguments(argsSchema) }),
          ...(icons === undefined ? {} : { icons }),
          ...(_meta === undefined ? {} : { _meta }),
        })),
    }))
    this.#server.setRequestHandler(GetPromptRequestSchema, async ({ params }, extra) => {
      const prompt = this.#prompts.get(params.name)
      if (prompt === undefined)
        throw this.#version.error(ErrorCode.InvalidParams, `Prompt ${params.name} not found`)
      if (!prompt.enabled)
        throw this.#version.error(ErrorCode.InvalidParams, `Prompt ${params.name} disabled`)
      if (prompt.argsSchema === undefined) return invoke(prompt.callback, [], extra)
      const parsed = await parseWith(prompt.argsSchema, params.arguments ?? {})
      if (parsed.success) return invoke(prompt.callback, [parsed.data], extra)
      throw this.#version.error(
        ErrorCode.InvalidParams,
        `Invalid arguments for prompt ${params.name}: ${getParseErrorMessage(parsed.error)}`,
      )
    })
  }

  #serveCompletions(): void {
    if (this.#markServed('completions')) return
    this.#server.registerCapabilities({ completions: {} })
    this.#server.setRequestHandler(CompleteRequestSchema, (request) => this.#complete(request))
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
      if (prompt === undefined)
        throw this.#version.error(ErrorCode.InvalidParams, `Prompt ${ref.name} not found`)
      if (!prompt.enabled) throw this.#version.error(ErrorCode.InvalidParams, `Prompt ${ref.name} disabled`)
      const field = membersOf(prompt.argsSchema)[argument]
      return field === undefined ? undefined : completerOf(field)
    }
    const template = [...this.#templates.values()].find(
      ({ resourceTemplate }) => resourceTemplate.uriTemplate.toString() === ref.uri,
    )
    if (template !== undefined) return template.resourceTemplate.completeCallback(argument)
    if (this.#resources.has(ref.uri)) return undefined
    throw this.#version.error(ErrorCode.InvalidParams, `Resource template ${ref.uri} not found`)
  }

  /** Marks the handlers of a kind as set. Returns whether they were set before. */
  #markServed(kind: 'tools' | 'resources' | 'prompts' | 'completions'): boolean {
    if (this.#served.has(kind)) return true
    this.#served.add(kind)
    return false
  }
}
const emptyInputSchema: Tool['inputSchema'] = { type: 'object', properties: {} }

function listedTool(name: string, tool: RegisteredTool): Tool {
  const { title, description, inputSchema, outputSchema, annotations, execution, icons, _meta } = tool
  const input = describeSchema(inputSchema, 'input')
  const output = describeSchema(outputSchema, 'output')
  return {
    name,
    ...titleField(title),
    ...(description === undefined ? {} : { description }),
    inputSchema: input === undefined ? emptyInputSchema : { ...input, type: 'object' },
    ...(annotations === undefined ? {} : { annotations }),
    ...(execution === undefined ? {} : { execution }),
    ...(icons === undefined ? {} : { icons }),
    ...(_meta === undefined ? {} : { _meta }),
    ...(output === undefined ? {} : { outputSchema: { ...output, type: 'object' } }),
  }
}

/** Calls a handler with its parsed arguments, if it has a schema, and `extra`. */
function invoke<T>(handler: (...args: never[]) => T, args: readonly unknown[], extra: Extra): T {
  return Reflect.apply(handler, undefined, [...args, extra])
}

/** @throws Error for a value that is no schema */
function zodSchema(schema: ZodRawShapeCompat | ToolSchema | undefined): ToolSchema | undefined {
  if (schema === undefined || schema instanceof StandardSchema || isSchema(schema)) return schema
  if (isRawShape(schema)) return objectFromShape(schema)
  throw new Error('inputSchema must be a Zod schema or raw shape, received an unrecognized object')
}

function promptArguments(schema: ToolSchema): { name: string; description?: string; required: boolean }[] {
  if (schema instanceof StandardSchema) {
    const { properties, required } = describeSchema(schema, 'input') ?? {}
    return Object.entries(isObject(properties) ? properties : {}).map(([name, property]) => {
      const description = isObject(property) ? property['description'] : undefined
      const isRequired = Array.isArray(required) && required.includes(name)
      return { name, ...(typeof description === 'string' ? { description } : {}), required: isRequired }
    })
  }
  return Object.entries(membersOf(schema)).map(([name, field]) => {
    const description = getSchemaDescription(field)
    return {
      name,
      ...(description === undefined ? {} : { description }),
      required: !isSchemaOptional(field),
    }
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

function titleField(title: string | undefined): { title?: string } {
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

function warnOfInvalidToolName(name: string): void {
  if (toolName.test(name)) return
  console.warn(`The tool name "${name}" is not valid: use 1 to 128 of A-Z a-z 0-9 _ - . (SEP-986)`)
}

/** A function with two parameters serves a template as well: a resource's function ignores the third argument. */
function toResourceCallback(read: ReadResourceCallback | ReadResourceTemplateCallback): ReadResourceCallback {
  return (uri, extra) => Reflect.apply(read, undefined, [uri, extra])
}

function toTemplateCallback(
  read: ReadResourceCallback | ReadResourceTemplateCallback,
): ReadResourceTemplateCallback {
  return (uri, variables, extra) => Reflect.apply(read, undefined, [uri, variables, extra])
}
