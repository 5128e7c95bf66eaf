/**
 * `types.js` of the official SDK 1: the schemas of every message, their types, errors and type guards. The schemas are those
 * of `@modelcontextprotocol/core`, the package that publishes them.
 */
import { MetaKey, RpcError } from '@jackfield/sdk'
import {
  type AnnotationsSchema,
  type AudioContentSchema,
  type BaseMetadataSchema,
  type BlobResourceContentsSchema,
  type BooleanSchemaSchema,
  type CallToolRequestParamsSchema,
  type CallToolRequestSchema,
  type CallToolResultSchema,
  type CancelledNotificationParamsSchema,
  type CancelledNotificationSchema,
  type CancelTaskRequestSchema,
  type CancelTaskResultSchema,
  type ClientCapabilitiesSchema,
  type ClientNotificationSchema,
  type ClientRequestSchema,
  type ClientResultSchema,
  type CompatibilityCallToolResultSchema,
  type CompleteRequestParamsSchema,
  type CompleteRequestSchema,
  type CompleteResultSchema,
  type ContentBlockSchema,
  type CreateMessageRequestParamsSchema,
  type CreateMessageRequestSchema,
  type CreateMessageResultSchema,
  type CreateMessageResultWithToolsSchema,
  type CreateTaskResultSchema,
  type CursorSchema,
  type ElicitationCompleteNotificationParamsSchema,
  type ElicitationCompleteNotificationSchema,
  type ElicitRequestFormParamsSchema,
  type ElicitRequestParamsSchema,
  type ElicitRequestSchema,
  type ElicitRequestURLParamsSchema,
  type ElicitResultSchema,
  type EmbeddedResourceSchema,
  type EmptyResultSchema,
  type EnumSchemaSchema,
  type GetPromptRequestParamsSchema,
  type GetPromptRequestSchema,
  type GetPromptResultSchema,
  type GetTaskPayloadRequestSchema,
  type GetTaskPayloadResultSchema,
  type GetTaskRequestSchema,
  type GetTaskResultSchema,
  type IconSchema,
  type IconsSchema,
  type ImageContentSchema,
  type ImplementationSchema,
  InitializedNotificationSchema,
  type InitializeRequestParamsSchema,
  InitializeRequestSchema,
  type InitializeResultSchema,
  JSONRPCErrorResponseSchema,
  type JSONRPCMessageSchema,
  JSONRPCNotificationSchema,
  JSONRPCRequestSchema,
  type JSONRPCResponseSchema,
  JSONRPCResultResponseSchema,
  type LegacyTitledEnumSchemaSchema,
  type ListPromptsRequestSchema,
  type ListPromptsResultSchema,
  type ListResourcesRequestSchema,
  type ListResourcesResultSchema,
  type ListResourceTemplatesRequestSchema,
  type ListResourceTemplatesResultSchema,
  type ListRootsRequestSchema,
  type ListRootsResultSchema,
  type ListTasksRequestSchema,
  type ListTasksResultSchema,
  type ListToolsRequestSchema,
  type ListToolsResultSchema,
  type LoggingLevelSchema,
  type LoggingMessageNotificationParamsSchema,
  type LoggingMessageNotificationSchema,
  type ModelHintSchema,
  type ModelPreferencesSchema,
  type MultiSelectEnumSchemaSchema,
  type NotificationSchema,
  type NumberSchemaSchema,
  type PaginatedRequestParamsSchema,
  type PaginatedRequestSchema,
  type PaginatedResultSchema,
  type PingRequestSchema,
  type PrimitiveSchemaDefinitionSchema,
  type ProgressNotificationParamsSchema,
  type ProgressNotificationSchema,
  type ProgressSchema,
  type ProgressTokenSchema,
  type PromptArgumentSchema,
  type PromptListChangedNotificationSchema,
  type PromptMessageSchema,
  type PromptReferenceSchema,
  type PromptSchema,
  type ReadResourceRequestParamsSchema,
  type ReadResourceRequestSchema,
  type ReadResourceResultSchema,
  type RelatedTaskMetadataSchema,
  type RequestIdSchema,
  type RequestMetaSchema,
  type RequestSchema,
  type ResourceContentsSchema,
  type ResourceLinkSchema,
  type ResourceListChangedNotificationSchema,
  type ResourceRequestParamsSchema,
  type ResourceSchema,
  type ResourceTemplateReferenceSchema,
  type ResourceTemplateSchema,
  type ResourceUpdatedNotificationParamsSchema,
  type ResourceUpdatedNotificationSchema,
  type ResultSchema,
  type RoleSchema,
  type RootSchema,
  type RootsListChangedNotificationSchema,
  type SamplingContentSchema,
  type SamplingMessageContentBlockSchema,
  type SamplingMessageSchema,
  type ServerCapabilitiesSchema,
  type ServerNotificationSchema,
  type ServerRequestSchema,
  type ServerResultSchema,
  type SetLevelRequestParamsSchema,
  type SetLevelRequestSchema,
  type SingleSelectEnumSchemaSchema,
  type StringSchemaSchema,
  type SubscribeRequestParamsSchema,
  type SubscribeRequestSchema,
  TaskAugmentedRequestParamsSchema,
  type TaskCreationParamsSchema,
  type TaskMetadataSchema,
  type TaskSchema,
  type TaskStatusNotificationParamsSchema,
  type TaskStatusNotificationSchema,
  type TaskStatusSchema,
  type TextContentSchema,
  type TextResourceContentsSchema,
  type TitledMultiSelectEnumSchemaSchema,
  type TitledSingleSelectEnumSchemaSchema,
  type ToolAnnotationsSchema,
  type ToolChoiceSchema,
  type ToolExecutionSchema,
  type ToolListChangedNotificationSchema,
  type ToolResultContentSchema,
  type ToolSchema,
  type ToolUseContentSchema,
  type UnsubscribeRequestParamsSchema,
  type UnsubscribeRequestSchema,
  type UntitledMultiSelectEnumSchemaSchema,
  type UntitledSingleSelectEnumSchemaSchema,
} from '@modelcontextprotocol/core'
import type { z } from 'zod/v4'
import { type Uncovered, uncovered } from './uncovered.ts'

