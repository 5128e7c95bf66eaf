import { excerpt, invalid, kindOf } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Implementation, LoggingLevel, ServerCapabilities } from '../protocol/definitions.ts'
import { isExtensionId } from '../protocol/meta.ts'
import { methodRow, methods, type ProtocolVersion } from '../protocol/methods.ts'
import { createChanges } from '../request/changes.ts'
import { defined } from '../request/object-members.ts'
import { requireHints, requireIcons, requireMembers } from './definition-metadata.ts'
import type {
  Described,
  Literal,
  PromptDefinition,
  ResourceDefinition,
  SchemaOrNone,
  TemplateDefinition,
  ToolDefinition,
} from './definitions.ts'
import { type Extension, ExtensionMethods } from './extension.ts'
import { logOf } from './handler-context.ts'
import { applyMiddleware, handlersOf, type ServerParts } from './handlers.ts'
import { type ListName, listNames, Registry } from './registry.ts'
import type {
  AnyPrompt,
  AnyTemplate,
  AnyTool,
  Definitions,
  PromptValue,
  ResourceValue,
  Server,
  ServerOptions,
  TemplateValue,
  ToolValue,
} from './server.ts'
import type { Report } from './tool.ts'
import { missingScopesError, scopesFor } from './visibility.ts'

const defaultPageSize = 1000

/**
 * Creates a server from its definitions. It can be served over several transports at once, by `serveStdio`, `serveSocket` and
 * `serveHttp`, and its definitions can change meanwhile.
 * @throws McpError 'INVALID' for an unknown option, and for a definition that cannot be served; the message names it
 */
export function defineServer<
  const T extends Record<string, AnyTool> = Record<never, AnyTool>,
  const R extends Record<string, ResourceValue | AnyTemplate> = Record<never, ResourceValue>,
  const P extends Record<string, AnyPrompt> = Record<never, AnyPrompt>,
>(
  options: ServerOptions<{ tools: T; resources: R; prompts: P }>,
): Server<{ tools: T; resources: R; prompts: P }> {
  requireOptions(options)
  const { cache, instructions, tools, resources, prompts } = options
  const { pageSize = defaultPageSize, extensions = [] } = options
  const hasTasks = extensions.some(({ id }) => id === tasksExtension)
  const check = (definitions: Definitions): Definitions => {
    if (!hasTasks) refuseTasks(definitions)
    for (const extension of extensions) extension.check?.(definitions)
    return definitions
  }
  const registry = new Registry()
  registry.add(check(defined({ tools, resources, prompts })))
  addDefinitionsOf(extensions, registry)
  const changes = createChanges()
  const report = reporter(() => options.name, options.onError)
  /** Whether a client received the capabilities, which are fixed for its connection. */
  let declared = false

  const notify = (lists: readonly ListName[]): void => {
    parts.capabilities = capabilitiesOf(registry, options)
    for (const type of lists) changes.publish({ type })
  }
  const added = new ExtensionMethods(extensions)
  const capabilitiesOn: Server['capabilitiesOn'] = (version, caller) => {
    declared = true
    return Object.assign(
      {},
      parts.capabilities,
      ...extensions.map((extension) => extension.capabilities?.(version, caller)),
    )
  }
  const parts: ServerParts = {
    registry,
    changes,
    capabilities: capabilitiesOf(registry, options),
    capabilitiesOn,
    added,
    instructions,
    report,
    pageSize,
    hints: { ttlMs: cache?.ttlMs ?? 0, cacheScope: cache?.cacheScope ?? 'private' },
  }
  const handlers = handlersOf(parts)
  const middleware = [...(options.use ?? []), ...extensions.flatMap(({ use }) => use ?? [])]
  // `handlers` may throw synchronously; this rejects instead.
  const serveWithoutMiddleware: typeof handlers = async (exchange) => handlers(exchange)
  const serve = middleware.length === 0 ? handlers : applyMiddleware(middleware, serveWithoutMiddleware)
  const handle: Server['handle'] = (exchange) => {
    if (registry.scopes.length > 0) {
      const { method, params, peer, limits } = exchange
      const refused = missingScopesError(scopesFor(registry, method, params, limits.uriChars), peer)
      if (refused !== undefined) return Promise.reject(refused)
    }
    return serve(exchange)
  }

  const server: Server<{ tools: T; resources: R; prompts: P }> = Object.freeze({
    info: infoOf(options),
    instructions,
    get capabilities() {
      return parts.capabilities
    },
    capabilitiesOn,
    method: (name: string, version: ProtocolVersion) => methodRow(name, version) ?? added.row(name, version),
    changes,
    handle,
    report,
    add: (definitions: Definitions) => {
      requireMembers(`What is added to server "${options.name}"`, definitions, listNames)
      requireByName(`What is added to server "${options.name}"`, definitions)
      if (declared) refuseUndeclared(options.name, definitions, registry)
      notify(registry.add(check(definitions)))
    },
    remove: (names: Parameters<Server['remove']>[0]) => {
      requireMembers(`What is removed from server "${options.name}"`, names, listNames)
      notify(registry.remove(names))
    },
    resourceUpdated: (uri: string) => changes.publish({ type: 'resource', uri }),
    elicitationComplete: (id: string) => changes.publish({ type: 'elicitation', id }),
    isSubscribed: (uri: string) => changes.isWatched({ type: 'resource', uri }),
    log: (level: LoggingLevel, data: unknown, logger?: string) => changes.publish(logOf(level, data, logger)),
    get scopes() {
      return registry.scopes
    },
    scopesFor: (...request: Parameters<Server['scopesFor']>) => scopesFor(registry, ...request),
    headerPlan: (tool: string) => registry.tools.get(tool)?.headers,
    taskSupport: (tool: string) => registry.tools.get(tool)?.task,
    takeover: (tool: string) => registry.tools.get(tool)?.takeover ?? 'never',
    memoryOnly: extensions.flatMap(({ memoryOnly = [] }) => memoryOnly),
  })
  for (const extension of extensions) extension.attach?.(server, serveWithoutMiddleware)
  return server
}

