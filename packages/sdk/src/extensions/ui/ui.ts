import { clipped, ErrorCode, invalid, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { Icon } from '../../protocol/content.ts'
import type { CacheHints } from '../../protocol/definitions.ts'
import { supports } from '../../protocol/revision.ts'
import type { Exchange, Outcome, Peer } from '../../request/exchange.ts'
import { defined } from '../../request/object-members.ts'
import type { Context } from '../../server/context.ts'
import { resource } from '../../server/define.ts'
import type { Extension } from '../../server/extension.ts'
import type { Definitions, Middleware, ResourceValue } from '../../server/server.ts'

/** Content-security-policy origins of an app. Every list is empty by default. */
export interface AppCsp {
  /** For requests: `https:` and `wss:`. */
  connectDomains?: readonly string[]
  /** For scripts, styles, images, fonts and media. `https://*.example.com` matches every subdomain. */
  resourceDomains?: readonly string[]
  /** For nested frames. */
  frameDomains?: readonly string[]
  /** For the base of relative URLs. */
  baseUriDomains?: readonly string[]
}

const origin = /^(https|http|wss|ws):\/\/(\*\.)?([a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d{1,5})?$/
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])
const maxOrigins = 64

const rules: Readonly<Record<keyof AppCsp, { readonly sockets: boolean; readonly subdomains: boolean }>> = {
  connectDomains: { sockets: true, subdomains: false },
  resourceDomains: { sockets: false, subdomains: true },
  frameDomains: { sockets: false, subdomains: false },
  baseUriDomains: { sockets: false, subdomains: false },
}

/**
 * Validates origins so that a host can write them into a policy.
 * @throws McpError 'INVALID' for an invalid origin
 */
function requireCsp(what: string, csp: AppCsp): void {
  for (const [name, origins] of Object.entries(csp)) {
    if (!isDirective(name)) throw invalid(`${what} has a "csp" with the unknown member "${name}"`)
    if (!Array.isArray(origins) || origins.length > maxOrigins) {
      throw invalid(`${what} needs a list of at most ${maxOrigins} origins as "csp.${name}"`)
    }
    for (const one of origins) {
      const problem = originProblem(one, name)
      if (problem !== undefined) {
        throw invalid(`${what} has ${JSON.stringify(one)} in "csp.${name}": ${problem}`)
      }
    }
  }
}

function isDirective(name: string): name is keyof AppCsp {
  return Object.hasOwn(rules, name)
}

function originProblem(text: unknown, name: keyof AppCsp): string | undefined {
  const match = typeof text === 'string' ? origin.exec(text) : null
  const [, scheme = '', wildcard, host = ''] = match ?? []
  if (match === null || !URL.canParse(match[0].replace('*.', ''))) {
    return 'it must be an origin such as https://api.example.com, in lower case and without a path'
  }
  const { sockets, subdomains } = rules[name]
  if (scheme.startsWith('ws') && !sockets) return 'sockets are for "connectDomains" only'
  if (wildcard === undefined) {
    const secure = scheme === 'https' || scheme === 'wss'
    return secure || loopback.has(host) ? undefined : 'unencrypted origins are allowed for this machine only'
  }
  if (!subdomains) return 'wildcards are allowed in "resourceDomains" only'
  if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(host)) return 'a wildcard must match the subdomains of one domain'
  return scheme === 'https' ? undefined : 'unencrypted origins are allowed for this machine only'
}

/** The identifier of the apps extension, as in `capabilities.extensions`. */
export const uiExtension = 'io.modelcontextprotocol/ui'

/** The media type of an app: an HTML document that communicates with its host. */
export const appMimeType = 'text/html;profile=mcp-app'

/** A browser permission of an app. */
export type AppPermission = 'camera' | 'microphone' | 'geolocation' | 'clipboardWrite'

