import type { Exchange, Outcome } from '../core/exchange.ts'
import { createChanges } from '../core/hub.ts'
import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { kindOf, shown } from '../jsonrpc/shown.ts'
import type { ServerCapabilities } from '../protocol/capabilities.ts'
import type { Implementation, LoggingLevel } from '../protocol/definitions.ts'
import { isExtensionId } from '../protocol/meta.ts'
import { methodRow, methods, type ProtocolVersion } from '../protocol/methods.ts'
import { type Extension, ExtensionMethods } from './extension.ts'
import { handlersOf } from './handlers.ts'
import { logOf } from './notices.ts'
import { type ListName, Registry } from './registry.ts'
import { lacking, scopesFor } from './scopes.ts'
import type {
  AnyPrompt,
  AnyTemplate,
  AnyTool,
  Definitions,
  ResourceValue,
  Server,
  ServerOptions,
} from './server.ts'
import { requireHints, requireIcons, requireMembers } from './shown.ts'
import type { Report } from './tools.ts'

const defaultPageSize = 1000

/**
 * Makes a server out of its definitions. It can be served over any number of transports at once, and its
 * definitions can change while it is.
 * @throws McpError 'INVALID' for a definition that cannot be served, naming it
 */
export function defineServer<
  const T extends Record<string, AnyTool> = Record<never, AnyTool>,
  const R extends Record<string, ResourceValue | AnyTemplate> = Record<never, ResourceValue>,
  const P extends Record<string, AnyPrompt> = Record<never, AnyPrompt>,
>(
  options: ServerOptions<{ tools: T; resources: R; prompts: P }>,
): Server<{ tools: T; resources: R; prompts: P }> {
  const { pageSize = defaultPageSize, cache, instructions } = options
  requireOptions(options, pageSize)
  const { extensions = [] } = options
  const hasTasks = extensions.some(({ id }) => id === tasksExtension)
  const check = (definitions: Definitions): Definitions => {
    if (!hasTasks) refuseTasks(definitions)
    for (const extension of extensions) extension.check?.(definitions)
    return definitions
  }
  const registry = new Registry()
  registry.add(check(definitionsOf(options)))
  addDefinitionsOf(extensions, registry)
  const changes = createChanges()
  const report = reporter(options)
  let capabilities = capabilitiesOf(registry, options)
  /** Whether a client was given the capabilities, which it takes for what the server has as long as it is connected. */
  let declared = false

  const tell = (lists: readonly ListName[]): void => {
    capabilities = capabilitiesOf(registry, options)
    for (const type of lists) changes.publish({ type })
  }
  const added = new ExtensionMethods(extensions)
  const capabilitiesOn: Server['capabilitiesOn'] = (version, caller) => {
    declared = true
    return Object.assign(
      {},
      capabilities,
      ...extensions.map((extension) => extension.capabilities?.(version, caller)),
    )
  }
  const handlers = handlersOf({
    registry,
    changes,
    capabilities: () => capabilities,
    capabilitiesOn,
    added,
    instructions,
    report,
    pageSize,
    hints: { ttlMs: cache?.ttlMs ?? 0, cacheScope: cache?.cacheScope ?? 'private' },
  })
  const layers = [...(options.use ?? []), ...extensions.flatMap(({ use }) => use ?? [])]
  const innermost = async (exchange: Exchange): Promise<Outcome> => handlers(exchange)
  const serve =
    layers.length === 0
      ? handlers
      : layers.reduceRight<typeof innermost>(
          (next, layer) => async (exchange) => layer(exchange, next),
          innermost,
        )
  const handle: Server['handle'] = (exchange) => {
    const { method, params, peer, limits } = exchange
    const refused = lacking(scopesFor(registry, method, params, limits.uriChars), peer)
    if (refused !== undefined) throw refused
    return serve(exchange)
  }

  const server: Server<{ tools: T; resources: R; prompts: P }> = Object.freeze({
    info: infoOf(options),
    instructions,
    get capabilities() {
      return capabilities
    },
    capabilitiesOn,
    method: (name: string, version: ProtocolVersion) => methodRow(name, version) ?? added.row(name, version),
    changes,
    handle,
    report,
    add: (definitions: Definitions) => {
      requireMembers(`What is added to server "${options.name}"`, definitions, kinds)
      requireByName(`What is added to server "${options.name}"`, definitions)
      if (declared) refuseUndeclared(options.name, definitions, registry)
      tell(registry.add(check(definitions)))
    },
    remove: (names: Parameters<Server['remove']>[0]) => {
      requireMembers(`What is removed from server "${options.name}"`, names, kinds)
      tell(registry.remove(names))
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
    memoryOnly: extensions.flatMap(({ memoryOnly = [] }) => memoryOnly),
  })
  for (const extension of extensions) extension.attach?.(server, innermost)
  return server
}

const tasksExtension = 'io.modelcontextprotocol/tasks'
const kinds = ['tools', 'resources', 'prompts'] as const
const optionNames = [
  ...['name', 'version', 'title', 'serverDescription', 'websiteUrl', 'icons', 'instructions'],
  ...kinds,
  ...['cache', 'pageSize', 'use', 'onError', 'experimental', 'extensions'],
]

/** Refuses tools that no call could reach: they only run as tasks, and the server has none. */
function refuseTasks({ tools = {} }: Definitions): void {
  const needy = Object.entries(tools).find(([, { task }]) => task === 'required')
  if (needy === undefined) return
  throw new McpError(
    'INVALID',
    `Tool "${needy[0]}" has "task: 'required'", but the server has no tasks: give it the extension tasks() of ` +
      '@jackfield/sdk/extensions/tasks in "extensions", or leave "task" out',
  )
}

/** Refuses the first definition of a kind after clients were given capabilities without it. */
function refuseUndeclared(server: string, definitions: Definitions, { offered }: Registry): void {
  const kind = kinds.find((one) => Object.keys(definitions[one] ?? {}).length > 0 && !offered.has(one))
  if (kind === undefined) return
  throw new McpError(
    'INVALID',
    `Server "${server}" was defined without ${kind}, and clients that are connected were given capabilities without them, ` +
      `which cannot change. Define it with "${kind}: {}" to add ${kind} later`,
  )
}

function requireOptions(options: ServerOptions<Definitions>, pageSize: number): void {
  const { name, version, icons, cache, extensions = [] } = options
  if (typeof name !== 'string' || name === '') throw new McpError('INVALID', 'A server needs a name')
  if (typeof version !== 'string' || version === '')
    throw new McpError('INVALID', `Server "${name}" needs a version`)
  requireMembers(`Server "${name}"`, options, optionNames)
  requireByName(`Server "${name}"`, options)
  if (!Number.isSafeInteger(pageSize) || pageSize < 1) {
    throw new McpError(
      'INVALID',
      `Server "${name}" has a "pageSize" that is no whole number from 1: ${pageSize}`,
    )
  }
  requireHints(`Server "${name}"`, cache)
  requireIcons(`Server "${name}"`, icons)
  requireExtensions(`Server "${name}"`, extensions)
}

/** Refuses definitions without names. @throws McpError 'INVALID' */
function requireByName(what: string, definitions: Definitions): void {
  for (const kind of kinds) {
    const value: unknown = definitions[kind]
    const one = kind.slice(0, -1)
    if (value === undefined) continue
    if (!isObject(value) || Array.isArray(value)) {
      throw new McpError(
        'INVALID',
        `${what}: "${kind}" must be an object of definitions by name, not ${kindOf(value)}: write ${kind}: { name: ${one}(…) }`,
      )
    }
    const empty = Object.entries(value).find(([, definition]) => !isObject(definition))
    if (empty === undefined) continue
    throw new McpError(
      'INVALID',
      `${what}: "${empty[0]}" must be made by ${one}(), not be ${kindOf(empty[1])}`,
    )
  }
}

function requireExtensions(what: string, extensions: readonly Extension[]): void {
  const seen = new Set<string>()
  const names = new Set<string>(Object.keys(methods))
  for (const { id, methods = {} } of extensions) {
    if (!isExtensionId(id))
      throw new McpError('INVALID', `${what} has an extension without a prefix: "${id}"`)
    if (seen.has(id)) throw new McpError('INVALID', `${what} names the extension "${id}" twice`)
    seen.add(id)
    for (const name of Object.keys(methods)) {
      if (names.has(name)) throw new McpError('INVALID', `${what} has two meanings for the method "${name}"`)
      names.add(name)
    }
  }
}

/** Adds what extensions bring along, where it replaces nothing. */
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
      throw new McpError('INVALID', `The extension "${id}" brings "${taken[0]}", a name that is taken`)
    }
    registry.add(definitions)
  }
}

