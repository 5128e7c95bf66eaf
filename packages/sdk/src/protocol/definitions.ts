import type { JsonObject } from '../jsonrpc/message.ts'
import type { Annotations, ContentBlock, Icon, ResourceContents, Role } from './content.ts'

/** Names a piece of software. Self-reported: for display and logs, never for decisions. */
export interface Implementation {
  name: string
  version: string
  title?: string
  description?: string
  websiteUrl?: string
  icons?: Icon[]
}

/** A JSON Schema document, as an object. */
export type JsonSchema = JsonObject

/** What a server says about a tool's behaviour. Untrusted unless the server is trusted. */
export interface ToolAnnotations {
  title?: string
  /** Changes nothing. Default false. */
  readOnlyHint?: boolean
  /** May delete or overwrite. Default true. */
  destructiveHint?: boolean
  /** Calling again with the same arguments changes nothing more. Default false. */
  idempotentHint?: boolean
  /** Reaches an open world, such as the web. Default true. */
  openWorldHint?: boolean
}

/** A tool as it stands in `tools/list`. */
export interface Tool {
  name: string
  title?: string
  description?: string
  icons?: Icon[]
  inputSchema: JsonSchema & { type: 'object' }
  outputSchema?: JsonSchema
  annotations?: ToolAnnotations
  /** How it may be run (2025-11-25 only). */
  execution?: { taskSupport?: 'forbidden' | 'optional' | 'required' }
  _meta?: JsonObject
}

/** A resource as it stands in `resources/list`. */
export interface Resource {
  uri: string
  name: string
  title?: string
  description?: string
  mimeType?: string
  icons?: Icon[]
  annotations?: Annotations
  /** Bytes before encoding. */
  size?: number
  _meta?: JsonObject
}

/** A family of resources as it stands in `resources/templates/list`. */
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

/** An argument of a prompt as it stands in `prompts/list`. Not required unless it says so. */
export interface PromptArgument {
  name: string
  title?: string
  description?: string
  required?: boolean
}

/** A prompt as it stands in `prompts/list`. */
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

/** How grave a log message is, from least to most (RFC 5424). */
export type LoggingLevel =
  | 'debug'
  | 'info'
  | 'notice'
  | 'warning'
  | 'error'
  | 'critical'
  | 'alert'
  | 'emergency'

/** What every result may carry. */
export interface Result {
  _meta?: JsonObject
}

/** How long and for whom a result stays fresh. Since 2026-07-28. */
export interface CacheHints {
  /** Milliseconds; 0 is stale at once. */
  ttlMs: number
  cacheScope: 'public' | 'private'
}

/** What a tool gave. With `isError` the tool itself failed, and `content` says how, for the model to read. */
export interface CallToolResult extends Result {
  content: ContentBlock[]
  /** Any JSON value; before 2026-07-28 an object only. */
  structuredContent?: unknown
  isError?: boolean
}

/** What a resource holds: one entry, or several for a resource of parts. */
export interface ReadResourceResult extends Result, Partial<CacheHints> {
  contents: ResourceContents[]
}

/** A prompt filled in. */
export interface GetPromptResult extends Result {
  description?: string
  messages: PromptMessage[]
}

/** Suggestions for one argument: 100 at most, and how many there are in all. */
export interface CompleteResult extends Result {
  completion: { values: string[]; total?: number; hasMore?: boolean }
}

/** One page of `tools/list`; without `nextCursor` it is the last. */
export interface ListToolsResult extends Result, Partial<CacheHints> {
  tools: Tool[]
  nextCursor?: string
}

/** One page of `resources/list`; without `nextCursor` it is the last. */
export interface ListResourcesResult extends Result, Partial<CacheHints> {
  resources: Resource[]
  nextCursor?: string
}

/** One page of `resources/templates/list`; without `nextCursor` it is the last. */
export interface ListResourceTemplatesResult extends Result, Partial<CacheHints> {
  resourceTemplates: ResourceTemplate[]
  nextCursor?: string
}

/** One page of `prompts/list`; without `nextCursor` it is the last. */
export interface ListPromptsResult extends Result, Partial<CacheHints> {
  prompts: Prompt[]
  nextCursor?: string
}

/** A question about the argument of a prompt or a resource template. */
export interface CompleteParams {
  ref: { type: 'ref/prompt'; name: string; title?: string } | { type: 'ref/resource'; uri: string }
  argument: { name: string; value: string }
  /** Arguments already chosen. Since 2025-06-18. */
  context?: { arguments?: Record<string, string> }
}

/** Which changes a watcher wants to hear of. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  resourceSubscriptions?: string[]
  /** Tasks to be told about, by their ids; of the tasks extension. */
  taskIds?: string[]
}

/** What a client can do for a server. */
export interface ClientCapabilities {
  experimental?: Record<string, JsonObject>
  roots?: { listChanged?: boolean }
  sampling?: { context?: JsonObject; tools?: JsonObject }
  /** Present but empty means forms only. */
  elicitation?: { form?: JsonObject; url?: JsonObject }
  extensions?: Record<string, JsonObject>
  /** Only on 2025-11-25. */
  tasks?: JsonObject
}

/** What a server offers. */
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
