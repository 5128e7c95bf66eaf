import type { Caller } from '../core/exchange.ts'
import { requireKnown } from '../core/known-members.ts'
import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { Authenticate, HttpCaller, HttpRefusal, Identified } from '../serve/http/options.ts'
import {
  bindingOf,
  type Claims,
  clientIdOf,
  type Expected,
  endOf,
  principalOf,
  refusesClaims,
  scopesOf,
  type VerifyToken,
  withImplied,
} from './claims.ts'
import { type Credentials, credentialsOf } from './credentials.ts'
import { type DpopOptions, ProofChecker, type Proved } from './dpop.ts'
import { type Published, published, requireScopes, requireUrl } from './metadata.ts'
import { refused, type Scheme, type Terms, unauthorized, unavailable } from './refusals.ts'

/**
 * What a protected resource is called, whose tokens it takes, and what they must say. `resource`,
 * `authorizationServers` and `verify` are needed.
 */
export interface BearerOptions {
  /** This server as its clients reach it: the URL of the endpoint, which tokens must name as their audience. */
  resource: string
  /** The authorization servers whose tokens are taken, by issuer. */
  authorizationServers: readonly string[]
  /**
   * Verifies tokens: `jwt`, `introspection`, a function of your own, or several that are tried in turn. One that throws
   * an McpError could not find out: clients are told to come again later (503).
   */
  verify: VerifyToken | readonly VerifyToken[]
  scopes?: {
    /** Published as `scopes_supported`: the least a client should ask for to begin with. Default: `required`. */
    supported?: readonly string[]
    /** What every request needs. Default: none. */
    required?: readonly string[]
    /** Narrower scopes that a broader one stands for: `{ 'files:write': ['files:read'] }`. */
    implied?: Readonly<Record<string, readonly string[]>>
  }
  /** What tokens name as their audience in place of `resource`, compared as it is written. */
  audience?: string | readonly string[]
  /** Who else a token may be for, besides this server. Default: nobody, so such a token is refused. */
  otherAudiences?: readonly string[]
  /** Milliseconds by which clocks may differ. Default 10,000. */
  clockToleranceMs?: number
  /** Takes tokens that are bound to a key (RFC 9449). Default: those are refused. */
  dpop?: true | DpopOptions
  /** Serves the metadata for the root of the origin too. Default false. */
  alsoAtRoot?: boolean
  /** Published: the resource's name for people. */
  name?: string
  /** Published: a page for developers. */
  documentation?: string
  /** Published: a page on how its data may be used. */
  policy?: string
  /** Published: a page with its terms of service. */
  terms?: string
  /** Takes tokens of the authorization servers whoever they are for: any other service that gets one can use it here. Default false. */
  dangerouslyAcceptAnyAudience?: boolean
  /** Takes tokens over http from other machines. Default false. */
  dangerouslyAllowPlainHttp?: boolean
}

