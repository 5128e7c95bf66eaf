import { toBase64Url } from '../core/base64url.ts'

const encoder = new TextEncoder()
const periodMs = 120_000
const secretBytes = 32

/**
 * Nonces of a server that remembers none: each stands for a period of 2 minutes and is good in that one and the next.
 * Nodes with the same secret give and take the same ones.
 */
export class Nonces {
  readonly #secret: string | Uint8Array | undefined
  #key: Promise<CryptoKey> | undefined
  readonly #made = new Map<number, Promise<string>>()

  /** @param secret default: a random one, made when it is needed, since workers have no randomness before a request */
  constructor(secret?: string | Uint8Array) {
    this.#secret = secret
  }

  current(): Promise<string> {
    return this.#of(Math.floor(Date.now() / periodMs))
  }

  async accepts(nonce: unknown): Promise<boolean> {
    const period = Math.floor(Date.now() / periodMs)
    return nonce === (await this.#of(period)) || nonce === (await this.#of(period - 1))
  }

  #of(period: number): Promise<string> {
    const made = this.#made.get(period) ?? this.#make(period)
    this.#made.set(period, made)
    for (const old of this.#made.keys()) if (old < period - 2) this.#made.delete(old)
    return made
  }

  async #make(period: number): Promise<string> {
    this.#key ??= importKey(this.#secret ?? crypto.getRandomValues(new Uint8Array(secretBytes)))
    const text = encoder.encode(`DPoP nonce ${period}`)
    return toBase64Url(new Uint8Array(await crypto.subtle.sign('HMAC', await this.#key, text)))
  }
}

function importKey(secret: string | Uint8Array): Promise<CryptoKey> {
  const bytes = typeof secret === 'string' ? encoder.encode(secret) : new Uint8Array(secret)
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}
