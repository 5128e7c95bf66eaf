import { createChanges } from '../core/hub.ts'
import { McpError } from '../jsonrpc/error.ts'
import type { ServerCapabilities } from '../protocol/capabilities.ts'
import type { Implementation } from '../protocol/definitions.ts'
import { requireHints, requireIcons } from './entries.ts'
import { handlersOf } from './handlers.ts'
import { type ListName, Registry } from './registry.ts'
import type {
  AnyPrompt,
  AnyTemplate,
  AnyTool,
  Definitions,
  ResourceValue,
  Server,
  ServerOptions,
} from './server.ts'
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
  const registry = new Registry()
  registry.add(definitionsOf(options))
  const changes = createChanges()
  const report = reporter(options)
  let capabilities = capabilitiesOf(registry, options)

  const tell = (lists: readonly ListName[]): void => {
    capabilities = capabilitiesOf(registry, options)
    for (const type of lists) changes.publish({ type })
  }
  const handlers = handlersOf({
    registry,
    changes,
    capabilities: () => capabilities,
    instructions,
    report,
    pageSize,
    hints: { ttlMs: cache?.ttlMs ?? 0, cacheScope: cache?.cacheScope ?? 'private' },
  })
  const handle = (options.use ?? []).reduceRight<Server['handle']>(
    (next, layer) => async (exchange) => layer(exchange, next),
    handlers,
  )

  return Object.freeze({
    info: infoOf(options),
    instructions,
    get capabilities() {
      return capabilities
    },
    changes,
    handle,
    report,
    add: (definitions: Definitions) => tell(registry.add(definitions)),
    remove: (names: Parameters<Server['remove']>[0]) => tell(registry.remove(names)),
    resourceUpdated: (uri: string) => changes.publish({ type: 'resource', uri }),
    elicitationComplete: (id: string) => changes.publish({ type: 'elicitation', id }),
    headerPlan: (tool: string) => registry.tools.get(tool)?.headers,
  })
}

function requireOptions(options: ServerOptions<Definitions>, pageSize: number): void {
  const { name, version, icons, cache } = options
  if (typeof name !== 'string' || name === '') throw new McpError('INVALID', 'A server needs a name')
  if (typeof version !== 'string' || version === '')
    throw new McpError('INVALID', `Server "${name}" needs a version`)
  if (!Number.isSafeInteger(pageSize) || pageSize < 1) {
    throw new McpError(
      'INVALID',
      `Server "${name}" has a "pageSize" that is no whole number from 1: ${pageSize}`,
    )
  }
  requireHints(`Server "${name}"`, cache)
  requireIcons(`Server "${name}"`, icons)
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
  { offered, completes }: Registry,
  { experimental }: ServerOptions<Definitions>,
): ServerCapabilities {
  return {
    ...(offered.has('tools') ? { tools: { listChanged: true } } : {}),
    ...(offered.has('resources') ? { resources: { subscribe: true, listChanged: true } } : {}),
    ...(offered.has('prompts') ? { prompts: { listChanged: true } } : {}),
    ...(completes ? { completions: {} } : {}),
    logging: {},
    ...(experimental === undefined ? {} : { experimental }),
  }
}

/** Reports to the server's author, whose own failure to hear must not become another one. */
function reporter({ name: server, onError }: ServerOptions<Definitions>): Report {
  return (error, where) => {
    try {
      if (onError !== undefined) onError(error, where)
      else
        console.error(
          `[${server}] ${where.method}${where.name === undefined ? '' : ` ${where.name}`}:`,
          error,
        )
    } catch {
      // There is nobody left to tell.
    }
  }
}
