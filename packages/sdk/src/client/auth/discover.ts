import { isObject } from '../../jsonrpc/parse.ts'
import { shown } from '../../jsonrpc/shown.ts'
import { isLoopback } from './address.ts'
import type { Wanted } from './challenge.ts'
import { type Described, describe, presumed } from './discover-server.ts'
import { type Network, refused } from './network.ts'

/** What a login is for, and where it happens. */
export interface Target extends Described {
  /** The resource's identifier, literally as it was published. */
  readonly resource: string
  /** Scopes the resource names for basic use. */
  readonly scopes: readonly string[] | undefined
  /** The resource takes only tokens that are bound to a key. */
  readonly dpop: boolean
}

interface Resource {
  readonly resource: string
  readonly issuers: readonly string[]
  readonly scopes: readonly string[] | undefined
  readonly dpop: boolean
}

const wellKnown = '/.well-known/oauth-protected-resource'

/**
 * Finds out which authorization server protects an MCP server, and what is published about it. `known` are issuers
 * this client has to do with already; one of them is taken where the server names several.
 */
export async function discover(
  server: URL,
  wanted: Wanted,
  network: Network,
  known: readonly string[],
  signal: AbortSignal,
): Promise<Target> {
  if (server.protocol !== 'https:' && !isLoopback(server)) {
    throw refused(
      `${server.origin} wants a login, but its URL begins with http:, so that everybody on the way could read the credentials. Use its https: URL`,
    )
  }
  const resource = await resourceOf(server, wanted, network, signal)
  if (resource === undefined) return onItsOwn(server, network, signal)
  const { issuers } = resource
  const issuer = issuers.find((one) => known.includes(one)) ?? issuers[0]
  if (issuer === undefined) {
    throw refused(
      `${server.origin} wants a login, but its protected resource metadata names no authorization server. Tell whoever runs it`,
    )
  }
  const described = await describe(issuer, network, signal)
  if (described !== undefined) return { ...described, ...resource }
  throw refused(
    `${server.origin} names ${issuer} as its authorization server, and there is no metadata to be found there. Tell whoever runs it`,
  )
}

/** Revision 2025-03-26: a server without protected resource metadata is its own authorization server. */
async function onItsOwn(server: URL, network: Network, signal: AbortSignal): Promise<Target> {
  const issuer = server.origin
  const described = (await describe(issuer, network, signal)) ?? presumed(issuer)
  return { ...described, resource: canonical(server), scopes: undefined, dpop: false }
}

async function resourceOf(
  server: URL,
  { resourceMetadata }: Wanted,
  network: Network,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  if (resourceMetadata !== undefined) {
    if (!URL.canParse(resourceMetadata)) {
      throw refused(
        `${server.origin} wants a login, but names no valid URL for its metadata. Tell whoever runs it`,
      )
    }
    const place = new URL(resourceMetadata)
    for await (const { document } of network.documents([place], signal)) return resourceIn(document, server)
    throw refused(`${place} should describe the login and does not exist`)
  }
  const path = server.pathname === '/' ? '' : server.pathname
  const names = path === '' ? [wellKnown] : [`${wellKnown}${path}`, wellKnown]
  const places = names.map((name) => new URL(name, server.origin))
  for await (const { document } of network.documents(places, signal)) return resourceIn(document, server)
  return undefined
}

function resourceIn(document: unknown, server: URL): Resource {
  const { resource, authorization_servers: issuers, ...rest } = isObject(document) ? document : {}
  if (typeof resource !== 'string' || !covers(resource, server)) {
    throw refused(
      `The protected resource metadata found for ${server} is about ${shown(`${JSON.stringify(resource)}`)}, so a token for that could be meant for somebody else. Check the URL of the server, or tell whoever runs it`,
      undefined,
      { resource: typeof resource === 'string' ? resource : undefined },
    )
  }
  const scopes = rest['scopes_supported']
  return {
    resource,
    issuers: stringsIn(issuers) ?? [],
    scopes: stringsIn(scopes),
    dpop: rest['dpop_bound_access_tokens_required'] === true,
  }
}

/** Whether a resource identifier is the server's URL, or that of a folder it lies in, on the same origin. */
export function covers(resource: string, server: URL): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false
  const { origin, pathname, search, username, password } = new URL(resource)
  if (origin !== server.origin || username !== '' || password !== '') return false
  if (search !== '' && (search !== server.search || pathname !== server.pathname)) return false
  const folder = pathname.endsWith('/') ? pathname : `${pathname}/`
  return pathname === server.pathname || `${server.pathname}/`.startsWith(folder)
}

/** The identifier of a server that publishes none. */
function canonical(server: URL): string {
  const path = server.pathname === '/' ? '' : server.pathname
  return `${server.origin}${path}${server.search}`
}

function stringsIn(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined
}
