import type { JsonObject, JsonRpcNotification } from '../jsonrpc/message.ts'
import type { Tool } from '../protocol/definitions.ts'
import type { ClientMethod, ClientRequests } from '../protocol/methods.ts'
import type { CallOptions, Client, ProgressReport, ServerFacts } from './types.ts'

/** The request whose result an extension completes, with the means to do so. */
export interface ExtensionCall {
  /** The method of the call. */
  readonly method: string
  /** Its params. */
  readonly params: JsonObject
  /** What the server declared. */
  readonly server: ServerFacts
  /** Aborts when the caller cancels the call or it times out. */
  readonly signal: AbortSignal
  /** Reports progress of this call; values that do not increase are ignored. Absent if the caller wants no progress. */
  readonly onProgress?: (report: ProgressReport) => void
  /**
   * Sends a request of the extension under this call's deadline.
   * @param onProgress receives progress of this request; `false` requests none
   */
  request(
    method: string,
    params: JsonObject,
    onProgress?: ((report: ProgressReport) => void) | false,
  ): Promise<JsonObject>
  /** Sends a request of the extension with a deadline of its own, also after this call was aborted. */
  apart(method: string, params: JsonObject): Promise<JsonObject>
  /** Runs the caller's handlers for input requests and returns the responses. The deadline is paused meanwhile. */
  answer(inputRequests: unknown): Promise<JsonObject>
  /** Input requests answered at once: `maxQuestions` of `connect`. */
  readonly maxQuestions: number
  /** Restarts the idle timeout. */
  touch(): void
  /** Waits this many milliseconds, or rejects when the signal aborts. */
  wait(ms: number): Promise<void>
}

/** A request that an extension may change before it is sent, or whose result it identifies. */
export interface ExtensionSubject {
  /** The method of the request. */
  readonly method: string
  /** Its params. */
  readonly params: JsonObject
  /** What the server declared. */
  readonly server: ServerFacts
  /** The tool that a `tools/call` names, as listed by the server; undefined if it is not listed. Lists the tools if none is known. */
  tool(): Promise<Tool | undefined>
}

/** What an extension can do on one connection outside a call of the user. */
export interface ExtensionAccess {
  /** Sends a request and answers requests for input. Returns the first other result unchanged. */
  first(
    method: string,
    params: JsonObject,
    options: CallOptions,
  ): Promise<{ readonly resultType: string; readonly result: JsonObject }>
  /** Runs work as one call: with the signal, timeouts and handlers of its options. */
  during<T>(
    method: string,
    params: JsonObject,
    options: CallOptions,
    run: (call: ExtensionCall) => Promise<T>,
  ): Promise<T>
  /** The tool of this name, as listed by the server. */
  tool(name: string): Promise<Tool | undefined>
  /**
   * Checks a complete result against the protocol and the tool's output schema.
   * @throws McpError 'PROTOCOL' or 'INVALID'
   */
  check<M extends ClientMethod>(
    method: M,
    params: JsonObject,
    result: JsonObject,
  ): asserts result is JsonObject & ClientRequests[M]['result']
}

/** A protocol extension, enabled by the option `extensions` of `connect`. */
export interface ClientExtension {
  /** Identifier with a prefix, such as `io.modelcontextprotocol/tasks`. */
  readonly id: string
  /** Declared under `capabilities.extensions`. Default `{}`. */
  readonly settings?: JsonObject
  /** By method: the param mirrored into the `Mcp-Name` header. */
  readonly named?: Readonly<Record<string, string>>
  /** By `resultType`: turns a result of that type into the complete result for the caller. */
  readonly results?: Readonly<
    Record<string, (result: JsonObject, call: ExtensionCall) => Promise<JsonObject>>
  >
  /** The params to send in place of the given ones, or undefined to leave them. */
  params?(subject: ExtensionSubject): Promise<JsonObject | undefined>
  /** The type of a result without `resultType`, or undefined if it is not one of this extension. */
  resultType?(result: JsonObject, subject: Pick<ExtensionSubject, 'method' | 'server'>): string | undefined
  /** Called once for every client. */
  attach?(client: Client, access: ExtensionAccess): void
  /** Handles notifications that are not part of the core protocol. */
  onNotification?(notification: JsonRpcNotification): void
}
