import type { JWK } from 'jose'
import { excerpt, invalid, McpError } from '../../jsonrpc/error.ts'
import { readJson } from '../../jsonrpc/exact-json.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { orAborted } from '../../jsonrpc/promises.ts'
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
import { isRegistration, type Registration } from './registration.ts'
import { oauthError, type Revocation, revocationFailed, revokeTokens, type Tokens } from './token-endpoint.ts'

interface InFlightWork {
  readonly promise: Promise<void>
  readonly stop: AbortController
  waiting: number
}

/** Runs one piece of work at a time, shared by all concurrent callers, and aborts it when no caller waits any more. */
class SingleFlight {
  #flight: InFlightWork | undefined

  /** Joins the running work, or starts it. Without a signal the caller waits until it ends. */
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

  #begin(work: (signal: AbortSignal) => Promise<void>): InFlightWork {
    const stop = new AbortController()
    const promise = work(stop.signal)
    const flight: InFlightWork = { promise, stop, waiting: 0 }
    this.#flight = flight
    const over = (): void => {
      if (this.#flight === flight) this.#flight = undefined
    }
    promise.then(over, over)
    return flight
  }
}

/** Options of every kind of credentials. */
export interface AuthOptions extends NetworkOptions {
  /** Stores tokens and registrations. Default: `memoryStore()`. */
  store?: CredentialStore
  /** Initial scopes. Default: those that the server names. Scopes of later challenges are added. */
  scopes?: readonly string[]
  /** Requires tokens bound to a key (DPoP, RFC 9449). Default: only if the server requires it. */
  dpop?: boolean
  /** Separates the credentials of several accounts at one server. */
  account?: string
}

/** Credentials for one server: the option `auth` of `http`. Tokens are obtained when the server requires them. */
export interface Authorization extends HttpAuth {
  /** Deletes the tokens for a server; the next request that needs some obtains new ones. */
  forget(server: string | URL): Promise<void>
  /**
   * Deletes the tokens for a server and revokes them at the authorization server (RFC 7009), if it supports that. The
   * result says whether the revocation failed. Takes at most 15 seconds.
   * @throws McpError 'TIMEOUT' if a login holds the store for longer; the tokens are kept then
   */
  revoke(server: string | URL, options?: { signal?: AbortSignal }): Promise<Revocation>
}

const revokeWithinMs = 15_000
const renewAgainMs = 5_000
const rejectedGrants = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client'])

