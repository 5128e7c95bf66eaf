import type { AuthorizationServer } from 'oauth4webapi'
import { describeValue, excerpt } from '../../jsonrpc/error.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { ChallengeParams } from './challenge.ts'
import { authError, isLoopback, type MissingForLogin, type Network } from './network.ts'

/** An authorization server with its validated metadata (RFC 8414). */
export interface DiscoveredIssuer {
  readonly issuer: string
  readonly metadata: AuthorizationServer
  /** It publishes no metadata, so its endpoints are the defaults of revision 2025-03-26. */
  readonly presumed: boolean
}

const stringFields = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint'] as const
/** Characters of a URL. The URL parser accepts more, which must not get into messages. */
const urlText = /^[\x21-\x7e]{1,2048}$/
const listFields = [
  'scopes_supported',
  'response_types_supported',
  'grant_types_supported',
  'token_endpoint_auth_methods_supported',
  'code_challenge_methods_supported',
  'dpop_signing_alg_values_supported',
] as const

/** The URLs of an issuer's metadata, in order of precedence. */
export function metadataUrls(issuer: URL): URL[] {
  const path = issuer.pathname.replace(/\/+$/, '')
  const at = (pathname: string): URL => new URL(pathname, issuer.origin)
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map((name) =>
    at(`/.well-known/${name}${path}`),
  )
  return path === '' ? inserted : [...inserted, at(`${path}/.well-known/openid-configuration`)]
}

/** The metadata of an issuer; undefined if it publishes none. A document of another issuer is never used. */
export async function discoverIssuer(
  issuer: string,
  network: Network,
  signal: AbortSignal,
): Promise<DiscoveredIssuer | undefined> {
  const url = issuerUrl(issuer)
  network.checkUrl(url)
  let other: string | undefined
  for await (const { place, document } of network.documents(metadataUrls(url), signal)) {
    if (!isObject(document)) throw authError(`${place} does not contain a JSON object. Contact its operator`)
    if (document['issuer'] === issuer) {
      return { issuer, metadata: readMetadata(document, issuer, network), presumed: false }
    }
    other ??= excerpt(describeValue(document['issuer']))
  }
  if (other === undefined) return undefined
  throw authError(
    `The metadata found for the authorization server ${JSON.stringify(issuer)} is that of another one, ${JSON.stringify(other)}, so it is not used. Both must be identical: contact the operator of the server`,
    { issuer, found: other },
  )
}

/** The default endpoints of revision 2025-03-26, for an issuer without metadata. */
export function presumed(issuer: string): DiscoveredIssuer {
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
    throw authError(`The authorization server "${excerpt(issuer)}" is not a URL`)
  }
  const url = new URL(issuer)
  if (url.search === '' && url.hash === '' && !/[?#]/.test(issuer)) return url
  throw authError(`The issuer ${issuer} has a query or a fragment, which an issuer must not have`)
}

/** The members that this client uses, with their types and endpoint URLs checked. */
function readMetadata(
  document: Record<string, unknown>,
  issuer: string,
  network: Network,
): AuthorizationServer {
  const metadata: Record<string, string | string[] | boolean> = {}
  for (const name of stringFields) {
    const value = document[name]
    if (value === undefined) continue
    if (typeof value !== 'string' || !URL.canParse(value)) {
      throw authError(`The "${name}" of ${issuer} is not a URL. Contact its operator`)
    }
    network.checkUrl(new URL(value))
    metadata[name] = value
  }
  // Checked when it is used: an invalid one must not prevent logins.
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

export interface AuthTarget extends DiscoveredIssuer {
  /** The resource identifier, literally as published. */
  readonly resource: string
  /** `scopes_supported` of the resource. */
  readonly scopes: readonly string[] | undefined
  /** The resource only accepts DPoP-bound tokens. */
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
 * Discovers the authorization server of an MCP server (RFC 9728, RFC 8414). If the server names several, one of the
 * `known` issuers is preferred.
 */
export async function discover(
  server: URL,
  challenge: ChallengeParams,
  network: Network,
  known: readonly string[],
  signal: AbortSignal,
): Promise<AuthTarget> {
  if (server.protocol !== 'https:' && !isLoopback(server)) {
    throw authError(
      `${server.origin} requires a login, but its URL starts with http:, so credentials would be sent unencrypted. Use its https: URL`,
    )
  }
  const resource = await fetchResource(server, challenge, network, signal)
  if (resource === undefined) return ownIssuer(server, network, signal)
  const { issuers } = resource
  const issuer = issuers.find((one) => known.includes(one)) ?? issuers[0]
  if (issuer === undefined) {
    throw authError(
      `${server.origin} requires a login, but its protected resource metadata names no authorization server. Contact its operator`,
      { missing: 'authorizationServer' satisfies MissingForLogin },
    )
  }
  const described = await discoverIssuer(issuer, network, signal)
  if (described !== undefined) return { ...described, ...resource }
  throw authError(
    `${server.origin} names ${issuer} as its authorization server, which publishes no metadata. Contact its operator`,
    { issuer, missing: 'authorizationServer' satisfies MissingForLogin },
  )
}

/** Revision 2025-03-26: a server without protected resource metadata is its own authorization server. */
async function ownIssuer(server: URL, network: Network, signal: AbortSignal): Promise<AuthTarget> {
  const issuer = server.origin
  const described = (await discoverIssuer(issuer, network, signal)) ?? presumed(issuer)
  return { ...described, resource: canonicalUrl(server), scopes: undefined, dpop: false }
}

async function fetchResource(
  server: URL,
  { resourceMetadata }: ChallengeParams,
  network: Network,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  if (resourceMetadata !== undefined) {
    if (!URL.canParse(resourceMetadata)) {
      throw authError(
        `${server.origin} requires a login, but names no valid URL for its metadata. Contact its operator`,
      )
    }
    const place = new URL(resourceMetadata)
    for await (const { document } of network.documents([place], signal)) return readResource(document, server)
    throw authError(`The protected resource metadata ${place} does not exist. Contact its operator`)
  }
  const path = server.pathname === '/' ? '' : server.pathname
  const names = path === '' ? [wellKnown] : [`${wellKnown}${path}`, wellKnown]
  const places = names.map((name) => new URL(name, server.origin))
  for await (const { document } of network.documents(places, signal)) return readResource(document, server)
  return undefined
}

function readResource(document: unknown, server: URL): Resource {
  const { resource, authorization_servers: issuers, ...rest } = isObject(document) ? document : {}
  if (typeof resource !== 'string' || !coversServer(resource, server)) {
    throw authError(
      `The protected resource metadata found for ${server} is about ${excerpt(`${JSON.stringify(resource)}`)}, so its tokens may be meant for another server. Check the URL of the server, or contact its operator`,
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

/** Whether a resource identifier is the server's URL, or a parent path on the same origin. */
function coversServer(resource: string, server: URL): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false
  const { origin, pathname, search, username, password } = new URL(resource)
  if (origin !== server.origin || username !== '' || password !== '') return false
  if (search !== '' && (search !== server.search || pathname !== server.pathname)) return false
  const folder = pathname.endsWith('/') ? pathname : `${pathname}/`
  return pathname === server.pathname || `${server.pathname}/`.startsWith(folder)
}

/** The resource identifier of a server that publishes none. */
function canonicalUrl(server: URL): string {
  const path = server.pathname === '/' ? '' : server.pathname
  return `${server.origin}${path}${server.search}`
}

function stringsIn(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined
}
