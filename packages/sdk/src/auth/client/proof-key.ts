import type { CryptoKey, JWK } from 'jose'
import { decodeJwt } from 'jose/jwt/decode'
import { toBase64Url } from '../../request/encoding.ts'
import { authError } from './network.ts'

const algorithm = 'ES256'
const maxNonces = 20
const nonceText = /^[\x21-\x7e]{1,1024}$/

/** A key that tokens are bound to (RFC 9449), with the nonces servers want in its proofs. */
export class ProofKey {
  /** The private key, for keeping. */
  readonly jwk: JWK
  readonly #nonces = new Map<string, string>()
  #key: Promise<CryptoKey | Uint8Array> | undefined

  static async generate(): Promise<ProofKey> {
    const { generateKeyPair } = await import('jose/key/generate/keypair')
    const { exportJWK } = await import('jose/key/export')
    const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
    return new ProofKey(await exportJWK(privateKey))
  }

  constructor(jwk: JWK) {
    this.jwk = jwk
  }

  /** A fresh proof for one request, of one token where it carries one. */
  async sign(method: string, url: URL, token?: string): Promise<string> {
    this.#key ??= imported(this.jwk)
    const { kty, crv, x, y } = this.jwk
    if (kty !== 'EC' || crv === undefined || x === undefined || y === undefined) {
      throw authError('The saved key of this login is damaged. Forget the login and log in again')
    }
    const claims: Record<string, string> = {
      htm: method,
      htu: `${url.origin}${url.pathname}`,
      jti: crypto.randomUUID(),
    }
    if (token !== undefined) claims['ath'] = await digest(token)
    const nonce = this.#nonces.get(url.origin)
    if (nonce !== undefined) claims['nonce'] = nonce
    const { SignJWT } = await import('jose/jwt/sign')
    return new SignJWT(claims)
      .setProtectedHeader({ typ: 'dpop+jwt', alg: algorithm, jwk: { kty, crv, x, y } })
      .setIssuedAt()
      .sign(await this.#key)
  }

  /** Remembers the nonce an answer brings, if any. */
  storeNonce(origin: string, headers: Headers): void {
    const nonce = headers.get('dpop-nonce')
    if (nonce === null || !nonceText.test(nonce)) return
    if (!this.#nonces.has(origin) && this.#nonces.size === maxNonces) return
    this.#nonces.set(origin, nonce)
  }

  /** Whether a proof that was refused lacks the nonce known by now. */
  lacksNonce(proof: string | undefined, origin: string): boolean {
    const nonce = this.#nonces.get(origin)
    return proof !== undefined && nonce !== undefined && decodeJwt(proof)['nonce'] !== nonce
  }
}

async function imported(jwk: JWK): Promise<CryptoKey | Uint8Array> {
  const { importJWK } = await import('jose/key/import')
  return importJWK(jwk, algorithm)
}

async function digest(text: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
}