// In three lists, because the compiler writes each as one line.
export {
  AnnotationsSchema,
  AudioContentSchema,
  BaseMetadataSchema,
  BlobResourceContentsSchema,
  BooleanSchemaSchema,
  CallToolRequestParamsSchema,
  CallToolRequestSchema,
  CallToolResultSchema,
  CancelledNotificationParamsSchema,
  CancelledNotificationSchema,
  CancelTaskRequestSchema,
  CancelTaskResultSchema,
  ClientCapabilitiesSchema,
  ClientNotificationSchema,
  ClientRequestSchema,
  ClientResultSchema,
  CompatibilityCallToolResultSchema,
  CompleteRequestParamsSchema,
  CompleteRequestSchema,
  CompleteResultSchema,
  ContentBlockSchema,
  CreateMessageRequestParamsSchema,
  CreateMessageRequestSchema,
  CreateMessageResultSchema,
  CreateMessageResultWithToolsSchema,
  CreateTaskResultSchema,
  CursorSchema,
  ElicitationCompleteNotificationParamsSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestFormParamsSchema,
  ElicitRequestParamsSchema,
  ElicitRequestSchema,
  ElicitRequestURLParamsSchema,
  ElicitResultSchema,
  EmbeddedResourceSchema,
  EmptyResultSchema,
  EnumSchemaSchema,
  GetPromptRequestParamsSchema,
  GetPromptRequestSchema,
  GetPromptResultSchema,
  GetTaskPayloadRequestSchema,
  GetTaskPayloadResultSchema,
  GetTaskRequestSchema,
  GetTaskResultSchema,
  IconSchema,
  IconsSchema,
  ImageContentSchema,
  ImplementationSchema,
  InitializedNotificationSchema,
} from '@modelcontextprotocol/core'

