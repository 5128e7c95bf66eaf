import type { JWK } from 'jose'
import { readJson } from '../../jsonrpc/exact-json.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { deferred, orAborted } from '../../jsonrpc/promises.ts'
import { isRegistration, type Registration } from './registration.ts'

/**
 * Stores credentials between requests, and between runs if it is persistent. Values are JSON that contains secrets; keys
 * are short and contain none.
 */
export interface CredentialStore {
  /** The stored value; undefined if there is none. */
  get(key: string): Promise<string | undefined>
  /** Stores a value, in place of the one before. */
  set(key: string, value: string): Promise<void>
  /** Deletes a value, if it exists. */
  delete(key: string): Promise<void>
  /**
   * Runs `work` under a lock per key, shared with all users of the store in this process and others. `work` may take as
   * long as a user takes to log in. The signal ends the wait for the lock.
   */
  exclusive<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

/** Runs work for the same key one after the other, in the order of the calls. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const mine = deferred()
    const turn = before.then(() => mine.promise)
    this.#last.set(key, turn)
    turn.then(() => {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    })
    try {
      await (signal === undefined ? before : orAborted(before, signal))
      return await work()
    } finally {
      mine.resolve()
    }
  }
}

/** A store in memory, for the lifetime of the process. */
export function memoryStore(): CredentialStore {
  const values = new Map<string, string>()
  const turns = new KeyedQueue()
  return {
    get: async (key) => values.get(key),
    set: async (key, value) => {
      values.set(key, value)
    },
    delete: async (key) => {
      values.delete(key)
    },
    exclusive: (key, work, signal) => turns.run(key, work, signal),
  }
}

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
