import type { JWK } from 'jose'
import { type ClientAuth, ClientSecretPost, None, PrivateKeyJwt } from 'oauth4webapi'
import { McpError } from '../../jsonrpc/error.ts'

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
