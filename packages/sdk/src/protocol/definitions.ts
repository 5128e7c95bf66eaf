import type { JsonObject } from '../jsonrpc/message.ts'
import type { Annotations, ContentBlock, Icon, ResourceContents, Role } from './content.ts'

/** Describes a client or server. Self-reported: for display and logs, not for security decisions. */
export interface Implementation {
  name: string
  version: string
  title?: string
  description?: string
  websiteUrl?: string
  icons?: Icon[]
}

/** A JSON Schema that is an object. */
export type JsonSchema = JsonObject

/** The server's hints about a tool's behavior. Untrusted unless the server is trusted. */
export interface ToolAnnotations {
  title?: string
  /** Does not modify its environment. Default false. */
  readOnlyHint?: boolean
  /** May delete or overwrite. Default true. */
  destructiveHint?: boolean
  /** Repeated calls with the same arguments have no further effect. Default false. */
  idempotentHint?: boolean
  /** Interacts with external entities, such as the web. Default true. */
  openWorldHint?: boolean
}

/** A tool in `tools/list`. */
export interface Tool {
  name: string
  title?: string
  description?: string
  icons?: Icon[]
  inputSchema: JsonSchema & { type: 'object' }
  outputSchema?: JsonSchema
  annotations?: ToolAnnotations
  /** Whether it runs as a task (2025-11-25 only). */
  execution?: { taskSupport?: 'forbidden' | 'optional' | 'required' }
  _meta?: JsonObject
}

/** A resource in `resources/list`. */
export interface Resource {
  uri: string
  name: string
  title?: string
  description?: string
  mimeType?: string
  icons?: Icon[]
  annotations?: Annotations
  /** Bytes before base64 encoding. */
  size?: number
  _meta?: JsonObject
}

/** A template for resources in `resources/templates/list`. */
export interface ResourceTemplate {
  /** RFC 6570. */
  uriTemplate: string
  name: string
  title?: string
  description?: string
  mimeType?: string
  icons?: Icon[]
  annotations?: Annotations
  _meta?: JsonObject
}

/** An argument of a prompt in `prompts/list`. `required` defaults to false. */
export interface PromptArgument {
  name: string
  title?: string
  description?: string
  required?: boolean
}

/** A prompt in `prompts/list`. */
export interface Prompt {
  name: string
  title?: string
  description?: string
  icons?: Icon[]
  arguments?: PromptArgument[]
  _meta?: JsonObject
}

/** One message of a prompt. */
export interface PromptMessage {
  role: Role
  content: ContentBlock
}

/** Severity of a log message, ascending (RFC 5424). */
export type LoggingLevel =
  | 'debug'
  | 'info'
  | 'notice'
  | 'warning'
  | 'error'
  | 'critical'
  | 'alert'
  | 'emergency'

/** The members of every result. */
export interface Result {
  _meta?: JsonObject
}

/** How long, and for whom, a result may be cached. Since 2026-07-28. */
export interface CacheHints {
  /** Milliseconds; 0 is stale immediately. */
  ttlMs: number
  cacheScope: 'public' | 'private'
}

/** The result of a tool call. `isError` means that the tool failed; `content` then describes the error to the model. */
export interface CallToolResult extends Result {
  content: ContentBlock[]
  /** Any JSON value; before 2026-07-28 an object only. */
  structuredContent?: unknown
  isError?: boolean
}

/** The contents of a resource: one entry, or several. */
export interface ReadResourceResult extends Result, Partial<CacheHints> {
  contents: ResourceContents[]
}

/** A prompt with its arguments filled in. */
export interface GetPromptResult extends Result {
  description?: string
  messages: PromptMessage[]
}

/** Suggestions for one argument: at most 100 values, with the total number if known. */
export interface CompleteResult extends Result {
  completion: { values: string[]; total?: number; hasMore?: boolean }
}

/** One page of `tools/list`; the last has no `nextCursor`. */
export interface ListToolsResult extends Result, Partial<CacheHints> {
  tools: Tool[]
  nextCursor?: string
}

/** One page of `resources/list`; the last has no `nextCursor`. */
export interface ListResourcesResult extends Result, Partial<CacheHints> {
  resources: Resource[]
  nextCursor?: string
}

/** One page of `resources/templates/list`; the last has no `nextCursor`. */
export interface ListResourceTemplatesResult extends Result, Partial<CacheHints> {
  resourceTemplates: ResourceTemplate[]
  nextCursor?: string
}

/** One page of `prompts/list`; the last has no `nextCursor`. */
export interface ListPromptsResult extends Result, Partial<CacheHints> {
  prompts: Prompt[]
  nextCursor?: string
}

/** The params of `completion/complete`: an argument of a prompt or a resource template. */
export interface CompleteParams {
  ref: { type: 'ref/prompt'; name: string; title?: string } | { type: 'ref/resource'; uri: string }
  argument: { name: string; value: string }
  /** Arguments already chosen. Since 2025-06-18. */
  context?: { arguments?: Record<string, string> }
}

/** The changes a client subscribes to. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  resourceSubscriptions?: string[]
  /** Ids of tasks to report on; part of the tasks extension. */
  taskIds?: string[]
}

/** What a client supports. */
export interface ClientCapabilities {
  experimental?: Record<string, JsonObject>
  roots?: { listChanged?: boolean }
  sampling?: { context?: JsonObject; tools?: JsonObject }
  /** An empty object means forms only. */
  elicitation?: { form?: JsonObject; url?: JsonObject }
  extensions?: Record<string, JsonObject>
  /** Only on 2025-11-25. */
  tasks?: JsonObject
}

/** What a server supports. */
export interface ServerCapabilities {
  experimental?: Record<string, JsonObject>
  logging?: JsonObject
  completions?: JsonObject
  prompts?: { listChanged?: boolean }
  resources?: { subscribe?: boolean; listChanged?: boolean }
  tools?: { listChanged?: boolean }
  extensions?: Record<string, JsonObject>
  /** Only on 2025-11-25. */
  tasks?: { list?: JsonObject; cancel?: JsonObject; requests?: { tools?: { call?: JsonObject } } }
}
