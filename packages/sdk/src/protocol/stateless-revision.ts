import { ErrorCode, type RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Implementation } from './definitions.ts'
import { MetaKey } from './meta.ts'
import { methodRow, type ProtocolVersion } from './methods.ts'
import { latest, type Revision } from './revision.ts'
import type { InputRequests } from './server-requests.ts'

/** The wire form of an error with another code. */
export function withCode(error: RpcError, code: number): ReturnType<RpcError['toObject']> {
  return { ...error.toObject(), code }
}

function statelessRevision(version: ProtocolVersion): Revision {
  return {
    version,
    era: 'stateless',
    batches: false,
    method: (name) => methodRow(name, version),
    result(method, result, server) {
      const wire: JsonObject = {
        ...result,
        resultType: 'complete',
        _meta: withServerInfo(result['_meta'], server),
      }
      if (methodRow(method, version)?.cacheable === true) {
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
}

/** Codes of earlier revisions and their replacements. */
const replacedCodes: ReadonlyMap<number, number> = new Map([
  [ErrorCode.ResourceNotFound, ErrorCode.InvalidParams],
  [ErrorCode.UrlElicitationRequired, ErrorCode.InvalidRequest],
])

const definedCodes: ReadonlySet<number> = new Set([
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion,
])

/** Whether a code is in the range reserved for the specification and undefined there. */
function isUndefined(code: number): boolean {
  return code >= -32099 && code <= -32020 && !definedCodes.has(code)
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

/** The revision without sessions. */
export const stateless: Revision = statelessRevision(latest)
