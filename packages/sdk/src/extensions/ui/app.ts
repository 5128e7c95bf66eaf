import { McpError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import type { Icon } from '../../protocol/content.ts'
import type { CacheHints } from '../../protocol/definitions.ts'
import type { Context } from '../../server/context.ts'
import type { ResourceValue } from '../../server/server.ts'
import { resource } from '../../server/tool.ts'
import { type AppCsp, requireCsp } from './csp.ts'
import { appMimeType } from './names.ts'

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