/** An app: its page, its URI, and the requested permissions. */
export interface AppDefinition {
  /** The app's resource URI, starting with `ui://`. */
  uri: string
  /** The HTML document, or a function that creates it when it is read. */
  html: string | ((ctx: Context) => string | Promise<string>)
  /** Name for people. Default: none. */
  title?: string
  /** Description for people and models. Default: none. */
  description?: string
  /** Icons to display. Default: none. */
  icons?: Icon[]
  /** Allowed origins. Default: none. */
  csp?: AppCsp
  /** Requested permissions, which a host may deny. Default: none. */
  permissions?: readonly AppPermission[]
  /** A dedicated origin, in the form the host documents. Default: chosen by the host. */
  domain?: string
  /** Whether the host should draw a border and a background. Default: the host decides. */
  prefersBorder?: boolean
  /** Cache hints. Default 0 ms, private. */
  cache?: Partial<CacheHints>
  /** Scopes required to read it. Default: none. */
  scopes?: readonly string[]
}

/** An interactive page that hosts display. Create it with `app`. */
export interface AppValue {
  readonly kind: 'app'
  /** The app's resource URI. */
  readonly uri: string
  /** The resource that serves the app. */
  readonly resource: ResourceValue
}

const permissions: ReadonlySet<string> = new Set(['camera', 'microphone', 'geolocation', 'clipboardWrite'])
const uriForm = /^ui:\/\/[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)*$/
const document = /^\uFEFF?\s*(?:<!--[\s\S]*?-->\s*)*<!doctype\s+html/i

/**
 * Defines an app. Pass it to `ui`, and link tools to it with `shownIn`.
 * @throws McpError 'INVALID' for an invalid URI, document, origin or permission
 */
export function app(definition: AppDefinition): AppValue {
  const { uri, html, title, description, icons, cache, scopes } = definition
  const what = `App "${uri}"`
  if (!uriForm.test(uri) || !URL.canParse(uri)) {
    throw invalid(`${what} needs a URI that starts with ui:// and has no query`)
  }
  if (typeof html === 'string') requireDocument(what, html)
  const meta = appMeta(what, definition)
  const read = async (ctx: Context) => {
    const text = typeof html === 'string' ? html : requireDocument(what, await html(ctx))
    return { uri, mimeType: appMimeType, text, ...meta }
  }
  return {
    kind: 'app',
    uri,
    resource: resource({
      uri,
      mimeType: appMimeType,
      read,
      ...defined({ meta: meta._meta, title, description, icons, cache, scopes }),
    }),
  }
}

/** The `_meta` of an app, in its listing and with its content. */
function appMeta(what: string, definition: AppDefinition): { _meta?: JsonObject } {
  const { csp, permissions: requested, domain, prefersBorder } = definition
  if (csp !== undefined) requireCsp(what, csp)
  const unknown = requested?.find((name) => !permissions.has(name))
  if (unknown !== undefined) {
    throw invalid(
      `${what} requests the permission "${unknown}", which is not one of ${[...permissions].join(', ')}`,
    )
  }
  if (domain !== undefined && !/^[\x21-\x7E]{1,253}$/.test(domain)) {
    throw invalid(`${what} has a "domain" that is not a host name: ${JSON.stringify(domain)}`)
  }
  const ui = defined({
    csp: csp && structuredClone(csp),
    permissions: requested && Object.fromEntries(requested.map((name) => [name, {}])),
    domain,
    prefersBorder,
  })
  return Object.keys(ui).length === 0 ? {} : { _meta: { ui } }
}

function requireDocument(what: string, html: string): string {
  if (document.test(html)) return html
  throw invalid(`${what} is not an HTML document: it must start with <!doctype html>`)
}

/** Who may call a tool: the model, or the app. */
export type Visibility = 'model' | 'app'

interface ToolLink {
  readonly resourceUri: string | undefined
  readonly visibility: readonly Visibility[]
}

const both: readonly Visibility[] = ['model', 'app']

/**
 * Links a tool to the app that displays its results; pass it as the tool's `meta`. Return results as text too, for models and
 * for hosts without apps.
 * @param visibility who may call the tool. Default: the model and the app.
 */
export function shownIn(
  app: AppValue,
  { visibility = both }: { visibility?: readonly Visibility[] } = {},
): JsonObject {
  return { ui: { resourceUri: app.uri, visibility: [...visibility] } }
}

/**
 * Parses the app link of a tool's `_meta`; undefined if there is none.
 * @throws McpError 'INVALID' for an invalid link
 */
