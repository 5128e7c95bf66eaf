import { isScope } from '../core/scopes.ts'
import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'

/** Protected-resource metadata (RFC 9728) and where it stands. */
export interface Published {
  /** Where challenges point to. */
  readonly url: string
  /** The documents by their path. */
  readonly documents: ReadonlyMap<string, string>
}

const wellKnown = '/.well-known/oauth-protected-resource'
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Writes the metadata of a resource, for its own path and on request for the root. */
export function published(resource: URL, metadata: JsonObject, alsoAtRoot: boolean): Published {
  const path = `${wellKnown}${resource.pathname === '/' ? '' : resource.pathname}`
  const text = JSON.stringify(metadata)
  const paths = alsoAtRoot ? [path, wellKnown] : [path]
  return { url: `${resource.origin}${path}`, documents: new Map(paths.map((one) => [one, text])) }
}

/**
 * A URL that others are told of, without anything that must not be part of an identifier.
 * @throws McpError INVALID for what is no such URL, or would be sent in the clear
 */
export function requireUrl(what: string, text: string, plainHttp: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (url === undefined || !isWeb || url.username !== '' || url.password !== '') {
    throw new McpError('INVALID', `${what}: "${text}" is not an https URL`)
  }
  if (/[?#]/.test(text))
    throw new McpError('INVALID', `${what}: "${text}" must have no query and no fragment`)
  if (url.protocol === 'http:' && !loopback.has(url.hostname) && !plainHttp) {
    throw new McpError(
      'INVALID',
      `${what}: "${text}" would send tokens in the clear. Use https; http is for this machine only`,
    )
  }
  return url
}

/** Checks names of scopes. @throws McpError INVALID for one that no token could hold */
export function requireScopes(what: string, scopes: readonly string[]): void {
  const wrong = scopes.find((scope) => !isScope(scope))
  if (wrong !== undefined) throw new McpError('INVALID', `${what}: "${wrong}" cannot be the name of a scope`)
}
