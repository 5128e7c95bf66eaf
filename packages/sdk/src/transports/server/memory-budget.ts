import { ErrorCode, RpcError } from '../../jsonrpc/error.ts'
import { RotatingMap } from '../../jsonrpc/rotating-map.ts'

/** Which of the three limits leaves no room. */
export type FullBudget = 'connection' | 'principal' | 'node'

/** What one principal, and one connection, may hold of a node's bytes: a quarter. */
const shares = 4
/** What new requests may fill of a limit: the rest is for answers and events of those that were admitted. */
const forRequests = 0.75
/** What state that outlives its request may fill of it, so that a client which kept too much can still give it up. */
const forState = 0.5

/**
 * The bytes that one node holds for its clients: requests being read and served, state of sessions, events and answers that
 * were not sent yet. Where they reach `limits.memoryBytes`, or one client's reach a quarter of it, more is refused.
 */
export class MemoryBudget {
  /** The most that one request may hold. */
  readonly requestBytes: number
  readonly #nodeBytes: number
  readonly #shareBytes: number
  readonly #byPrincipal = new RotatingMap<string, number>()
  #held = 0

  constructor(memoryBytes: number) {
    this.#nodeBytes = memoryBytes
    this.#shareBytes = Math.ceil(memoryBytes / shares)
    this.requestBytes = Math.floor(forRequests * this.#shareBytes)
  }

  /**
   * An account whose bytes count against this budget.
   * @param principal whose they are too, or undefined where clients cannot be distinguished
   * @param connection shared by all accounts of one connection; absent where there is none to speak of
   */
  account(principal: string | undefined, connection?: ConnectionBytes): MemoryAccount {
    return new MemoryAccount(this, principal, connection)
  }

  /**
   * Which limit leaves no room for more bytes; undefined where they fit.
   * @param part of each limit that may be filled
   */
  lacks(
    bytes: number,
    part: number,
    principal: string | undefined,
    connection: ConnectionBytes | undefined,
  ): FullBudget | undefined {
    const share = part * this.#shareBytes
    if (connection !== undefined && connection.held + bytes > share) return 'connection'
    if (principal !== undefined && (this.#byPrincipal.get(principal) ?? 0) + bytes > share) return 'principal'
    return this.#held + bytes > part * this.#nodeBytes ? 'node' : undefined
  }

  /** Counts bytes that came, or went where the number is negative. */
  count(bytes: number, principal: string | undefined, connection: ConnectionBytes | undefined): void {
    this.#held += bytes
    if (connection !== undefined) connection.held += bytes
    if (principal === undefined) return
    const held = (this.#byPrincipal.get(principal) ?? 0) + bytes
    if (held > 0) this.#byPrincipal.set(principal, held)
    else this.#byPrincipal.delete(principal)
  }
}

/** Bytes held for one connection. */
export interface ConnectionBytes {
  held: number
}

/** On whose account bytes are held: a connection, its principal and the node. What was taken must be given back. */
export class MemoryAccount {
  readonly #budget: MemoryBudget
  readonly #principal: string | undefined
  readonly #connection: ConnectionBytes | undefined

  constructor(budget: MemoryBudget, principal: string | undefined, connection: ConnectionBytes | undefined) {
    this.#budget = budget
    this.#principal = principal
    this.#connection = connection
  }

  /** Takes bytes, or gives the limit that leaves no room for them. */
  take(bytes: number): FullBudget | undefined {
    return this.#take(bytes, 1)
  }

  /** Takes bytes for a request, which leaves room for the answers to those before it. */
  admit(bytes: number): FullBudget | undefined {
    return this.#take(bytes, forRequests)
  }

  /** Which limit leaves no room for a request of so many bytes. */
  refuses(bytes: number): FullBudget | undefined {
    return this.#budget.lacks(bytes, forRequests, this.#principal, this.#connection)
  }

  /** Takes bytes for state of a session. */
  keep(bytes: number): FullBudget | undefined {
    return this.#take(bytes, forState)
  }

  #take(bytes: number, part: number): FullBudget | undefined {
    const full = this.#budget.lacks(bytes, part, this.#principal, this.#connection)
    if (full === undefined) this.add(bytes)
    return full
  }

  /** Counts bytes that are held already, whether there is room or not. */
  add(bytes: number): void {
    this.#budget.count(bytes, this.#principal, this.#connection)
  }

  give(bytes: number): void {
    this.#budget.count(-bytes, this.#principal, this.#connection)
  }
}

/** 503 where the whole node is full, 429 where one client has its share. */
export function fullStatus(full: FullBudget): 429 | 503 {
  return full === 'node' ? 503 : 429
}

/** The error for a request for which there is no room. */
export function fullError(full: FullBudget): RpcError {
  const whose = {
    connection: 'this connection holds as much memory as one may',
    principal: 'this client holds as much memory as one may',
    node: 'all clients together hold as much memory as this server allows',
  }
  return new RpcError(
    ErrorCode.InternalError,
    `Too much is under way: ${whose[full]}. Read the answers that wait, let requests finish, and try again.`,
  )
}

/** What a request costs beside its text: the objects that serve it. */
const callBytes = 2048
/** Texts up to this length are not looked through. */
const shortChars = 4096
/** What a character of such a text may cost once parsed. */
const charBytes = 8
const objectBytes = 48
const arrayBytes = 24
const elementBytes = 16

/**
 * The most that the value of a JSON text is expected to hold once parsed, in bytes: what has many small values holds up to
 * twenty times its text.
 */
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

function occurrences(text: string, character: string): number {
  let count = 0
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count++
  return count
}