const tasksExtension = 'io.modelcontextprotocol/tasks'
const optionNames = [
  ...['name', 'version', 'title', 'serverDescription', 'websiteUrl', 'icons', 'instructions'],
  ...listNames,
  ...['cache', 'pageSize', 'use', 'onError', 'experimental', 'extensions'],
]

/** Rejects tools that require tasks on a server without them. */
function refuseTasks({ tools = {} }: Definitions): void {
  const needsTasks = Object.entries(tools).find(([, { task }]) => task === 'required')
  if (needsTasks === undefined) return
  throw invalid(
    `Tool "${needsTasks[0]}" has "task: 'required'", but the server has no tasks: add the extension tasks() of ` +
      '@jackfield/sdk/extensions/tasks to "extensions", or leave out "task"',
  )
}

/** Rejects the first definition of a kind after clients received capabilities without it. */
function refuseUndeclared(server: string, definitions: Definitions, { offered }: Registry): void {
  const kind = listNames.find((one) => Object.keys(definitions[one] ?? {}).length > 0 && !offered.has(one))
  if (kind === undefined) return
  throw invalid(
    `Server "${server}" was defined without ${kind}, and clients that are connected were given capabilities without them, ` +
      `which cannot change. Define it with "${kind}: {}" to add ${kind} later`,
  )
}

function requireOptions(options: ServerOptions<Definitions>): void {
  if (!isObject(options)) {
    throw invalid(`defineServer takes an object with "name" and "version", not ${kindOf(options)}`)
  }
  const { name, version, icons, cache, pageSize = defaultPageSize, extensions = [] } = options
  if (typeof name !== 'string' || name === '') throw invalid('A server needs a name')
  if (typeof version !== 'string' || version === '') throw invalid(`Server "${name}" needs a version`)
  requireMembers(`Server "${name}"`, options, optionNames)
  requireByName(`Server "${name}"`, options)
  if (!Number.isSafeInteger(pageSize) || pageSize < 1) {
    throw invalid(`Server "${name}": "pageSize" must be a whole number of at least 1, not ${pageSize}`)
  }
  requireHints(`Server "${name}"`, cache)
  requireIcons(`Server "${name}"`, icons)
  requireExtensions(`Server "${name}"`, extensions)
}

/** Refuses definitions without names. @throws McpError 'INVALID' */
function requireByName(what: string, definitions: Definitions): void {
  for (const kind of listNames) {
    const value: unknown = definitions[kind]
    const one = kind.slice(0, -1)
    if (value === undefined) continue
    if (!isObject(value) || Array.isArray(value)) {
      throw invalid(
        `${what}: "${kind}" must be an object of definitions by name, not ${kindOf(value)}: write ${kind}: { name: ${one}(…) }`,
      )
    }
    const empty = Object.entries(value).find(([, definition]) => !isObject(definition))
    if (empty === undefined) continue
    throw invalid(`${what}: "${empty[0]}" must be made by ${one}(), not be ${kindOf(empty[1])}`)
  }
}

