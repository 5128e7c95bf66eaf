import type { JsonObject, JsonRpcNotification } from '../jsonrpc/message.ts'
import type { ServerFacts } from './types.ts'

/** The request whose result an extension finishes, and what it may use to do so. */
export interface ExtensionCall {
  readonly method: string
  readonly params: JsonObject
  readonly server: ServerFacts
  /** Aborted when the caller no longer waits. */
  readonly signal: AbortSignal
  /** Sends a request of the extension, with this call's signal. */
  request(method: string, params: JsonObject): Promise<JsonObject>
  /** Answers questions with the caller's handlers, as if the server had asked back; the clocks stand still meanwhile. */
  answer(inputRequests: unknown): Promise<JsonObject>
  /** There was a sign of life: the idle clock begins anew. */
  touch(): void
  /** Waits so many milliseconds, or rejects when the signal aborts. */
  wait(ms: number): Promise<void>
}

/** Something beyond the core protocol that a client speaks, off until it is named in `connect`. */
export interface ClientExtension {
  /** Identifier with a prefix, such as `io.modelcontextprotocol/tasks`. */
  readonly id: string
  /** What the client declares under `capabilities.extensions`. Default `{}`. */
  readonly settings?: JsonObject
  /** For each of its methods that has one, the param mirrored into the `Mcp-Name` header. */
  readonly named?: Readonly<Record<string, string>>
  /** By `resultType`: turns a result of that type into the complete one the caller gets. */
  readonly results?: Readonly<
    Record<string, (result: JsonObject, call: ExtensionCall) => Promise<JsonObject>>
  >
  /** Hears of notices that the core does not know. */
  onNotice?(notice: JsonRpcNotification): void
}
