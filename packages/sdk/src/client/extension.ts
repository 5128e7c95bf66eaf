import type { JsonObject, JsonRpcNotification } from '../jsonrpc/message.ts'
import type { Tool } from '../protocol/definitions.ts'
import type { ClientMethod, ClientRequests } from '../protocol/methods.ts'
import type { CallOptions, Client, ProgressReport, ServerFacts } from './types.ts'

/** The request whose result an extension finishes, and what it may use to do so. */
export interface ExtensionCall {
  readonly method: string
  readonly params: JsonObject
  readonly server: ServerFacts
  /** Aborted when the caller no longer waits. */
  readonly signal: AbortSignal
  /**
   * Takes progress that was reported for this call: what is not further than before is ignored. Absent where the caller
   * does not ask for progress.
   */
  readonly onProgress?: (report: ProgressReport) => void
  /**
   * Sends a request of the extension, with this call's signal.
   * @param onProgress takes progress of this request; `false` asks for none
   */
  request(
    method: string,
    params: JsonObject,
    onProgress?: ((report: ProgressReport) => void) | false,
  ): Promise<JsonObject>
  /** Sends a request of the extension that is no part of this call: with its own clock, and also when it was aborted. */
  apart(method: string, params: JsonObject): Promise<JsonObject>
  /** Answers questions with the caller's handlers, as if the server had asked back; the clocks stand still meanwhile. */
  answer(inputRequests: unknown): Promise<JsonObject>
  /** There was a sign of life: the idle clock begins anew. */
  touch(): void
  /** Waits so many milliseconds, or rejects when the signal aborts. */
  wait(ms: number): Promise<void>
}

/** A request that is about to be sent, or was answered. */
export interface ExtensionSubject {
  readonly method: string
  readonly params: JsonObject
  readonly server: ServerFacts
  /** The tool a call names, as the server lists it; undefined for one it does not list. Lists the tools if need be. */
  tool(): Promise<Tool | undefined>
}

/** What an extension may do by itself on one connection. */
export interface ExtensionAccess {
  /** Sends a request and answers what the server asks back. Gives the first result that is no question, as it came. */
  first(
    method: string,
    params: JsonObject,
    options: CallOptions,
  ): Promise<{ readonly resultType: string; readonly result: JsonObject }>
  /** Runs something as one call: under its options' signal and clocks, able to answer questions about it. */
  during<T>(
    method: string,
    params: JsonObject,
    options: CallOptions,
    run: (call: ExtensionCall) => Promise<T>,
  ): Promise<T>
  /** The tool of this name, as the server lists it. */
  tool(name: string): Promise<Tool | undefined>
  /**
   * Holds a complete result to what the protocol and the tool promise.
   * @throws McpError 'PROTOCOL' or 'INVALID'
   */
  check<M extends ClientMethod>(
    method: M,
    params: JsonObject,
    result: JsonObject,
  ): asserts result is JsonObject & ClientRequests[M]['result']
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
  /** The params of a request as it is to be sent, when the extension has something to add. */
  params?(subject: ExtensionSubject): Promise<JsonObject | undefined>
  /** The type of a result that does not say it by itself; undefined where it is none of this extension's. */
  resultType?(result: JsonObject, subject: Pick<ExtensionSubject, 'method' | 'server'>): string | undefined
  /** Called once for every client it becomes a part of. */
  attach?(client: Client, access: ExtensionAccess): void
  /** Hears of notices that the core does not know. */
  onNotice?(notice: JsonRpcNotification): void
}
