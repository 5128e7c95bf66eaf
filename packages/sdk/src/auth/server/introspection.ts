import { McpError } from '../../jsonrpc/error.ts'
import { type Claims, digest, type VerifyToken } from './claims.ts'
import { type AuthFetch, fetchJson, requireUrl } from './metadata.ts'

/** Where tokens are looked up (RFC 7662), and as whom. */
export interface IntrospectionOptions {
  /** The introspection endpoint of the authorization server. */
  endpoint: string
  /**
   * Who issues the tokens; answers that name another are refused. Default: whom the answer names, where that is of the
   * endpoint's origin, and that origin for answers that do not say.
   */
  issuer?: string
  /** What this server is registered as at the authorization server. */
  clientId: string
  /** Its secret, sent with HTTP Basic. */
  clientSecret?: string
  /** Authenticates the request in another way, by changing its headers and its form. */
  auth?: (request: { headers: Headers; form: URLSearchParams }) => void | Promise<void>
  /** Milliseconds an answer is used again, so that a revoked token may live so much longer. Default 10,000; 0 is not at all. */
  cacheMs?: number
  /** What sends the requests. Default: the global `fetch`. */
  fetch?: AuthFetch
  /** Sends tokens over http to other machines too. Default false. */
  dangerouslyAllowPlainHttp?: boolean
}

interface Known {
  readonly claims: Promise<Claims | undefined>
  readonly until: number
}

const maxKnown = 1000
const maxShownChars = 200

/**
 * Verifies access tokens by asking their authorization server (RFC 7662). Answers are kept for a short time and in
 * bounded number, under a digest of the token.
 * @throws McpError INVALID for options that are no use
 */
export function introspection(options: IntrospectionOptions): VerifyToken {
  const { endpoint, clientSecret, auth, cacheMs = 10_000, dangerouslyAllowPlainHttp = false } = options
  requireUrl('endpoint', endpoint.replace(/\?.*$/, ''), dangerouslyAllowPlainHttp)
  if ((clientSecret === undefined) === (auth === undefined)) {
    throw new McpError('INVALID', 'introspection: give either a clientSecret or an auth')
  }
  const known = new Map<string, Known>()
  return async (token) => {
    const key = await digest(token)
    const now = Date.now()
    const found = known.get(key)
    if (found !== undefined && found.until > now) return found.claims
    const claims = ask(options, token)
    known.delete(key)
    known.set(key, { claims, until: now + cacheMs })
    claims.catch(() => known.delete(key))
    const [oldest] = known.keys()
    if (oldest !== undefined && known.size > maxKnown) known.delete(oldest)
    return claims
  }
}

async function ask(options: IntrospectionOptions, token: string): Promise<Claims | undefined> {
  const { endpoint, clientId, clientSecret, auth } = options
  const headers = new Headers({
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  })
  const form = new URLSearchParams({ token, token_type_hint: 'access_token' })
  if (clientSecret !== undefined) headers.set('authorization', basic(clientId, clientSecret))
  await auth?.({ headers, form })
  const load: AuthFetch = options.fetch ?? ((url, init) => fetch(url, init))
  const answer = await fetchJson(load, endpoint, { method: 'POST', headers, body: form.toString() })
  if (answer['active'] !== true) return undefined
  const { iss } = answer
  if (iss === undefined) return { ...answer, iss: options.issuer ?? new URL(endpoint).origin }
  if (options.issuer !== undefined) return iss === options.issuer ? answer : undefined
  if (originOf(iss) === new URL(endpoint).origin) return answer
  throw new McpError(
    'PROTOCOL',
    `${endpoint} answers for another issuer: ${JSON.stringify(iss).slice(0, maxShownChars)}. If that is who issues its tokens, give introspection this as "issuer"`,
  )
}

/** Who answers for one origin could otherwise name the subjects of any other. */
function originOf(issuer: unknown): string | undefined {
  return typeof issuer === 'string' && URL.canParse(issuer) ? new URL(issuer).origin : undefined
}

/** Both parts are written as in a form first (RFC 6749, section 2.3.1). */
function basic(clientId: string, secret: string): string {
  const encode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)
  return `Basic ${btoa(`${encode(clientId)}:${encode(secret)}`)}`
}
