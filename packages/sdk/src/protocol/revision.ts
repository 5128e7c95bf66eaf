import type { RpcError } from '../jsonrpc/error.ts'
import type { JsonObject, JsonRpcErrorObject } from '../jsonrpc/message.ts'
import type { Implementation } from './definitions.ts'
import { type MethodRow, type ProtocolVersion, protocolVersions, type ServerNotification } from './methods.ts'
import type { InputRequests, Question } from './server-requests.ts'

/** Everything in which one revision's wire differs from another's, as one value. */
export interface Revision {
  readonly version: ProtocolVersion
  /** Whether who speaks is kept in a session or repeated on every request. */
  readonly era: 'session' | 'stateless'
  /** Whether a client may send several messages in one array (2025-03-26 only). */
  readonly batches: boolean
  /** The row of a client method, or undefined where this revision has none. */
  method(name: string): MethodRow | undefined
  /** The wire form of a complete result, with only the fields and content this revision knows. */
  result(method: string, result: JsonObject, server: Implementation): JsonObject
  /** The wire form of a request for input. */
  inputRequired(requests: InputRequests, state: string | undefined, server: Implementation): JsonObject
  /** The wire form of a result whose type an extension adds. */
  extended(resultType: string, result: JsonObject, server: Implementation): JsonObject
  /** The wire form of an error: each revision has its own codes. */
  error(error: RpcError): JsonRpcErrorObject
  /** The wire form of a notice, or undefined where this revision has none like it. */
  notification(notification: ServerNotification): { method: string; params?: JsonObject } | undefined
  /** The params of a question with only the fields this revision knows. */
  question(question: Question): JsonObject
}

/** The newest revision. */
export const latest: ProtocolVersion = '2026-07-28'
/** The newest revision with sessions. */
export const latestLegacy: ProtocolVersion = '2025-11-25'

/** Whether a string names a published revision. */
export function isProtocolVersion(version: string): version is ProtocolVersion {
  return (protocolVersions as readonly string[]).includes(version)
}

/** The era of a version string; undefined for one that was never published. */
export function eraOf(version: string): Revision['era'] | undefined {
  if (version === latest) return 'stateless'
  return isProtocolVersion(version) ? 'session' : undefined
}
