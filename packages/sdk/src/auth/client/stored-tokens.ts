import type { JWK } from 'jose'
import { readJson } from '../../jsonrpc/exact-json.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { CredentialStore } from './credential-store.ts'
import { isRegistration, type Registration } from './registration.ts'

/** Tokens for one server, as they are kept. Times are milliseconds since 1970. */
export interface StoredTokens {
  /** Who issued them, literally; they are renewed nowhere else. */
  readonly issuer: string
  /** The issuer publishes no metadata. */
  readonly presumed: boolean
  readonly resource: string
  readonly clientId: string
  /** The client, where it registered itself; a later registration does not end what this one was given. */
  readonly registration?: Registration
  readonly accessToken: string
  readonly tokenType: 'bearer' | 'dpop'
  readonly refreshToken?: string
  /** When the access token ends, and when it is better renewed; absent where the server did not say. */
  readonly expiresAt?: number
  readonly renewAt?: number
  /** Every scope that was asked for. */
  readonly requested: readonly string[]
  /** The private key the tokens are bound to. */
  readonly proofKey?: JWK
}

const renewEarlyMs = 15_000
/** A hundred years: what no number can hold could not be kept. */
const longestMs = 3_155_760_000_000

/** The saved tokens of a key; undefined when there are none, or none that can be read. */
export async function loadTokens(store: CredentialStore, key: string): Promise<StoredTokens | undefined> {
  return read(await store.get(key))
}

export function saveTokens(store: CredentialStore, key: string, saved: StoredTokens): Promise<void> {
  return store.set(key, JSON.stringify(saved))
}

function read(text: string | undefined): StoredTokens | undefined {
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

/** When a token of so many seconds ends. Renewal comes a little before the end, but late in the life of a short one. */
export function expiry(seconds: number): { expiresAt: number; renewAt: number } {
  const ms = Math.min(seconds * 1_000, longestMs)
  const now = Date.now()
  return { expiresAt: now + ms, renewAt: now + ms - Math.min(renewEarlyMs, ms / 4) }
}

/** Whether it is better renewed before it is sent. */
export function isRenewalDue({ renewAt }: StoredTokens): boolean {
  return renewAt !== undefined && Date.now() >= renewAt
}

/** Whether its time is up. */
export function isExpired({ expiresAt }: StoredTokens): boolean {
  return expiresAt !== undefined && Date.now() >= expiresAt
}
