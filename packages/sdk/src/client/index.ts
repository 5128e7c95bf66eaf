export { http } from '../transports/client/http.ts'
export type {
  Fetch,
  HeaderSource,
  HttpAuth,
  HttpTransportOptions,
  Refusal,
} from '../transports/client/http-request.ts'
export { sse } from '../transports/client/sse.ts'
export type {
  ClientTransport,
  ClientTransportEvents,
  ClientTransportFactory,
  TransportRequestOptions,
} from '../transports/client/transport.ts'
export type { Target } from './connect.ts'
export { connect } from './connect.ts'
export type { ClientExtension, ExtensionAccess, ExtensionCall, ExtensionSubject } from './extension.ts'
export type { ClientTelemetry, TelemetryRequest, TelemetrySpan } from './telemetry.ts'
export type {
  AnswerHandlers,
  AnswerOptions,
  AskContext,
  BaseClient,
  CallOptions,
  Client,
  ConnectOptions,
  ProgressReport,
  PromptArguments,
  PromptName,
  ReadOptions,
  Relay,
  ResourceUri,
  Round,
  ServerChange,
  ServerFacts,
  ToolArguments,
  ToolName,
  ToolResult,
  TypedClient,
  UntypedClient,
  Watch,
} from './types.ts'
