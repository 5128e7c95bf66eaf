import type { AuthorizationServer } from 'oauth4webapi'
import { inWords, isObject } from '../../jsonrpc/parse.ts'
import { shown } from '../../jsonrpc/shown.ts'
import { type Network, refused } from './network.ts'

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
    other ??= shown(inWords(document['issuer']))
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
    throw refused(`The authorization server "${shown(issuer)}" is not a URL`)
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
