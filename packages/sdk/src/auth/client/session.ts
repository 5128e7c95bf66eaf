import { orAborted } from '../../client/call-deadline.ts'
import { excerpt, McpError } from '../../jsonrpc/error.ts'
import type { HttpAuth, Refusal } from '../../transports/client/http-request.ts'
import { challengesIn, Refusals, scopesFor, type Wanted, wantedIn } from './challenge.ts'
import { type CredentialStore, memoryStore } from './credential-store.ts'
import { type Described, describe, discover, presumed, type Target } from './discovery.ts'
import type { Grant, Need } from './identity.ts'
import { Network, type NetworkOptions, refused } from './network.ts'
import { ProofKey } from './proof-key.ts'
import { isDue, isOver, lifetime, load, type StoredTokens, save } from './stored-tokens.ts'
import { failed, oauthError, type Revocation, revokeTokens, type Tokens } from './token-endpoint.ts'

interface Flight {
  readonly promise: Promise<void>
  readonly stop: AbortController
  waiting: number
}

/** One piece of work at a time, shared by all who want it meanwhile, and ended when none of them waits any more. */
export class SingleFlight {
  #flight: Flight | undefined

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

  #begin(work: (signal: AbortSignal) => Promise<void>): Flight {
    const stop = new AbortController()
    const promise = work(stop.signal)
    const flight: Flight = { promise, stop, waiting: 0 }
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
const spent = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client'])
const noWants: Wanted = { resourceMetadata: undefined, scopes: undefined, error: undefined, dpop: false }

/** Tokens of one server: sent along, renewed in time, and replaced when they are refused. */
export class Session implements Authorization {
  readonly #grant: Grant
  readonly #options: AuthOptions
  readonly #store: CredentialStore
  readonly #renewing = new SingleFlight()
  readonly #replacing = new SingleFlight()
  readonly #inVain = new Refusals()
  #server: URL | undefined
  #net: Network | undefined
  #loading: Promise<void> | undefined
  #saved: StoredTokens | undefined
  #proof: ProofKey | undefined
  #described: Described | undefined
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
    const wanted = wantedIn(challengesIn(headers.get('www-authenticate')))
    const used = sent['authorization']?.replace(/^\S+ /, '')
    this.#proof?.learn(server.origin, headers)
    if (wanted.error === 'use_dpop_nonce') return this.#proof?.outdates(sent['dpop'], server.origin) === true
    if (status === 403 && wanted.error !== 'insufficient_scope') return false
    if (this.#changedSince(used, this.#saved)) return true
    await this.#replacing.join((stop) => this.#replace(server, used, refusal, wanted, stop), signal)
    return this.#changedSince(used, this.#saved)
  }

  answered(headers: Headers): void {
    this.#unproven = undefined
    if (this.#server !== undefined) this.#proof?.learn(this.#server.origin, headers)
  }

  async forget(server: string | URL): Promise<void> {
    await this.#take(new URL(server))
  }

  async revoke(server: string | URL, { signal }: { signal?: AbortSignal } = {}): Promise<Revocation> {
    const url = new URL(server)
    const soon = AbortSignal.timeout(revokeWithinMs)
    const until = signal === undefined ? soon : AbortSignal.any([signal, soon])
    const saved = await this.#take(url, until).catch((error: unknown) => {
      throw error === soon.reason ? taken(url) : error
    })
    if (saved === undefined) return { outcome: 'none' }
    const { issuer } = saved
    try {
      const described = await this.#describe(saved, until, this.#network(url))
      if (described.metadata.revocation_endpoint === undefined) return { outcome: 'unsupported', issuer }
      const need = this.#need(url, { ...described, ...aboutResource(saved) }, [], undefined, until)
      const identity = await this.#grant.identify(saved, need)
      return await revokeTokens(saved, { server: described, identity, ...need })
    } catch (error) {
      const late = `${issuer} did not answer within ${revokeWithinMs} ms`
      return failed(issuer, soon.aborted ? new Error(late) : error)
    }
  }

