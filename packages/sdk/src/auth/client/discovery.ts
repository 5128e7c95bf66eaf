import type { AuthorizationServer } from 'oauth4webapi'
import { excerpt } from '../../jsonrpc/error.ts'
import { describeValue, isObject } from '../../jsonrpc/parse.ts'
import type { Wanted } from './challenge.ts'
import { isLoopback, type Network, refused } from './network.ts'

/** An authorization server, as its validated metadata describes it. */
export interface Described {
  readonly issuer: string
  readonly metadata: AuthorizationServer
  /** It publishes no metadata, so its endpoints are those revision 2025-03-26 presumes. */
  readonly presumed: boolean
}

const stringFields = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint'] as const
/** What a URL is written with; its parser takes more, which would then stand in messages as it came. */
const urlText = /^[\x21-\x7e]{1,2048}$/
const listFields = [
  'scopes_supported',
  'response_types_supported',
  'grant_types_supported',
  'token_endpoint_auth_methods_supported',
  'code_challenge_methods_supported',
  'dpop_signing_alg_values_supported',
] as const

/** Where an issuer may publish its metadata, in the order they are to be tried. */
export function metadataPlaces(issuer: URL): URL[] {
  const path = issuer.pathname.replace(/\/+$/, '')
  const at = (pathname: string): URL => new URL(pathname, issuer.origin)
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map((name) =>
    at(`/.well-known/${name}${path}`),
  )
  return path === '' ? inserted : [...inserted, at(`${path}/.well-known/openid-configuration`)]
}

/** The metadata of an issuer; undefined when it publishes none. A document of another issuer is never used. */
export async function describe(
  issuer: string,
  network: Network,
  signal: AbortSignal,
): Promise<Described | undefined> {
  const url = issuerUrl(issuer)
  network.mayName(url)
  let other: string | undefined
  for await (const { place, document } of network.documents(metadataPlaces(url), signal)) {
    if (!isObject(document)) throw refused(`${place} does not hold an object. Tell whoever runs it`)
    if (document['issuer'] === issuer) {
      return { issuer, metadata: metadataIn(document, issuer, network), presumed: false }
    }
    other ??= excerpt(describeValue(document['issuer']))
  }
  if (other === undefined) return undefined
  throw refused(
    `The metadata found for the authorization server ${JSON.stringify(issuer)} is that of another one, ${JSON.stringify(other)}, so it is not used. Both must be equal, character by character: tell whoever runs the server`,
    undefined,
    { issuer, found: other },
  )
}

/** What revision 2025-03-26 presumes of a server that publishes nothing. */
export function presumed(issuer: string): Described {
  const metadata: AuthorizationServer = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
  }
  return { issuer, metadata, presumed: true }
}

function issuerUrl(issuer: string): URL {
  if (!urlText.test(issuer) || !URL.canParse(issuer)) {
    throw refused(`The authorization server "${excerpt(issuer)}" is not a URL`)
  }
  const url = new URL(issuer)
  if (url.search === '' && url.hash === '' && !/[?#]/.test(issuer)) return url
  throw refused(`The authorization server ${issuer} has a query or a fragment, which an issuer must not have`)
}

/** The members this client uses, with the types they must have; every endpoint is one it may be sent to. */
function metadataIn(
  document: Record<string, unknown>,
  issuer: string,
  network: Network,
): AuthorizationServer {
  const metadata: Record<string, string | string[] | boolean> = {}
  for (const name of stringFields) {
    const value = document[name]
    if (value === undefined) continue
    if (typeof value !== 'string' || !URL.canParse(value)) {
      throw refused(`The "${name}" of ${issuer} is not a URL. Tell whoever runs it`)
    }
    network.mayName(new URL(value))
    metadata[name] = value
  }
  // Nobody is kept from a login by what only ends one; it is checked when it is used.
  const revocation = document['revocation_endpoint']
  if (typeof revocation === 'string' && URL.canParse(revocation)) metadata['revocation_endpoint'] = revocation
  for (const name of listFields) {
    const value = document[name]
    if (Array.isArray(value)) metadata[name] = value.filter((item) => typeof item === 'string')
  }
  for (const name of [
    'authorization_response_iss_parameter_supported',
    'client_id_metadata_document_supported',
  ]) {
    metadata[name] = document[name] === true
  }
  return { ...metadata, issuer }
}

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
      `The protected resource metadata found for ${server} is about ${excerpt(`${JSON.stringify(resource)}`)}, so a token for that could be meant for somebody else. Check the URL of the server, or tell whoever runs it`,
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
