import type { McpError } from '../../jsonrpc/error.ts'
import type { HttpRefusal } from '../../transports/server/http/options.ts'

/** Parameters of a challenge, in order; undefined ones are left out. */
export type ChallengeParams = Readonly<Record<string, string | undefined>>

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const unsafe = /[^\t\x20-\x7E]/g

/**
 * One challenge of a `WWW-Authenticate` header. Values are quoted strings; characters not allowed in headers become "?", so a
 * value can neither end the header nor start another challenge.
 * @throws TypeError for a scheme or name that is not a token
 */
export function challenge(scheme: string, params: ChallengeParams): string {
  const parts = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [`${requireToken(name)}=${quoted(value)}`],
  )
  return parts.length === 0 ? requireToken(scheme) : `${requireToken(scheme)} ${parts.join(', ')}`
}

function quoted(value: string): string {
  return `"${value.replace(unsafe, '?').replace(/["\\]/g, '\\$&')}"`
}

function requireToken(text: string): string {
  if (!token.test(text)) throw new TypeError(`"${text}" is not a valid token for a challenge`)
  return text
}

export type Scheme = 'Bearer' | 'DPoP'

export interface AuthFailure {
  readonly error: string
  /** A description for the client. */
  readonly reason: string
  readonly scheme: Scheme
  /** Required scopes besides those of every request. */
  readonly scopes?: readonly string[]
  readonly nonce?: string | undefined
}

/** The common parameters of all challenges of a resource. */
export interface ChallengeTerms {
  readonly metadata: string
  /** Scopes required by every request. */
  readonly required: readonly string[]
  /** Whether unbound tokens are accepted. */
  readonly bearer: boolean
  /** Algorithms of proofs; undefined if they are not accepted. */
  readonly algorithms: readonly string[] | undefined
}

/** 503: the token could not be verified. Reported to the operator; clients need not log in again. */
export function unavailable(because: McpError): HttpRefusal {
  const body = {
    error: 'temporarily_unavailable',
    error_description:
      'The authorization server could not be reached to verify the access token. Try again later',
  }
  return { status: 503, headers: { 'Retry-After': '5' }, body: JSON.stringify(body), because }
}

/**
 * A challenge: without a failure for a request without credentials, otherwise with the error and what to do (RFC 6750, RFC 9728).
 */
export function refused(status: number, terms: ChallengeTerms, failure: Partial<AuthFailure>): HttpRefusal {
  const { error, reason, scopes = [], nonce } = failure
  const { metadata, bearer, algorithms } = terms
  const schemes: readonly Scheme[] = [
    ...(bearer || algorithms === undefined ? (['Bearer'] as const) : []),
    ...(algorithms === undefined ? [] : (['DPoP'] as const)),
  ]
  // The error is part of one challenge: that of the request's scheme if it is accepted.
  const told = schemes.find((scheme) => scheme === failure.scheme) ?? schemes[0]
  const scope = [...new Set([...terms.required, ...scopes])].join(' ')
  const challenges = schemes.map((scheme) =>
    challenge(scheme, {
      ...(scheme === told ? { error, error_description: reason } : {}),
      resource_metadata: metadata,
      scope: scope === '' ? undefined : scope,
      algs: scheme === 'DPoP' ? algorithms?.join(' ') : undefined,
    }),
  )
  return {
    status,
    headers: {
      'WWW-Authenticate': challenges.join(', '),
      ...(nonce === undefined ? {} : { 'DPoP-Nonce': nonce }),
    },
  }
}