function parseToolLink(tool: string, meta: JsonObject | undefined): ToolLink | undefined {
  if (meta?.['ui/resourceUri'] !== undefined) {
    throw invalid(`Tool "${tool}" uses "ui/resourceUri", which is deprecated: link it with shownIn()`)
  }
  const ui = meta?.['ui']
  if (ui === undefined) return undefined
  const { resourceUri, visibility = both } = isObject(ui) ? ui : { resourceUri: 0 }
  if (resourceUri !== undefined && typeof resourceUri !== 'string') {
    throw invalid(`Tool "${tool}" needs a "resourceUri" in "ui": the URI of its app`)
  }
  if (!Array.isArray(visibility) || visibility.length === 0 || !visibility.every(isVisibility)) {
    throw invalid(`Tool "${tool}" must be visible to "model", "app" or both`)
  }
  return { resourceUri, visibility }
}

function isVisibility(value: unknown): value is Visibility {
  return value === 'model' || value === 'app'
}

/** Whether a client can display apps. */
export function showsApps({ revision, capabilities }: Peer): boolean {
  const settings = capabilities.extensions?.[uiExtension]
  if (!supports(revision.version, 'apps') || !isObject(settings)) return false
  const { mimeTypes } = settings
  return Array.isArray(mimeTypes) && mimeTypes.includes(appMimeType)
}

/**
 * Serves MCP Apps: pages in which hosts display tool results. Pass it to `defineServer`. Clients without apps get the tools
 * without links, and without those only an app may call.
 * @param apps by the name of their resource
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
      const links = Object.entries(tools).map(
        ([name, { meta }]) => [name, parseToolLink(name, meta)] as const,
      )
      for (const [name, link] of links) {
        const uri = link?.resourceUri
        if (uri === undefined || known.has(uri)) continue
        const available = known.size === 0 ? 'it has none' : `it has ${[...known].join(', ')}`
        throw invalid(`Tool "${name}" links to the app ${uri}, which was not passed to ui(): ${available}`)
      }
      for (const [name, link] of links) {
        if (link?.visibility.includes('model') === false) hidden.add(name)
        else hidden.delete(name)
      }
    },
    use: createMiddleware(known, hidden),
  }
}

/** Hides apps from clients that cannot display them. */
function createMiddleware(known: ReadonlySet<string>, hidden: ReadonlySet<string>): Middleware {
  return async (exchange, next) => {
    const { method, peer } = exchange
    if (method === 'tools/call') requireVisible(exchange, hidden)
    if (method !== 'tools/list' && method !== 'resources/list') return next(exchange)
    const outcome = withPrivateCache(await next(exchange))
    if (showsApps(peer)) return outcome
    return method === 'tools/list'
      ? mapRows(outcome, 'tools', (tool) => plainTool(tool, hidden))
      : mapRows(outcome, 'resources', (row) => (known.has(String(row['uri'])) ? undefined : row))
  }
}

/** A list that depends on the client must not be cached for others. */
function withPrivateCache(outcome: Outcome): Outcome {
  if (outcome.type !== 'complete' || outcome.result['cacheScope'] === undefined) return outcome
  return { type: 'complete', result: { ...outcome.result, cacheScope: 'private' } }
}

function mapRows(
  outcome: Outcome,
  member: string,
  each: (row: JsonObject) => JsonObject | undefined,
): Outcome {
  const rows = outcome.type === 'complete' ? outcome.result[member] : undefined
  if (outcome.type !== 'complete' || !Array.isArray(rows)) return outcome
  const mapped = rows.flatMap((row) => (isObject(row) ? (each(row) ?? []) : row))
  return { type: 'complete', result: { ...outcome.result, [member]: mapped } }
}

function plainTool(tool: JsonObject, hidden: ReadonlySet<string>): JsonObject | undefined {
  if (hidden.has(String(tool['name']))) return undefined
  const { _meta, ...rest } = tool
  if (!isObject(_meta) || _meta['ui'] === undefined) return tool
  const { ui: _ui, ...meta } = _meta
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta }
}

function requireVisible({ params, peer }: Exchange, hidden: ReadonlySet<string>): void {
  const { name } = params
  if (typeof name !== 'string' || !hidden.has(name) || showsApps(peer)) return
  throw new RpcError(ErrorCode.InvalidParams, `Unknown tool: ${clipped(name)}`)
}
