import type { McpError } from '../../jsonrpc/error.ts'
import type { HttpRefusal } from '../../transports/server/http/options.ts'

/** Parameters of one challenge, in the order they are written; undefined ones are left out. */
export type ChallengeParams = Readonly<Record<string, string | undefined>>

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const unsafe = /[^\t\x20-\x7E]/g

/**
 * One challenge of a `WWW-Authenticate` header. Every value is a quoted string; a character that no header may hold
 * becomes "?", so that no value can end the header or begin another challenge.
 * @throws TypeError for a scheme or a name that is no token
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
  if (!token.test(text)) throw new TypeError(`"${text}" cannot stand in a challenge`)
  return text
}

/** How a token is sent: by the name of the authentication scheme. */
export type Scheme = 'Bearer' | 'DPoP'

/** Why a request is refused. */
export interface Failure {
  readonly error: string
  /** Words its client may read. */
  readonly why: string
  /** The scheme it used. */
  readonly scheme: Scheme
  /** What it needs besides what every request needs. */
  readonly scopes?: readonly string[]
  readonly nonce?: string | undefined
}

/** What every challenge of one resource says. */
export interface Terms {
  /** Where its metadata is. */
  readonly metadata: string
  /** What every request needs. */
  readonly required: readonly string[]
  /** Whether tokens that are bound to no key are taken. */
  readonly bearer: boolean
  /** Algorithms of proofs; undefined where they are not taken. */
  readonly algorithms: readonly string[] | undefined
}

/** Asks for a token: nothing was shown, so there is nothing to say against it. */
export function unauthorized(terms: Terms, nonce: string | undefined): HttpRefusal {
  return refusal(401, terms, { nonce })
}

/** Refuses what was shown, with a challenge that says why and what to do (RFC 6750, RFC 9728). */
export function refused(status: number, terms: Terms, failure: Failure): HttpRefusal {
  return refusal(status, terms, failure)
}

/** Nobody could find out whether a token is good: that is for the operator to hear, and no reason to log in anew. */
export function unavailable(because: McpError): HttpRefusal {
  const body = {
    error: 'temporarily_unavailable',
    error_description:
      'The authorization server could not be asked whether the access token is valid. Try again later',
  }
  return { status: 503, headers: { 'Retry-After': '5' }, body: JSON.stringify(body), because }
}

function refusal(status: number, terms: Terms, failure: Partial<Failure>): HttpRefusal {
  const { error, why, scopes = [], nonce } = failure
  const { metadata, bearer, algorithms } = terms
  const taken: readonly Scheme[] = [
    ...(bearer || algorithms === undefined ? (['Bearer'] as const) : []),
    ...(algorithms === undefined ? [] : (['DPoP'] as const)),
  ]
  // What is wrong is told once: in the challenge of the scheme that was used, where that one is taken.
  const told = taken.find((scheme) => scheme === failure.scheme) ?? taken[0]
  const scope = [...new Set([...terms.required, ...scopes])].join(' ')
  const challenges = taken.map((scheme) =>
    challenge(scheme, {
      ...(scheme === told ? { error, error_description: why } : {}),
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