  /** Takes the tokens for a server out of the store, once nobody renews them any more. */
  async #take(server: URL, signal?: AbortSignal): Promise<StoredTokens | undefined> {
    const key = this.#key(server)
    const work = async (): Promise<StoredTokens | undefined> => {
      const saved = await load(this.#store, key)
      await this.#store.delete(key)
      return saved
    }
    const saved = await this.#store.exclusive(key, work, signal)
    if (this.#server?.href === server.href) this.#adopt(undefined)
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
    return !isOver(now) || this.#grant.canRenew(now)
  }

  /** The token to send; renewed when its time is up. */
  async #current(server: URL): Promise<StoredTokens | undefined> {
    this.#loading ??= load(this.#store, this.#key(server)).then(
      (saved) => this.#adopt(saved),
      (error) => {
        this.#loading = undefined
        throw error
      },
    )
    await this.#loading
    const saved = this.#saved
    if (saved === undefined || !isDue(saved)) return saved
    if (!this.#grant.canRenew(saved)) return isOver(saved) ? undefined : saved
    try {
      await this.#renewing.join((stop) => this.#renewDue(server, saved, stop))
    } catch (error) {
      if (isOver(saved)) throw error
      if (this.#saved === saved) this.#saved = { ...saved, renewAt: Date.now() + renewAgainMs }
    }
    return this.#saved
  }

  async #renewDue(server: URL, due: StoredTokens, signal: AbortSignal): Promise<void> {
    const key = this.#key(server)
    const work = async (): Promise<void> => {
      const stored = await load(this.#store, key)
      this.#adopt(stored)
      const renewed = stored === undefined || (stored.accessToken !== due.accessToken && !isDue(stored))
      if (renewed || !this.#grant.canRenew(stored)) return
      const described = await this.#describe(stored, signal)
      await this.#renew(server, stored, { ...described, ...aboutResource(stored) }, signal)
    }
    await this.#store.exclusive(key, work, signal)
  }

  async #describe(
    { issuer, presumed: unpublished }: StoredTokens,
    signal: AbortSignal,
    network: Network = this.#networkNow(),
  ): Promise<Described> {
    if (this.#described?.issuer === issuer) return this.#described
    const found = unpublished ? presumed(issuer) : await describe(issuer, network, signal)
    if (found === undefined) throw refused(`The authorization server ${issuer} has no metadata any more`)
    this.#described = found
    return found
  }

  #networkNow(): Network {
    if (this.#server === undefined) throw new McpError('INVALID', 'These credentials have no server yet')
    return this.#network(this.#server)
  }

  /** Renews a saved token; it is gone afterwards if it can never be renewed again. */
  async #renew(server: URL, stored: StoredTokens, target: Target, signal: AbortSignal): Promise<void> {
    const need = this.#need(server, target, stored.requested, this.#proofOf(stored), signal)
    try {
      await this.#keep(server, need, await this.#grant.renew(stored, need), 'renewed', stored)
    } catch (error) {
      const code = oauthError(error)
      if (code === undefined || !spent.has(code) || !this.#grant.interactive) throw error
      if (code !== 'invalid_grant') {
        await this.#grant.disown?.(stored.issuer, stored.clientId, this.#store)
      }
      await this.#drop(server, stored)
    }
  }

  /** Deletes tokens that turned out to be worthless, but never others that took their place meanwhile. */
  async #drop(server: URL, worthless: StoredTokens): Promise<void> {
    const key = this.#key(server)
    const stored = await load(this.#store, key)
    const same =
      stored?.accessToken === worthless.accessToken && stored.refreshToken === worthless.refreshToken
    if (same) await this.#store.delete(key)
    this.#adopt(same ? undefined : stored)
  }

  /** Finds another token than the refused one: a newer one of somebody else, a renewed one, or one of a new login. */
  async #replace(
    server: URL,
    used: string | undefined,
    { status, method, url, background }: Refusal,
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<void> {
    const key = this.#key(server)
    const work = async (): Promise<void> => {
      const stored = await load(this.#store, key)
      if (this.#changedSince(used, stored)) return this.#adopt(stored)
      const known = [...this.#grant.issuers, ...(stored === undefined ? [] : [stored.issuer])]
      const target = await discover(server, wanted, this.#network(server), known, signal)
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
        if (this.#saved !== undefined) return
        signal.throwIfAborted()
      }
      if (status === 401 && fresh !== undefined) this.#mayAskAgain(server, fresh)
      if (background && this.#grant.interactive) throw refused(`${server.origin} wants a new login`)
      const before = same ? stored.requested : []
      await this.#obtain(server, status, `${method} ${url.pathname}`, { wanted, target, before }, signal)
    }
    await this.#store.exclusive(key, work, signal)
  }

  #mayAskAgain(server: URL, how: 'renewed' | 'obtained'): void {
    if (how === 'renewed' && this.#grant.interactive) return
    throw refused(
      `${server.origin} refuses the token its own authorization server has just issued, so asking for another would not help. Tell whoever runs the server: it may expect another audience or issuer`,
    )
  }

  async #obtain(
    server: URL,
    status: number,
    operation: string,
    { wanted, target, before }: { wanted: Wanted; target: Target; before: readonly string[] },
    signal: AbortSignal,
  ): Promise<void> {
    const { interactive } = this.#grant
    const scopes = scopesFor(status, wanted, target, this.#options.scopes, before, interactive)
    const operationKey = `${operation} ${(wanted.scopes ?? []).toSorted().join(' ')}`
    if (status === 403 && this.#inVain.has(operationKey)) {
      throw refused(
        `${server.origin} does not allow this with the scopes "${excerpt(scopes.join(' '))}", for which a login has just been made. The account may lack the permission: ask whoever runs the server, or use another account`,
        undefined,
        { scopes },
      )
    }
    try {
      const proof = this.#binds(target, wanted) ? await ProofKey.generate() : undefined
      const need = this.#need(server, target, scopes, proof, signal)
      await this.#keep(server, need, await this.#grant.obtain(need), 'obtained')
      if (status === 403) this.#inVain.add(operationKey)
    } catch (error) {
      if (status === 403 && oauthError(error) === 'access_denied') this.#inVain.add(operationKey)
      throw error
    }
  }

  #binds(target: Target, wanted: Wanted): boolean {
    if (this.#options.dpop !== true && !target.dpop && !wanted.dpop) return false
    if (target.metadata.dpop_signing_alg_values_supported?.includes('ES256') === true) return true
    throw refused(
      `Tokens for this server are to be bound to a key, and the authorization server ${target.issuer} does not say that it can do that with ES256. Tell whoever runs it${this.#options.dpop === true ? ', or do without the option "dpop"' : ''}`,
    )
  }

  #need(
    server: URL,
    target: Target,
    scopes: readonly string[],
    proof: ProofKey | undefined,
    signal: AbortSignal,
  ): Need {
    return { target, scopes, network: this.#network(server), store: this.#store, proof, signal }
  }

  async #keep(
    server: URL,
    { target, scopes, proof }: Need,
    tokens: Tokens,
    how: 'renewed' | 'obtained',
    before?: StoredTokens,
  ): Promise<void> {
    const { clientId, accessToken, tokenType, expiresIn, registration = before?.registration } = tokens
    if ((tokenType === 'dpop') !== (proof !== undefined)) {
      throw refused(
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
      ...(expiresIn !== undefined && lifetime(expiresIn)),
      ...(proof !== undefined && { proofKey: proof.jwk }),
    }
    this.#proof = proof
    await save(this.#store, this.#key(server), saved)
    this.#adopt(saved)
    this.#unproven = { token: accessToken, how }
  }

  #adopt(saved: StoredTokens | undefined): void {
    this.#proof = saved === undefined ? undefined : this.#proofOf(saved)
    this.#saved = saved
  }

  #proofOf({ proofKey }: StoredTokens): ProofKey | undefined {
    if (proofKey === undefined) return undefined
    return this.#proof?.jwk.x === proofKey.x ? this.#proof : new ProofKey(proofKey)
  }
}

/** Tokens could not be had, as somebody else is about to replace them. */
function taken({ origin }: URL): McpError {
  return new McpError(
    'TIMEOUT',
    `A login at ${origin} has been going on for ${revokeWithinMs} ms, so its tokens are kept. Finish that login or give it up, then try again`,
  )
}

/** What a login says of its resource, where nothing has to be found out about it. */
function aboutResource({ resource }: StoredTokens): Pick<Target, 'resource' | 'scopes' | 'dpop'> {
  return { resource, scopes: noWants.scopes, dpop: noWants.dpop }
}