/**
 * Lets in whoever shows an access token for this server, and tells everybody else where to get one: protected-resource
 * metadata (RFC 9728) and challenges (RFC 6750). The principal is the issuer, a bar, and the subject.
 * @throws McpError INVALID for options that are no use
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
  readonly metadata: Published
  readonly #verifiers: readonly VerifyToken[]
  readonly #expected: Expected
  readonly #implied: ReadonlyMap<string, readonly string[]>
  readonly #onlyIssuer: string | undefined
  readonly #proofs: ProofChecker | undefined
  readonly #terms: Terms

  constructor(options: BearerOptions) {
    const { authorizationServers, verify, scopes = {}, dpop, clockToleranceMs = 10_000 } = options
    const url = requireOptions(options)
    const proof = dpop === true ? {} : dpop
    this.#proofs = proof === undefined ? undefined : new ProofChecker(url, proof, clockToleranceMs)
    this.#verifiers = typeof verify === 'function' ? [verify] : verify
    this.#expected = expectedOf(options, clockToleranceMs)
    this.#implied = new Map(Object.entries(scopes.implied ?? {}))
    this.#onlyIssuer = authorizationServers.length === 1 ? authorizationServers[0] : undefined
    const bound = proof?.required ?? false
    const metadata = metadataOf(options, this.#proofs?.algorithms, bound)
    this.metadata = published(url, metadata, options.alsoAtRoot ?? false)
    this.#terms = {
      metadata: this.metadata.url,
      required: scopes.required ?? [],
      bearer: !bound,
      algorithms: this.#proofs?.algorithms,
    }
  }

  async authenticate(request: HttpCaller): Promise<Identified | HttpRefusal> {
    const credentials = credentialsOf(request)
    switch (credentials.type) {
      case 'none':
        return unauthorized(this.#terms, await this.#proofs?.nonce())
      case 'malformed':
        return refused(400, this.#terms, { error: 'invalid_request', why: credentials.why, scheme: 'Bearer' })
      case 'token':
        return this.#identify(request, credentials)
    }
  }

  /** Names everything a request needs, whatever part of it the caller has. */
  lacking(scopes: readonly string[], caller: Caller): HttpRefusal {
    return this.#forbidden(scopes, bindingOf(caller.claims).type === 'jkt' ? 'DPoP' : 'Bearer')
  }

  async #identify(
    request: HttpCaller,
    { scheme, token }: Extract<Credentials, { type: 'token' }>,
  ): Promise<Identified | HttpRefusal> {
    let claims: Claims | undefined
    try {
      claims = await this.#verified(token)
    } catch (error) {
      if (error instanceof McpError) return unavailable(error)
      throw error
    }
    const why = claims === undefined ? 'The access token is not valid' : refusesClaims(claims, this.#expected)
    if (claims === undefined || why !== undefined) {
      return refused(401, this.#terms, { error: 'invalid_token', why: why ?? '', scheme })
    }
    const proved = await this.#proved(request, scheme, token, claims)
    if (!proved.ok) return refused(401, this.#terms, { ...proved, scheme })
    const scopes = withImplied(scopesOf(claims), this.#implied)
    if (!this.#terms.required.every((scope) => scopes.has(scope))) return this.#forbidden([], scheme)
    const clientId = clientIdOf(claims)
    const expires = endOf(claims, this.#expected)
    return {
      principal: this.#principal(claims),
      scopes,
      claims,
      stillCounts: async () => {
        const now = await this.#verified(token)
        return now !== undefined && refusesClaims(now, this.#expected) === undefined
      },
      ...(expires === undefined ? {} : { expires }),
      ...(clientId === undefined ? {} : { clientId }),
      ...(proved.nonce === undefined ? {} : { headers: { 'DPoP-Nonce': proved.nonce } }),
    }
  }

  #forbidden(scopes: readonly string[], scheme: Scheme): HttpRefusal {
    const why = 'The access token lacks a scope that this needs'
    return refused(403, this.#terms, { error: 'insufficient_scope', why, scheme, scopes })
  }

  async #verified(token: string): Promise<Claims | undefined> {
    for (const verify of this.#verifiers) {
      const claims = await verify(token)
      if (claims !== undefined) return claims
    }
    return undefined
  }

  /** Whether a token is used the way it may be: one that is bound to a key only by who holds that key. */
  async #proved(request: HttpCaller, scheme: Scheme, token: string, claims: Claims): Promise<Proved> {
    const not = (why: string): Proved => ({ ok: false, error: 'invalid_token', why })
    const binding = bindingOf(claims)
    if (binding.type === 'other')
      return not('The access token is bound to something that is not checked here')
    if (scheme === 'Bearer') {
      if (binding.type === 'jkt') return not('The access token is bound to a key and needs a DPoP proof')
      return this.#terms.bearer ? { ok: true } : not('Access tokens must be bound to a key (DPoP) here')
    }
    if (this.#proofs === undefined) return not('DPoP is not taken here')
    if (binding.type === 'none') return not('The access token is not bound to a key')
    return this.#proofs.check(request, token, binding.jkt, this.#principal(claims))
  }

  #principal(claims: Claims): string {
    const { iss } = claims
    const issuer = typeof iss === 'string' ? iss : this.#onlyIssuer
    const principal = issuer === undefined ? undefined : principalOf(claims, issuer)
    if (principal !== undefined) return principal
    throw new McpError(
      'INVALID',
      'The verified token names nobody: "verify" must give a "sub" or a "client_id", and an "iss" where there are several authorization servers',
    )
  }
}

function expectedOf(options: BearerOptions, clockToleranceMs: number): Expected {
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
  const { resource, authorizationServers, scopes = {}, dangerouslyAllowPlainHttp = false } = options
  const { supported = [], required = [], implied = {} } = scopes
  if (authorizationServers.length === 0) {
    throw new McpError('INVALID', 'authorizationServers: name at least one, so that clients can get a token')
  }
  for (const issuer of authorizationServers) {
    requireUrl('authorizationServers', issuer, dangerouslyAllowPlainHttp)
  }
  const all = [...supported, ...required, ...Object.keys(implied), ...Object.values(implied).flat()]
  requireScopes('scopes', all)
  if (all.includes('offline_access')) {
    throw new McpError('INVALID', 'scopes: "offline_access" is between a client and its authorization server')
  }
  return requireUrl('resource', resource, dangerouslyAllowPlainHttp)
}

function metadataOf(
  options: BearerOptions,
  algorithms: readonly string[] | undefined,
  bound: boolean,
): JsonObject {
  const { resource, authorizationServers, scopes = {}, name, documentation, policy, terms } = options
  const supported = scopes.supported ?? scopes.required
  return {
    resource,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ['header'],
    ...(supported === undefined ? {} : { scopes_supported: supported }),
    ...(name === undefined ? {} : { resource_name: name }),
    ...(documentation === undefined ? {} : { resource_documentation: documentation }),
    ...(policy === undefined ? {} : { resource_policy_uri: policy }),
    ...(terms === undefined ? {} : { resource_tos_uri: terms }),
    ...(algorithms === undefined ? {} : { dpop_signing_alg_values_supported: algorithms }),
    ...(bound ? { dpop_bound_access_tokens_required: true } : {}),
  }
}
