import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { toBase64Url } from '../../request/encoding.ts'

/** What an access token says, verified: the members of RFC 9068 and RFC 7662. */
export type Claims = Readonly<JsonObject>

/**
 * Verifies an access token and says what it holds; undefined for one that is not valid, or not of the issuer this
 * verifier knows. Audience, expiry and binding are checked afterwards, so it need not look at them.
 */
export type VerifyToken = (token: string) => Promise<Claims | undefined>

/** What the claims of a token must agree with. */
export interface Expected {
  /** Any of these names this server; undefined when the audience is not looked at. */
  readonly audience: readonly string[] | undefined
  readonly otherAudiences: readonly string[]
  readonly clockToleranceMs: number
}

/** Why a token cannot be used, in words its client may read; undefined when it can. */
export function refusesClaims(claims: Claims, expected: Expected): string | undefined {
  const { audience, clockToleranceMs } = expected
  const { exp, nbf, aud } = claims
  const now = Date.now()
  if (exp !== undefined && !(typeof exp === 'number' && exp * 1000 > now - clockToleranceMs)) {
    return 'The access token expired'
  }
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf * 1000 <= now + clockToleranceMs)) {
    return 'The access token is not valid yet'
  }
  if (audience !== undefined && !isFor(aud, audience, expected.otherAudiences)) {
    return 'The access token is not for this resource'
  }
  return undefined
}

/** When a token is refused as expired, in milliseconds since 1970; undefined for one that never is. */
export function endOf({ exp }: Claims, { clockToleranceMs }: Expected): number | undefined {
  return typeof exp === 'number' ? exp * 1000 + clockToleranceMs : undefined
}

/** Whether a token is for one of these, and for nobody else who was not named. */
function isFor(aud: unknown, audience: readonly string[], others: readonly string[]): boolean {
  const all: unknown[] = Array.isArray(aud) ? aud : [aud]
  const isOurs = (one: unknown): boolean => typeof one === 'string' && audience.includes(one)
  const isKnown = (one: unknown): boolean => isOurs(one) || (typeof one === 'string' && others.includes(one))
  return all.some(isOurs) && all.every(isKnown)
}

/** The key a token is bound to: a thumbprint, none, or something else that cannot be checked here. */
export type Binding =
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

/** The scopes of a token, in either of the forms they are written in. */
export function scopesOf({ scope, scp }: Claims): string[] {
  return [scope, scp].flatMap((value): string[] => {
    const list: unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? value.split(' ') : []
    return list.filter((one) => typeof one === 'string').filter((one) => one !== '')
  })
}

/** Scopes with everything they imply. */
export function withImplied(
  scopes: readonly string[],
  implied: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const all = new Set(scopes)
  for (const scope of all) for (const narrower of implied.get(scope) ?? []) all.add(narrower)
  return all
}

/** The OAuth client that acts. */
export function clientIdOf({ client_id, azp }: Claims): string | undefined {
  return [client_id, azp].filter((id) => typeof id === 'string').find((id) => id !== '')
}

/**
 * Names whoever a token stands for, so that no two subjects of any two issuers share a name: the issuer, a bar, and
 * the subject. A token without a subject stands for its client, after two bars. Undefined when it has neither.
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

const encoder = new TextEncoder()

/** SHA-256 of a text, as base64url. */
export async function digest(text: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text))))
}
