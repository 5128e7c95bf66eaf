import { clipped, ErrorCode, invalidRequest, RpcError } from './error.ts'
import { countMembers, duplicateKey, endOfString, occurrences, readJson } from './exact-json.ts'
import type { JsonRpcNotification, JsonRpcRequest, JsonRpcResponse, RequestId } from './message.ts'

const maxDepth = 64
const maxIdChars = 256
const maxShownChars = 64

/**
 * Parses JSON strictly: rejects text that different readers may interpret differently (duplicate keys, numbers too large for a
 * double) or that nests deeper than `depth` (default 64).
 * @throws RpcError -32700 for text that is not JSON, nests too deep, has a duplicate key or too large a number
 */
export function parseJson(text: string, options?: { depth?: number }): unknown {
  const depth = options?.depth ?? maxDepth
  const colonCount = occurrences(text, ':')
  if (mayNest(text, depth, colonCount) && nestsDeeper(text, depth)) throw tooDeep(depth)
  let value: unknown
  try {
    value = readJson(text)
  } catch {
    throw new RpcError(ErrorCode.ParseError, 'Parse error: not valid JSON')
  }
  const count = countMembers(value)
  if (count === Number.POSITIVE_INFINITY) throw tooLarge()
  // If every colon belongs to a member, no key was lost, and the text needs no second pass.
  const duplicate = count === colonCount ? undefined : duplicateKey(text)
  if (duplicate !== undefined)
    throw new RpcError(
      ErrorCode.ParseError,
      `Parse error: duplicate key ${JSON.stringify(clipped(duplicate, maxShownChars))}`,
    )
  return value
}

/** As `parseJson`, but undefined for text that it rejects. */
export function tryParseJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

function tooLarge(): RpcError {
  return new RpcError(ErrorCode.ParseError, 'Parse error: a number is too large')
}

/**
 * Checks a value that was parsed elsewhere; duplicate keys cannot be detected any more.
 * @throws RpcError -32700 if it nests deeper than `depth` or has a number too large for a double
 */
export function requireDepth(value: unknown, depth: number): void {
  if (isDeeper(value, depth)) throw tooDeep(depth)
  if (countMembers(value) === Number.POSITIVE_INFINITY) throw tooLarge()
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((one) => isDeeper(one, depth - 1))
}

function tooDeep(depth: number): RpcError {
  return new RpcError(ErrorCode.ParseError, `Parse error: JSON nests deeper than ${depth} levels`)
}

/** Whether a text could nest deeper: a fast upper bound from its brackets and colons. */
function mayNest(text: string, depth: number, colonCount: number): boolean {
  let open = 0
  for (let at = text.indexOf('['); at !== -1; at = text.indexOf('[', at + 1)) if (++open > depth) return true
  if (open + colonCount < depth) return false
  for (let at = text.indexOf('{'); at !== -1; at = text.indexOf('{', at + 1)) if (++open > depth) return true
  return false
}

function nestsDeeper(text: string, depth: number): boolean {
  let open = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 34) {
      i = endOfString(text, i + 1)
    } else if (c === 123 || c === 91) {
      if (++open > depth) return true
    } else if (c === 125 || c === 93) {
      open--
    }
  }
  return false
}

/** One parsed value, classified as a JSON-RPC message. */
export type Classified =
  | { kind: 'request'; message: JsonRpcRequest }
  | { kind: 'notification'; message: JsonRpcNotification }
  | { kind: 'response'; message: JsonRpcResponse }
  | { kind: 'invalid'; id: RequestId | undefined; error: RpcError }

