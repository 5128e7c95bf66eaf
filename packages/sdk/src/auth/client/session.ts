import { orAborted } from '../../client/call-deadline.ts'
import { excerpt, McpError } from '../../jsonrpc/error.ts'
import type { HttpAuth, Refusal } from '../../transports/client/http-request.ts'
import {
  type ChallengeParams,
  combineChallenges,
  FailedOperations,
  parseChallenges,
  selectScopes,
} from './challenge.ts'
import { type CredentialStore, memoryStore } from './credential-store.ts'
import { type AuthTarget, type DiscoveredIssuer, discover, discoverIssuer, presumed } from './discovery.ts'
import type { Grant, GrantContext } from './identity.ts'
import { authError, Network, type NetworkOptions } from './network.ts'
import { ProofKey } from './proof-key.ts'
import {
  expiry,
  isExpired,
  isRenewalDue,
  loadTokens,
  type StoredTokens,
  saveTokens,
} from './stored-tokens.ts'
import { oauthError, type Revocation, revocationFailed, revokeTokens, type Tokens } from './token-endpoint.ts'

interface SharedWork {
  readonly promise: Promise<void>
  readonly stop: AbortController
  waiting: number
}

/** One piece of work at a time, shared by all who want it meanwhile, and ended when none of them waits any more. */
export class SingleFlight {
  #flight: SharedWork | undefined

  /** Joins the work that is going on, or begins it. Without a signal the caller waits to the end. */
  async join(work: (signal: AbortSignal) => Promise<void>, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const flight = this.#flight ?? this.#begin(work)
    flight.waiting++
    try {
      await (signal === undefined ? flight.promise : orAborted(flight.promise, signal))
    } finally {
      if (--flight.waiting === 0) flight.stop.abort(signal?.reason)
      if (flight.waiting === 0 && this.#flight === flight) this.#flight = undefined
    }
  }

  #begin(work: (signal: AbortSignal) => Promise<void>): SharedWork {
    const stop = new AbortController()
    const promise = work(stop.signal)
    const flight: SharedWork = { promise, stop, waiting: 0 }
    this.#flight = flight
    const over = (): void => {
      if (this.#flight === flight) this.#flight = undefined
    }
    promise.then(over, over)
    return flight
  }
}

/** What every way of getting credentials takes. */
export interface AuthOptions extends NetworkOptions {
  /** Where tokens and registrations are kept. Default: in memory. */
  store?: CredentialStore
  /** Scopes to ask for at first. Default: those the server wants. Later ones are added to them. */
  scopes?: readonly string[]
  /** Bind tokens to a key (RFC 9449) and take no others. Default: only where the server insists. */
  dpop?: boolean
  /** Keeps the credentials of several accounts at one server apart. */
  account?: string
}

/** Credentials for one server. */
export interface Authorization extends HttpAuth {
  /** Forgets the tokens for a server; the next request to it that needs some begins anew. */
  forget(server: string | URL): Promise<void>
  /**
   * Forgets the tokens for a server, and tells the authorization server that they are not wanted any more (RFC 7009)
   * where its metadata names an endpoint for that. What could not be told is in the result; the tokens are gone on
   * this side all the same. Takes 15 seconds at most; where a login is going on for longer, they are kept.
   * @throws McpError 'TIMEOUT' where they are kept
   */
  revoke(server: string | URL, options?: { signal?: AbortSignal }): Promise<Revocation>
}

const revokeWithinMs = 15_000
const renewAgainMs = 5_000
const rejectedGrants = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client'])
const noChallenge: ChallengeParams = {
  resourceMetadata: undefined,
  scopes: undefined,
  error: undefined,
  dpop: false,
}

/** Tokens of one server: sent along, renewed in time, and replaced when they are refused. */
export class AuthSession implements Authorization {
  readonly #grant: Grant
  readonly #options: AuthOptions
  readonly #store: CredentialStore
  readonly #renewing = new SingleFlight()
  readonly #replacing = new SingleFlight()
  readonly #failedOperations = new FailedOperations()
  #server: URL | undefined
  #net: Network | undefined
  #loading: Promise<void> | undefined
  #tokens: StoredTokens | undefined
  #proof: ProofKey | undefined
  #described: DiscoveredIssuer | undefined
  /** A token nobody has accepted yet, and how it was come by. */
  #unproven: { token: string; how: 'renewed' | 'obtained' } | undefined

  constructor(grant: Grant, options: AuthOptions) {
    this.#grant = grant
    this.#options = options
    this.#store = options.store ?? memoryStore()
  }

