import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { Exchange, Outcome, Peer } from '../../request/exchange.ts'
import type { Extension } from '../../server/extension.ts'
import { clipped } from '../../server/handler-context.ts'
import type { Definitions, Middleware } from '../../server/server.ts'
import { type AppValue, appMimeType, uiExtension } from './app.ts'

/** Who may call a tool: the model, the app that stands beside the conversation, or both. */
export type Visibility = 'model' | 'app'

/** What a tool says about the app that shows its results. */
export interface ToolLink {
  readonly resourceUri: string | undefined
  readonly visibility: readonly Visibility[]
}

const both: readonly Visibility[] = ['model', 'app']

/**
 * Links a tool to the app that shows its results, as the tool's `meta`. Give the tool's result as text too: models and
 * hosts without apps have nothing else.
 * @param visibility who may call the tool. Default: the model and the app.
 */
export function shownIn(
  app: AppValue,
  { visibility = both }: { visibility?: readonly Visibility[] } = {},
): JsonObject {
  return { ui: { resourceUri: app.uri, visibility: [...visibility] } }
}

/**
 * What a tool's `_meta` says about apps; undefined when it says nothing.
 * @throws McpError 'INVALID' for what the extension does not allow
 */
export function linkIn(tool: string, meta: JsonObject | undefined): ToolLink | undefined {
  if (meta?.['ui/resourceUri'] !== undefined) {
    throw new McpError(
      'INVALID',
      `Tool "${tool}" uses "ui/resourceUri", which is given up: link it with shownIn()`,
    )
  }
  const ui = meta?.['ui']
  if (ui === undefined) return undefined
  const { resourceUri, visibility = both } = isObject(ui) ? ui : { resourceUri: 0 }
  if (resourceUri !== undefined && typeof resourceUri !== 'string') {
    throw new McpError('INVALID', `Tool "${tool}" must say in "ui" which app shows it, by a "resourceUri"`)
  }
  if (!Array.isArray(visibility) || visibility.length === 0 || !visibility.every(isVisibility)) {
    throw new McpError('INVALID', `Tool "${tool}" must be visible to "model", "app" or both`)
  }
  return { resourceUri, visibility }
}

function isVisibility(value: unknown): value is Visibility {
  return value === 'model' || value === 'app'
}

/** The first revision whose tools can say that they are for an app. */
const first = '2025-06-18'

/** Whether a client can show apps. */
export function showsApps({ revision, capabilities }: Peer): boolean {
  const settings = capabilities.extensions?.[uiExtension]
  if (revision.version < first || !isObject(settings)) return false
  const { mimeTypes } = settings
  return Array.isArray(mimeTypes) && mimeTypes.includes(appMimeType)
}

/**
 * Serves MCP Apps: pages that hosts show for the results of tools. Give it to `defineServer`. Clients that cannot show
 * apps get the tools as plain ones, without those that only an app may call.
 * @param apps by the name of the resource each one becomes
 * @see https://github.com/modelcontextprotocol/ext-apps
 */
export function ui(apps: Readonly<Record<string, AppValue>>): Extension {
  const known = new Set(Object.values(apps).map(({ uri }) => uri))
  /** Tools only an app may call. */
  const hidden = new Set<string>()
  return {
    id: uiExtension,
    definitions: {
      resources: Object.fromEntries(Object.entries(apps).map(([name, { resource }]) => [name, resource])),
    },
    check({ tools = {} }: Definitions) {
      const links = Object.entries(tools).map(([name, { meta }]) => [name, linkIn(name, meta)] as const)
      for (const [name, link] of links) {
        if (link?.resourceUri !== undefined && !known.has(link.resourceUri))
          throw unknownApp(name, link.resourceUri, known)
      }
      for (const [name, link] of links) {
        if (link?.visibility.includes('model') === false) hidden.add(name)
        else hidden.delete(name)
      }
    },
    use: layer(known, hidden),
  }
}

/** Shows those who cannot show apps a server without them. */
function layer(known: ReadonlySet<string>, hidden: ReadonlySet<string>): Middleware {
  return async (exchange, next) => {
    switch (exchange.method) {
      case 'tools/list': {
        const outcome = personal(await next(exchange))
        return showsApps(exchange.peer)
          ? outcome
          : withRows(outcome, 'tools', (tool) => plainTool(tool, hidden))
      }
      case 'resources/list': {
        const outcome = personal(await next(exchange))
        return showsApps(exchange.peer)
          ? outcome
          : withRows(outcome, 'resources', (row) => (known.has(String(row['uri'])) ? undefined : row))
      }
      case 'tools/call':
        requireShown(exchange, hidden)
        return next(exchange)
      default:
        return next(exchange)
    }
  }
}

/** A list that is not the same for everybody, so that nobody else may keep it. */
function personal(outcome: Outcome): Outcome {
  if (outcome.type !== 'complete' || outcome.result['cacheScope'] === undefined) return outcome
  return { type: 'complete', result: { ...outcome.result, cacheScope: 'private' } }
}

function withRows(
  outcome: Outcome,
  member: string,
  each: (row: JsonObject) => JsonObject | undefined,
): Outcome {
  const rows = outcome.type === 'complete' ? outcome.result[member] : undefined
  if (outcome.type !== 'complete' || !Array.isArray(rows)) return outcome
  const shown = rows.flatMap((row) => (isObject(row) ? (each(row) ?? []) : row))
  return { type: 'complete', result: { ...outcome.result, [member]: shown } }
}

function plainTool(tool: JsonObject, hidden: ReadonlySet<string>): JsonObject | undefined {
  if (hidden.has(String(tool['name']))) return undefined
  const { _meta, ...rest } = tool
  if (!isObject(_meta) || _meta['ui'] === undefined) return tool
  const { ui: _ui, ...meta } = _meta
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta }
}

function requireShown({ params, peer }: Exchange, hidden: ReadonlySet<string>): void {
  const { name } = params
  if (typeof name !== 'string' || !hidden.has(name) || showsApps(peer)) return
  throw new RpcError(ErrorCode.InvalidParams, `Unknown tool: ${clipped(name)}`)
}

function unknownApp(tool: string, uri: string, known: ReadonlySet<string>): McpError {
  const there = known.size === 0 ? 'none is' : `there are ${[...known].join(', ')}`
  return new McpError(
    'INVALID',
    `Tool "${tool}" is shown in ${uri}, an app that ui() was not given: ${there}`,
  )
}