export type ProgressToken = z.infer<typeof ProgressTokenSchema>
export type Cursor = z.infer<typeof CursorSchema>
export type Request = z.infer<typeof RequestSchema>
export type TaskAugmentedRequestParams = z.infer<typeof TaskAugmentedRequestParamsSchema>
export type RequestMeta = z.infer<typeof RequestMetaSchema>
export type Notification = z.infer<typeof NotificationSchema>
export type Result = z.infer<typeof ResultSchema>
export type RequestId = z.infer<typeof RequestIdSchema>
export type JSONRPCRequest = z.infer<typeof JSONRPCRequestSchema>
export type JSONRPCNotification = z.infer<typeof JSONRPCNotificationSchema>
export type JSONRPCResponse = z.infer<typeof JSONRPCResponseSchema>
export type JSONRPCErrorResponse = z.infer<typeof JSONRPCErrorResponseSchema>
export type JSONRPCResultResponse = z.infer<typeof JSONRPCResultResponseSchema>
export type JSONRPCMessage = z.infer<typeof JSONRPCMessageSchema>
export type EmptyResult = z.infer<typeof EmptyResultSchema>
export type CancelledNotificationParams = z.infer<typeof CancelledNotificationParamsSchema>
export type CancelledNotification = z.infer<typeof CancelledNotificationSchema>
export type Icon = z.infer<typeof IconSchema>
export type Icons = z.infer<typeof IconsSchema>
export type BaseMetadata = z.infer<typeof BaseMetadataSchema>
export type Annotations = z.infer<typeof AnnotationsSchema>
export type Role = z.infer<typeof RoleSchema>
export type Implementation = z.infer<typeof ImplementationSchema>
export type ClientCapabilities = z.infer<typeof ClientCapabilitiesSchema>
export type InitializeRequestParams = z.infer<typeof InitializeRequestParamsSchema>
export type InitializeRequest = z.infer<typeof InitializeRequestSchema>
export type ServerCapabilities = z.infer<typeof ServerCapabilitiesSchema>
export type InitializeResult = z.infer<typeof InitializeResultSchema>
export type InitializedNotification = z.infer<typeof InitializedNotificationSchema>
export type PingRequest = z.infer<typeof PingRequestSchema>
export type Progress = z.infer<typeof ProgressSchema>
export type ProgressNotificationParams = z.infer<typeof ProgressNotificationParamsSchema>
export type ProgressNotification = z.infer<typeof ProgressNotificationSchema>
export type Task = z.infer<typeof TaskSchema>
export type TaskStatus = z.infer<typeof TaskStatusSchema>
export type TaskCreationParams = z.infer<typeof TaskCreationParamsSchema>
export type TaskMetadata = z.infer<typeof TaskMetadataSchema>
export type RelatedTaskMetadata = z.infer<typeof RelatedTaskMetadataSchema>
export type CreateTaskResult = z.infer<typeof CreateTaskResultSchema>
export type TaskStatusNotificationParams = z.infer<typeof TaskStatusNotificationParamsSchema>
export type TaskStatusNotification = z.infer<typeof TaskStatusNotificationSchema>
export type GetTaskRequest = z.infer<typeof GetTaskRequestSchema>
export type GetTaskResult = z.infer<typeof GetTaskResultSchema>
export type GetTaskPayloadRequest = z.infer<typeof GetTaskPayloadRequestSchema>
export type ListTasksRequest = z.infer<typeof ListTasksRequestSchema>
export type ListTasksResult = z.infer<typeof ListTasksResultSchema>
export type CancelTaskRequest = z.infer<typeof CancelTaskRequestSchema>
export type CancelTaskResult = z.infer<typeof CancelTaskResultSchema>
export type GetTaskPayloadResult = z.infer<typeof GetTaskPayloadResultSchema>
export type PaginatedRequestParams = z.infer<typeof PaginatedRequestParamsSchema>
export type PaginatedRequest = z.infer<typeof PaginatedRequestSchema>
export type PaginatedResult = z.infer<typeof PaginatedResultSchema>
export type ResourceContents = z.infer<typeof ResourceContentsSchema>
export type TextResourceContents = z.infer<typeof TextResourceContentsSchema>
export type BlobResourceContents = z.infer<typeof BlobResourceContentsSchema>
export type Resource = z.infer<typeof ResourceSchema>
export type ResourceTemplate = z.infer<typeof ResourceTemplateSchema>
export type ListResourcesRequest = z.infer<typeof ListResourcesRequestSchema>
export type ListResourcesResult = z.infer<typeof ListResourcesResultSchema>
export type ListResourceTemplatesRequest = z.infer<typeof ListResourceTemplatesRequestSchema>
export type ListResourceTemplatesResult = z.infer<typeof ListResourceTemplatesResultSchema>
export type ResourceRequestParams = z.infer<typeof ResourceRequestParamsSchema>
export type ReadResourceRequestParams = z.infer<typeof ReadResourceRequestParamsSchema>
export type ReadResourceRequest = z.infer<typeof ReadResourceRequestSchema>
export type ReadResourceResult = z.infer<typeof ReadResourceResultSchema>
export type ResourceListChangedNotification = z.infer<typeof ResourceListChangedNotificationSchema>
export type SubscribeRequestParams = z.infer<typeof SubscribeRequestParamsSchema>
export type SubscribeRequest = z.infer<typeof SubscribeRequestSchema>
export type UnsubscribeRequestParams = z.infer<typeof UnsubscribeRequestParamsSchema>
export type UnsubscribeRequest = z.infer<typeof UnsubscribeRequestSchema>
export type ResourceUpdatedNotificationParams = z.infer<typeof ResourceUpdatedNotificationParamsSchema>
export type ResourceUpdatedNotification = z.infer<typeof ResourceUpdatedNotificationSchema>
export type PromptArgument = z.infer<typeof PromptArgumentSchema>
export type Prompt = z.infer<typeof PromptSchema>
export type ListPromptsRequest = z.infer<typeof ListPromptsRequestSchema>
export type ListPromptsResult = z.infer<typeof ListPromptsResultSchema>
export type GetPromptRequestParams = z.infer<typeof GetPromptRequestParamsSchema>
export type GetPromptRequest = z.infer<typeof GetPromptRequestSchema>
export type TextContent = z.infer<typeof TextContentSchema>
export type ImageContent = z.infer<typeof ImageContentSchema>
export type AudioContent = z.infer<typeof AudioContentSchema>
export type ToolUseContent = z.infer<typeof ToolUseContentSchema>
export type ToolResultContent = z.infer<typeof ToolResultContentSchema>
export type EmbeddedResource = z.infer<typeof EmbeddedResourceSchema>
export type ResourceLink = z.infer<typeof ResourceLinkSchema>
export type ContentBlock = z.infer<typeof ContentBlockSchema>
export type PromptMessage = z.infer<typeof PromptMessageSchema>
export type GetPromptResult = z.infer<typeof GetPromptResultSchema>
export type PromptListChangedNotification = z.infer<typeof PromptListChangedNotificationSchema>
export type ToolAnnotations = z.infer<typeof ToolAnnotationsSchema>
export type ToolExecution = z.infer<typeof ToolExecutionSchema>
export type Tool = z.infer<typeof ToolSchema>
export type ListToolsRequest = z.infer<typeof ListToolsRequestSchema>
export type ListToolsResult = z.infer<typeof ListToolsResultSchema>
export type CallToolRequestParams = z.infer<typeof CallToolRequestParamsSchema>
export type CallToolResult = z.infer<typeof CallToolResultSchema>
export type CompatibilityCallToolResult = z.infer<typeof CompatibilityCallToolResultSchema>
export type CallToolRequest = z.infer<typeof CallToolRequestSchema>
export type ToolListChangedNotification = z.infer<typeof ToolListChangedNotificationSchema>
export type LoggingLevel = z.infer<typeof LoggingLevelSchema>
export type SetLevelRequestParams = z.infer<typeof SetLevelRequestParamsSchema>
export type SetLevelRequest = z.infer<typeof SetLevelRequestSchema>
export type LoggingMessageNotificationParams = z.infer<typeof LoggingMessageNotificationParamsSchema>
export type LoggingMessageNotification = z.infer<typeof LoggingMessageNotificationSchema>
export type ToolChoice = z.infer<typeof ToolChoiceSchema>
export type ModelHint = z.infer<typeof ModelHintSchema>
export type ModelPreferences = z.infer<typeof ModelPreferencesSchema>
export type SamplingContent = z.infer<typeof SamplingContentSchema>
export type SamplingMessageContentBlock = z.infer<typeof SamplingMessageContentBlockSchema>
export type SamplingMessage = z.infer<typeof SamplingMessageSchema>
export type CreateMessageRequestParams = z.infer<typeof CreateMessageRequestParamsSchema>
export type CreateMessageRequest = z.infer<typeof CreateMessageRequestSchema>
export type CreateMessageResult = z.infer<typeof CreateMessageResultSchema>
export type CreateMessageResultWithTools = z.infer<typeof CreateMessageResultWithToolsSchema>
export type BooleanSchema = z.infer<typeof BooleanSchemaSchema>
export type StringSchema = z.infer<typeof StringSchemaSchema>
export type NumberSchema = z.infer<typeof NumberSchemaSchema>
export type EnumSchema = z.infer<typeof EnumSchemaSchema>
export type UntitledSingleSelectEnumSchema = z.infer<typeof UntitledSingleSelectEnumSchemaSchema>
export type TitledSingleSelectEnumSchema = z.infer<typeof TitledSingleSelectEnumSchemaSchema>
export type LegacyTitledEnumSchema = z.infer<typeof LegacyTitledEnumSchemaSchema>
export type UntitledMultiSelectEnumSchema = z.infer<typeof UntitledMultiSelectEnumSchemaSchema>
export type TitledMultiSelectEnumSchema = z.infer<typeof TitledMultiSelectEnumSchemaSchema>
export type SingleSelectEnumSchema = z.infer<typeof SingleSelectEnumSchemaSchema>
export type MultiSelectEnumSchema = z.infer<typeof MultiSelectEnumSchemaSchema>
export type PrimitiveSchemaDefinition = z.infer<typeof PrimitiveSchemaDefinitionSchema>
export type ElicitRequestParams = z.infer<typeof ElicitRequestParamsSchema>
export type ElicitRequestFormParams = z.infer<typeof ElicitRequestFormParamsSchema>
export type ElicitRequestURLParams = z.infer<typeof ElicitRequestURLParamsSchema>
export type ElicitRequest = z.infer<typeof ElicitRequestSchema>
export type ElicitationCompleteNotificationParams = z.infer<
  typeof ElicitationCompleteNotificationParamsSchema
