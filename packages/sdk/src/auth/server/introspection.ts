import { invalid, McpError } from '../../jsonrpc/error.ts'
import { dropOldest } from '../../jsonrpc/rotating-map.ts'
import { basicAuthorization, digest } from '../../request/encoding.ts'
import type { Claims, VerifyToken } from './claims.ts'
import { fetchJson, requireUrl, type TextUrlFetch } from './metadata.ts'

/** The introspection endpoint (RFC 7662) and its credentials. */
export interface IntrospectionOptions {
  /** The introspection endpoint of the authorization server. */
  endpoint: string
  /**
   * The issuer of the tokens; responses with another are rejected. Default: the issuer in the response if it has the
   * endpoint's origin, and that origin for responses without one.
   */
  issuer?: string
  /** The client id of this server at the authorization server. */
  clientId: string
  /** Its secret, sent with HTTP Basic. */
  clientSecret?: string
  /** Authenticates the request in another way, by changing its headers and form. */
  auth?: (request: { headers: Headers; form: URLSearchParams }) => void | Promise<void>
  /** Milliseconds a response is cached; a revoked token stays valid that long. Default 10,000; 0 disables the cache. */
  cacheMs?: number
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: TextUrlFetch
  /** Sends tokens to other machines over http too. Default false. */
  dangerouslyAllowPlainHttp?: boolean
}

interface CachedClaims {
  readonly claims: Promise<Claims | undefined>
  readonly until: number
}

const maxCached = 1000
const maxShownChars = 200

/**
 * Verifies access tokens by introspection (RFC 7662). Up to 1000 responses are cached by a digest of the token.
 * @throws McpError 'INVALID' for invalid options
 */
export function introspection(options: IntrospectionOptions): VerifyToken {
  const { endpoint, clientSecret, auth, cacheMs = 10_000, dangerouslyAllowPlainHttp = false } = options
  requireUrl('endpoint', endpoint.replace(/\?.*$/, ''), dangerouslyAllowPlainHttp)
  if ((clientSecret === undefined) === (auth === undefined)) {
    throw invalid('introspection: pass either a clientSecret or an auth')
  }
  const cache = new Map<string, CachedClaims>()
  return async (token) => {
    const key = await digest(token)
    const now = Date.now()
    const cached = cache.get(key)
    if (cached !== undefined && cached.until > now) return cached.claims
    const claims = introspect(options, token)
    cache.delete(key)
    cache.set(key, { claims, until: now + cacheMs })
    claims.catch(() => cache.delete(key))
    dropOldest(cache, maxCached)
    return claims
  }
}

async function introspect(options: IntrospectionOptions, token: string): Promise<Claims | undefined> {
  const { endpoint, clientId, clientSecret, auth } = options
  const headers = new Headers({
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  })
  const form = new URLSearchParams({ token, token_type_hint: 'access_token' })
  if (clientSecret !== undefined) headers.set('authorization', basicAuthorization(clientId, clientSecret))
  await auth?.({ headers, form })
  const load: TextUrlFetch = options.fetch ?? ((url, init) => fetch(url, init))
  const response = await fetchJson(load, endpoint, { method: 'POST', headers, body: form.toString() })
  if (response['active'] !== true) return undefined
  const { iss } = response
  if (iss === undefined) return { ...response, iss: options.issuer ?? new URL(endpoint).origin }
  if (options.issuer !== undefined) return iss === options.issuer ? response : undefined
  if (originOf(iss) === new URL(endpoint).origin) return response
  throw new McpError(
    'PROTOCOL',
    `${endpoint} responded with another issuer: ${JSON.stringify(iss).slice(0, maxShownChars)}. If that is the issuer of its tokens, set the option "issuer" of introspection to it`,
  )
}

/** Without this check, the operator of one origin could name subjects of any issuer. */
function originOf(issuer: unknown): string | undefined {
  return typeof issuer === 'string' && URL.canParse(issuer) ? new URL(issuer).origin : undefined
}