  async authorize({ method, url }: { method: string; url: URL }): Promise<Readonly<Record<string, string>>> {
    const saved = await this.#current(this.#bind(url))
    if (saved === undefined) return {}
    const { accessToken: token } = saved
    if (saved.tokenType === 'bearer' || this.#proof === undefined) return { authorization: `Bearer ${token}` }
    return { authorization: `DPoP ${token}`, dpop: await this.#proof.sign(method, url, token) }
  }

  async refused(refusal: Refusal, signal: AbortSignal): Promise<boolean> {
    const { status, headers, sent } = refusal
    const server = this.#bind(refusal.url)
    const challenge = combineChallenges(parseChallenges(headers.get('www-authenticate')))
    const used = sent['authorization']?.replace(/^\S+ /, '')
    this.#proof?.storeNonce(server.origin, headers)
    if (challenge.error === 'use_dpop_nonce')
      return this.#proof?.lacksNonce(sent['dpop'], server.origin) === true
    if (status === 403 && challenge.error !== 'insufficient_scope') return false
    if (this.#changedSince(used, this.#tokens)) return true
    await this.#replacing.join((stop) => this.#replace(server, used, refusal, challenge, stop), signal)
    return this.#changedSince(used, this.#tokens)
  }

  answered(headers: Headers): void {
    this.#unproven = undefined
    if (this.#server !== undefined) this.#proof?.storeNonce(this.#server.origin, headers)
  }

  async forget(server: string | URL): Promise<void> {
    await this.#remove(new URL(server))
  }

  async revoke(server: string | URL, { signal }: { signal?: AbortSignal } = {}): Promise<Revocation> {
    const url = new URL(server)
    const soon = AbortSignal.timeout(revokeWithinMs)
    const until = signal === undefined ? soon : AbortSignal.any([signal, soon])
    const saved = await this.#remove(url, until).catch((error: unknown) => {
      throw error === soon.reason ? loginInProgress(url) : error
    })
    if (saved === undefined) return { outcome: 'none' }
    const { issuer } = saved
    try {
      const described = await this.#describe(saved, until, this.#network(url))
      if (described.metadata.revocation_endpoint === undefined) return { outcome: 'unsupported', issuer }
      const context = this.#need(url, { ...described, ...resourceFacts(saved) }, [], undefined, until)
      const identity = await this.#grant.identify(saved, context)
      return await revokeTokens(saved, { server: described, identity, ...context })
    } catch (error) {
      const late = `${issuer} did not answer within ${revokeWithinMs} ms`
      return revocationFailed(issuer, soon.aborted ? new Error(late) : error)
    }
  }

  /** Takes the tokens for a server out of the store, once nobody renews them any more. */
  async #remove(server: URL, signal?: AbortSignal): Promise<StoredTokens | undefined> {
    const key = this.#key(server)
    const work = async (): Promise<StoredTokens | undefined> => {
      const saved = await loadTokens(this.#store, key)
      await this.#store.delete(key)
      return saved
    }
    const saved = await this.#store.exclusive(key, work, signal)
    if (this.#server?.href === server.href) this.#use(undefined)
    return saved
  }

  /** One set of credentials serves one server: the first it is asked for. */
  #bind(url: URL): URL {
    this.#server ??= url
    if (url.origin === this.#server.origin) return this.#server
    throw new McpError(
      'INVALID',
      `These credentials are for ${this.#server.origin} and do not go to ${url.origin}. Make others for that server`,
    )
  }

  #network(server: URL): Network {
    this.#net ??= new Network(server, this.#options)
    return this.#net
  }

  #key(server: URL): string {
    return `${this.#grant.kind} ${this.#options.account ?? ''} ${server.href}`
  }

  /** Whether there is another token now than the one a request was sent with, if it was sent with any. */
  #changedSince(used: string | undefined, now: StoredTokens | undefined): boolean {
    if (now === undefined || now.accessToken === used) return false
    // A token that is over and cannot be renewed is not sent, so it helps nobody.
    return !isExpired(now) || this.#grant.canRenew(now)
  }

