import { McpError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import type { Icon } from '../../protocol/content.ts'
import type { CacheHints } from '../../protocol/definitions.ts'
import type { Context } from '../../server/context.ts'
import { resource } from '../../server/define.ts'
import type { ResourceValue } from '../../server/server.ts'

/** Origins an app may reach besides its own document. Every list is empty by default. */
export interface AppCsp {
  /** For requests: `https:` and `wss:`. */
  connectDomains?: readonly string[]
  /** For scripts, styles, images, fonts and media. `https://*.example.com` stands for every subdomain. */
  resourceDomains?: readonly string[]
  /** For frames inside of it. */
  frameDomains?: readonly string[]
  /** For the base of its relative addresses. */
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
 * Holds origins to what a host can write into a policy without allowing more than was meant.
 * @throws McpError 'INVALID' for one that is none, naming it
 */
export function requireCsp(what: string, csp: AppCsp): void {
  for (const [name, origins] of Object.entries(csp)) {
    if (!isDirective(name))
      throw new McpError('INVALID', `${what} has a "csp" with the unknown member "${name}"`)
    if (!Array.isArray(origins) || origins.length > maxOrigins) {
      throw new McpError('INVALID', `${what} needs a list of at most ${maxOrigins} origins as "csp.${name}"`)
    }
    for (const one of origins) {
      const fault = faultOf(one, name)
      if (fault !== undefined) {
        throw new McpError('INVALID', `${what} has ${JSON.stringify(one)} in "csp.${name}": ${fault}`)
      }
    }
  }
}

function isDirective(name: string): name is keyof AppCsp {
  return Object.hasOwn(rules, name)
}

function faultOf(text: unknown, name: keyof AppCsp): string | undefined {
  const found = typeof text === 'string' ? origin.exec(text) : null
  const [, scheme = '', wildcard, host = ''] = found ?? []
  if (found === null || !URL.canParse(found[0].replace('*.', ''))) {
    return 'it must be an origin such as https://api.example.com, in lower case and without a path'
  }
  const { sockets, subdomains } = rules[name]
  if (scheme.startsWith('ws') && !sockets) return 'sockets are for "connectDomains" only'
  if (wildcard === undefined) {
    const secure = scheme === 'https' || scheme === 'wss'
    return secure || loopback.has(host)
      ? undefined
      : 'without encryption only this very machine can be reached'
  }
  if (!subdomains) return 'subdomains can be left open in "resourceDomains" only'
  if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(host))
    return 'it leaves more open than the subdomains of one domain'
  return scheme === 'https' ? undefined : 'without encryption only this very machine can be reached'
}

/** The identifier of this extension. */
export const uiExtension = 'io.modelcontextprotocol/ui'

/** The media type of an app: a whole HTML document that speaks with its host. */
export const appMimeType = 'text/html;profile=mcp-app'

/** What a browser asks a person for before a page may use it. */
export type AppPermission = 'camera' | 'microphone' | 'geolocation' | 'clipboardWrite'

/** An app: its page, where it is read, and what the host should let it do. */
export interface AppDefinition {
  /** Where the app is read: `ui://` and a place of the server's choosing. */
  uri: string
  /** The whole HTML document, or a way to make it when it is read. */
  html: string | ((ctx: Context) => string | Promise<string>)
  title?: string
  description?: string
  icons?: Icon[]
  /** Origins it may reach. Default: none. */
  csp?: AppCsp
  /** What it would like to use; a host may refuse it. Default: nothing. */
  permissions?: readonly AppPermission[]
  /** An origin of its own, in the form the host documents. Default: one the host makes up. */
  domain?: string
  /** Whether the host should draw a border and a background around it. Default: as the host likes. */
  prefersBorder?: boolean
  /** How long and for whom it stays fresh. Default 0 ms, private. */
  cache?: Partial<CacheHints>
  /** What a caller must have been allowed, all of it, to read it. Default: nothing. */
  scopes?: readonly string[]
}

/** An interactive page that hosts show beside a conversation. Make one with `app`. */
export interface AppValue {
  readonly kind: 'app'
  readonly uri: string
  /** The app as the resource it is served as. */
  readonly resource: ResourceValue
}

const permissions: ReadonlySet<string> = new Set(['camera', 'microphone', 'geolocation', 'clipboardWrite'])
const place = /^ui:\/\/[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)*$/
const document = /^\uFEFF?\s*(?:<!--[\s\S]*?-->\s*)*<!doctype\s+html/i

/**
 * Defines an app. Give it to `ui`, and link tools to it with `shownIn`.
 * @throws McpError 'INVALID' for one that no host could show, or whose origins allow more than they say
 */
export function app(definition: AppDefinition): AppValue {
  const { uri, html, title, description, icons, cache, scopes } = definition
  const what = `App "${uri}"`
  if (!place.test(uri) || !URL.canParse(uri)) {
    throw new McpError('INVALID', `${what} needs a URI that begins with ui:// and holds no query`)
  }
  if (typeof html === 'string') requireDocument(what, html)
  const meta = metaOf(what, definition)
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
      ...(meta._meta === undefined ? {} : { meta: meta._meta }),
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
      ...(icons === undefined ? {} : { icons }),
      ...(cache === undefined ? {} : { cache }),
      ...(scopes === undefined ? {} : { scopes }),
    }),
  }
}

/** What hosts are told about an app, in its listing and with its content. */
function metaOf(what: string, definition: AppDefinition): { _meta?: JsonObject } {
  const { csp, permissions: wanted, domain, prefersBorder } = definition
  if (csp !== undefined) requireCsp(what, csp)
  const unknown = wanted?.find((name) => !permissions.has(name))
  if (unknown !== undefined) {
    throw new McpError(
      'INVALID',
      `${what} asks for "${unknown}", which is none of ${[...permissions].join(', ')}`,
    )
  }
  if (domain !== undefined && !/^[\x21-\x7E]{1,253}$/.test(domain)) {
    throw new McpError(
      'INVALID',
      `${what} has a "domain" that is no name of a host: ${JSON.stringify(domain)}`,
    )
  }
  const ui = {
    ...(csp === undefined ? {} : { csp: structuredClone(csp) }),
    ...(wanted === undefined ? {} : { permissions: Object.fromEntries(wanted.map((name) => [name, {}])) }),
    ...(domain === undefined ? {} : { domain }),
    ...(prefersBorder === undefined ? {} : { prefersBorder }),
  }
  return Object.keys(ui).length === 0 ? {} : { _meta: { ui } }
}

function requireDocument(what: string, html: string): string {
  if (document.test(html)) return html
  throw new McpError('INVALID', `${what} is not a whole HTML document: it must begin with <!doctype html>`)
}
