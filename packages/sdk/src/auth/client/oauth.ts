import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import { invalid } from '../../jsonrpc/error.ts'
import type { DiscoveredIssuer } from './discovery.ts'
import {
  type ConfiguredClient,
  type Grant,
  type GrantContext,
  type Identity,
  identityOf,
} from './identity.ts'
import { authError, isLoopback, type MissingForLogin } from './network.ts'
import { type Redirect, readCode } from './redirect.ts'
import {
  forgetRegistration,
  isUsable,
  loadRegistration,
  type Registration,
  register,
} from './registration.ts'
import { type AuthOptions, type Authorization, AuthSession, type StoredTokens } from './session.ts'
import { requestTokens, type Tokens } from './token-endpoint.ts'

/** A pre-registered client. Its credentials are only sent to its issuer. */
export interface RegisteredClient extends ConfiguredClient {
  /** The issuer identifier of the authorization server, exactly as in its metadata. */
  issuer: string
}

/** How this client identifies itself, in order of precedence. */
export interface OAuthClient {
  /** Pre-registered clients. If given, other authorization servers are refused. */
  registered?: RegisteredClient | readonly RegisteredClient[]
  /** The https URL of this client's Client ID Metadata Document, which is also its client id. */
  metadataUrl?: string
  /** The client name for dynamic client registration. */
  name: string
  /** The client's home page for dynamic client registration. */
  uri?: string
}

/** Options of `oauth`. */
export interface OAuthOptions extends AuthOptions {
  /** How this client identifies itself to authorization servers. */
  client: OAuthClient
  /** How the login page is opened and the callback received, such as `loopback()`. */
  redirect: Redirect
}

/**
 * Credentials by user login: authorization code grant with PKCE, renewed by refresh token. Nothing happens before the
 * server requires credentials.
 * @throws McpError 'INVALID' for a `metadataUrl` that cannot be a client id
 */
export function oauth(options: OAuthOptions): Authorization {
  return new AuthSession(new CodeGrant(options.client, options.redirect), options)
}

class CodeGrant implements Grant {
  readonly kind = 'oauth'
  readonly interactive = true
  readonly forgetRegistration = forgetRegistration
  readonly issuers: readonly string[]
  readonly #client: OAuthClient
  readonly #registered: readonly RegisteredClient[]
  readonly #redirect: Redirect

  constructor(client: OAuthClient, redirect: Redirect) {
    const { registered = [], metadataUrl } = client
    if (metadataUrl !== undefined) checkClientId(metadataUrl)
    this.#client = client
    this.#registered = 'issuer' in registered ? [registered] : registered
    this.#redirect = redirect
    this.issuers = this.#registered.map(({ issuer }) => issuer)
  }

  async obtain(context: GrantContext): Promise<Tokens> {
    const { target, store, signal } = context
    const { issuer, metadata } = target
    checkPkce(target)
    if (metadata.authorization_endpoint === undefined) {
      throw authError(
        `The authorization server ${issuer} names no authorization endpoint. Contact its operator`,
      )
    }
    const session = await this.#redirect.begin((await loadRegistration(issuer, store))?.redirectUri)
    try {
      checkRedirect(session.uri)
      const { identity, ...registered } = await this.#identify(context, session.uri)
      const { clientId } = identity
      const state = generateRandomState()
      const verifier = generateRandomCodeVerifier()
      const url = new URL(metadata.authorization_endpoint)
      await context.network.check(url)
      const { scopes } = context
      const params = {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: session.uri,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        resource: target.resource,
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
        // OpenID Connect requires consent for offline access.
        ...(scopes.includes('offline_access') && { prompt: 'consent' }),
      }
      for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
      const callback = await session.open(url, signal)
      const code = readCode(callback, { server: target, clientId, redirectUri: session.uri, state })
      const tokens = await requestTokens(context, identity, 'authorization_code', {
        code,
        redirect_uri: session.uri,
        code_verifier: verifier,
        resource: target.resource,
      })
      return { ...tokens, ...registered }
    } finally {
      await session.close()
    }
  }

  canRenew({ refreshToken }: StoredTokens): boolean {
    return refreshToken !== undefined
  }

  async identify({ clientId, issuer, registration }: StoredTokens, context: GrantContext): Promise<Identity> {
    const own = registration !== undefined && isUsable(registration) ? registration : undefined
    const identity =
      this.#knownIdentity(context.target) ?? own ?? (await loadRegistration(issuer, context.store))
    if (identity?.clientId === clientId) return identity
    throw authError('The login belongs to a client that is no longer configured. Log in again', {
      error: 'invalid_grant',
    })
  }

  async renew(saved: StoredTokens, context: GrantContext): Promise<Tokens> {
    const identity = await this.identify(saved, context)
    const { refreshToken = '' } = saved
    return requestTokens(context, identity, 'refresh_token', {
      refresh_token: refreshToken,
      resource: context.target.resource,
    })
  }

  async #identify(
    context: GrantContext,
    redirectUri: string,
  ): Promise<{ identity: Identity & { clientId: string }; registration?: Registration }> {
    const known = this.#knownIdentity(context.target)
    if (known !== undefined) return { identity: known }
    const { name, uri } = this.#client
    const registration = await register({ ...context, server: context.target, redirectUri, name, uri })
    return { identity: registration, registration }
  }

  /** The pre-registered client, or that of the metadata document. */
  #knownIdentity({ issuer, metadata }: DiscoveredIssuer): (Identity & { clientId: string }) | undefined {
    const registered = this.#registered.find((one) => one.issuer === issuer)
    if (registered !== undefined) return identityOf(registered, metadata)
    if (this.#registered.length > 0) {
      throw authError(
        `The server requires a login at ${issuer}, but the registered client belongs to ${this.issuers.join(', ')}, and its credentials are not sent elsewhere. Register a client at ${issuer} and give it in client.registered, or omit that option`,
        { issuer, missing: 'client' satisfies MissingForLogin },
      )
    }
    const { metadataUrl } = this.#client
    return metadataUrl !== undefined && metadata.client_id_metadata_document_supported === true
      ? { clientId: metadataUrl, method: 'none' }
      : undefined
  }
}

/** Rejects an authorization server that does not declare PKCE with S256. */
function checkPkce({ issuer, metadata, presumed }: DiscoveredIssuer): void {
  if (presumed || metadata.code_challenge_methods_supported?.includes('S256') === true) return
  throw authError(
    `The authorization server ${issuer} does not declare PKCE with S256, so its authorization codes could be stolen. Ask its operator to add code_challenge_methods_supported to its metadata`,
  )
}

function checkRedirect(uri: string): void {
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  const sound = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url))
  if (sound) return
  throw invalid(`The redirect URI ${uri} must be https:, or http: on a loopback address`)
}

function checkClientId(metadataUrl: string): void {
  const url = URL.canParse(metadataUrl) ? new URL(metadataUrl) : undefined
  const plain = url?.username === '' && url.password === '' && url.hash === ''
  if (plain && url.protocol === 'https:' && url.pathname !== '/' && url.href === metadataUrl) return
  throw invalid(
    `client.metadataUrl must be a normalized https: URL with a path, not ${JSON.stringify(metadataUrl)}`,
  )
}
