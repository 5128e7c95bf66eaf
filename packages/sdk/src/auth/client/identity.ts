import type { JWK } from 'jose'
import { type ClientAuth, ClientSecretPost, None, PrivateKeyJwt } from 'oauth4webapi'
import { McpError } from '../../jsonrpc/error.ts'
import type { CredentialStore } from './credential-store.ts'
import type { AuthTarget } from './discovery.ts'
import type { Network } from './network.ts'
import type { ProofKey } from './proof-key.ts'
import type { StoredTokens } from './stored-tokens.ts'
import type { Tokens } from './token-endpoint.ts'

/** How a client proves who it is at the token endpoint. */
export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/** A key that signs what a client says about itself. */
export interface SigningKey {
  /** PKCS #8 in PEM, a private JWK, or a CryptoKey that may sign. */
  privateKey: string | JWK | CryptoKey
  /** Default: what the JWK says, else `ES256`. */
  algorithm?: string
  /** Names the key in the assertion. */
  keyId?: string
}

/** A client as one authorization server knows it. */
export interface Identity {
  /** Absent where an assertion alone says who asks. */
  readonly clientId: string | undefined
  readonly secret?: string | undefined
  readonly key?: SigningKey | undefined
  readonly method: ClientAuthMethod
}

/** The method for a client with or without a secret, among those the authorization server supports. */
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

/** Adds to a token request what proves who the client is. */
export async function clientAuth({ clientId, secret, key, method }: Identity): Promise<ClientAuth> {
  if (clientId === undefined) return () => {}
  if (key !== undefined && method === 'private_key_jwt') {
    return PrivateKeyJwt({ key: await signingKey(key), ...(key.keyId !== undefined && { kid: key.keyId }) })
  }
  if (secret === undefined || method === 'none') return None()
  if (method === 'client_secret_post') return ClientSecretPost(secret)
  return (_server, _client, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(`${formEncoded(clientId)}:${formEncoded(secret)}`)}`)
  }
}

/** As the form encoding has it; characters that need none stay, for servers that forget to decode. */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

async function signingKey({ privateKey, algorithm }: SigningKey): Promise<CryptoKey> {
  const { importJWK, importPKCS8 } = await import('jose/key/import')
  try {
    if (typeof privateKey === 'string') return await importPKCS8(privateKey, algorithm ?? 'ES256')
    if (privateKey instanceof CryptoKey) return privateKey
    const key = await importJWK(privateKey, algorithm ?? privateKey.alg ?? 'ES256')
    if (!(key instanceof Uint8Array)) return key
  } catch {
    // What the parser says may quote the key.
  }
  throw new McpError(
    'INVALID',
    'The private key could not be read. Give PKCS #8 in PEM ("BEGIN PRIVATE KEY"), a private JWK or a CryptoKey, and the algorithm it is for',
  )
}

/** What tokens are wanted for, and what they are to be got with. */
export interface GrantContext {
  readonly target: AuthTarget
  readonly scopes: readonly string[]
  readonly network: Network
  readonly store: CredentialStore
  /** The key they are to be bound to, if any. */
  readonly proof: ProofKey | undefined
  readonly signal: AbortSignal
}

/** One way of getting tokens. Every failure is an McpError 'UNAUTHORIZED' that says what to do. */
export interface Grant {
  /** Keeps its tokens apart from those of other grants in the same store. */
  readonly kind: string
  /** A person takes part in getting tokens, though not in renewing them. */
  readonly interactive: boolean
  /** Issuers this client has credentials of; empty where it takes any. */
  readonly issuers: readonly string[]
  obtain(context: GrantContext): Promise<Tokens>
  canRenew(saved: StoredTokens): boolean
  renew(saved: StoredTokens, context: GrantContext): Promise<Tokens>
  /** Who the authorization server knows the holder of these tokens as. Throws where that is not known here. */
  identify(saved: StoredTokens, context: GrantContext): Promise<Identity>
  /** The authorization server does not know this client any more. */
  forgetRegistration?(issuer: string, clientId: string, store: CredentialStore): Promise<void>
}
