/** `@modelcontextprotocol/client` 2. */
import { type Uncovered, uncovered } from '../uncovered.ts'

export { getSupportedElicitationModes } from '../client/index.ts'
export type { SSEClientTransportOptions } from '../client/sse.ts'
export { SSEClientTransport, SseError } from '../client/sse.ts'
export type {
  StreamableHTTPClientTransportOptions,
  StreamableHTTPReconnectionOptions,
} from '../client/streamableHttp.ts'
export { StreamableHTTPClientTransport } from '../client/streamableHttp.ts'
export { InMemoryTransport } from '../inMemory.ts'
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
  ResourceTemplate,
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
export type { ClientOptions, ServerRequestMap } from './client-class.ts'
export { Client } from './client-class.ts'
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
export type { InputRequest, InputRequests, InputRequiredResult, StandardSchemaWithJSON } from './context.ts'
export { isInputRequiredResult } from './context.ts'
export {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  SdkError,
  SdkErrorCode,
  UrlElicitationRequiredError,
} from './errors.ts'

const useOauth =
  'Use oauth and the other grants of @jackfield/sdk/client/auth with connect of @jackfield/sdk/client'
const useFetch = 'Give the transport a "fetch" of your own'
const useErrors = 'Compare the "code" of ProtocolError and SdkError'
const useSchemas = 'Use the schemas of @modelcontextprotocol/core'
const leaveOut = 'Leave it out'

