import { internalError, type RpcError } from '../../jsonrpc/error.ts'
import { occurrences } from '../../jsonrpc/exact-json.ts'
import { RotatingMap } from '../../jsonrpc/rotating-map.ts'

/** The limit that is exceeded. */
export type FullBudget = 'connection' | 'principal' | 'node'

/** The share of one principal, and of one connection: a quarter of the node's bytes. */
const clientFraction = 4

/**
 * The part of each limit that each use may fill, so that new requests leave memory for the responses and events of earlier
 * ones, and session state leaves memory for requests that release it.
 */
const fractionOfUse = { response: 1, request: 0.75, state: 0.5 }

/**
 * Counts the bytes that one node holds for its clients: requests being read and served, session state, unsent events and
 * responses. Limits them to `limits.memoryBytes`, and those of one client to a quarter of it.
 */
export class MemoryBudget {
  /** Maximum bytes of one request. */
  readonly requestBytes: number
  readonly #nodeBytes: number
  readonly #shareBytes: number
  readonly #byPrincipal = new RotatingMap<string, number>()
  #held = 0

  constructor(memoryBytes: number) {
    this.#nodeBytes = memoryBytes
    this.#shareBytes = Math.ceil(memoryBytes / clientFraction)
    this.requestBytes = Math.floor(fractionOfUse.request * this.#shareBytes)
  }

  /**
   * An account whose bytes count against this budget.
   * @param principal the client's quota key, or undefined if clients cannot be distinguished
   * @param connection shared by all accounts of one connection, if its bytes are limited
   */
  account(principal: string | undefined, connection?: ConnectionBytes): MemoryAccount {
    return new MemoryAccount(this, principal, connection)
  }

  /** The limit that more bytes would exceed; undefined if they fit. */
  exceeded(
    bytes: number,
    use: keyof typeof fractionOfUse,
    principal: string | undefined,
    connection: ConnectionBytes | undefined,
  ): FullBudget | undefined {
    const part = fractionOfUse[use]
    const share = part * this.#shareBytes
    if (connection !== undefined && connection.held + bytes > share) return 'connection'
    if (principal !== undefined && (this.#byPrincipal.get(principal) ?? 0) + bytes > share) return 'principal'
    return this.#held + bytes > part * this.#nodeBytes ? 'node' : undefined
  }

  /** Adds bytes, or removes them if negative. */
  add(bytes: number, principal: string | undefined, connection: ConnectionBytes | undefined): void {
    this.#held += bytes
    if (connection !== undefined) connection.held += bytes
    if (principal === undefined) return
    const total = (this.#byPrincipal.get(principal) ?? 0) + bytes
    if (total > 0) this.#byPrincipal.set(principal, total)
    else this.#byPrincipal.delete(principal)
  }
}

export interface ConnectionBytes {
  held: number
}

/** Counts bytes for a connection, its principal and the node. Reserved bytes must be released. */
export class MemoryAccount {
  readonly #budget: MemoryBudget
  readonly #principal: string | undefined
  readonly #connection: ConnectionBytes | undefined

  constructor(budget: MemoryBudget, principal: string | undefined, connection: ConnectionBytes | undefined) {
    this.#budget = budget
    this.#principal = principal
    this.#connection = connection
  }

  /** Reserves bytes, unless they exceed a limit, which it returns then. */
  reserve(bytes: number, use: keyof typeof fractionOfUse = 'response'): FullBudget | undefined {
    const full = this.#budget.exceeded(bytes, use, this.#principal, this.#connection)
    if (full === undefined) this.#budget.add(bytes, this.#principal, this.#connection)
    return full
  }

  /** The limit that more bytes would exceed; undefined if they fit. */
  exceeded(bytes: number, use: keyof typeof fractionOfUse): FullBudget | undefined {
    return this.#budget.exceeded(bytes, use, this.#principal, this.#connection)
  }

  /** Reserves bytes regardless of limits. */
  add(bytes: number): void {
    this.#budget.add(bytes, this.#principal, this.#connection)
  }

  release(bytes: number): void {
    this.#budget.add(-bytes, this.#principal, this.#connection)
  }
}

/** 503 if the node exceeds its limit, 429 if one client does. */
export function fullStatus(full: FullBudget): 429 | 503 {
  return full === 'node' ? 503 : 429
}

/** The error for a request that exceeds a limit. */
export function fullError(full: FullBudget): RpcError {
  const whose = {
    connection: 'this connection uses as much memory as one connection may',
    principal: 'this client uses as much memory as one client may',
    node: 'all clients together use as much memory as this server allows',
  }
  return internalError(
    `Too much data is in progress: ${whose[full]}. Read pending responses, wait for requests to finish, and try again.`,
  )
}

/** Estimated bytes of the objects that serve a request. */
const callBytes = 2048
/** Texts up to this length are not scanned. */
const shortChars = 4096
/** Estimated bytes per character of such a text. */
const charBytes = 8
const objectBytes = 48
const arrayBytes = 24
const elementBytes = 16

/** Upper estimate of the bytes of a parsed JSON text: with many small values up to twenty times the text. */
export function parsedBytes(text: string, wide: boolean): number {
  if (text.length <= shortChars) return callBytes + charBytes * text.length
  return (
    callBytes +
    text.length * (wide ? 2 : 1) +
    objectBytes * occurrences(text, '{') +
    arrayBytes * occurrences(text, '[') +
    elementBytes * occurrences(text, ',')
  )
}

/** Limits how much of something each principal has at once. Unauthenticated callers (`null`) are not limited by it. */
export class PrincipalQuota {
  readonly #max: number
  readonly #held = new RotatingMap<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Counts one more for a principal; false if it has reached its limit. */
  reserve(principal: string | null): boolean {
    if (principal === null) return true
    const count = this.#held.get(principal) ?? 0
    if (count >= this.#max) return false
    this.#held.set(principal, count + 1)
    return true
  }

  release(principal: string | null): void {
    if (principal === null) return
    const count = this.#held.get(principal) ?? 0
    if (count > 1) this.#held.set(principal, count - 1)
    else this.#held.delete(principal)
  }
}