>
export type ElicitationCompleteNotification = z.infer<typeof ElicitationCompleteNotificationSchema>
export type ElicitResult = z.infer<typeof ElicitResultSchema>
export type ResourceTemplateReference = z.infer<typeof ResourceTemplateReferenceSchema>
export type PromptReference = z.infer<typeof PromptReferenceSchema>
export type CompleteRequestParams = z.infer<typeof CompleteRequestParamsSchema>
export type CompleteRequest = z.infer<typeof CompleteRequestSchema>
export type CompleteResult = z.infer<typeof CompleteResultSchema>
export type Root = z.infer<typeof RootSchema>
export type ListRootsRequest = z.infer<typeof ListRootsRequestSchema>
export type ListRootsResult = z.infer<typeof ListRootsResultSchema>
export type RootsListChangedNotification = z.infer<typeof RootsListChangedNotificationSchema>
export type ClientRequest = z.infer<typeof ClientRequestSchema>
export type ClientNotification = z.infer<typeof ClientNotificationSchema>
export type ClientResult = z.infer<typeof ClientResultSchema>
export type ServerRequest = z.infer<typeof ServerRequestSchema>
export type ServerNotification = z.infer<typeof ServerNotificationSchema>
export type ServerResult = z.infer<typeof ServerResultSchema>
export type RequestParams = NonNullable<Request['params']>
export type NotificationParams = NonNullable<Notification['params']>

