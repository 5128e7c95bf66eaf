import type { Change } from '../core/changes.ts'
import type { Exchange, Outcome } from '../core/exchange.ts'
import { createChanges } from '../core/hub.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { ServerCapabilities } from '../protocol/capabilities.ts'
import type { CacheHints, Implementation, Resource } from '../protocol/definitions.ts'
import { methods, protocolVersions } from '../protocol/methods.ts'
import { complete } from './completion.ts'
import type { Context } from './context.ts'
import { listen } from './listen.ts'
import { page } from './lists.ts'
import { HandlerContext } from './make-context.ts'
import { getPrompt } from './prompts.ts'
import { Registry } from './registry.ts'
import { readResource } from './resources.ts'
import type { Definitions, Middleware, Server, ServerOptions } from './server.ts'
import { callTool, type Report } from './tools.ts'

type Handler = (exchange: Exchange) => Promise<Outcome> | Outcome

const defaultPageSize = 1000

/**
 * Makes a server out of its definitions. It can be served over any number of transports at once, and its
 * definitions can change while it is.
 * @throws TypeError or McpError 'INVALID' for a definition that cannot be served, naming it
 */
export function defineServer<const D extends Definitions>(options: ServerOptions<D> & D): Server<D> {
  const registry = new Registry()
  registry.add(options)
  const changes = createChanges()
  const info = infoOf(options)
  const capabilities = capabilitiesOf(options, registry)
  const report: Report = options.onError ?? reportToStderr
  const handlers = handlersOf({ options, registry, changes, capabilities, report })

  const route: Handler = (exchange) => {
    const handler = handlers.get(exchange.method)
    if (handler === undefined) {
      throw new RpcError(
        ErrorCode.MethodNotFound,
        `Method not found: this server does not offer "${exchange.method}"`,
      )
    }
    return handler(exchange)
  }
  const handle = composed(options.use ?? [], async (exchange) => route(exchange))

  const tell = (
    changed: Definitions | { tools?: string[]; resources?: string[]; prompts?: string[] },
  ): void => {
    for (const type of ['tools', 'resources', 'prompts'] as const) {
      if (changed[type] !== undefined) changes.publish({ type } satisfies Change)
    }
  }

  return {
    info,
    instructions: options.instructions,
    capabilities,
    changes,
    handle,
    report,
    add(definitions) {
      registry.add(definitions)
      tell(definitions)
    },
    remove(names) {
      registry.remove(names)
      tell(names)
    },
    resourceUpdated: (uri) => changes.publish({ type: 'resource', uri }),
    headerPlan: (tool) => registry.tools.get(tool)?.headers,
  }
}

function composed(
  middleware: readonly Middleware[],
  last: (exchange: Exchange) => Promise<Outcome>,
): Server['handle'] {
  return middleware.reduceRight<Server['handle']>(
    (next, layer) => async (exchange) => layer(exchange, next),
    last,
  )
}

function infoOf(options: ServerOptions<Definitions>): Implementation {
  const { name, version, title, serverDescription: description, websiteUrl, icons } = options
  return {
    name,
    version,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(websiteUrl === undefined ? {} : { websiteUrl }),
    ...(icons === undefined ? {} : { icons }),
  }
}

function capabilitiesOf(options: ServerOptions<Definitions>, registry: Registry): ServerCapabilities {
  const completes =
    [...registry.prompts.values()].some((entry) => entry.definition.complete !== undefined) ||
    [...registry.templates.values()].some((entry) => entry.definition.complete !== undefined)
  return {
    ...(options.tools === undefined ? {} : { tools: { listChanged: true } }),
    ...(options.resources === undefined ? {} : { resources: { subscribe: true, listChanged: true } }),
    ...(options.prompts === undefined ? {} : { prompts: { listChanged: true } }),
    ...(completes ? { completions: {} } : {}),
    logging: {},
    ...(options.experimental === undefined ? {} : { experimental: options.experimental }),
  }
}

interface Parts {
  options: ServerOptions<Definitions>
  registry: Registry
  changes: Server['changes']
  capabilities: ServerCapabilities
  report: Report
}

/** The handlers of what this server offers: a method behind a capability it lacks has none. */
function handlersOf({
  options,
  registry,
  changes,
  capabilities,
  report,
}: Parts): ReadonlyMap<string, Handler> {
  const { pageSize = defaultPageSize, cache } = options
  const hints: CacheHints = { ttlMs: cache?.ttlMs ?? 0, cacheScope: cache?.cacheScope ?? 'private' }
  const list = (name: string, items: () => readonly unknown[]): Handler => {
    return ({ params }) => page(name, items(), params['cursor'], pageSize, hints)
  }
  const all: Record<string, Handler> = {
    'server/discover': () => ({
      type: 'complete',
      result: {
        supportedVersions: [...protocolVersions].reverse(),
        capabilities,
        ...(options.instructions === undefined ? {} : { instructions: options.instructions }),
        ...hints,
      },
    }),
    'tools/list': list('tools', () => Array.from(registry.tools.values(), (entry) => entry.listed)),
    'tools/call': (exchange) => callTool(registry, exchange, report),
    'resources/list': async (exchange) =>
      page(
        'resources',
        await listedResources(registry, exchange),
        exchange.params['cursor'],
        pageSize,
        hints,
      ),
    'resources/templates/list': list('resourceTemplates', () =>
      Array.from(registry.templates.values(), (entry) => entry.listed),
    ),
    'resources/read': (exchange) => readResource(registry, exchange),
    'prompts/list': list('prompts', () => Array.from(registry.prompts.values(), (entry) => entry.listed)),
    'prompts/get': (exchange) => getPrompt(registry, exchange),
    'completion/complete': (exchange) => complete(registry, exchange, report),
    'subscriptions/listen': (exchange) => listen(changes, capabilities, exchange),
  }
  const rows: Readonly<Record<string, { capability?: keyof ServerCapabilities }>> = methods
  const offered = Object.entries(all).filter(([method]) => {
    const capability = rows[method]?.capability
    return capability === undefined || capabilities[capability] !== undefined
  })
  return new Map(offered)
}

/** Resources by their own, then the members templates want to show. */
async function listedResources(registry: Registry, exchange: Exchange): Promise<Resource[]> {
  const resources = Array.from(registry.resources.values(), (entry) => entry.listed)
  const ctx: Context = new HandlerContext(exchange, cannotAsk)
  const listed = [...registry.templates.values()].map(({ definition }) => definition.list?.(ctx))
  return [...resources, ...(await Promise.all(listed)).flatMap((members) => members ?? [])]
}

/** Lists are answered at once: nothing can be asked on the way. */
const cannotAsk: ConstructorParameters<typeof HandlerContext>[1] = {
  get(): never {
    throw new TypeError(
      'A list cannot ask the client: the protocol allows questions for calls, reads and prompts only',
    )
  },
  opened: undefined,
  carried: { state: undefined, answers: {} },
}

function reportToStderr(error: unknown, where: { method: string; name?: string }): void {
  console.error(`[${where.method}${where.name === undefined ? '' : ` ${where.name}`}]`, error)
}
