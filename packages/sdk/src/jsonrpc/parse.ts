import { ErrorCode, RpcError } from './error.ts'
import { colons, duplicateKey, endOfString, members, readJson } from './exact-json.ts'
import type { JsonRpcNotification, JsonRpcRequest, JsonRpcResponse, RequestId } from './message.ts'

const maxDepth = 64
const maxIdChars = 256
const maxShownChars = 64

/**
 * Parses one JSON text, refusing any that nests deeper than `depth` (default 64), and any of which two readers could each see
 * another value: one that names a member of an object twice, or holds a number too large for a double.
 * @throws RpcError -32700 for text that is not JSON, nests too deep, repeats a key, or holds such a number.
 */
export function parseJson(text: string, options?: { depth?: number }): unknown {
  const depth = options?.depth ?? maxDepth
  const signs = colons(text)
  if (mayNest(text, depth, signs) && nestsDeeper(text, depth)) throw tooDeep(depth)
  const value = parsed(text)
  const count = members(value)
  if (count === Number.POSITIVE_INFINITY) throw tooLarge()
  // Where each colon gave a member, nothing was lost, and the text is not read again.
  const repeated = count === signs ? undefined : duplicateKey(text)
  if (repeated !== undefined)
    throw new RpcError(ErrorCode.ParseError, `Parse error: ${named(repeated)} stands twice in one object`)
  return value
}

function parsed(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    throw new RpcError(ErrorCode.ParseError, 'Parse error: not valid JSON')
  }
}

function named(key: string): string {
  return JSON.stringify(key.length > maxShownChars ? `${key.slice(0, maxShownChars)}…` : key)
}

function tooLarge(): RpcError {
  return new RpcError(ErrorCode.ParseError, 'Parse error: a number is too large')
}

/**
 * Refuses a value that somebody else parsed, if it nests deeper than `depth` or holds a number too large for a double. What
 * stood twice in its text cannot be seen any more.
 * @throws RpcError -32700
 */
export function requireDepth(value: unknown, depth: number): void {
  if (isDeeper(value, depth)) throw tooDeep(depth)
  if (members(value) === Number.POSITIVE_INFINITY) throw tooLarge()
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((one) => isDeeper(one, depth - 1))
}

function tooDeep(depth: number): RpcError {
  return new RpcError(ErrorCode.ParseError, `Parse error: JSON nests deeper than ${depth} levels`)
}

/**
 * Whether a text could nest deeper: seldom true, and quicker to find out. Whatever stands in something else stands behind a
 * colon or in a list, and each level has its opening bracket.
 */
function mayNest(text: string, depth: number, signs: number): boolean {
  let open = 0
  for (let at = text.indexOf('['); at !== -1; at = text.indexOf('[', at + 1)) if (++open > depth) return true
  if (open + signs < depth) return false
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

/** What one parsed value is, as a JSON-RPC message. */
export type Classified =
  | { kind: 'request'; message: JsonRpcRequest }
  | { kind: 'notification'; message: JsonRpcNotification }
  | { kind: 'response'; message: JsonRpcResponse }
  | { kind: 'invalid'; id: RequestId | undefined; error: RpcError }

/** Tells what a parsed value is; never throws. Batches are the caller's business: an array is invalid here. */
export function classify(value: unknown): Classified {
  if (!isObject(value)) return invalid(undefined, 'a message must be a JSON object')
  const id = isRequestId(value['id']) ? value['id'] : undefined
  if (value['jsonrpc'] !== '2.0') return invalid(id, '"jsonrpc" must be "2.0"')
  if ('id' in value && id === undefined && !(value['id'] === null && 'error' in value)) {
    return invalid(undefined, '"id" must be a string of at most 256 characters or a safe integer')
  }
  if ('method' in value) {
    const { method, params } = value
    if (typeof method !== 'string' || method === '') return invalid(id, '"method" must be a non-empty string')
    if (params !== undefined && !isObject(params)) return invalid(id, '"params" must be an object')
    if (!isNamedWell(method, params)) return invalid(id, 'half a surrogate pair stands in a name or URI')
    if ('result' in value || 'error' in value) return invalid(id, 'a message is either a call or a response')
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

/** Whether what a message is about can be told apart by every reader: half a surrogate pair is replaced by many. */
function isNamedWell(method: string, params: Record<string, unknown> | undefined): boolean {
  if (!method.isWellFormed()) return false
  if (params === undefined) return true
  const { name, uri, ref } = params
  return isWell(name) && isWell(uri) && (!isObject(ref) || (isWell(ref['name']) && isWell(ref['uri'])))
}

function isWell(value: unknown): boolean {
  return typeof value !== 'string' || value.isWellFormed()
}

function classifyResponse(value: Record<string, unknown>, id: RequestId | undefined): Classified {
  const { result, error } = value
  if ((result === undefined) === (error === undefined)) {
    return invalid(id, 'a response must have exactly one of "result" and "error"')
  }
  if (error !== undefined) {
    if (!isObject(error) || !Number.isSafeInteger(error['code']) || typeof error['message'] !== 'string') {
      return invalid(id, '"error" must have an integer "code" and a string "message"')
    }
    const body = { code: Number(error['code']), message: error['message'] }
    const full = error['data'] === undefined ? body : { ...body, data: error['data'] }
    return {
      kind: 'response',
      message: id === undefined ? { jsonrpc: '2.0', error: full } : { jsonrpc: '2.0', id, error: full },
    }
  }
  if (id === undefined) return invalid(undefined, 'a result must name the request it answers')
  if (!isObject(result)) return invalid(id, '"result" must be an object')
  return { kind: 'response', message: { jsonrpc: '2.0', id, result } }
}

function invalid(id: RequestId | undefined, why: string): Classified {
  return { kind: 'invalid', id, error: new RpcError(ErrorCode.InvalidRequest, `Invalid request: ${why}`) }
}

/** Whether a value is a plain JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A value that should be a text, for a message: the text itself, or what kind of thing it is. `String` would call what a peer
 * put into an object.
 */
export function inWords(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** Whether a value can identify a request. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' ? value.length <= maxIdChars : Number.isSafeInteger(value)
}