export const AuthorizationServerMismatchError: Uncovered = uncovered(
  'AuthorizationServerMismatchError',
  useOauth,
)
export const ClientCredentialsProvider: Uncovered = uncovered('ClientCredentialsProvider', useOauth)
export const CrossAppAccessProvider: Uncovered = uncovered('CrossAppAccessProvider', useOauth)
export const DPOP_SUPPORTED_ALGS: Uncovered = uncovered('DPOP_SUPPORTED_ALGS', useOauth)
export const DpopSession: Uncovered = uncovered('DpopSession', useOauth)
export const InMemoryResponseCacheStore: Uncovered = uncovered('InMemoryResponseCacheStore', leaveOut)
export const InsecureTokenEndpointError: Uncovered = uncovered('InsecureTokenEndpointError', useOauth)
export const InsufficientScopeError: Uncovered = uncovered('InsufficientScopeError', useOauth)
export const IssuerMismatchError: Uncovered = uncovered('IssuerMismatchError', useOauth)
export const MAX_CACHE_TTL_MS: Uncovered = uncovered('MAX_CACHE_TTL_MS', leaveOut)
export const MissingRequiredClientCapabilityError: Uncovered = uncovered(
  'MissingRequiredClientCapabilityError',
  useErrors,
)
export const OAuthClientFlowError: Uncovered = uncovered('OAuthClientFlowError', useOauth)
export const OAuthError: Uncovered = uncovered('OAuthError', useOauth)
export const OAuthErrorCode: Uncovered = uncovered('OAuthErrorCode', useOauth)
export const PrivateKeyJwtProvider: Uncovered = uncovered('PrivateKeyJwtProvider', useOauth)
export const RegistrationRejectedError: Uncovered = uncovered('RegistrationRejectedError', useOauth)
export const SdkHttpError: Uncovered = uncovered('SdkHttpError', useErrors)
export const StaticPrivateKeyJwtProvider: Uncovered = uncovered('StaticPrivateKeyJwtProvider', useOauth)
export const UnauthorizedError: Uncovered = uncovered('UnauthorizedError', useOauth)
export const UnsupportedProtocolVersionError: Uncovered = uncovered(
  'UnsupportedProtocolVersionError',
  useErrors,
)
export const accessTokenHash: Uncovered = uncovered('accessTokenHash', useOauth)
export const applyMiddlewares: Uncovered = uncovered('applyMiddlewares', useFetch)
export const assertSecureTokenEndpoint: Uncovered = uncovered('assertSecureTokenEndpoint', useOauth)
export const auth: Uncovered = uncovered('auth', useOauth)
export const buildDiscoveryUrls: Uncovered = uncovered('buildDiscoveryUrls', useOauth)
export const checkResourceAllowed: Uncovered = uncovered('checkResourceAllowed', useOauth)
export const computeScopeUnion: Uncovered = uncovered('computeScopeUnion', useOauth)
export const createMiddleware: Uncovered = uncovered('createMiddleware', useFetch)
export const createPrivateKeyJwtAuth: Uncovered = uncovered('createPrivateKeyJwtAuth', useOauth)
export const discoverAndRequestJwtAuthGrant: Uncovered = uncovered('discoverAndRequestJwtAuthGrant', useOauth)
export const discoverAuthorizationServerMetadata: Uncovered = uncovered(
  'discoverAuthorizationServerMetadata',
  useOauth,
)
export const discoverOAuthMetadata: Uncovered = uncovered('discoverOAuthMetadata', useOauth)
export const discoverOAuthProtectedResourceMetadata: Uncovered = uncovered(
  'discoverOAuthProtectedResourceMetadata',
  useOauth,
)
export const discoverOAuthServerInfo: Uncovered = uncovered('discoverOAuthServerInfo', useOauth)
export const exchangeAuthorization: Uncovered = uncovered('exchangeAuthorization', useOauth)
export const exchangeJwtAuthGrant: Uncovered = uncovered('exchangeJwtAuthGrant', useOauth)
export const extractResourceMetadataUrl: Uncovered = uncovered('extractResourceMetadataUrl', useOauth)
export const extractWWWAuthenticateParams: Uncovered = uncovered('extractWWWAuthenticateParams', useOauth)
export const fetchToken: Uncovered = uncovered('fetchToken', useOauth)
export const generateDpopKeyPair: Uncovered = uncovered('generateDpopKeyPair', useOauth)
export const isDpopNonceChallenge: Uncovered = uncovered('isDpopNonceChallenge', useOauth)
export const isHttpsUrl: Uncovered = uncovered('isHttpsUrl', useOauth)
export const isSpecType: Uncovered = uncovered('isSpecType', useSchemas)
export const isStrictScopeSuperset: Uncovered = uncovered('isStrictScopeSuperset', useOauth)
export const parseErrorResponse: Uncovered = uncovered('parseErrorResponse', useOauth)
export const preloadSchemas: Uncovered = uncovered('preloadSchemas', useSchemas)
export const prepareAuthorizationCodeRequest: Uncovered = uncovered(
  'prepareAuthorizationCodeRequest',
  useOauth,
)
export const refreshAuthorization: Uncovered = uncovered('refreshAuthorization', useOauth)
export const registerClient: Uncovered = uncovered('registerClient', useOauth)
export const requestJwtAuthorizationGrant: Uncovered = uncovered('requestJwtAuthorizationGrant', useOauth)
export const resolveClientMetadata: Uncovered = uncovered('resolveClientMetadata', useOauth)
export const resourceUrlFromServerUrl: Uncovered = uncovered('resourceUrlFromServerUrl', useOauth)
export const selectClientAuthMethod: Uncovered = uncovered('selectClientAuthMethod', useOauth)
export const selectResourceURL: Uncovered = uncovered('selectResourceURL', useOauth)
export const specTypeSchemas: Uncovered = uncovered('specTypeSchemas', useSchemas)
export const startAuthorization: Uncovered = uncovered('startAuthorization', useOauth)
export const validateAuthorizationResponseIssuer: Uncovered = uncovered(
  'validateAuthorizationResponseIssuer',
  useOauth,
)
export const validateClientMetadataUrl: Uncovered = uncovered('validateClientMetadataUrl', useOauth)
export const withDpop: Uncovered = uncovered('withDpop', useOauth)
export const withDpopFromProvider: Uncovered = uncovered('withDpopFromProvider', useOauth)
export const withInputRequired: Uncovered = uncovered('withInputRequired', leaveOut)
export const withLogging: Uncovered = uncovered('withLogging', useFetch)
export const withOAuth: Uncovered = uncovered('withOAuth', useOauth)
