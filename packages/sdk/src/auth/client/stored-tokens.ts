import type { JWK } from 'jose'
import { readJson } from '../../jsonrpc/exact-json.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { CredentialStore } from './credential-store.ts'
import { isRegistration, type Registration } from './registration.ts'

/** The stored tokens of one server. Times are milliseconds since 1970. */
export interface StoredTokens {
  /** The issuer identifier, literally; tokens are renewed only there. */
  readonly issuer: string
  /** The issuer publishes no metadata, so its endpoints are presumed. */
  readonly presumed: boolean
  readonly resource: string
  readonly clientId: string
  /** The dynamically registered client; a later registration does not invalidate its tokens. */
  readonly registration?: Registration
  readonly accessToken: string
  readonly tokenType: 'bearer' | 'dpop'
  readonly refreshToken?: string
  /** When the access token expires, and when to renew it; absent if the server sent no `expires_in`. */
  readonly expiresAt?: number
  readonly renewAt?: number
  readonly requested: readonly string[]
  /** The private key that the tokens are bound to (RFC 9449). */
  readonly proofKey?: JWK
}

const renewEarlyMs = 15_000
/** A hundred years, so that times stay valid numbers. */
const longestMs = 3_155_760_000_000

/** The stored tokens of a key; undefined if there are none, or none that are valid. */
export async function loadTokens(store: CredentialStore, key: string): Promise<StoredTokens | undefined> {
  const text = await store.get(key)
  if (text === undefined) return undefined
  try {
    const value: unknown = readJson(text)
    return isSaved(value) ? value : undefined
  } catch {
    return undefined
  }
}

const strings = ['issuer', 'resource', 'clientId', 'accessToken']

function isSaved(value: unknown): value is StoredTokens {
  if (!isObject(value)) return false
  const { requested, tokenType, presumed, registration, refreshToken, expiresAt, renewAt, proofKey } = value
  const time = (at: unknown): boolean => at === undefined || typeof at === 'number'
  return (
    strings.every((name) => typeof value[name] === 'string') &&
    (tokenType === 'bearer' || (tokenType === 'dpop' && isObject(proofKey))) &&
    typeof presumed === 'boolean' &&
    (registration === undefined || isRegistration(registration)) &&
    (refreshToken === undefined || typeof refreshToken === 'string') &&
    time(expiresAt) &&
    time(renewAt) &&
    Array.isArray(requested) &&
    requested.every((scope) => typeof scope === 'string')
  )
}

/** When a token expires and is renewed: 15 s before it expires, or after three quarters of a shorter lifetime. */
export function expiry(seconds: number): { expiresAt: number; renewAt: number } {
  const ms = Math.min(seconds * 1_000, longestMs)
  const now = Date.now()
  return { expiresAt: now + ms, renewAt: now + ms - Math.min(renewEarlyMs, ms / 4) }
}

export function isRenewalDue({ renewAt }: StoredTokens): boolean {
  return renewAt !== undefined && Date.now() >= renewAt
}

export function isExpired({ expiresAt }: StoredTokens): boolean {
  return expiresAt !== undefined && Date.now() >= expiresAt
}