function definitionsOf({ tools, resources, prompts }: Definitions): Definitions {
  return {
    ...(tools === undefined ? {} : { tools }),
    ...(resources === undefined ? {} : { resources }),
    ...(prompts === undefined ? {} : { prompts }),
  }
}

function infoOf(options: ServerOptions<Definitions>): Implementation {
  const { name, version, title, serverDescription: description, websiteUrl, icons } = options
  return Object.freeze({
    name,
    version,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(websiteUrl === undefined ? {} : { websiteUrl }),
    ...(icons === undefined ? {} : { icons }),
  })
}

function capabilitiesOf(
  { offered, complete }: Registry,
  { experimental, extensions = [] }: ServerOptions<Definitions>,
): ServerCapabilities {
  return {
    ...(offered.has('tools') ? { tools: { listChanged: true } } : {}),
    ...(offered.has('resources') ? { resources: { subscribe: true, listChanged: true } } : {}),
    ...(offered.has('prompts') ? { prompts: { listChanged: true } } : {}),
    ...(complete !== undefined ? { completions: {} } : {}),
    logging: {},
    ...(experimental === undefined ? {} : { experimental }),
    ...(extensions.length === 0
      ? {}
      : { extensions: Object.fromEntries(extensions.map(({ id, settings = {} }) => [id, settings])) }),
  }
}

/** Reports to the server's author, whose own failure to hear must not become another one. */
function reporter({ name: server, onError }: ServerOptions<Definitions>): Report {
  return (error, where) => {
    try {
      if (onError !== undefined) onError(error, where)
      else console.error(`[${server}] ${where.method}${nameOf(where)}:`, error)
    } catch {
      // There is nobody left to tell.
    }
  }
}

/** A name is up to the client: it must not look like another line, or like a place for the error to be written. */
function nameOf({ name }: Parameters<Report>[1]): string {
  return name === undefined ? '' : ` ${shown(name).replaceAll('%', '%%')}`
}
