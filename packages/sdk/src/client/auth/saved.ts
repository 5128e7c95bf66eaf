import type { JWK } from 'jose'
import { isObject } from '../../jsonrpc/parse.ts'
import { readJson } from '../../jsonrpc/reread.ts'
import type { CredentialStore } from './store.ts'

/** Tokens for one server, as they are kept. Times are milliseconds since 1970. */
export interface Saved {
  /** Who issued them, literally; they are renewed nowhere else. */
  readonly issuer: string
  /** The issuer publishes no metadata. */
  readonly presumed: boolean
  readonly resource: string
  readonly clientId: string
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

/** The saved tokens of a key; undefined when there are none, or none that can be read. */
export async function load(store: CredentialStore, key: string): Promise<Saved | undefined> {
  return read(await store.get(key))
}

export function save(store: CredentialStore, key: string, saved: Saved): Promise<void> {
  return store.set(key, JSON.stringify(saved))
}

function read(text: string | undefined): Saved | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = readJson(text)
    return isSaved(value) ? value : undefined
  } catch {
    return undefined
  }
}

const strings = ['issuer', 'resource', 'clientId', 'accessToken']

function isSaved(value: unknown): value is Saved {
  if (!isObject(value)) return false
  const { requested, tokenType, presumed, refreshToken, expiresAt, renewAt, proofKey } = value
  const time = (at: unknown): boolean => at === undefined || typeof at === 'number'
  return (
    strings.every((name) => typeof value[name] === 'string') &&
    (tokenType === 'bearer' || (tokenType === 'dpop' && isObject(proofKey))) &&
    typeof presumed === 'boolean' &&
    (refreshToken === undefined || typeof refreshToken === 'string') &&
    time(expiresAt) &&
    time(renewAt) &&
    Array.isArray(requested) &&
    requested.every((scope) => typeof scope === 'string')
  )
}
