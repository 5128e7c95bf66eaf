import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'

/** The verified claims of an access token (RFC 9068, RFC 7662). */
export type Claims = Readonly<JsonObject>

/**
 * Verifies an access token and returns its claims; undefined for an invalid one, or one of another issuer. Audience, expiry
 * and binding are checked afterwards.
 */
export type VerifyToken = (token: string) => Promise<Claims | undefined>

export interface ExpectedClaims {
  /** Accepted audiences; undefined to skip the check. */
  readonly audience: readonly string[] | undefined
  readonly otherAudiences: readonly string[]
  readonly clockToleranceMs: number
}

export const wrongAudience = 'The access token is not for this resource'

/** Why a token is not acceptable, for its client; undefined if it is. */
export function claimsProblem(claims: Claims, expected: ExpectedClaims): string | undefined {
  const { audience, clockToleranceMs } = expected
  const { exp, nbf, aud } = claims
  const now = Date.now()
  if (exp !== undefined && !(typeof exp === 'number' && exp * 1000 > now - clockToleranceMs)) {
    return 'The access token expired'
  }
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf * 1000 <= now + clockToleranceMs)) {
    return 'The access token is not valid yet'
  }
  if (audience !== undefined && !matchesAudience(aud, audience, expected.otherAudiences)) {
    return wrongAudience
  }
  return undefined
}

/** When a token expires, in milliseconds since 1970; undefined if it does not. */
export function expiryOf({ exp }: Claims, { clockToleranceMs }: ExpectedClaims): number | undefined {
  return typeof exp === 'number' ? exp * 1000 + clockToleranceMs : undefined
}

/** Whether a token is for one of the audiences, and for no unknown other. */
function matchesAudience(aud: unknown, audience: readonly string[], others: readonly string[]): boolean {
  const all: unknown[] = Array.isArray(aud) ? aud : [aud]
  const isOurs = (one: unknown): boolean => typeof one === 'string' && audience.includes(one)
  const isKnown = (one: unknown): boolean => isOurs(one) || (typeof one === 'string' && others.includes(one))
  return all.some(isOurs) && all.every(isKnown)
}

/** The key a token is bound to: a JWK thumbprint, none, or an unsupported confirmation. */
type Binding =
  | { readonly type: 'jkt'; readonly jkt: string }
  | { readonly type: 'none' }
  | { readonly type: 'other' }

export function bindingOf({ cnf }: Claims): Binding {
  if (cnf === undefined) return { type: 'none' }
  const { jkt, ...others } = isObject(cnf) ? cnf : {}
  return typeof jkt === 'string' && Object.keys(others).length === 0
    ? { type: 'jkt', jkt }
    : { type: 'other' }
}

export function scopesOf({ scope, scp }: Claims): string[] {
  return [scope, scp].flatMap((value): string[] => {
    const list: unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? value.split(' ') : []
    return list.filter((one) => typeof one === 'string').filter((one) => one !== '')
  })
}

export function withImplied(
  scopes: readonly string[],
  implied: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const all = new Set(scopes)
  for (const scope of all) for (const narrower of implied.get(scope) ?? []) all.add(narrower)
  return all
}

export function clientIdOf({ client_id, azp }: Claims): string | undefined {
  return [client_id, azp].filter((id) => typeof id === 'string').find((id) => id !== '')
}

/**
 * A name for a token's subject that is unique over all issuers: the issuer, a bar and the subject. Without a subject it is the
 * client, after two bars. Undefined without both.
 */
export function principalOf(claims: Claims, issuer: string): string | undefined {
  const { sub } = claims
  const from = issuer.replace(/[%|]/g, encodeURIComponent)
  if (typeof sub === 'string' && sub !== '') {
    return `${from}|${/^[%|]/.test(sub) ? encodeURIComponent(sub) : sub}`
  }
  const clientId = clientIdOf(claims)
  return clientId === undefined ? undefined : `${from}||${clientId}`
}