/** The older names of two schemas. */
export {
  JSONRPCErrorResponseSchema as JSONRPCErrorSchema,
  ResourceTemplateReferenceSchema as ResourceReferenceSchema,
} from '@modelcontextprotocol/core'
export type JSONRPCError = JSONRPCErrorResponse
export type ResourceReference = ResourceTemplateReference

export {
  InitializeRequestParamsSchema,
  InitializeRequestSchema,
  InitializeResultSchema,
  JSONRPCErrorResponseSchema,
  JSONRPCMessageSchema,
  JSONRPCNotificationSchema,
  JSONRPCRequestSchema,
  JSONRPCResponseSchema,
  JSONRPCResultResponseSchema,
  LegacyTitledEnumSchemaSchema,
  ListPromptsRequestSchema,
  ListPromptsResultSchema,
  ListResourcesRequestSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesRequestSchema,
  ListResourceTemplatesResultSchema,
  ListRootsRequestSchema,
  ListRootsResultSchema,
  ListTasksRequestSchema,
  ListTasksResultSchema,
  ListToolsRequestSchema,
  ListToolsResultSchema,
  LoggingLevelSchema,
  LoggingMessageNotificationParamsSchema,
  LoggingMessageNotificationSchema,
  ModelHintSchema,
  ModelPreferencesSchema,
  MultiSelectEnumSchemaSchema,
  NotificationSchema,
  NumberSchemaSchema,
  PaginatedRequestParamsSchema,
  PaginatedRequestSchema,
  PaginatedResultSchema,
  PingRequestSchema,
  PrimitiveSchemaDefinitionSchema,
  ProgressNotificationParamsSchema,
  ProgressNotificationSchema,
  ProgressSchema,
  ProgressTokenSchema,
  PromptArgumentSchema,
  PromptListChangedNotificationSchema,
  PromptMessageSchema,
  PromptReferenceSchema,
  PromptSchema,
  ReadResourceRequestParamsSchema,
  ReadResourceRequestSchema,
  ReadResourceResultSchema,
  RelatedTaskMetadataSchema,
  RequestIdSchema,
} from '@modelcontextprotocol/core'

