import { excerpt, invalid, McpError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import type { Caller } from '../../request/exchange.ts'
import { requireKnown } from '../../request/object-members.ts'
import type {
  Authenticate,
  AuthenticatedCaller,
  HttpCaller,
  HttpRefusal,
} from '../../transports/server/http/options.ts'
import {
  bindingOf,
  type Claims,
  claimsProblem,
  clientIdOf,
  type ExpectedClaims,
  expiryOf,
  principalOf,
  scopesOf,
  type VerifyToken,
  withImplied,
  wrongAudience,
} from './claims.ts'
import { type DpopOptions, ProofChecker, type ProofResult } from './dpop.ts'
import { type PublishedMetadata, publishMetadata, requireScopes, requireUrl } from './metadata.ts'

type Credentials =
  | { readonly type: 'none' }
  | { readonly type: 'malformed'; readonly reason: string }
  | { readonly type: 'token'; readonly scheme: Scheme; readonly token: string }

const maxTokenChars = 16_384
const authorization = /^(bearer|dpop)(?:[\t ]+(.*))?$/i
const token68 = /^[A-Za-z0-9._~+/-]+=*$/

/** Reads the credentials from the Authorization header; those in the query or body are not accepted. */
export function credentialsOf(request: HttpCaller): Credentials {
  const { url } = request
  const query = url.indexOf('?')
  if (query !== -1 && new URLSearchParams(url.slice(query)).has('access_token')) {
    return malformed('An access token must not be part of the URL. Send it in the Authorization header')
  }
  if (request.repeats('authorization')) return malformed('There is more than one Authorization header')
  const [, scheme, token] = authorization.exec(request.header('authorization') ?? '') ?? []
  if (scheme === undefined) return { type: 'none' }
  if (token === undefined || token.length > maxTokenChars || !token68.test(token)) {
    return malformed('The Authorization header contains no valid access token')
  }
  return { type: 'token', scheme: scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer', token }
}

function malformed(reason: string): Credentials {
  return { type: 'malformed', reason }
}

/** The protected resource, its authorization servers and the verification of tokens. */
export interface BearerOptions {
  /** The URL of the endpoint as clients reach it, which is the audience of tokens. */
  resource: string
  /** The issuers from which clients can get tokens, as published. `verify` decides which tokens are accepted. */
  authorizationServers: readonly string[]
  /**
   * Verifies tokens: `jwt`, `introspection`, a custom function, or several that are tried in order. An McpError means that
   * verification was not possible: clients get 503 and retry.
   */
  verify: VerifyToken | readonly VerifyToken[]
  /** OAuth scopes of the server. Default: none are required. */
  scopes?: {
    /** Published as `scopes_supported`: the minimum a client should request. Default: `required`. */
    supported?: readonly string[]
    /** Scopes required by every request. Default: none. */
    required?: readonly string[]
    /** Narrower scopes that a broader one includes: `{ 'files:write': ['files:read'] }`. */
    implied?: Readonly<Record<string, readonly string[]>>
  }
  /** Audience of tokens in place of `resource`, compared exactly. */
  audience?: string | readonly string[]
  /** Other audiences a token may also have. Default: none, so such a token is rejected. */
  otherAudiences?: readonly string[]
  /** Tolerated clock difference in milliseconds. Default 10,000. */
  clockToleranceMs?: number
  /** Accepts tokens bound to a key (RFC 9449). Default: they are rejected. */
  dpop?: true | DpopOptions
  /** Serves the metadata also for the root of the origin. Default false. */
  alsoAtRoot?: boolean
  /** Published: display name of the resource. */
  name?: string
  /** Published: URL of developer documentation. */
  documentation?: string
  /** Published: URL of the data policy. */
  policy?: string
  /** Published: URL of the terms of service. */
  terms?: string
  /** Accepts tokens for any audience: another service that receives one can use it here. Default false. */
  dangerouslyAcceptAnyAudience?: boolean
  /** Accepts tokens over http from other machines. Default false. */
  dangerouslyAllowPlainHttp?: boolean
}

/**
 * Authenticates requests by access tokens for this server. Serves protected-resource metadata (RFC 9728) and challenges (RFC
 * 6750). The principal is the issuer, a bar and the subject.
 * @throws McpError 'INVALID' for invalid options
 */
export function bearer(options: BearerOptions): Authenticate {
  const resource = new Resource(options)
  return Object.assign((request: HttpCaller) => resource.authenticate(request), {
    documents: resource.metadata.documents,
    lacking: (scopes: readonly string[], caller: Caller) => resource.lacking(scopes, caller),
  })
}

/** One protected resource. */
class Resource {
  readonly metadata: PublishedMetadata
  readonly #verifiers: readonly VerifyToken[]
  readonly #expected: ExpectedClaims
  readonly #implied: ReadonlyMap<string, readonly string[]>
  readonly #onlyIssuer: string | undefined
  readonly #proofs: ProofChecker | undefined
  readonly #terms: ChallengeTerms
  #isAudienceReported = false

  constructor(options: BearerOptions) {
    const { authorizationServers, verify, scopes = {}, dpop, clockToleranceMs = 10_000 } = options
    const url = requireOptions(options)
    const proof = dpop === true ? {} : dpop
    this.#proofs = proof === undefined ? undefined : new ProofChecker(url, proof, clockToleranceMs)
    this.#verifiers = typeof verify === 'function' ? [verify] : verify
    this.#expected = expectedOf(options, clockToleranceMs)
    this.#implied = new Map(Object.entries(scopes.implied ?? {}))
    this.#onlyIssuer = authorizationServers.length === 1 ? authorizationServers[0] : undefined
    const isBindingRequired = proof?.required ?? false
    const metadata = metadataOf(options, this.#proofs?.algorithms, isBindingRequired)
    this.metadata = publishMetadata(url, metadata, options.alsoAtRoot ?? false)
    this.#terms = {
      metadata: this.metadata.url,
      required: scopes.required ?? [],
      bearer: !isBindingRequired,
      algorithms: this.#proofs?.algorithms,
    }
  }

  async authenticate(request: HttpCaller): Promise<AuthenticatedCaller | HttpRefusal> {
    const credentials = credentialsOf(request)
    switch (credentials.type) {
      case 'none':
        return refused(401, this.#terms, { nonce: await this.#proofs?.nonce() })
      case 'malformed':
        return refused(400, this.#terms, {
          error: 'invalid_request',
          reason: credentials.reason,
          scheme: 'Bearer',
        })
      case 'token':
        return this.#identify(request, credentials)
    }
  }

  /** A 403 challenge with all required scopes, including those the caller has. */
  lacking(scopes: readonly string[], caller: Caller): HttpRefusal {
    return this.#forbidden(scopes, bindingOf(caller.claims).type === 'jkt' ? 'DPoP' : 'Bearer')
  }

  async #identify(
    request: HttpCaller,
    { scheme, token }: Extract<Credentials, { type: 'token' }>,
  ): Promise<AuthenticatedCaller | HttpRefusal> {
    let claims: Claims | undefined
    try {
      claims = await this.#verify(token)
    } catch (error) {
      if (error instanceof McpError) return unavailable(error)
      throw error
    }
    const reason =
      claims === undefined ? 'The access token is not valid' : claimsProblem(claims, this.#expected)
    if (claims === undefined || reason !== undefined) {
      const failure = { error: 'invalid_token', reason: reason ?? '', scheme }
      return { ...refused(401, this.#terms, failure), because: this.#audienceReport(claims, reason) }
    }
    const proved = await this.#checkBinding(request, scheme, token, claims)
    if (!proved.ok) return refused(401, this.#terms, { ...proved, scheme })
    const scopes = withImplied(scopesOf(claims), this.#implied)
    if (!this.#terms.required.every((scope) => scopes.has(scope))) return this.#forbidden([], scheme)
    const clientId = clientIdOf(claims)
    const expires = expiryOf(claims, this.#expected)
    return {
      principal: this.#principal(claims),
      scopes,
      claims,
      stillCounts: async () => {
        const now = await this.#verify(token)
        return now !== undefined && claimsProblem(now, this.#expected) === undefined
      },
      ...(expires === undefined ? {} : { expires }),
      ...(clientId === undefined ? {} : { clientId }),
      ...(proved.nonce === undefined ? {} : { headers: { 'DPoP-Nonce': proved.nonce } }),
    }
  }

  /** The first verified token for another audience is reported to the operator: the cause is mostly a wrong configuration. */
  #audienceReport(claims: Claims | undefined, reason: string | undefined): McpError | undefined {
    if (claims === undefined || reason !== wrongAudience || this.#isAudienceReported) return undefined
    this.#isAudienceReported = true
    const { aud } = claims
    const found = aud === undefined ? 'no audience' : `the audience ${excerpt(JSON.stringify(aud))}`
    const expected = this.#expected.audience?.map((one) => JSON.stringify(one)).join(' or ')
    return invalid(
      `A verified access token was refused, because it has ${found} instead of ${expected}. Have the authorization server issue ` +
        'tokens for it, or set "audience" of bearer. A "verify" of your own must return it as "aud". This is reported once',
    )
  }

  #forbidden(scopes: readonly string[], scheme: Scheme): HttpRefusal {
    const reason = 'The access token lacks a scope that the request requires'
    return refused(403, this.#terms, { error: 'insufficient_scope', reason, scheme, scopes })
  }

  async #verify(token: string): Promise<Claims | undefined> {
    for (const verify of this.#verifiers) {
      const claims = await verify(token)
      if (claims !== undefined) return claims
    }
    return undefined
  }

  /** Checks the scheme and, for a bound token, the proof of its key. */
  async #checkBinding(
    request: HttpCaller,
    scheme: Scheme,
    token: string,
    claims: Claims,
  ): Promise<ProofResult> {
    const reject = (reason: string): ProofResult => ({ ok: false, error: 'invalid_token', reason })
    const binding = bindingOf(claims)
    if (binding.type === 'other')
      return reject('The access token is bound in a way that this server does not support')
    if (scheme === 'Bearer') {
      if (binding.type === 'jkt') return reject('The access token is bound to a key and needs a DPoP proof')
      return this.#terms.bearer ? { ok: true } : reject('Access tokens must be bound to a key (DPoP) here')
    }
    if (this.#proofs === undefined) return reject('This server does not accept DPoP')
    if (binding.type === 'none') return reject('The access token is not bound to a key')
    return this.#proofs.check(request, token, binding.jkt, this.#principal(claims))
  }

  #principal(claims: Claims): string {
    const { iss } = claims
    const issuer = typeof iss === 'string' ? iss : this.#onlyIssuer
    const principal = issuer === undefined ? undefined : principalOf(claims, issuer)
    if (principal !== undefined) return principal
    throw invalid(
      'The verified token has no principal: "verify" must return a "sub" or a "client_id", and an "iss" if there are several authorization servers',
    )
  }
}

function expectedOf(options: BearerOptions, clockToleranceMs: number): ExpectedClaims {
  const { resource, audience = resource, otherAudiences = [], dangerouslyAcceptAnyAudience = false } = options
  const own = typeof audience === 'string' ? [audience] : audience
  return { audience: dangerouslyAcceptAnyAudience ? undefined : own, otherAudiences, clockToleranceMs }
}

const optionNames = Object.keys({
  resource: true,
  authorizationServers: true,
  verify: true,
  scopes: true,
  audience: true,
  otherAudiences: true,
  clockToleranceMs: true,
  dpop: true,
  alsoAtRoot: true,
  name: true,
  documentation: true,
  policy: true,
  terms: true,
  dangerouslyAcceptAnyAudience: true,
  dangerouslyAllowPlainHttp: true,
} satisfies Record<keyof BearerOptions, true>)

function requireOptions(options: BearerOptions): URL {
  requireKnown('The options object of bearer', options, optionNames)
  const { resource, authorizationServers, verify, scopes = {}, dangerouslyAllowPlainHttp = false } = options
  const { supported = [], required = [], implied = {} } = scopes
  if (!Array.isArray(authorizationServers) || authorizationServers.length === 0) {
    throw invalid('authorizationServers: name at least one in an array, so that clients can get a token')
  }
  const verifiers = [verify].flat()
  if (verifiers.length === 0 || verifiers.some((one) => typeof one !== 'function')) {
    throw invalid('verify: give jwt({ … }), introspection({ … }), a function of yours, or an array of them')
  }
  for (const issuer of authorizationServers) {
    requireUrl('authorizationServers', issuer, dangerouslyAllowPlainHttp)
  }
  const all = [...supported, ...required, ...Object.keys(implied), ...Object.values(implied).flat()]
  requireScopes('scopes', all)
  if (all.includes('offline_access')) {
    throw invalid(
      'scopes: "offline_access" is not a scope of a server: clients request it from the authorization server',
    )
  }
  return requireUrl('resource', resource, dangerouslyAllowPlainHttp)
}

function metadataOf(
  options: BearerOptions,
  algorithms: readonly string[] | undefined,
  isBindingRequired: boolean,
): JsonObject {
  const { resource, authorizationServers, scopes = {}, name, documentation, policy, terms } = options
  const supported = scopes.supported ?? scopes.required
  return {
    resource,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ['header'],
    // Members that are undefined are left out of the JSON.
    scopes_supported: supported,
    resource_name: name,
    resource_documentation: documentation,
    resource_policy_uri: policy,
    resource_tos_uri: terms,
    dpop_signing_alg_values_supported: algorithms,
    dpop_bound_access_tokens_required: isBindingRequired || undefined,
  }
}

/** Parameters of a challenge, in order; undefined ones are left out. */
type ChallengeParams = Readonly<Record<string, string | undefined>>

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

type Scheme = 'Bearer' | 'DPoP'

interface AuthFailure {
  readonly error: string
  /** A description for the client. */
  readonly reason: string
  readonly scheme: Scheme
  /** Required scopes besides those of every request. */
  readonly scopes?: readonly string[]
  readonly nonce?: string | undefined
}

/** The common parameters of all challenges of a resource. */
interface ChallengeTerms {
  readonly metadata: string
  /** Scopes required by every request. */
  readonly required: readonly string[]
  /** Whether unbound tokens are accepted. */
  readonly bearer: boolean
  /** Algorithms of proofs; undefined if they are not accepted. */
  readonly algorithms: readonly string[] | undefined
}

/** 503: the token could not be verified. Reported to the operator; clients need not log in again. */
function unavailable(because: McpError): HttpRefusal {
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
function refused(status: number, terms: ChallengeTerms, failure: Partial<AuthFailure>): HttpRefusal {
  const { error, reason, scopes = [], nonce } = failure
  const { metadata, bearer, algorithms } = terms
  const schemes: readonly Scheme[] = [
    ...(bearer || algorithms === undefined ? (['Bearer'] as const) : []),
    ...(algorithms === undefined ? [] : (['DPoP'] as const)),
  ]
  // The error is part of one challenge: that of the request's scheme if it is accepted.
  const withError = schemes.find((scheme) => scheme === failure.scheme) ?? schemes[0]
  const scope = [...new Set([...terms.required, ...scopes])].join(' ')
  const challenges = schemes.map((scheme) =>
    challenge(scheme, {
      ...(scheme === withError ? { error, error_description: reason } : {}),
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