function requireExtensions(what: string, extensions: readonly Extension[]): void {
  const wrong = Array.isArray(extensions) ? extensions.find((one) => !isObject(one)) : extensions
  if (wrong !== undefined) {
    throw invalid(
      `${what}: "extensions" must be a list of extensions such as tasks(), not of ${kindOf(wrong)}`,
    )
  }
  const seen = new Set<string>()
  const names = new Set<string>(Object.keys(methods))
  for (const { id, methods = {} } of extensions) {
    if (!isExtensionId(id)) throw invalid(`${what} has an extension without a prefix: "${id}"`)
    if (seen.has(id)) throw invalid(`${what} names the extension "${id}" twice`)
    seen.add(id)
    for (const name of Object.keys(methods)) {
      if (names.has(name)) throw invalid(`${what} defines the method "${name}" twice`)
      names.add(name)
    }
  }
}

/** Adds the definitions of extensions. @throws McpError 'INVALID' for a name that is taken */
function addDefinitionsOf(extensions: readonly Extension[], registry: Registry): void {
  for (const { id, definitions = {} } of extensions) {
    const { tools = {}, resources = {}, prompts = {} } = definitions
    const taken = [
      ...Object.keys(tools).filter((name) => registry.tools.has(name)),
      ...Object.keys(resources).filter(
        (name) => registry.resources.has(name) || registry.templates.has(name),
      ),
      ...Object.keys(prompts).filter((name) => registry.prompts.has(name)),
    ]
    if (taken.length > 0) {
      throw invalid(`The extension "${id}" defines "${taken[0]}", which the server defines already`)
    }
    registry.add(definitions)
  }
}

function infoOf(options: ServerOptions<Definitions>): Implementation {
  const { name, version, title, serverDescription: description, websiteUrl, icons } = options
  return Object.freeze({ name, version, ...defined({ title, description, websiteUrl, icons }) })
}

function capabilitiesOf(
  { offered, completes }: Registry,
  { experimental, extensions = [] }: ServerOptions<Definitions>,
): ServerCapabilities {
  return {
    ...(offered.has('tools') ? { tools: { listChanged: true } } : {}),
    ...(offered.has('resources') ? { resources: { subscribe: true, listChanged: true } } : {}),
    ...(offered.has('prompts') ? { prompts: { listChanged: true } } : {}),
    ...(completes ? { completions: {} } : {}),
    logging: {},
    ...(experimental === undefined ? {} : { experimental }),
    ...(extensions.length === 0
      ? {}
      : { extensions: Object.fromEntries(extensions.map(({ id, settings = {} }) => [id, settings])) }),
  }
}

/** Reports errors to `onError`, or to stderr without one. Errors of `onError` itself are ignored. */
export function reporter(server: () => string, onError: Report | undefined): Report {
  return (error, where) => {
    try {
      if (onError !== undefined) onError(error, where)
      else {
        // The client chooses the name: it must not add lines or format specifiers to the log.
        const name = where.name === undefined ? '' : ` ${excerpt(where.name).replaceAll('%', '%%')}`
        console.error(`[${server()}] ${where.method}${name}:`, error)
      }
    } catch {
      // The report has no other destination.
    }
  }
}

/**
 * Defines a tool, with its handler's arguments and result typed by its schemas. Its name is its key in `defineServer`, which
 * validates the definition.
 */
export function tool<
  In extends SchemaOrNone = undefined,
  Out extends SchemaOrNone = undefined,
  L extends Literal = Literal,
>(definition: ToolDefinition<In, Out, L> & Described<In, Out>): ToolValue<NoInfer<In>, NoInfer<Out>> {
  return { ...definition, kind: 'tool' }
}

/** Defines a resource at one URI. Its name is its key in `defineServer`, which validates the definition. */
export function resource<const U extends string>(definition: ResourceDefinition<U>): ResourceValue<U> {
  return { ...definition, kind: 'resource' }
}

/**
 * Defines the resources whose URIs match a template (RFC 6570), with typed variables. Its name is its key in `defineServer`,
 * which validates the definition.
 */
export function template<const T extends string>(definition: TemplateDefinition<T>): TemplateValue<T> {
  return { ...definition, kind: 'template' }
}

/** Defines a prompt. Its name is its key in `defineServer`, which validates the definition. */
export function prompt<In extends SchemaOrNone = undefined>(
  definition: PromptDefinition<In> & Described<In>,
): PromptValue<NoInfer<In>> {
  return { ...definition, kind: 'prompt' }
}