const useServerCapabilities =
  'Take the member "tasks" of ServerCapabilitiesSchema or ClientCapabilitiesSchema'
export const ClientTasksCapabilitySchema: Uncovered = uncovered(
  'ClientTasksCapabilitySchema',
  useServerCapabilities,
)
export const ServerTasksCapabilitySchema: Uncovered = uncovered(
  'ServerTasksCapabilitySchema',
  useServerCapabilities,
)
export const ListChangedOptionsBaseSchema: Uncovered = uncovered(
  'ListChangedOptionsBaseSchema',
  'The type ListChangedOptions describes these options',
)

/** The newest revision that begins with `initialize`. Clients of 2026-07-28 are served too, without `initialize`. */
export const LATEST_PROTOCOL_VERSION = '2025-11-25'
/** The revision of an HTTP request without the header `MCP-Protocol-Version`. */
export const DEFAULT_NEGOTIATED_PROTOCOL_VERSION = '2025-03-26'
/** The revisions that begin with `initialize`, newest first. */
export const SUPPORTED_PROTOCOL_VERSIONS: string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
export const RELATED_TASK_META_KEY = 'io.modelcontextprotocol/related-task'
export const JSONRPC_VERSION = '2.0'

/** Codes of `McpError`: those of JSON-RPC and MCP, and two for failures of this side. */
export const ErrorCode = {
  ConnectionClosed: -32000,
  RequestTimeout: -32001,
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  UrlElicitationRequired: -32042,
} as const
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode]

