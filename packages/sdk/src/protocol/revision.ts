import { ErrorCode, type RpcError } from '../jsonrpc/error.ts'
import type { JsonObject, JsonRpcErrorObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Implementation } from './definitions.ts'
import { MetaKey } from './meta.ts'
import { latestVersion, methodRow, type ProtocolVersion, type ServerNotification } from './methods.ts'
import type { InputRequests, Question } from './server-requests.ts'

/** How the messages of one revision differ from those of others. */
export interface Revision {
  readonly version: ProtocolVersion
  /** Whether the client's identity belongs to a session or is repeated in every request. */
  readonly era: 'session' | 'stateless'
  /** Whether a client may send JSON-RPC batches. */
  readonly batches: boolean
  /** Encodes a complete result: only the fields and content types of this revision. */
  result(method: string, result: JsonObject, server: Implementation): JsonObject
  /** Encodes an `input_required` result. */
  inputRequired(requests: InputRequests, state: string | undefined, server: Implementation): JsonObject
  /** Encodes a result whose type an extension defines. */
  extended(resultType: string, result: JsonObject, server: Implementation): JsonObject
  /** Encodes an error with a code of this revision. */
  error(error: RpcError): JsonRpcErrorObject
  /** Encodes a notification; undefined if this revision does not have it. */
  notification(notification: ServerNotification): { method: string; params?: JsonObject } | undefined
  /** The params of an input request with only the fields of this revision. */
  question(question: Question): JsonObject
}

/** The revision of HTTP requests without an `MCP-Protocol-Version` header (2025-06-18, Transports, Protocol Version Header). */
export const assumedHttpVersion: ProtocolVersion = '2025-03-26'

/** Something only some revisions have that is neither a method nor a field. */
type Feature =
  | 'apps'
  | 'batches'
  | 'completionsCapability'
  | 'coreTasks'
  | 'elicitationIds'
  | 'samplingTools'
  | 'ssePolling'
  | 'structuredContent'
  | 'urlElicitation'

/** The first and the last revision with each feature. */
const features: Readonly<Record<Feature, readonly [ProtocolVersion, ProtocolVersion]>> = {
  batches: ['2025-03-26', '2025-03-26'],
  /** The `completions` capability; before it, `completion/complete` needs none. */
  completionsCapability: ['2025-03-26', latestVersion],
  structuredContent: ['2025-06-18', latestVersion],
  /** Tools that declare an app in `_meta`. */
  apps: ['2025-06-18', latestVersion],
  urlElicitation: ['2025-11-25', latestVersion],
  /** `elicitationId` and `notifications/elicitation/complete`. */
  elicitationIds: ['2025-11-25', '2025-11-25'],
  /** Tools and several blocks per message in sampling, and the `sampling.context` capability. */
  samplingTools: ['2025-11-25', latestVersion],
  /** Server-sent event streams that the server may close for the client to poll. */
  ssePolling: ['2025-11-25', latestVersion],
  /** Tasks as a part of the protocol; later they are an extension. */
  coreTasks: ['2025-11-25', '2025-11-25'],
}

export function supports(version: ProtocolVersion, feature: Feature): boolean {
  const [first, last] = features[feature]
  return first <= version && version <= last
}

/** Whether a client accepts batches. 2024-11-05 does not exclude those of JSON-RPC; 2025-06-18 removed them. */
export function allowsBatches(version: ProtocolVersion): boolean {
  const [, last] = features.batches
  return version <= last
}

/** The wire form of an error with another code. */
export function withCode(error: RpcError, code: number): ReturnType<RpcError['toObject']> {
  return { ...error.toObject(), code }
}

/** The revision without sessions. */
export const stateless: Revision = {
  version: latestVersion,
  era: 'stateless',
  batches: false,
  result(method, result, server) {
    const wire: JsonObject = {
      ...result,
      resultType: 'complete',
      _meta: withServerInfo(result['_meta'], server),
    }
    if (methodRow(method, latestVersion)?.cacheable === true) {
      wire['ttlMs'] = result['ttlMs'] ?? 0
      wire['cacheScope'] = result['cacheScope'] ?? 'private'
    }
    return wire
  },
  inputRequired(requests, state, server) {
    const wire: JsonObject = { resultType: 'input_required', _meta: withServerInfo(undefined, server) }
    if (Object.keys(requests).length > 0) wire['inputRequests'] = withoutElicitationIds(requests)
    if (state !== undefined) wire['requestState'] = state
    return wire
  },
  extended: (resultType, result, server) => ({
    ...result,
    resultType,
    _meta: withServerInfo(result['_meta'], server),
  }),
  error: (error) => {
    const code =
      replacedCodes.get(error.code) ?? (isUndefined(error.code) ? ErrorCode.InternalError : error.code)
    return code === error.code ? error.toObject() : withCode(error, code)
  },
  notification: ({ method, params }) =>
    method === 'notifications/elicitation/complete' ? undefined : { method, params },
  question: ({ params }) => ({ ...params }),
}

/** Codes of earlier revisions and their replacements. */
const replacedCodes: ReadonlyMap<number, number> = new Map([
  [ErrorCode.ResourceNotFound, ErrorCode.InvalidParams],
  [ErrorCode.UrlElicitationRequired, ErrorCode.InvalidRequest],
])

/** The error codes that 2026-07-28 added. */
export const codesOf2026: ReadonlySet<number> = new Set([
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion,
])

/** Whether a code is in the range reserved for the specification and undefined there. */
function isUndefined(code: number): boolean {
  return code >= -32099 && code <= -32020 && !codesOf2026.has(code)
}

function withoutElicitationIds(requests: InputRequests): JsonObject {
  const known = Object.entries(requests).map(([key, { method, params }]): [string, unknown] => {
    if (!('elicitationId' in params)) return [key, { method, params }]
    const { elicitationId: _id, ...rest } = params
    return [key, { method, params: rest }]
  })
  return Object.fromEntries(known)
}

function withServerInfo(meta: unknown, server: Implementation): JsonObject {
  return isObject(meta) ? { ...meta, [MetaKey.serverInfo]: server } : { [MetaKey.serverInfo]: server }
}
