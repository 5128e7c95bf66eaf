/** `@modelcontextprotocol/server` 2. */
import { type Uncovered, uncovered } from '../uncovered.ts'

export { InMemoryTransport } from '../inMemory.ts'
export type {
  RegisteredResource,
  RegisteredResourceTemplate,
  ResourceMetadata,
} from '../server/registered.ts'
export { ResourceTemplate } from '../server/registered.ts'
export { WebStandardStreamableHTTPServerTransport } from '../server/webStandardStreamableHttp.ts'
export { getDisplayName } from '../shared/metadataUtils.ts'
export type { NotificationOptions, ProgressCallback, RequestOptions } from '../shared/protocol.ts'
export { DEFAULT_REQUEST_TIMEOUT_MSEC, mergeCapabilities, Protocol } from '../shared/protocol.ts'
export {
  deserializeMessage,
  ReadBuffer,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  serializeMessage,
} from '../shared/stdio.ts'
export type { FetchLike, Transport, TransportSendOptions } from '../shared/transport.ts'
export { createFetchWithInit } from '../shared/transport.ts'
export type { Variables } from '../shared/uriTemplate.ts'
export { UriTemplate } from '../shared/uriTemplate.ts'
export type {
  Annotations,
  AudioContent,
  AuthInfo,
  BaseMetadata,
  BlobResourceContents,
  BooleanSchema,
  CallToolRequest,
  CallToolRequestParams,
  CallToolResult,
  CancelledNotification,
  CancelledNotificationParams,
  CancelTaskRequest,
  CancelTaskResult,
  ClientCapabilities,
  ClientNotification,
  ClientRequest,
  ClientResult,
  CompatibilityCallToolResult,
  CompleteRequest,
  CompleteRequestParams,
  CompleteRequestPrompt,
  CompleteRequestResourceTemplate,
  CompleteResult,
  ContentBlock,
  CreateMessageRequest,
  CreateMessageRequestParams,
  CreateMessageRequestParamsBase,
  CreateMessageRequestParamsWithTools,
  CreateMessageResult,
  CreateMessageResultWithTools,
  CreateTaskResult,
  Cursor,
  ElicitationCompleteNotification,
  ElicitationCompleteNotificationParams,
  ElicitRequest,
  ElicitRequestFormParams,
  ElicitRequestParams,
  ElicitRequestURLParams,
  ElicitResult,
  EmbeddedResource,
  EmptyResult,
  EnumSchema,
  GetPromptRequest,
  GetPromptRequestParams,
  GetPromptResult,
  GetTaskPayloadRequest,
  GetTaskPayloadResult,
  GetTaskRequest,
  GetTaskResult,
  Icon,
  Icons,
  ImageContent,
  Implementation,
  InitializedNotification,
  InitializeRequest,
  InitializeRequestParams,
  InitializeResult,
  IsomorphicHeaders,
  JSONRPCError,
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResponse,
  JSONRPCResultResponse,
  LegacyTitledEnumSchema,
  ListChangedCallback,
  ListChangedHandlers,
  ListChangedOptions,
  ListPromptsRequest,
  ListPromptsResult,
  ListResourcesRequest,
  ListResourcesResult,
  ListResourceTemplatesRequest,
  ListResourceTemplatesResult,
  ListRootsRequest,
  ListRootsResult,
  ListTasksRequest,
  ListTasksResult,
  ListToolsRequest,
  ListToolsResult,
  LoggingLevel,
  LoggingMessageNotification,
  LoggingMessageNotificationParams,
  MessageExtraInfo,
  ModelHint,
  ModelPreferences,
  MultiSelectEnumSchema,
  Notification,
  NotificationParams,
  NumberSchema,
  PaginatedRequest,
  PaginatedRequestParams,
  PaginatedResult,
  PingRequest,
  PrimitiveSchemaDefinition,
  Progress,
  ProgressNotification,
  ProgressNotificationParams,
  ProgressToken,
  Prompt,
  PromptArgument,
  PromptListChangedNotification,
  PromptMessage,
  PromptReference,
  ReadResourceRequest,
  ReadResourceRequestParams,
  ReadResourceResult,
  RelatedTaskMetadata,
  Request,
  RequestId,
  RequestInfo,
  RequestMeta,
  RequestParams,
  Resource,
  ResourceContents,
  ResourceLink,
  ResourceListChangedNotification,
  ResourceReference,
  ResourceRequestParams,
  ResourceTemplateReference,
  ResourceUpdatedNotification,
  ResourceUpdatedNotificationParams,
  Result,
  Role,
  Root,
  RootsListChangedNotification,
  SamplingContent,
  SamplingMessage,
  SamplingMessageContentBlock,
  ServerCapabilities,
  ServerNotification,
  ServerRequest,
  ServerResult,
  SetLevelRequest,
  SetLevelRequestParams,
  SingleSelectEnumSchema,
  StringSchema,
  SubscribeRequest,
  SubscribeRequestParams,
  Task,
  TaskAugmentedRequestParams,
  TaskCreationParams,
  TaskMetadata,
  TaskStatus,
  TaskStatusNotification,
  TaskStatusNotificationParams,
  TextContent,
  TextResourceContents,
  TitledMultiSelectEnumSchema,
  TitledSingleSelectEnumSchema,
  Tool,
  ToolAnnotations,
  ToolChoice,
  ToolExecution,
  ToolListChangedNotification,
  ToolResultContent,
  ToolUseContent,
  UnsubscribeRequest,
  UnsubscribeRequestParams,
  UntitledMultiSelectEnumSchema,
  UntitledSingleSelectEnumSchema,
} from '../types.ts'
export {
  assertCompleteRequestPrompt,
  assertCompleteRequestResourceTemplate,
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  isInitializedNotification,
  isInitializeRequest,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJSONRPCResultResponse,
  isTaskAugmentedRequestParams,
  JSONRPC_VERSION,
  LATEST_PROTOCOL_VERSION,
  RELATED_TASK_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '../types.ts'
export { completable, isCompletable } from './completable.ts'
export {
  BAGGAGE_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  fromJsonSchema,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isCallToolResult,
  isJsonContentType,
  LOG_LEVEL_META_KEY,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  PROTOCOL_VERSION_META_KEY,
  parseJSONRPCMessage,
  SERVER_INFO_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
  TRACEPARENT_META_KEY,
  TRACESTATE_META_KEY,
} from './constants.ts'
export type {
  BaseContext,
  ElicitInputParams,
  InputRequest,
  InputRequests,
  InputRequiredResult,
  InputRequiredSpec,
  ServerContext,
  StandardSchemaWithJSON,
} from './context.ts'
export { acceptedContent, inputRequired, isInputRequiredResult } from './context.ts'
export {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  SdkError,
  SdkErrorCode,
  UrlElicitationRequiredError,
} from './errors.ts'
export type {
  CreateMcpHandlerOptions,
  McpHandlerRequestOptions,
  McpHttpHandler,
  McpRequestContext,
  McpServerFactory,
  ServerNotifier,
} from './handler.ts'
export { createMcpHandler } from './handler.ts'
export type {
  McpServerOptions,
  PromptCallback,
  ReadResourceCallback,
  ReadResourceTemplateCallback,
  RegisteredPrompt,
  RegisteredTool,
  ToolCallback,
} from './mcp-server.ts'
export { McpServer, Server } from './mcp-server.ts'

const keepIt = 'Import it from @modelcontextprotocol/server: it works with authInfo of this package too'
const useHandler = 'Use createMcpHandler, which serves all revisions'
const useErrors = 'Throw ProtocolError with its code'
const useSchemas = 'Use the schemas of @modelcontextprotocol/core'

export const DEFAULT_MAX_REQUEST_BODY_SIZE: Uncovered = uncovered('DEFAULT_MAX_REQUEST_BODY_SIZE', useHandler)
export const InMemoryServerEventBus: Uncovered = uncovered('InMemoryServerEventBus', useHandler)
export const MissingRequiredClientCapabilityError: Uncovered = uncovered(
  'MissingRequiredClientCapabilityError',
  useErrors,
)
export const OAuthError: Uncovered = uncovered('OAuthError', keepIt)
export const OAuthErrorCode: Uncovered = uncovered('OAuthErrorCode', keepIt)
export const PerRequestHTTPServerTransport: Uncovered = uncovered('PerRequestHTTPServerTransport', useHandler)
export const SdkHttpError: Uncovered = uncovered('SdkHttpError', useErrors)
export const UnsupportedProtocolVersionError: Uncovered = uncovered(
  'UnsupportedProtocolVersionError',
  useErrors,
)
export const bearerAuthChallengeResponse: Uncovered = uncovered('bearerAuthChallengeResponse', keepIt)
export const buildOAuthProtectedResourceMetadata: Uncovered = uncovered(
  'buildOAuthProtectedResourceMetadata',
  keepIt,
)
export const checkResourceAllowed: Uncovered = uncovered('checkResourceAllowed', keepIt)
export const classifyInboundRequest: Uncovered = uncovered('classifyInboundRequest', useHandler)
export const createRequestStateCodec: Uncovered = uncovered('createRequestStateCodec', keepIt)
export const getOAuthProtectedResourceMetadataUrl: Uncovered = uncovered(
  'getOAuthProtectedResourceMetadataUrl',
  keepIt,
)
export const hostHeaderValidationResponse: Uncovered = uncovered('hostHeaderValidationResponse', keepIt)
export const inputResponse: Uncovered = uncovered('inputResponse', keepIt)
export const isLegacyRequest: Uncovered = uncovered('isLegacyRequest', useHandler)
export const isSpecType: Uncovered = uncovered('isSpecType', useSchemas)
export const legacyStatelessFallback: Uncovered = uncovered('legacyStatelessFallback', useHandler)
export const localhostAllowedHostnames: Uncovered = uncovered('localhostAllowedHostnames', keepIt)
export const localhostAllowedOrigins: Uncovered = uncovered('localhostAllowedOrigins', keepIt)
export const oauthMetadataResponse: Uncovered = uncovered('oauthMetadataResponse', keepIt)
export const originValidationResponse: Uncovered = uncovered('originValidationResponse', keepIt)
export const preloadSchemas: Uncovered = uncovered('preloadSchemas', useSchemas)
export const readRequestBody: Uncovered = uncovered('readRequestBody', useHandler)
export const requireBearerAuth: Uncovered = uncovered('requireBearerAuth', keepIt)
export const requireScopes: Uncovered = uncovered('requireScopes', keepIt)
export const resourceUrlFromServerUrl: Uncovered = uncovered('resourceUrlFromServerUrl', keepIt)
export const specTypeSchemas: Uncovered = uncovered('specTypeSchemas', useSchemas)
export const validateHostHeader: Uncovered = uncovered('validateHostHeader', keepIt)
export const validateOriginHeader: Uncovered = uncovered('validateOriginHeader', keepIt)
export const verifyBearerToken: Uncovered = uncovered('verifyBearerToken', keepIt)
