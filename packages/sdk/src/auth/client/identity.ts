import type { JWK } from 'jose'
import {
  type AuthorizationServer,
  type ClientAuth,
  ClientSecretPost,
  None,
  PrivateKeyJwt,
} from 'oauth4webapi'
import { invalid } from '../../jsonrpc/error.ts'
import { basicAuthorization } from '../../request/encoding.ts'
import type { CredentialStore } from './credential-store.ts'
import type { AuthTarget } from './discovery.ts'
import type { Network } from './network.ts'
import type { ProofKey } from './proof-key.ts'
import type { StoredTokens } from './session.ts'
import type { Tokens } from './token-endpoint.ts'

/** How a client authenticates at the token endpoint (RFC 8414, `token_endpoint_auth_methods_supported`). */
export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/** A key that signs client assertions (RFC 7523). */
export interface SigningKey {
  /** PKCS #8 in PEM, a private JWK, or a CryptoKey that may sign. */
  privateKey: string | JWK | CryptoKey
  /** Default: `alg` of the JWK, else `ES256`. */
  algorithm?: string
  /** The `kid` of the assertion. */
  keyId?: string
}

/** The credentials of a client at one authorization server. */
export interface ConfiguredClient {
  clientId: string
  clientSecret?: string
  /** For `private_key_jwt`, in place of a secret. */
  signingKey?: SigningKey
  /** Default: by the credentials and the metadata of the authorization server. */
  authMethod?: ClientAuthMethod
}

/** A client as registered with one authorization server. */
export interface Identity {
  /** Absent if an assertion alone identifies the client. */
  readonly clientId: string | undefined
  readonly secret?: string | undefined
  readonly key?: SigningKey | undefined
  readonly method: ClientAuthMethod
}

export function identityOf(
  { clientId, clientSecret: secret, signingKey: key, authMethod }: ConfiguredClient,
  { token_endpoint_auth_methods_supported: supported }: AuthorizationServer,
): Identity & { clientId: string } {
  const method = authMethod ?? (key === undefined ? methodFor(secret, supported) : 'private_key_jwt')
  return { clientId, secret, key, method }
}

/** The authentication method for a client with or without a secret, among those that the authorization server supports. */
export function methodFor(
  secret: string | undefined,
  supported: readonly string[] | undefined,
): ClientAuthMethod {
  if (secret === undefined) return 'none'
  const among = supported ?? ['client_secret_basic']
  return !among.includes('client_secret_basic') && among.includes('client_secret_post')
    ? 'client_secret_post'
    : 'client_secret_basic'
}

export async function clientAuth({ clientId, secret, key, method }: Identity): Promise<ClientAuth> {
  if (clientId === undefined) return () => {}
  if (key !== undefined && method === 'private_key_jwt') {
    return PrivateKeyJwt({ key: await signingKey(key), ...(key.keyId !== undefined && { kid: key.keyId }) })
  }
  if (secret === undefined || method === 'none') return None()
  if (method === 'client_secret_post') return ClientSecretPost(secret)
  return (_server, _client, _body, headers) => {
    headers.set('authorization', basicAuthorization(clientId, secret))
  }
}

async function signingKey({ privateKey, algorithm }: SigningKey): Promise<CryptoKey> {
  const { importJWK, importPKCS8 } = await import('jose/key/import')
  try {
    if (typeof privateKey === 'string') return await importPKCS8(privateKey, algorithm ?? 'ES256')
    if (privateKey instanceof CryptoKey) return privateKey
    const key = await importJWK(privateKey, algorithm ?? privateKey.alg ?? 'ES256')
    if (!(key instanceof Uint8Array)) return key
  } catch {
    // The parser's error is dropped, because it may contain the key.
  }
  throw invalid(
    'The private key could not be read. Give PKCS #8 in PEM ("BEGIN PRIVATE KEY"), a private JWK or a CryptoKey, and its algorithm',
  )
}

export interface GrantContext {
  readonly target: AuthTarget
  readonly scopes: readonly string[]
  readonly network: Network
  readonly store: CredentialStore
  /** The key to bind the tokens to, if any. */
  readonly proof: ProofKey | undefined
  readonly signal: AbortSignal
}

/** A way to obtain tokens. Every failure is an McpError 'UNAUTHORIZED' that says what to do. */
export interface Grant {
  /** Separates its tokens from those of other grants in the same store. */
  readonly kind: string
  /** Obtaining tokens involves the user; renewing them does not. */
  readonly interactive: boolean
  /** Issuers that the client has credentials for; empty for any. */
  readonly issuers: readonly string[]
  obtain(context: GrantContext): Promise<Tokens>
  canRenew(saved: StoredTokens): boolean
  renew(saved: StoredTokens, context: GrantContext): Promise<Tokens>
  /** The client that the tokens were issued to. Throws if it is not known here. */
  identify(saved: StoredTokens, context: GrantContext): Promise<Identity>
  /** Deletes a registration that the authorization server no longer accepts. */
  forgetRegistration?(issuer: string, clientId: string, store: CredentialStore): Promise<void>
}