export {
  RequestSchema,
  ResourceContentsSchema,
  ResourceLinkSchema,
  ResourceListChangedNotificationSchema,
  ResourceRequestParamsSchema,
  ResourceSchema,
  ResourceTemplateReferenceSchema,
  ResourceTemplateSchema,
  ResourceUpdatedNotificationParamsSchema,
  ResourceUpdatedNotificationSchema,
  ResultSchema,
  RoleSchema,
  RootSchema,
  RootsListChangedNotificationSchema,
  SamplingContentSchema,
  SamplingMessageContentBlockSchema,
  SamplingMessageSchema,
  ServerCapabilitiesSchema,
  ServerNotificationSchema,
  ServerRequestSchema,
  ServerResultSchema,
  SetLevelRequestParamsSchema,
  SetLevelRequestSchema,
  SingleSelectEnumSchemaSchema,
  StringSchemaSchema,
  SubscribeRequestParamsSchema,
  SubscribeRequestSchema,
  TaskAugmentedRequestParamsSchema,
  TaskCreationParamsSchema,
  TaskMetadataSchema,
  TaskSchema,
  TaskStatusNotificationParamsSchema,
  TaskStatusNotificationSchema,
  TaskStatusSchema,
  TextContentSchema,
  TextResourceContentsSchema,
  TitledMultiSelectEnumSchemaSchema,
  TitledSingleSelectEnumSchemaSchema,
  ToolAnnotationsSchema,
  ToolChoiceSchema,
  ToolExecutionSchema,
  ToolListChangedNotificationSchema,
  ToolResultContentSchema,
  ToolSchema,
  ToolUseContentSchema,
  UnsubscribeRequestParamsSchema,
  UnsubscribeRequestSchema,
  UntitledMultiSelectEnumSchemaSchema,
  UntitledSingleSelectEnumSchemaSchema,
} from '@modelcontextprotocol/core'

/** An error with a JSON-RPC code, thrown by handlers and by requests. It is the `RpcError` of Jackfield too. */
export class McpError extends RpcError {
  override readonly name: string = 'McpError'

  constructor(code: number, message: string, data?: unknown) {
    super(code, `MCP error ${code}: ${message}`, data)
  }

  /** The error of a response: the class of its code. */
  static fromError(code: number, message: string, data?: unknown): McpError {
    const elicitations =
      typeof data === 'object' && data !== null && 'elicitations' in data ? data.elicitations : undefined
    if (code === ErrorCode.UrlElicitationRequired && Array.isArray(elicitations)) {
      return new UrlElicitationRequiredError(elicitations, message)
    }
    return new McpError(code, message, data)
  }
}

/** The person must visit the URLs before the request can be served (2025-11-25). */
export class UrlElicitationRequiredError extends McpError {
  readonly elicitations: ElicitRequestURLParams[]

  constructor(elicitations: ElicitRequestURLParams[], message?: string) {
    const plural = elicitations.length === 1 ? '' : 's'
    super(ErrorCode.UrlElicitationRequired, message ?? `URL elicitation${plural} required`, { elicitations })
    this.elicitations = elicitations
  }
}

export const isJSONRPCRequest = (value: unknown): value is JSONRPCRequest =>
  JSONRPCRequestSchema.safeParse(value).success
export const isJSONRPCNotification = (value: unknown): value is JSONRPCNotification =>
  JSONRPCNotificationSchema.safeParse(value).success
