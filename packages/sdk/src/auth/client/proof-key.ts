import type { CryptoKey, JWK } from 'jose'
import { decodeJwt } from 'jose/jwt/decode'
import { digest } from '../../request/encoding.ts'
import { authError } from './network.ts'

const algorithm = 'ES256'
const maxNonces = 20
const nonceText = /^[\x21-\x7e]{1,1024}$/

/** A key that tokens are bound to (DPoP, RFC 9449), with the nonces that servers require in its proofs. */
export class ProofKey {
  /** The private key, for the store. */
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

  /** A proof for one request, bound to its access token if it has one. */
  async sign(method: string, url: URL, token?: string): Promise<string> {
    this.#key ??= import('jose/key/import').then(({ importJWK }) => importJWK(this.jwk, algorithm))
    const { kty, crv, x, y } = this.jwk
    if (kty !== 'EC' || crv === undefined || x === undefined || y === undefined) {
      throw authError('The stored DPoP key of this login is invalid. Forget the login and log in again')
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

  storeNonce(origin: string, headers: Headers): void {
    const nonce = headers.get('dpop-nonce')
    if (nonce === null || !nonceText.test(nonce)) return
    if (!this.#nonces.has(origin) && this.#nonces.size === maxNonces) return
    this.#nonces.set(origin, nonce)
  }

  /** Whether a refused proof lacks the current nonce. */
  lacksNonce(proof: string | undefined, origin: string): boolean {
    const nonce = this.#nonces.get(origin)
    return proof !== undefined && nonce !== undefined && decodeJwt(proof)['nonce'] !== nonce
  }
}