/** The tokens of one server: sends them, renews them in time, and replaces them when they are refused. */
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
  #issuer: DiscoveredIssuer | undefined
  /** A token that the server has not accepted yet. */
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
      if (error !== soon.reason) throw error
      throw new McpError(
        'TIMEOUT',
        `A login at ${url.origin} is still in progress after ${revokeWithinMs} ms, so its tokens are kept. Finish or cancel that login, then try again`,
      )
    })
    if (saved === undefined) return { outcome: 'none' }
    const { issuer } = saved
    try {
      const issuerMetadata = await this.#discoverIssuer(url, saved, until)
      if (issuerMetadata.metadata.revocation_endpoint === undefined) return { outcome: 'unsupported', issuer }
      const context = this.#context(url, { ...issuerMetadata, ...resourceFacts(saved) }, [], undefined, until)
      const identity = await this.#grant.identify(saved, context)
      return await revokeTokens(saved, context, identity)
    } catch (error) {
      const late = `${issuer} did not respond within ${revokeWithinMs} ms`
      return revocationFailed(issuer, soon.aborted ? new Error(late) : error)
    }
  }

  /** Removes the tokens for a server from the store, after any renewal in progress. */
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

  /** Binds the credentials to the server of their first request. */
  #bind(url: URL): URL {
    this.#server ??= url
    if (url.origin === this.#server.origin) return this.#server
    throw invalid(
      `These credentials are for ${this.#server.origin} and are not sent to ${url.origin}. Create separate ones for that server`,
    )
  }

  #network(server: URL): Network {
    this.#net ??= new Network(server, this.#options)
    return this.#net
  }

  #key(server: URL): string {
    return `${this.#grant.kind} ${this.#options.account ?? ''} ${server.href}`
  }

  /** Whether there is another token than the one that a request was sent with. */
  #changedSince(used: string | undefined, now: StoredTokens | undefined): boolean {
    if (now === undefined || now.accessToken === used) return false
    // An expired token that cannot be renewed is not sent.
    return !isExpired(now) || this.#grant.canRenew(now)
  }

  /** The token to send, renewed if it is due. */
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
      if (stored === undefined || !this.#grant.canRenew(stored)) return
      if (stored.accessToken !== due.accessToken && !isRenewalDue(stored)) return
      const issuerMetadata = await this.#discoverIssuer(server, stored, signal)
      await this.#renew(server, stored, { ...issuerMetadata, ...resourceFacts(stored) }, signal)
    }
    await this.#store.exclusive(key, work, signal)
  }

  async #discoverIssuer(
    server: URL,
    { issuer, presumed: unpublished }: StoredTokens,
    signal: AbortSignal,
  ): Promise<DiscoveredIssuer> {
    if (this.#issuer?.issuer === issuer) return this.#issuer
    const discovered = unpublished
      ? presumed(issuer)
      : await discoverIssuer(issuer, this.#network(server), signal)
    if (discovered === undefined) throw authError(`The issuer ${issuer} no longer publishes metadata`)
    this.#issuer = discovered
    return discovered
  }

  /** Renews a stored token; deletes it if the authorization server rejects it permanently. */
  async #renew(server: URL, stored: StoredTokens, target: AuthTarget, signal: AbortSignal): Promise<void> {
    const context = this.#context(server, target, stored.requested, this.#proofOf(stored), signal)
    try {
      await this.#save(server, context, await this.#grant.renew(stored, context), 'renewed', stored)
    } catch (error) {
      const code = oauthError(error)
      if (code === undefined || !rejectedGrants.has(code) || !this.#grant.interactive) throw error
      if (code !== 'invalid_grant') {
        await this.#grant.forgetRegistration?.(stored.issuer, stored.clientId, this.#store)
      }
      // Rejected tokens are deleted, unless they were replaced meanwhile.
      const key = this.#key(server)
      const now = await loadTokens(this.#store, key)
      const same = now?.accessToken === stored.accessToken && now.refreshToken === stored.refreshToken
      if (same) await this.#store.delete(key)
      this.#use(same ? undefined : now)
    }
  }

  /** Replaces a refused token: by a newer one in the store, by renewal, or by a new login. */
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
      this.#issuer = target
      const same = stored?.issuer === target.issuer && stored.resource === target.resource
      const fresh = used !== undefined && this.#unproven?.token === used ? this.#unproven.how : undefined
      const mayRenew = status === 401 && same && fresh === undefined
      if (mayRenew && stored !== undefined && this.#grant.canRenew(stored)) {
        // Not aborted with the request: the refresh token is used up, so its replacement must be stored.
        await this.#renew(server, stored, target, new AbortController().signal)
        if (this.#tokens !== undefined) return
        signal.throwIfAborted()
      }
      if (status === 401 && fresh !== undefined && !(fresh === 'renewed' && this.#grant.interactive)) {
        throw authError(
          `${server.origin} refuses a token that its authorization server has just issued. Contact the operator of the server: it may expect another audience or issuer`,
        )
      }
      if (background && this.#grant.interactive) throw authError(`${server.origin} requires a new login`)
      const before = same ? stored.requested : []
      const { interactive } = this.#grant
      const scopes = selectScopes(status, challenge, target, this.#options.scopes, before, interactive)
      const operation = `${method} ${url.pathname} ${(challenge.scopes ?? []).toSorted().join(' ')}`
      if (status === 403 && this.#failedOperations.has(operation)) {
        throw authError(
          `${server.origin} refuses this request even after a login with the scopes "${excerpt(scopes.join(' '))}". The account may lack the permission: ask the operator of the server, or use another account`,
          { scopes },
        )
      }
      try {
        const proof = this.#usesDpop(target, challenge) ? await ProofKey.generate() : undefined
        const context = this.#context(server, target, scopes, proof, signal)
        await this.#save(server, context, await this.#grant.obtain(context), 'obtained')
        if (status === 403) this.#failedOperations.add(operation)
      } catch (error) {
        if (status === 403 && oauthError(error) === 'access_denied') this.#failedOperations.add(operation)
        throw error
      }
    }
    await this.#store.exclusive(key, work, signal)
  }

  #usesDpop(target: AuthTarget, challenge: ChallengeParams): boolean {
    if (this.#options.dpop !== true && !target.dpop && !challenge.dpop) return false
    if (target.metadata.dpop_signing_alg_values_supported?.includes('ES256') === true) return true
    throw authError(
      `Tokens for this server must be bound to a key (DPoP), but the authorization server ${target.issuer} does not declare ES256 for that. Contact its operator${this.#options.dpop === true ? ', or remove the option "dpop"' : ''}`,
    )
  }

  #context(
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
          ? `The authorization server ${target.issuer} issued a DPoP token although no key was sent`
          : `The authorization server ${target.issuer} did not bind its token to this client's key (DPoP). Contact its operator`,
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
    await this.#store.set(this.#key(server), JSON.stringify(saved))
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

function resourceFacts({ resource }: StoredTokens): Pick<AuthTarget, 'resource' | 'scopes' | 'dpop'> {
  return { resource, scopes: undefined, dpop: false }
}

/** The stored tokens of one server. Times are milliseconds since 1970. */
export interface StoredTokens {
  /** The issuer identifier, literally; tokens are renewed only there. */
  readonly issuer: string
  /** The issuer publishes no metadata, so its endpoints are presumed. */
  readonly presumed: boolean
  readonly resource: string
  readonly clientId: string
  /** The dynamically registered client; a later registration does not invalidate its tokens. */
  readonly registration?: Registration
  readonly accessToken: string
  readonly tokenType: 'bearer' | 'dpop'
  readonly refreshToken?: string
  /** When the access token expires, and when to renew it; absent if the server sent no `expires_in`. */
  readonly expiresAt?: number
  readonly renewAt?: number
  readonly requested: readonly string[]
  /** The private key that the tokens are bound to (RFC 9449). */
  readonly proofKey?: JWK
}

const renewEarlyMs = 15_000
/** A hundred years, so that times stay valid numbers. */
const maxLifetimeMs = 3_155_760_000_000

/** The stored tokens of a key; undefined if there are none, or none that are valid. */
async function loadTokens(store: CredentialStore, key: string): Promise<StoredTokens | undefined> {
  const text = await store.get(key)
  if (text === undefined) return undefined
  try {
    const value: unknown = readJson(text)
    return isSaved(value) ? value : undefined
  } catch {
    return undefined
  }
}

const strings = ['issuer', 'resource', 'clientId', 'accessToken']

function isSaved(value: unknown): value is StoredTokens {
  if (!isObject(value)) return false
  const { requested, tokenType, presumed, registration, refreshToken, expiresAt, renewAt, proofKey } = value
  const time = (at: unknown): boolean => at === undefined || typeof at === 'number'
  return (
    strings.every((name) => typeof value[name] === 'string') &&
    (tokenType === 'bearer' || (tokenType === 'dpop' && isObject(proofKey))) &&
    typeof presumed === 'boolean' &&
    (registration === undefined || isRegistration(registration)) &&
    (refreshToken === undefined || typeof refreshToken === 'string') &&
    time(expiresAt) &&
    time(renewAt) &&
    Array.isArray(requested) &&
    requested.every((scope) => typeof scope === 'string')
  )
}

/** When a token expires and is renewed: 15 s before it expires, or after three quarters of a shorter lifetime. */
function expiry(seconds: number): { expiresAt: number; renewAt: number } {
  const ms = Math.min(seconds * 1_000, maxLifetimeMs)
  const now = Date.now()
  return { expiresAt: now + ms, renewAt: now + ms - Math.min(renewEarlyMs, ms / 4) }
}

function isRenewalDue({ renewAt }: StoredTokens): boolean {
  return renewAt !== undefined && Date.now() >= renewAt
}

function isExpired({ expiresAt }: StoredTokens): boolean {
  return expiresAt !== undefined && Date.now() >= expiresAt
}
