/**
 * `types.js` of the official SDK 1: the schemas of every message, their types, errors and type guards. The schemas are those
 * of `@modelcontextprotocol/core`, the package that publishes them.
 */
import { MetaKey, RpcError } from '@jackfield/sdk'
import type * as core from '@modelcontextprotocol/core'
import {
  InitializedNotificationSchema,
  InitializeRequestSchema,
  JSONRPCErrorResponseSchema,
  JSONRPCNotificationSchema,
  JSONRPCRequestSchema,
  JSONRPCResultResponseSchema,
  TaskAugmentedRequestParamsSchema,
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

export type ProgressToken = z.infer<typeof core.ProgressTokenSchema>
export type Cursor = z.infer<typeof core.CursorSchema>
export type Request = z.infer<typeof core.RequestSchema>
export type TaskAugmentedRequestParams = z.infer<typeof core.TaskAugmentedRequestParamsSchema>
export type RequestMeta = z.infer<typeof core.RequestMetaSchema>
export type Notification = z.infer<typeof core.NotificationSchema>
export type Result = z.infer<typeof core.ResultSchema>
export type RequestId = z.infer<typeof core.RequestIdSchema>
export type JSONRPCRequest = z.infer<typeof core.JSONRPCRequestSchema>
export type JSONRPCNotification = z.infer<typeof core.JSONRPCNotificationSchema>
export type JSONRPCResponse = z.infer<typeof core.JSONRPCResponseSchema>
export type JSONRPCErrorResponse = z.infer<typeof core.JSONRPCErrorResponseSchema>
export type JSONRPCResultResponse = z.infer<typeof core.JSONRPCResultResponseSchema>
export type JSONRPCMessage = z.infer<typeof core.JSONRPCMessageSchema>
export type EmptyResult = z.infer<typeof core.EmptyResultSchema>
export type CancelledNotificationParams = z.infer<typeof core.CancelledNotificationParamsSchema>
export type CancelledNotification = z.infer<typeof core.CancelledNotificationSchema>
export type Icon = z.infer<typeof core.IconSchema>
export type Icons = z.infer<typeof core.IconsSchema>
export type BaseMetadata = z.infer<typeof core.BaseMetadataSchema>
export type Annotations = z.infer<typeof core.AnnotationsSchema>
export type Role = z.infer<typeof core.RoleSchema>
export type Implementation = z.infer<typeof core.ImplementationSchema>
export type ClientCapabilities = z.infer<typeof core.ClientCapabilitiesSchema>
export type InitializeRequestParams = z.infer<typeof core.InitializeRequestParamsSchema>
export type InitializeRequest = z.infer<typeof core.InitializeRequestSchema>
export type ServerCapabilities = z.infer<typeof core.ServerCapabilitiesSchema>
export type InitializeResult = z.infer<typeof core.InitializeResultSchema>
export type InitializedNotification = z.infer<typeof core.InitializedNotificationSchema>
export type PingRequest = z.infer<typeof core.PingRequestSchema>
export type Progress = z.infer<typeof core.ProgressSchema>
export type ProgressNotificationParams = z.infer<typeof core.ProgressNotificationParamsSchema>
export type ProgressNotification = z.infer<typeof core.ProgressNotificationSchema>
export type Task = z.infer<typeof core.TaskSchema>
export type TaskStatus = z.infer<typeof core.TaskStatusSchema>
export type TaskCreationParams = z.infer<typeof core.TaskCreationParamsSchema>
export type TaskMetadata = z.infer<typeof core.TaskMetadataSchema>
export type RelatedTaskMetadata = z.infer<typeof core.RelatedTaskMetadataSchema>
export type CreateTaskResult = z.infer<typeof core.CreateTaskResultSchema>
export type TaskStatusNotificationParams = z.infer<typeof core.TaskStatusNotificationParamsSchema>
export type TaskStatusNotification = z.infer<typeof core.TaskStatusNotificationSchema>
export type GetTaskRequest = z.infer<typeof core.GetTaskRequestSchema>
export type GetTaskResult = z.infer<typeof core.GetTaskResultSchema>
export type GetTaskPayloadRequest = z.infer<typeof core.GetTaskPayloadRequestSchema>
export type ListTasksRequest = z.infer<typeof core.ListTasksRequestSchema>
export type ListTasksResult = z.infer<typeof core.ListTasksResultSchema>
export type CancelTaskRequest = z.infer<typeof core.CancelTaskRequestSchema>
export type CancelTaskResult = z.infer<typeof core.CancelTaskResultSchema>
export type GetTaskPayloadResult = z.infer<typeof core.GetTaskPayloadResultSchema>
export type PaginatedRequestParams = z.infer<typeof core.PaginatedRequestParamsSchema>
export type PaginatedRequest = z.infer<typeof core.PaginatedRequestSchema>
export type PaginatedResult = z.infer<typeof core.PaginatedResultSchema>
export type ResourceContents = z.infer<typeof core.ResourceContentsSchema>
export type TextResourceContents = z.infer<typeof core.TextResourceContentsSchema>
export type BlobResourceContents = z.infer<typeof core.BlobResourceContentsSchema>
export type Resource = z.infer<typeof core.ResourceSchema>
export type ResourceTemplate = z.infer<typeof core.ResourceTemplateSchema>
export type ListResourcesRequest = z.infer<typeof core.ListResourcesRequestSchema>
export type ListResourcesResult = z.infer<typeof core.ListResourcesResultSchema>
export type ListResourceTemplatesRequest = z.infer<typeof core.ListResourceTemplatesRequestSchema>
export type ListResourceTemplatesResult = z.infer<typeof core.ListResourceTemplatesResultSchema>
export type ResourceRequestParams = z.infer<typeof core.ResourceRequestParamsSchema>
export type ReadResourceRequestParams = z.infer<typeof core.ReadResourceRequestParamsSchema>
export type ReadResourceRequest = z.infer<typeof core.ReadResourceRequestSchema>
export type ReadResourceResult = z.infer<typeof core.ReadResourceResultSchema>
export type ResourceListChangedNotification = z.infer<typeof core.ResourceListChangedNotificationSchema>
export type SubscribeRequestParams = z.infer<typeof core.SubscribeRequestParamsSchema>
export type SubscribeRequest = z.infer<typeof core.SubscribeRequestSchema>
export type UnsubscribeRequestParams = z.infer<typeof core.UnsubscribeRequestParamsSchema>
export type UnsubscribeRequest = z.infer<typeof core.UnsubscribeRequestSchema>
export type ResourceUpdatedNotificationParams = z.infer<typeof core.ResourceUpdatedNotificationParamsSchema>
export type ResourceUpdatedNotification = z.infer<typeof core.ResourceUpdatedNotificationSchema>
export type PromptArgument = z.infer<typeof core.PromptArgumentSchema>
export type Prompt = z.infer<typeof core.PromptSchema>
export type ListPromptsRequest = z.infer<typeof core.ListPromptsRequestSchema>
export type ListPromptsResult = z.infer<typeof core.ListPromptsResultSchema>
export type GetPromptRequestParams = z.infer<typeof core.GetPromptRequestParamsSchema>
export type GetPromptRequest = z.infer<typeof core.GetPromptRequestSchema>
export type TextContent = z.infer<typeof core.TextContentSchema>
export type ImageContent = z.infer<typeof core.ImageContentSchema>
export type AudioContent = z.infer<typeof core.AudioContentSchema>
export type ToolUseContent = z.infer<typeof core.ToolUseContentSchema>
export type ToolResultContent = z.infer<typeof core.ToolResultContentSchema>
export type EmbeddedResource = z.infer<typeof core.EmbeddedResourceSchema>
export type ResourceLink = z.infer<typeof core.ResourceLinkSchema>
export type ContentBlock = z.infer<typeof core.ContentBlockSchema>
export type PromptMessage = z.infer<typeof core.PromptMessageSchema>
export type GetPromptResult = z.infer<typeof core.GetPromptResultSchema>
export type PromptListChangedNotification = z.infer<typeof core.PromptListChangedNotificationSchema>
export type ToolAnnotations = z.infer<typeof core.ToolAnnotationsSchema>
export type ToolExecution = z.infer<typeof core.ToolExecutionSchema>
export type Tool = z.infer<typeof core.ToolSchema>
export type ListToolsRequest = z.infer<typeof core.ListToolsRequestSchema>
export type ListToolsResult = z.infer<typeof core.ListToolsResultSchema>
export type CallToolRequestParams = z.infer<typeof core.CallToolRequestParamsSchema>
export type CallToolResult = z.infer<typeof core.CallToolResultSchema>
export type CompatibilityCallToolResult = z.infer<typeof core.CompatibilityCallToolResultSchema>
export type CallToolRequest = z.infer<typeof core.CallToolRequestSchema>
export type ToolListChangedNotification = z.infer<typeof core.ToolListChangedNotificationSchema>
export type LoggingLevel = z.infer<typeof core.LoggingLevelSchema>
export type SetLevelRequestParams = z.infer<typeof core.SetLevelRequestParamsSchema>
export type SetLevelRequest = z.infer<typeof core.SetLevelRequestSchema>
export type LoggingMessageNotificationParams = z.infer<typeof core.LoggingMessageNotificationParamsSchema>
export type LoggingMessageNotification = z.infer<typeof core.LoggingMessageNotificationSchema>
export type ToolChoice = z.infer<typeof core.ToolChoiceSchema>
export type ModelHint = z.infer<typeof core.ModelHintSchema>
export type ModelPreferences = z.infer<typeof core.ModelPreferencesSchema>
export type SamplingContent = z.infer<typeof core.SamplingContentSchema>
export type SamplingMessageContentBlock = z.infer<typeof core.SamplingMessageContentBlockSchema>
export type SamplingMessage = z.infer<typeof core.SamplingMessageSchema>
export type CreateMessageRequestParams = z.infer<typeof core.CreateMessageRequestParamsSchema>
export type CreateMessageRequest = z.infer<typeof core.CreateMessageRequestSchema>
export type CreateMessageResult = z.infer<typeof core.CreateMessageResultSchema>
export type CreateMessageResultWithTools = z.infer<typeof core.CreateMessageResultWithToolsSchema>
export type BooleanSchema = z.infer<typeof core.BooleanSchemaSchema>
export type StringSchema = z.infer<typeof core.StringSchemaSchema>
export type NumberSchema = z.infer<typeof core.NumberSchemaSchema>
export type EnumSchema = z.infer<typeof core.EnumSchemaSchema>
export type UntitledSingleSelectEnumSchema = z.infer<typeof core.UntitledSingleSelectEnumSchemaSchema>
export type TitledSingleSelectEnumSchema = z.infer<typeof core.TitledSingleSelectEnumSchemaSchema>
export type LegacyTitledEnumSchema = z.infer<typeof core.LegacyTitledEnumSchemaSchema>
export type UntitledMultiSelectEnumSchema = z.infer<typeof core.UntitledMultiSelectEnumSchemaSchema>
export type TitledMultiSelectEnumSchema = z.infer<typeof core.TitledMultiSelectEnumSchemaSchema>
export type SingleSelectEnumSchema = z.infer<typeof core.SingleSelectEnumSchemaSchema>
export type MultiSelectEnumSchema = z.infer<typeof core.MultiSelectEnumSchemaSchema>
export type PrimitiveSchemaDefinition = z.infer<typeof core.PrimitiveSchemaDefinitionSchema>
export type ElicitRequestParams = z.infer<typeof core.ElicitRequestParamsSchema>
export type ElicitRequestFormParams = z.infer<typeof core.ElicitRequestFormParamsSchema>
export type ElicitRequestURLParams = z.infer<typeof core.ElicitRequestURLParamsSchema>
export type ElicitRequest = z.infer<typeof core.ElicitRequestSchema>
export type ElicitationCompleteNotificationParams = z.infer<
  typeof core.ElicitationCompleteNotificationParamsSchema
>
export type ElicitationCompleteNotification = z.infer<typeof core.ElicitationCompleteNotificationSchema>
export type ElicitResult = z.infer<typeof core.ElicitResultSchema>
export type ResourceTemplateReference = z.infer<typeof core.ResourceTemplateReferenceSchema>
export type PromptReference = z.infer<typeof core.PromptReferenceSchema>
export type CompleteRequestParams = z.infer<typeof core.CompleteRequestParamsSchema>
export type CompleteRequest = z.infer<typeof core.CompleteRequestSchema>
export type CompleteResult = z.infer<typeof core.CompleteResultSchema>
export type Root = z.infer<typeof core.RootSchema>
export type ListRootsRequest = z.infer<typeof core.ListRootsRequestSchema>
export type ListRootsResult = z.infer<typeof core.ListRootsResultSchema>
export type RootsListChangedNotification = z.infer<typeof core.RootsListChangedNotificationSchema>
export type ClientRequest = z.infer<typeof core.ClientRequestSchema>
export type ClientNotification = z.infer<typeof core.ClientNotificationSchema>
export type ClientResult = z.infer<typeof core.ClientResultSchema>
export type ServerRequest = z.infer<typeof core.ServerRequestSchema>
export type ServerNotification = z.infer<typeof core.ServerNotificationSchema>
export type ServerResult = z.infer<typeof core.ServerResultSchema>
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

const useServerCapabilities = 'Use the member "tasks" of ServerCapabilitiesSchema or ClientCapabilitiesSchema'
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

/** The user must visit the URLs before the request can be served (2025-11-25). */
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
