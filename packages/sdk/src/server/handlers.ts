import { utf8 } from '../jsonrpc/bytes.ts'
import { clipped, ErrorCode, invalidParams, methodNotFound, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { CacheHints, Resource, ServerCapabilities } from '../protocol/definitions.ts'
import { methodRow, type ProtocolVersion, protocolVersions, rowOf } from '../protocol/methods.ts'
import type { Changes } from '../request/changes.ts'
import { fromBase64Url, toBase64Url } from '../request/encoding.ts'
import { allows, type Caller, type Exchange, type Outcome } from '../request/exchange.ts'
import { complete } from './completion.ts'
import type { ExtensionMethods } from './extension.ts'
import { HandlerContext, ProgressAndLogs, rethrowForPeer, withoutQuestions } from './handler-context.ts'
import { getPrompt } from './prompt.ts'
import type { Registry } from './registry.ts'
import { readResource } from './resource.ts'
import type { Middleware } from './server.ts'
import { listen } from './subscriptions.ts'
import { callTool, type Report } from './tool.ts'
import { scopesOfUri, visible } from './visibility.ts'

type Handler = (exchange: Exchange) => Promise<Outcome>

const cursorPrefix = 'from:'

/**
 * One page of a list, from the position of the request's cursor. An empty cursor, which some clients send, is the first page.
 */
export function page(
  name: string,
  items: readonly unknown[],
  { params, limits }: Pick<Exchange, 'params' | 'limits'>,
  size: number,
  hints: object,
): Outcome {
  const { cursor } = params
  const from =
    cursor === undefined || cursor === '' ? 0 : positionOf(cursor, items.length, limits.cursorChars)
  const end = from + size
  const result: JsonObject = {
    [name]: from === 0 && end >= items.length ? items : items.slice(from, end),
    ...hints,
  }
  if (end < items.length) result['nextCursor'] = toBase64Url(utf8(`${cursorPrefix}${end}`))
  return { type: 'complete', result }
}

function positionOf(cursor: unknown, length: number, maxChars: number): number {
  const bytes = typeof cursor === 'string' && cursor.length <= maxChars ? fromBase64Url(cursor) : undefined
  const text = bytes === undefined ? '' : new TextDecoder().decode(bytes)
  const position = text.startsWith(cursorPrefix) ? Number(text.slice(cursorPrefix.length)) : Number.NaN
  if (!Number.isSafeInteger(position) || position < 1 || position > length) {
    throw invalidParams('the cursor is not one of this list. Start without one.')
  }
  return position
}

/** Wraps a handler in middleware, outermost first. */
export function applyMiddleware(middleware: readonly Middleware[], serve: Handler): Handler {
  return middleware.reduceRight<Handler>(
    (next, current) => async (exchange) => current(exchange, next),
    serve,
  )
}

/** What the handlers of a server share. */
export interface ServerParts {
  registry: Registry
  changes: Changes
  /** Replaced when definitions change. */
  capabilities: ServerCapabilities
  capabilitiesOn: (version: ProtocolVersion, caller?: Caller) => ServerCapabilities
  /** Methods that extensions add. */
  added: ExtensionMethods
  instructions: string | undefined
  report: Report
  pageSize: number
  hints: CacheHints
}

/**
 * Serves every request method by its handler. A method behind a capability the server lacks is not found. It may throw before
 * it returns a promise.
 */
export function handlersOf(parts: ServerParts): Handler {
  const { registry, changes, capabilitiesOn, added, instructions, report, pageSize, hints } = parts
  /** A list that depends on the caller must not be shared between callers. */
  const hintsOf = (scoped: boolean): CacheHints => (scoped ? { ...hints, cacheScope: 'private' } : hints)
  const list = (name: string, kind: 'tools' | 'templates' | 'prompts'): Handler => {
    return async (exchange) => {
      const scoped = registry.isScoped(kind)
      const rows = scoped
        ? visible<unknown>(registry[kind], registry.rows[kind], exchange.peer)
        : registry.rows[kind]
      return page(name, rows, exchange, pageSize, hintsOf(scoped))
    }
  }
  const table: Readonly<Record<string, Handler>> = {
    'server/discover': async ({ peer }) => ({
      type: 'complete',
      result: {
        supportedVersions: protocolVersions.toReversed(),
        capabilities: capabilitiesOn(peer.revision.version, peer),
        ...(instructions === undefined ? {} : { instructions }),
        ...hints,
      },
    }),
    'tools/list': list('tools', 'tools'),
    'tools/call': (exchange) => callTool(named(registry.tools, exchange, 'tool'), exchange, report),
    'resources/list': async (exchange) => {
      const scoped = registry.isScoped('resources') || registry.isScoped('templates')
      const rows = await resourcesOf(registry, exchange)
      return page('resources', rows, exchange, pageSize, hintsOf(scoped))
    },
    'resources/templates/list': list('resourceTemplates', 'templates'),
    'resources/read': (exchange) => readResource(registry, exchange),
    'prompts/list': list('prompts', 'prompts'),
    'prompts/get': (exchange) => getPrompt(named(registry.prompts, exchange, 'prompt'), exchange),
    'completion/complete': (exchange) => {
      if (!registry.completes) throw methodNotFound(exchange.method)
      return complete(registry, exchange, report)
    },
    'subscriptions/listen': (exchange) =>
      listen(changes, parts.capabilities, exchange, (uri) =>
        allows(exchange.peer, scopesOfUri(registry, uri, exchange.limits.uriChars)),
      ),
  }
  const handlers = new Map(
    Object.entries(table).map(([method, handler]) => [
      method,
      { handler, capability: rowOf(method)?.capability },
    ]),
  )
  return (exchange) => {
    const entry = methodRow(exchange.method, exchange.peer.revision.version) && handlers.get(exchange.method)
    if (entry === undefined) return serveAdded(added, exchange)
    if (entry.capability !== undefined && parts.capabilities[entry.capability] === undefined) {
      throw methodNotFound(exchange.method)
    }
    return entry.handler(exchange)
  }
}

async function serveAdded(added: ExtensionMethods, exchange: Exchange): Promise<Outcome> {
  const outcome = await added.handle(exchange)
  if (outcome === undefined) throw methodNotFound(exchange.method)
  return outcome
}

/** The definition that a request names. @throws RpcError -32602 if there is none */
function named<E>(entries: ReadonlyMap<string, E>, { params }: Exchange, kind: string): E {
  const { name } = params
  if (typeof name !== 'string') throw invalidParams('"name" must be a string')
  const entry = entries.get(name)
  if (entry !== undefined) return entry
  throw new RpcError(ErrorCode.InvalidParams, `Unknown ${kind}: ${clipped(name)}`)
}

/** The resources, then those that templates list, each URI once. */
async function resourcesOf(registry: Registry, exchange: Exchange): Promise<readonly Resource[]> {
  const { peer } = exchange
  const resources = visible(registry.resources, registry.rows.resources, peer)
  const templates = [...registry.templates.values()].filter(({ scopes }) => allows(peer, scopes))
  const lists = templates.flatMap(({ list: members }) => members ?? [])
  if (lists.length === 0) return resources
  const progressAndLogs = new ProgressAndLogs(exchange)
  const ctx = new HandlerContext(exchange, withoutQuestions('A list'), {
    progressAndLogs: progressAndLogs,
    isOver: false,
  })
  try {
    const listed = await Promise.all(lists.map(async (members) => members(ctx)))
    const byUri = new Map(resources.map((row) => [row.uri, row]))
    for (const row of listed.flat()) {
      if (!byUri.has(row.uri) && allows(peer, scopesOfUri(registry, row.uri))) byUri.set(row.uri, row)
    }
    return [...byUri.values()]
  } catch (error) {
    return rethrowForPeer(error, ErrorCode.InternalError)
  } finally {
    progressAndLogs.close()
  }
}