  /** The token to send; renewed when its time is up. */
  async #current(server: URL): Promise<StoredTokens | undefined> {
    this.#loading ??= loadTokens(this.#store, this.#key(server)).then(
      (saved) => this.#use(saved),
      (error) => {
        this.#loading = undefined
        throw error
      },
    )
    await this.#loading
    const saved = this.#tokens
    if (saved === undefined || !isRenewalDue(saved)) return saved
    if (!this.#grant.canRenew(saved)) return isExpired(saved) ? undefined : saved
    try {
      await this.#renewing.join((stop) => this.#renewDue(server, saved, stop))
    } catch (error) {
      if (isExpired(saved)) throw error
      if (this.#tokens === saved) this.#tokens = { ...saved, renewAt: Date.now() + renewAgainMs }
    }
    return this.#tokens
  }

  async #renewDue(server: URL, due: StoredTokens, signal: AbortSignal): Promise<void> {
    const key = this.#key(server)
    const work = async (): Promise<void> => {
      const stored = await loadTokens(this.#store, key)
      this.#use(stored)
      const renewed =
        stored === undefined || (stored.accessToken !== due.accessToken && !isRenewalDue(stored))
      if (renewed || !this.#grant.canRenew(stored)) return
      const described = await this.#describe(stored, signal)
      await this.#renew(server, stored, { ...described, ...resourceFacts(stored) }, signal)
    }
    await this.#store.exclusive(key, work, signal)
  }

  async #describe(
    { issuer, presumed: unpublished }: StoredTokens,
    signal: AbortSignal,
    network: Network = this.#networkNow(),
  ): Promise<DiscoveredIssuer> {
    if (this.#described?.issuer === issuer) return this.#described
    const found = unpublished ? presumed(issuer) : await discoverIssuer(issuer, network, signal)
    if (found === undefined) throw authError(`The authorization server ${issuer} has no metadata any more`)
    this.#described = found
    return found
  }

  #networkNow(): Network {
    if (this.#server === undefined) throw new McpError('INVALID', 'These credentials have no server yet')
    return this.#network(this.#server)
  }

  /** Renews a saved token; it is gone afterwards if it can never be renewed again. */
  async #renew(server: URL, stored: StoredTokens, target: AuthTarget, signal: AbortSignal): Promise<void> {
    const context = this.#need(server, target, stored.requested, this.#proofOf(stored), signal)
    try {
      await this.#save(server, context, await this.#grant.renew(stored, context), 'renewed', stored)
    } catch (error) {
      const code = oauthError(error)
      if (code === undefined || !rejectedGrants.has(code) || !this.#grant.interactive) throw error
      if (code !== 'invalid_grant') {
        await this.#grant.forgetRegistration?.(stored.issuer, stored.clientId, this.#store)
      }
      await this.#drop(server, stored)
    }
  }

  /** Deletes tokens that turned out to be worthless, but never others that took their place meanwhile. */
  async #drop(server: URL, worthless: StoredTokens): Promise<void> {
    const key = this.#key(server)
    const stored = await loadTokens(this.#store, key)
    const same =
      stored?.accessToken === worthless.accessToken && stored.refreshToken === worthless.refreshToken
    if (same) await this.#store.delete(key)
    this.#use(same ? undefined : stored)
  }

  /** Finds another token than the refused one: a newer one of somebody else, a renewed one, or one of a new login. */
  async #replace(
    server: URL,
    used: string | undefined,
    { status, method, url, background }: Refusal,
    challenge: ChallengeParams,
    signal: AbortSignal,
  ): Promise<void> {
    const key = this.#key(server)
    const work = async (): Promise<void> => {
      const stored = await loadTokens(this.#store, key)
      if (this.#changedSince(used, stored)) return this.#use(stored)
      const known = [...this.#grant.issuers, ...(stored === undefined ? [] : [stored.issuer])]
      const target = await discover(server, challenge, this.#network(server), known, signal)
      this.#described = target
      const same = stored?.issuer === target.issuer && stored.resource === target.resource
      const fresh = used !== undefined && this.#unproven?.token === used ? this.#unproven.how : undefined
      if (
        status === 401 &&
        stored !== undefined &&
        same &&
        fresh === undefined &&
        this.#grant.canRenew(stored)
      ) {
        // A refresh token is good once, so what takes its place is waited for also where nobody wants it any more.
        await this.#renew(server, stored, target, new AbortController().signal)
        if (this.#tokens !== undefined) return
        signal.throwIfAborted()
      }
      if (status === 401 && fresh !== undefined) this.#assertRetryHelps(server, fresh)
      if (background && this.#grant.interactive) throw authError(`${server.origin} wants a new login`)
      const before = same ? stored.requested : []
      await this.#obtain(server, status, `${method} ${url.pathname}`, { challenge, target, before }, signal)
    }
    await this.#store.exclusive(key, work, signal)
  }

  #assertRetryHelps(server: URL, how: 'renewed' | 'obtained'): void {
    if (how === 'renewed' && this.#grant.interactive) return
    throw authError(
      `${server.origin} refuses the token its own authorization server has just issued, so asking for another would not help. Tell whoever runs the server: it may expect another audience or issuer`,
    )
  }

  async #obtain(
    server: URL,
    status: number,
    operation: string,
    {
      challenge,
      target,
      before,
    }: { challenge: ChallengeParams; target: AuthTarget; before: readonly string[] },
    signal: AbortSignal,
  ): Promise<void> {
    const { interactive } = this.#grant
    const scopes = selectScopes(status, challenge, target, this.#options.scopes, before, interactive)
    const operationKey = `${operation} ${(challenge.scopes ?? []).toSorted().join(' ')}`
    if (status === 403 && this.#failedOperations.has(operationKey)) {
      throw authError(
        `${server.origin} does not allow this with the scopes "${excerpt(scopes.join(' '))}", for which a login has just been made. The account may lack the permission: ask whoever runs the server, or use another account`,
        undefined,
        { scopes },
      )
    }
    try {
      const proof = this.#usesDpop(target, challenge) ? await ProofKey.generate() : undefined
      const context = this.#need(server, target, scopes, proof, signal)
      await this.#save(server, context, await this.#grant.obtain(context), 'obtained')
      if (status === 403) this.#failedOperations.add(operationKey)
    } catch (error) {
      if (status === 403 && oauthError(error) === 'access_denied') this.#failedOperations.add(operationKey)
      throw error
    }
  }

  #usesDpop(target: AuthTarget, challenge: ChallengeParams): boolean {
    if (this.#options.dpop !== true && !target.dpop && !challenge.dpop) return false
    if (target.metadata.dpop_signing_alg_values_supported?.includes('ES256') === true) return true
    throw authError(
      `Tokens for this server are to be bound to a key, and the authorization server ${target.issuer} does not say that it can do that with ES256. Tell whoever runs it${this.#options.dpop === true ? ', or do without the option "dpop"' : ''}`,
    )
  }

  #need(
    server: URL,
    target: AuthTarget,
    scopes: readonly string[],
    proof: ProofKey | undefined,
    signal: AbortSignal,
  ): GrantContext {
    return { target, scopes, network: this.#network(server), store: this.#store, proof, signal }
  }

  async #save(
    server: URL,
    { target, scopes, proof }: GrantContext,
    tokens: Tokens,
    how: 'renewed' | 'obtained',
    before?: StoredTokens,
  ): Promise<void> {
    const { clientId, accessToken, tokenType, expiresIn, registration = before?.registration } = tokens
    if ((tokenType === 'dpop') !== (proof !== undefined)) {
      throw authError(
        proof === undefined
          ? `The authorization server ${target.issuer} issued a token that is bound to a key nobody gave it`
          : `The authorization server ${target.issuer} did not bind its token to this client's key, as was asked. Tell whoever runs it`,
      )
    }
    const refreshToken = tokens.refreshToken ?? before?.refreshToken
    const saved: StoredTokens = {
      issuer: target.issuer,
      presumed: target.presumed,
      resource: target.resource,
      clientId,
      ...(registration !== undefined && { registration }),
      accessToken,
      tokenType,
      requested: scopes,
      ...(refreshToken !== undefined && { refreshToken }),
      ...(expiresIn !== undefined && expiry(expiresIn)),
      ...(proof !== undefined && { proofKey: proof.jwk }),
    }
    this.#proof = proof
    await saveTokens(this.#store, this.#key(server), saved)
    this.#use(saved)
    this.#unproven = { token: accessToken, how }
  }

  #use(saved: StoredTokens | undefined): void {
    this.#proof = saved === undefined ? undefined : this.#proofOf(saved)
    this.#tokens = saved
  }

  #proofOf({ proofKey }: StoredTokens): ProofKey | undefined {
    if (proofKey === undefined) return undefined
    return this.#proof?.jwk.x === proofKey.x ? this.#proof : new ProofKey(proofKey)
  }
}

/** Tokens could not be had, as somebody else is about to replace them. */
function loginInProgress({ origin }: URL): McpError {
  return new McpError(
    'TIMEOUT',
    `A login at ${origin} has been going on for ${revokeWithinMs} ms, so its tokens are kept. Finish that login or give it up, then try again`,
  )
}

/** What a login says of its resource, where nothing has to be found out about it. */
function resourceFacts({ resource }: StoredTokens): Pick<AuthTarget, 'resource' | 'scopes' | 'dpop'> {
  return { resource, scopes: noChallenge.scopes, dpop: noChallenge.dpop }
}