/** Classifies a parsed value; never throws. An array is invalid here: batches are split by the caller. */
export function classify(value: unknown): Classified {
  if (!isObject(value)) return invalidMessage(undefined, 'a message must be a JSON object')
  const id = isRequestId(value['id']) ? value['id'] : undefined
  if (value['jsonrpc'] !== '2.0') return invalidMessage(id, '"jsonrpc" must be "2.0"')
  if ('id' in value && id === undefined && !(value['id'] === null && 'error' in value)) {
    return invalidMessage(undefined, '"id" must be a string of at most 256 characters or a safe integer')
  }
  if ('method' in value) {
    const { method, params } = value
    if (typeof method !== 'string' || method === '')
      return invalidMessage(id, '"method" must be a non-empty string')
    if (params !== undefined && !isObject(params)) return invalidMessage(id, '"params" must be an object')
    if (!hasWellFormedNames(method, params)) return invalidMessage(id, 'a name or URI has a lone surrogate')
    if ('result' in value || 'error' in value)
      return invalidMessage(id, 'a request has neither "result" nor "error"')
    if (id === undefined) {
      return {
        kind: 'notification',
        message: params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params },
      }
    }
    return {
      kind: 'request',
      message: params === undefined ? { jsonrpc: '2.0', method, id } : { jsonrpc: '2.0', method, params, id },
    }
  }
  return classifyResponse(value, id)
}

/** Names and URIs must be well-formed Unicode: many parsers replace a lone surrogate, which changes the name. */
function hasWellFormedNames(method: string, params: Record<string, unknown> = {}): boolean {
  const { name, uri, ref } = params
  const names = isObject(ref) ? [method, name, uri, ref['name'], ref['uri']] : [method, name, uri]
  for (const one of names) if (typeof one === 'string' && !one.isWellFormed()) return false
  return true
}

function classifyResponse(value: Record<string, unknown>, id: RequestId | undefined): Classified {
  const { result, error } = value
  if ((result === undefined) === (error === undefined)) {
    return invalidMessage(id, 'a response must have exactly one of "result" and "error"')
  }
  if (error !== undefined) {
    if (!isObject(error) || !Number.isSafeInteger(error['code']) || typeof error['message'] !== 'string') {
      return invalidMessage(id, '"error" must have an integer "code" and a string "message"')
    }
    const body = { code: Number(error['code']), message: error['message'] }
    const full = error['data'] === undefined ? body : { ...body, data: error['data'] }
    return {
      kind: 'response',
      message: id === undefined ? { jsonrpc: '2.0', error: full } : { jsonrpc: '2.0', id, error: full },
    }
  }
  if (id === undefined) return invalidMessage(undefined, 'a result must have the "id" of its request')
  if (!isObject(result)) return invalidMessage(id, '"result" must be an object')
  return { kind: 'response', message: { jsonrpc: '2.0', id, result } }
}

function invalidMessage(id: RequestId | undefined, reason: string): Classified {
  return { kind: 'invalid', id, error: invalidRequest(reason) }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' ? value.length <= maxIdChars : Number.isSafeInteger(value)
}

/** How much input without a valid message is tolerated. */
export interface InvalidInputBounds {
  readonly invalidLines: number
  readonly invalidBytes: number
  readonly invalidMs: number
}

/**
 * Counts input that is not a message: lines that are not JSON-RPC, empty events, comments. Some is tolerated, because
 * programs may log to stdout; a peer that sends nothing else is disconnected.
 */
export class InvalidInput {
  readonly #bounds: InvalidInputBounds
  #lines = 0
  #bytes = 0
  #since = 0

  constructor(bounds: InvalidInputBounds) {
    this.#bounds = bounds
  }

  /** Counts invalid input since the last message. Returns true when the peer must be disconnected. */
  add(bytes: number, lines = 1): boolean {
    const { invalidLines, invalidBytes, invalidMs } = this.#bounds
    const now = performance.now()
    if (this.#lines === 0 || now - this.#since > invalidMs) {
      this.#lines = 0
      this.#bytes = 0
      this.#since = now
    }
    this.#lines += lines
    this.#bytes += bytes
    return this.#lines > invalidLines || this.#bytes > invalidBytes
  }

  /** Called for each valid message. */
  reset(): void {
    this.#lines = 0
  }

  /** What was received, for an error message. */
  toString(): string {
    return `${this.#lines} lines or events (${this.#bytes} bytes) without a valid message`
  }
}
