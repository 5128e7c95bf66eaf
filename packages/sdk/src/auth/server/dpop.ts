import { calculateJwkThumbprint, EmbeddedJWK, type JWK, type JWTVerifyResult, jwtVerify } from 'jose'
import { McpError } from '../../jsonrpc/error.ts'
import type { Backplane } from '../../request/backplane.ts'
import { toBase64Url } from '../../request/encoding.ts'
import { PrincipalQuota } from '../../transports/server/calls.ts'
import type { HttpCaller } from '../../transports/server/http/options.ts'
import { digest } from './claims.ts'

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

/** How proofs of possession (RFC 9449) are asked for and checked. */
export interface DpopOptions {
  /** Whether every token must be bound to a key. Default false: bearer tokens are taken too. */
  required?: boolean
  /** Signature algorithms of proofs. Default ES256, ES384, EdDSA, Ed25519, PS256 and RS256. */
  algorithms?: readonly string[]
  /** Milliseconds a proof is good for. Default 60,000. */
  proofAgeMs?: number
  /**
   * Whether proofs must hold a nonce of this server, or the secret of at least 32 bytes that nonces are made with:
   * the same on every node. Default false.
   */
  nonces?: boolean | string | Uint8Array
  /** Proofs remembered in memory, a fifth of them for one principal; where more are used at once, they are refused. Default 100,000. */
  maxRemembered?: number
  /** Where used proofs are remembered, for nodes that take each other's tokens. Default: memory. */
  backplane?: Pick<Backplane, 'add'>
}

/** What came of a proof; either way with the nonce to use next, where it is another. */
export type Proved =
  | { readonly ok: true; readonly nonce?: string }
  | {
      readonly ok: false
      /** An error code of RFC 6750 or RFC 9449. */
      readonly error: string
      readonly why: string
      readonly nonce?: string
    }

const defaultAlgorithms: readonly string[] = ['ES256', 'ES384', 'EdDSA', 'Ed25519', 'PS256', 'RS256']
const maxProofChars = 8192
const maxJtiChars = 256
const minSecretBytes = 32
/** The part of what is remembered that one principal may take. */
const owners = 5

/** Checks proofs of possession (RFC 9449) for one resource. */
export class ProofChecker {
  readonly algorithms: readonly string[]
  readonly #resource: URL
  readonly #ageMs: number
  readonly #toleranceMs: number
  readonly #nonces: Nonces | undefined
  readonly #seen: Pick<Backplane, 'add'>

  /** @throws McpError INVALID for options that are no use */
  constructor(resource: URL, options: DpopOptions, toleranceMs: number) {
    const { algorithms = defaultAlgorithms, proofAgeMs = 60_000, nonces = false } = options
    const { backplane, maxRemembered = 100_000 } = options
    const symmetric = algorithms.find((name) => !/^(?:RS|PS|ES|Ed)/.test(name))
    if (symmetric !== undefined) {
      throw new McpError('INVALID', `dpop.algorithms: "${symmetric}" is not an asymmetric algorithm`)
    }
    this.algorithms = algorithms
    this.#resource = resource
    this.#ageMs = proofAgeMs
    this.#toleranceMs = toleranceMs
    this.#nonces = noncesOf(nonces)
    this.#seen = backplane ?? boundedMemory(maxRemembered)
  }

  /** The nonce a client must use, where there are such. */
  async nonce(): Promise<string | undefined> {
    return this.#nonces?.current()
  }

  /** Whether a request of a principal, if it is one, proves that its sender holds the key with this thumbprint. */
  async check(
    request: HttpCaller,
    token: string,
    thumbprint: string,
    principal: string | null,
  ): Promise<Proved> {
    const next = await this.#nonces?.current()
    const fresh = next === undefined ? {} : { nonce: next }
    const bad = (why: string): Proved => ({ ok: false, error: 'invalid_dpop_proof', why, ...fresh })
    const proof = request.header('dpop')
    if (proof === undefined || proof.length > maxProofChars) {
      return bad('The request needs a DPoP proof')
    }
    const verified = await this.#verified(proof)
    if (verified === undefined) return bad('The DPoP proof is not valid')
    const { htm, htu, iat, jti, ath, nonce } = verified.payload
    if (htm !== request.method || !this.#isHere(htu, request)) {
      return bad('The DPoP proof is for another request')
    }
    if (ath !== (await digest(token))) return bad('The DPoP proof is for another access token')
    if ((await thumbprintOf(verified.protectedHeader.jwk)) !== thumbprint) {
      return bad('The access token is bound to another key')
    }
    if (!this.#isRecent(iat)) return bad('The DPoP proof is too old, or its clock is wrong')
    if (this.#nonces !== undefined && !(await this.#nonces.accepts(nonce))) {
      return {
        ok: false,
        error: 'use_dpop_nonce',
        why: 'The DPoP proof needs a nonce of this server',
        ...fresh,
      }
    }
    if (typeof jti !== 'string' || jti === '' || jti.length > maxJtiChars)
      return bad('The DPoP proof has no "jti"')
    if (!(await this.#isFirst(thumbprint, jti, principal))) return bad('The DPoP proof was used before')
    return { ok: true, ...(next === nonce ? {} : fresh) }
  }

  async #verified(proof: string): Promise<JWTVerifyResult | undefined> {
    try {
      return await jwtVerify(proof, EmbeddedJWK, {
        typ: 'dpop+jwt',
        algorithms: [...this.algorithms],
        clockTolerance: this.#toleranceMs / 1000,
      })
    } catch {
      // Everything a proof is made of comes from its sender, a key that cannot be read included.
      return undefined
    }
  }

  /** Whether a URL is that of the request, as the client sees it: the resource, or another path of its origin. */
  #isHere(htu: unknown, request: HttpCaller): boolean {
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

  async #isFirst(thumbprint: string, jti: string, principal: string | null): Promise<boolean> {
    const key = `dpop:${await digest(`${thumbprint} ${jti}`)}`
    const ttlMs = this.#ageMs + 2 * this.#toleranceMs + 1000
    return this.#seen.add(key, '', ttlMs, principal ?? undefined)
  }
}

/** The thumbprint of the key in a proof; undefined for one that could be used and still has members of other types. */
async function thumbprintOf(jwk: JWK | undefined): Promise<string | undefined> {
  try {
    return jwk && (await calculateJwkThumbprint(jwk))
  } catch {
    return undefined
  }
}

function noncesOf(nonces: boolean | string | Uint8Array): Nonces | undefined {
  if (nonces === false) return undefined
  if (nonces === true) return new Nonces()
  if (nonces.length < minSecretBytes) {
    throw new McpError('INVALID', `dpop.nonces: a secret needs at least ${minSecretBytes} bytes`)
  }
  return new Nonces(nonces)
}

/** Remembers keys until they expire. Where they do not fit, a key counts as seen: none passes twice. */
function boundedMemory(max: number): Pick<Backplane, 'add'> {
  const kept = new Map<string, { readonly until: number; readonly owner: string | null }>()
  const shares = new PrincipalQuota(Math.ceil(max / owners))
  return {
    add: async (key, _value, ttlMs, principal) => {
      const now = Date.now()
      const owner = principal ?? null
      // All live equally long, so the oldest come first.
      for (const [old, { until, owner: whose }] of kept) {
        if (until > now) break
        kept.delete(old)
        shares.give(whose)
      }
      if (kept.has(key) || kept.size >= max || !shares.take(owner)) return false
      kept.set(key, { until: now + ttlMs, owner })
      return true
    },
  }
}
