import { calculateJwkThumbprint, EmbeddedJWK, type JWK, type JWTVerifyResult, jwtVerify } from 'jose'
import { utf8 } from '../../jsonrpc/bytes.ts'
import { invalid } from '../../jsonrpc/error.ts'
import type { Backplane } from '../../request/backplane.ts'
import { digest, toBase64Url } from '../../request/encoding.ts'
import type { HttpCaller } from '../../transports/server/http/options.ts'
import { PrincipalQuota } from '../../transports/server/memory-budget.ts'

const periodMs = 120_000
const secretBytes = 32

/**
 * Stateless nonces, derived from a secret: each is valid in its period of 2 minutes and the next. Nodes with the same secret
 * accept each other's.
 */
class NonceIssuer {
  readonly #secret: string | Uint8Array | undefined
  #key: Promise<CryptoKey> | undefined
  readonly #byPeriod = new Map<number, Promise<string>>()

  /** @param secret default: random, created on first use, since workers have no randomness before a request */
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
    const nonce = this.#byPeriod.get(period) ?? this.#create(period)
    this.#byPeriod.set(period, nonce)
    for (const old of this.#byPeriod.keys()) if (old < period - 2) this.#byPeriod.delete(old)
    return nonce
  }

  async #create(period: number): Promise<string> {
    this.#key ??= importKey(this.#secret ?? crypto.getRandomValues(new Uint8Array(secretBytes)))
    const text = utf8(`DPoP nonce ${period}`)
    return toBase64Url(new Uint8Array(await crypto.subtle.sign('HMAC', await this.#key, text)))
  }
}

function importKey(secret: string | Uint8Array): Promise<CryptoKey> {
  const bytes = typeof secret === 'string' ? utf8(secret) : new Uint8Array(secret)
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

/** How proofs of possession (RFC 9449) are requested and verified. */
export interface DpopOptions {
  /** Whether every token must be bound to a key. Default false: bearer tokens are accepted too. */
  required?: boolean
  /** Signature algorithms of proofs. Default ES256, ES384, EdDSA, Ed25519, PS256 and RS256. */
  algorithms?: readonly string[]
  /** Milliseconds a proof is valid. Default 60,000. */
  proofAgeMs?: number
  /**
   * Whether proofs must contain a nonce of this server, or the secret of at least 32 bytes that nonces derive from: the same on
   * every node. Default false.
   */
  nonces?: boolean | string | Uint8Array
  /** Used proofs remembered in memory, at most a fifth per principal; beyond that, proofs are rejected. Default 100,000. */
  maxRemembered?: number
  /** Where used proofs are remembered if several nodes accept the same tokens. Default: memory. */
  backplane?: Pick<Backplane, 'add'>
}

/** The result of a proof, with the next nonce if it changed. */
export type ProofResult =
  | { readonly ok: true; readonly nonce?: string }
  | {
      readonly ok: false
      /** An error code of RFC 6750 or RFC 9449. */
      readonly error: string
      readonly reason: string
      readonly nonce?: string
    }

const defaultAlgorithms: readonly string[] = ['ES256', 'ES384', 'EdDSA', 'Ed25519', 'PS256', 'RS256']
const maxProofChars = 8192
const maxJtiChars = 256
const minSecretBytes = 32
/** One principal may have a fifth of the remembered proofs. */
const principalShare = 5

/** Checks proofs of possession (RFC 9449) for one resource. */
export class ProofChecker {
  readonly algorithms: readonly string[]
  readonly #resource: URL
  readonly #ageMs: number
  readonly #toleranceMs: number
  readonly #nonces: NonceIssuer | undefined
  readonly #seen: Pick<Backplane, 'add'>

  /** @throws McpError 'INVALID' for invalid options */
  constructor(resource: URL, options: DpopOptions, toleranceMs: number) {
    const { algorithms = defaultAlgorithms, proofAgeMs = 60_000, nonces = false } = options
    const { backplane, maxRemembered = 100_000 } = options
    const symmetric = algorithms.find((name) => !/^(?:RS|PS|ES|Ed)/.test(name))
    if (symmetric !== undefined) {
      throw invalid(`dpop.algorithms: "${symmetric}" is not an asymmetric algorithm`)
    }
    this.algorithms = algorithms
    this.#resource = resource
    this.#ageMs = proofAgeMs
    this.#toleranceMs = toleranceMs
    this.#nonces = noncesOf(nonces)
    this.#seen = backplane ?? boundedMemory(maxRemembered)
  }

  /** The nonce a client must use, if nonces are required. */
  async nonce(): Promise<string | undefined> {
    return this.#nonces?.current()
  }

  /** Verifies that the sender of a request holds the key with this thumbprint. */
  async check(
    request: HttpCaller,
    token: string,
    thumbprint: string,
    principal: string | null,
  ): Promise<ProofResult> {
    const next = await this.#nonces?.current()
    const nextNonce = next === undefined ? {} : { nonce: next }
    const reject = (reason: string, error = 'invalid_dpop_proof'): ProofResult => ({
      ok: false,
      error,
      reason,
      ...nextNonce,
    })
    const proof = request.header('dpop')
    if (proof === undefined || proof.length > maxProofChars) {
      return reject('The request needs a DPoP proof')
    }
    const verified = await this.#verified(proof)
    if (verified === undefined) return reject('The DPoP proof is not valid')
    const { htm, htu, iat, jti, ath, nonce } = verified.payload
    if (htm !== request.method || !this.#matchesUrl(htu, request)) {
      return reject('The DPoP proof is for another request')
    }
    if (ath !== (await digest(token))) return reject('The DPoP proof is for another access token')
    if ((await thumbprintOf(verified.protectedHeader.jwk)) !== thumbprint) {
      return reject('The access token is bound to another key')
    }
    if (!this.#isRecent(iat)) return reject('The DPoP proof is too old, or its clock is wrong')
    if (this.#nonces !== undefined && !(await this.#nonces.accepts(nonce))) {
      return reject('The DPoP proof needs a nonce of this server', 'use_dpop_nonce')
    }
    if (typeof jti !== 'string' || jti === '' || jti.length > maxJtiChars)
      return reject('The DPoP proof has no "jti"')
    if (!(await this.#isUnused(thumbprint, jti, principal))) return reject('The DPoP proof was used before')
    return { ok: true, ...(next === nonce ? {} : nextNonce) }
  }

  async #verified(proof: string): Promise<JWTVerifyResult | undefined> {
    try {
      return await jwtVerify(proof, EmbeddedJWK, {
        typ: 'dpop+jwt',
        algorithms: [...this.algorithms],
        clockTolerance: this.#toleranceMs / 1000,
      })
    } catch {
      // The sender controls the whole proof, so every error is a rejection.
      return undefined
    }
  }

  /** Whether a URL is that of the request as the client sees it: the resource, or another path of its origin. */
  #matchesUrl(htu: unknown, request: HttpCaller): boolean {
    if (typeof htu !== 'string' || !URL.canParse(htu)) return false
    const { origin, pathname } = new URL(htu)
    const path = new URL(request.url, this.#resource).pathname
    return origin === this.#resource.origin && (pathname === this.#resource.pathname || pathname === path)
  }

  #isRecent(iat: unknown): boolean {
    const now = Date.now()
    return (
      typeof iat === 'number' &&
      iat * 1000 <= now + this.#toleranceMs &&
      iat * 1000 >= now - this.#ageMs - this.#toleranceMs
    )
  }

  async #isUnused(thumbprint: string, jti: string, principal: string | null): Promise<boolean> {
    const key = `dpop:${await digest(`${thumbprint} ${jti}`)}`
    const ttlMs = this.#ageMs + 2 * this.#toleranceMs + 1000
    return this.#seen.add(key, '', ttlMs, principal ?? undefined)
  }
}

/** The thumbprint of the key in a proof; undefined for a malformed key. */
async function thumbprintOf(jwk: JWK | undefined): Promise<string | undefined> {
  try {
    return jwk && (await calculateJwkThumbprint(jwk))
  } catch {
    return undefined
  }
}

function noncesOf(nonces: boolean | string | Uint8Array): NonceIssuer | undefined {
  if (nonces === false) return undefined
  if (nonces === true) return new NonceIssuer()
  if (nonces.length < minSecretBytes) {
    throw invalid(`dpop.nonces: a secret needs at least ${minSecretBytes} bytes`)
  }
  return new NonceIssuer(nonces)
}

/** Stores keys until they expire. When full, a new key counts as used, so that no proof is accepted twice. */
function boundedMemory(max: number): Pick<Backplane, 'add'> {
  const seen = new Map<string, { readonly until: number; readonly owner: string | null }>()
  const quota = new PrincipalQuota(Math.ceil(max / principalShare))
  return {
    add: async (key, _value, ttlMs, principal) => {
      const now = Date.now()
      const owner = principal ?? null
      // All have the same TTL, so the oldest come first.
      for (const [old, { until, owner: whose }] of seen) {
        if (until > now) break
        seen.delete(old)
        quota.release(whose)
      }
      if (seen.has(key) || seen.size >= max || !quota.reserve(owner)) return false
      seen.set(key, { until: now + ttlMs, owner })
      return true
    },
  }
}