export const isJSONRPCResultResponse = (value: unknown): value is JSONRPCResultResponse =>
  JSONRPCResultResponseSchema.safeParse(value).success
export const isJSONRPCResponse: typeof isJSONRPCResultResponse = isJSONRPCResultResponse
export const isJSONRPCErrorResponse = (value: unknown): value is JSONRPCErrorResponse =>
  JSONRPCErrorResponseSchema.safeParse(value).success
export const isJSONRPCError: typeof isJSONRPCErrorResponse = isJSONRPCErrorResponse
export const isInitializedNotification = (value: unknown): value is InitializedNotification =>
  InitializedNotificationSchema.safeParse(value).success
export const isTaskAugmentedRequestParams = (value: unknown): value is TaskAugmentedRequestParams =>
  TaskAugmentedRequestParamsSchema.safeParse(value).success

/**
 * Whether a request starts a client's use of a server, so that a server and a transport have to be created for it: `initialize`,
 * and every request of 2026-07-28, which has no sessions.
 */
export const isInitializeRequest = (value: unknown): value is InitializeRequest =>
  InitializeRequestSchema.safeParse(value).success || isStatelessRequest(value)

/** Whether a message names its protocol version in `_meta`, as all of 2026-07-28 do. */
export function isStatelessRequest(value: unknown): boolean {
  const request = JSONRPCRequestSchema.safeParse(value)
  return request.success && request.data.params?._meta?.[MetaKey.protocolVersion] !== undefined
}

export function assertCompleteRequestPrompt(
  request: CompleteRequest,
): asserts request is CompleteRequestPrompt {
  if (request.params.ref.type !== 'ref/prompt') throw wrongReference('ref/prompt', request)
}

export function assertCompleteRequestResourceTemplate(
  request: CompleteRequest,
): asserts request is CompleteRequestResourceTemplate {
  if (request.params.ref.type !== 'ref/resource') throw wrongReference('ref/resource', request)
}

function wrongReference(expected: string, { params }: CompleteRequest): TypeError {
  return new TypeError(`Expected a completion of "${expected}", got "${params.ref.type}"`)
}

export type CompleteRequestPrompt = CompleteRequest & { params: { ref: PromptReference } }
export type CompleteRequestResourceTemplate = CompleteRequest & { params: { ref: ResourceTemplateReference } }
export type CreateMessageRequestParamsBase = Omit<CreateMessageRequestParams, 'tools' | 'toolChoice'>
export interface CreateMessageRequestParamsWithTools extends CreateMessageRequestParams {
  tools: Tool[]
}

/** The validated access token of a request. */
export interface AuthInfo {
  token: string
  clientId: string
  scopes: string[]
  /** Seconds since 1970. */
  expiresAt?: number
  resource?: URL
  extra?: Record<string, unknown>
}

export type IsomorphicHeaders = Record<string, string | string[] | undefined>

/** The HTTP request of a message. */
export interface RequestInfo {
  headers: IsomorphicHeaders
  url?: URL
}

/** What a transport adds to a message. */
export interface MessageExtraInfo {
  requestInfo?: RequestInfo
  authInfo?: AuthInfo
  closeSSEStream?: () => void
  closeStandaloneSSEStream?: () => void
}

/** Called with the new list, or `null` without `autoRefresh`, or with the error of reading it. */
export type ListChangedCallback<T> = (error: Error | null, items: T[] | null) => void
export type ListChangedOptions<T> = {
  /** Reads the list again on a change. Default true. */
  autoRefresh?: boolean
  /** Milliseconds to wait for further changes. Default 300; 0 calls for every change. */
  debounceMs?: number
  onChanged: ListChangedCallback<T>
}
export type ListChangedHandlers = {
  tools?: ListChangedOptions<Tool>
  prompts?: ListChangedOptions<Prompt>
  resources?: ListChangedOptions<Resource>
}
