/** Any JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

/** A plain JSON object whose members are not known in advance. */
export type JsonObject = { [key: string]: unknown }

/** Identifies a request among those in flight: a string or an integer, never null. */
export type RequestId = string | number

/** A message that expects exactly one response. */
export interface JsonRpcRequest {
  jsonrpc: '2.0'
  /** The response has the same id. */
  id: RequestId
  /** The method, such as `tools/call`. */
  method: string
  /** The parameters by name. */
  params?: JsonObject
}

/** A message without a response. */
export interface JsonRpcNotification {
  jsonrpc: '2.0'
  /** The method, such as `notifications/progress`. */
  method: string
  /** The parameters by name. */
  params?: JsonObject
}

/** The successful response to the request with the same id. */
export interface JsonRpcResult {
  jsonrpc: '2.0'
  /** The id of the request. */
  id: RequestId
  /** The members depend on the method. */
  result: JsonObject
}

/** The `error` member of a failed response. */
export interface JsonRpcErrorObject {
  /** An integer; `ErrorCode` names those of JSON-RPC and MCP. */
  code: number
  /** One sentence for people. */
  message: string
  /** Further details. */
  data?: unknown
}

/** The error response to a request; `id` is absent only if the request's id could not be read. */
export interface JsonRpcFailure {
  jsonrpc: '2.0'
  /** The id of the request. */
  id?: RequestId
  /** The reason. */
  error: JsonRpcErrorObject
}

/** The response to a request: a result or an error. */
export type JsonRpcResponse = JsonRpcResult | JsonRpcFailure

/** Any one message: a request, a notification or a response. A batch is an array of these. */
export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResponse
