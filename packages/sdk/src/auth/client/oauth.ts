import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import { McpError } from '../../jsonrpc/error.ts'
import type { CredentialStore } from './credential-store.ts'
import type { DiscoveredIssuer } from './discovery.ts'
import {
  type ClientAuthMethod,
  type Grant,
  type GrantContext,
  type Identity,
  methodFor,
  type SigningKey,
} from './identity.ts'
import { authError, isLoopback } from './network.ts'
import { type Redirect, readCode } from './redirect.ts'
import {
  forgetRegistration,
  isUsable,
  loadRegistration,
  type Registration,
  register,
} from './registration.ts'
import { type AuthOptions, type Authorization, AuthSession } from './session.ts'
import type { StoredTokens } from './stored-tokens.ts'
import { requestTokens, type Tokens } from './token-endpoint.ts'

/** A client somebody registered by hand. Its credentials go to the issuer they belong to and nowhere else. */
export interface RegisteredClient {
  /** The issuer identifier of the authorization server, exactly as it writes it. */
  issuer: string
  clientId: string
  clientSecret?: string
  /** For `private_key_jwt`. */
  signingKey?: SigningKey
  /** Default: what fits the credentials and the authorization server. */
  authMethod?: ClientAuthMethod
}

/** How this client makes itself known, in the order in which it tries. */
export interface OAuthClient {
  /** Clients registered by hand. An authorization server that is not among them is refused. */
  registered?: RegisteredClient | readonly RegisteredClient[]
  /** The https URL of this client's Client ID Metadata Document, which also is its client id. */
  metadataUrl?: string
  /** The name to register under where the authorization server lets clients register themselves. */
  name: string
  /** The home page to register with. */
  uri?: string
}

/** Who this client is, and how the person gets to the login page and back. */
export interface OAuthOptions extends AuthOptions {
  client: OAuthClient
  /** How the person gets to the login page and back. */
  redirect: Redirect
}

/**
 * Credentials a person grants by logging in: authorization code with PKCE, renewed by refresh token. Nothing happens
 * until the server asks for credentials.
 * @throws McpError 'INVALID' for a `metadataUrl` that cannot be a client id
 */
export function oauth(options: OAuthOptions): Authorization {
  return new AuthSession(new CodeGrant(options.client, options.redirect), options)
}

class CodeGrant implements Grant {
  readonly kind = 'oauth'
  readonly interactive = true
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
        `The authorization server ${issuer} names no authorization endpoint. Tell whoever runs it`,
      )
    }
    const session = await this.#redirect.begin((await loadRegistration(issuer, store))?.redirectUri)
    try {
      checkRedirect(session.uri)
      const { identity, ...made } = await this.#identify(context, session.uri)
      const { clientId } = identity
      const state = generateRandomState()
      const verifier = generateRandomCodeVerifier()
      const url = new URL(metadata.authorization_endpoint)
      await context.network.check(url)
      const params = await authorizationParams(context, clientId, session.uri, state, verifier)
      for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
      const callback = await session.open(url, signal)
      const code = readCode(callback, { server: target, clientId, redirectUri: session.uri, state })
      const tokens = await requestTokens({ server: target, identity, ...context }, 'authorization_code', {
        code,
        redirect_uri: session.uri,
        code_verifier: verifier,
        resource: target.resource,
      })
      return { ...tokens, ...made }
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
    throw authError(
      'The login was made by a client that is not configured any more. Log in again',
      undefined,
      {
        error: 'invalid_grant',
      },
    )
  }

  async renew(saved: StoredTokens, context: GrantContext): Promise<Tokens> {
    const identity = await this.identify(saved, context)
    const { refreshToken = '' } = saved
    return requestTokens({ server: context.target, identity, ...context }, 'refresh_token', {
      refresh_token: refreshToken,
      resource: context.target.resource,
    })
  }

  forgetRegistration(issuer: string, clientId: string, store: CredentialStore): Promise<void> {
    return forgetRegistration(issuer, clientId, store)
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

  /** This client as the authorization server knows it without a registration of its own. */
  #knownIdentity({ issuer, metadata }: DiscoveredIssuer): (Identity & { clientId: string }) | undefined {
    const registered = this.#registered.find((one) => one.issuer === issuer)
    if (registered !== undefined) {
      const { clientId, clientSecret: secret, signingKey: key, authMethod } = registered
      const supported = metadata.token_endpoint_auth_methods_supported
      const method = authMethod ?? (key === undefined ? methodFor(secret, supported) : 'private_key_jwt')
      return { clientId, secret, key, method }
    }
    if (this.#registered.length > 0) {
      throw authError(
        `The server wants a login at ${issuer}, and the registered client is one of ${this.issuers.join(', ')}, where its credentials stay. Register a client at ${issuer} and give it in client.registered, or leave that out`,
        undefined,
        { issuer },
      )
    }
    const { metadataUrl } = this.#client
    return metadataUrl !== undefined && metadata.client_id_metadata_document_supported === true
      ? { clientId: metadataUrl, method: 'none' }
      : undefined
  }
}

async function authorizationParams(
  { target, scopes }: GrantContext,
  clientId: string,
  redirectUri: string,
  state: string,
  verifier: string,
): Promise<Record<string, string>> {
  return {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    resource: target.resource,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    // OpenID Connect gives lasting access only to who consents to it anew.
    ...(scopes.includes('offline_access') && { prompt: 'consent' }),
  }
}

/** A server that does not say it checks proofs of code exchange is not trusted with a code. */
function checkPkce({ issuer, metadata, presumed }: DiscoveredIssuer): void {
  if (presumed || metadata.code_challenge_methods_supported?.includes('S256') === true) return
  throw authError(
    `The authorization server ${issuer} does not say that it supports PKCE with S256, so a login there could be stolen. Tell whoever runs it to add code_challenge_methods_supported to its metadata`,
  )
}

function checkRedirect(uri: string): void {
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  const sound = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url))
  if (sound) return
  throw new McpError('INVALID', `The redirect URI ${uri} must be https:, or http: on a loopback address`)
}

function checkClientId(metadataUrl: string): void {
  const url = URL.canParse(metadataUrl) ? new URL(metadataUrl) : undefined
  const plain = url?.username === '' && url.password === '' && url.hash === ''
  if (plain && url.protocol === 'https:' && url.pathname !== '/' && url.href === metadataUrl) return
  throw new McpError(
    'INVALID',
    `client.metadataUrl must be an https: URL with a path, written as URLs are normalised, and not ${JSON.stringify(metadataUrl)}`,
  )
}
