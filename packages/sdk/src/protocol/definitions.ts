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

/** The members of everything that a client can show in a list. */
interface Listed {
  name: string
  title?: string
  description?: string
  icons?: Icon[]
  _meta?: JsonObject
}

/** A tool in `tools/list`. */
export interface Tool extends Listed {
  inputSchema: JsonSchema & { type: 'object' }
  outputSchema?: JsonSchema
  annotations?: ToolAnnotations
  /** Whether it runs as a task (2025-11-25 only). */
  execution?: { taskSupport?: 'forbidden' | 'optional' | 'required' }
}

/** A resource in `resources/list`. */
export interface Resource extends Listed {
  uri: string
  mimeType?: string
  annotations?: Annotations
  /** Bytes before base64 encoding. */
  size?: number
}

/** A template for resources in `resources/templates/list`. */
export interface ResourceTemplate extends Listed {
  /** RFC 6570. */
  uriTemplate: string
  mimeType?: string
  annotations?: Annotations
}

/** An argument of a prompt in `prompts/list`. `required` defaults to false. */
export interface PromptArgument {
  name: string
  title?: string
  description?: string
  required?: boolean
}

/** A prompt in `prompts/list`. */
export interface Prompt extends Listed {
  arguments?: PromptArgument[]
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

interface ListResult extends Result, Partial<CacheHints> {
  nextCursor?: string
}

/** One page of `tools/list`; the last has no `nextCursor`. */
export interface ListToolsResult extends ListResult {
  tools: Tool[]
}

/** One page of `resources/list`; the last has no `nextCursor`. */
export interface ListResourcesResult extends ListResult {
  resources: Resource[]
}

/** One page of `resources/templates/list`; the last has no `nextCursor`. */
export interface ListResourceTemplatesResult extends ListResult {
  resourceTemplates: ResourceTemplate[]
}

/** One page of `prompts/list`; the last has no `nextCursor`. */
export interface ListPromptsResult extends ListResult {
  prompts: Prompt[]
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
