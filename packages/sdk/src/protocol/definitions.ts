import type { JsonObject } from '../jsonrpc/message.ts'
import type { Annotations, ContentBlock, Icon, ResourceContents, Role } from './content.ts'

/** Describes a client or server. Self-reported: for display and logs, not for security decisions. */
export interface Implementation {
  /** Name for programs. */
  name: string
  /** Version of the implementation, in any form. */
  version: string
  /** Name for people. Default: `name`. Since 2025-06-18. */
  title?: string
  /** Purpose, for people and models. Since 2025-11-25. */
  description?: string
  /** URL of its web site. Since 2025-11-25. */
  websiteUrl?: string
  /** Icons to display. Since 2025-11-25. */
  icons?: Icon[]
}

/** A JSON Schema that is an object. */
export type JsonSchema = JsonObject

/** The server's hints about a tool's behavior. Untrusted unless the server is trusted. */
export interface ToolAnnotations {
  /** Name for people. A `title` of the tool precedes it. */
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
  /** Schema of the arguments. */
  inputSchema: JsonSchema & { type: 'object' }
  /** Schema of the structured content. Since 2025-06-18. */
  outputSchema?: JsonSchema
  /** Hints about its behavior. Since 2025-03-26. */
  annotations?: ToolAnnotations
  /** Whether it runs as a task (2025-11-25 only). */
  execution?: { taskSupport?: 'forbidden' | 'optional' | 'required' }
}

/** A resource in `resources/list`. */
export interface Resource extends Listed {
  /** URI for `resources/read`. */
  uri: string
  /** Media type of the contents. */
  mimeType?: string
  /** Hints on its use. */
  annotations?: Annotations
  /** Bytes before base64 encoding. */
  size?: number
}

/** A template for resources in `resources/templates/list`. */
export interface ResourceTemplate extends Listed {
  /** RFC 6570. */
  uriTemplate: string
  /** Media type, if all resources of the template have the same. */
  mimeType?: string
  /** Hints on the use of its resources. */
  annotations?: Annotations
}

/** An argument of a prompt in `prompts/list`. `required` defaults to false. */
export interface PromptArgument {
  /** Name for programs. */
  name: string
  /** Name for people. Default: `name`. Since 2025-06-18. */
  title?: string
  /** Description for people. */
  description?: string
  /** Whether `prompts/get` needs it. Default false. */
  required?: boolean
}

/** A prompt in `prompts/list`. */
export interface Prompt extends Listed {
  /** Arguments of the prompt. Default: none. */
  arguments?: PromptArgument[]
}

/** One message of a prompt. */
export interface PromptMessage {
  /** The author of the message. */
  role: Role
  /** One block of content. */
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
  /** `public`: for every caller; `private`: only for callers with the same authorization. */
  cacheScope: 'public' | 'private'
}

/** The result of a tool call. `isError` means that the tool failed; `content` then describes the error to the model. */
export interface CallToolResult extends Result {
  /** The result for the model. */
  content: ContentBlock[]
  /** Any JSON value; before 2026-07-28 an object only. */
  structuredContent?: unknown
  /** Whether the tool failed. Default false. */
  isError?: boolean
}

/** The contents of a resource: one entry, or several. */
export interface ReadResourceResult extends Result, Partial<CacheHints> {
  /** The contents; several for a resource such as a directory. */
  contents: ResourceContents[]
}

/** A prompt with its arguments filled in. */
export interface GetPromptResult extends Result {
  /** Description of the prompt. */
  description?: string
  /** The messages, in the order of the conversation. */
  messages: PromptMessage[]
}

/** Suggestions for one argument: at most 100 values, with the total number if known. */
export interface CompleteResult extends Result {
  /** The values, the number of all matches, and whether there are more than these. */
  completion: { values: string[]; total?: number; hasMore?: boolean }
}

interface ListResult extends Result, Partial<CacheHints> {
  nextCursor?: string
}

/** One page of `tools/list`; the last has no `nextCursor`. */
export interface ListToolsResult extends ListResult {
  /** The tools of this page. */
  tools: Tool[]
}

/** One page of `resources/list`; the last has no `nextCursor`. */
export interface ListResourcesResult extends ListResult {
  /** The resources of this page. */
  resources: Resource[]
}

/** One page of `resources/templates/list`; the last has no `nextCursor`. */
export interface ListResourceTemplatesResult extends ListResult {
  /** The templates of this page. */
  resourceTemplates: ResourceTemplate[]
}

/** One page of `prompts/list`; the last has no `nextCursor`. */
export interface ListPromptsResult extends ListResult {
  /** The prompts of this page. */
  prompts: Prompt[]
}

/** The params of `completion/complete`: an argument of a prompt or a resource template. */
export interface CompleteParams {
  /** The prompt by its name, or the template by its URI template. */
  ref: { type: 'ref/prompt'; name: string; title?: string } | { type: 'ref/resource'; uri: string }
  /** The argument, with what the user entered so far. */
  argument: { name: string; value: string }
  /** Arguments already chosen. Since 2025-06-18. */
  context?: { arguments?: Record<string, string> }
}

/** The changes that a client subscribes to, as in `subscriptions/listen`. */
export interface SubscriptionFilter {
  /** Changes of the list of tools. Default false. */
  toolsListChanged?: boolean
  /** Changes of the list of prompts. Default false. */
  promptsListChanged?: boolean
  /** Changes of the lists of resources and templates. Default false. */
  resourcesListChanged?: boolean
  /** URIs of resources. A server may also report changes of resources below them, whose URIs start with one of these. */
  resourceSubscriptions?: string[]
  /** Ids of tasks to report on; part of the tasks extension. */
  taskIds?: string[]
}

/** The features that a client supports; an absent member is not supported. */
export interface ClientCapabilities {
  /** Capabilities outside of the specification, by name. */
  experimental?: Record<string, JsonObject>
  /** The client has roots. `listChanged` (sessions): it notifies the server of changes. */
  roots?: { listChanged?: boolean }
  /** The client samples its model: with `context` of servers, with `tools`. */
  sampling?: { context?: JsonObject; tools?: JsonObject }
  /** An empty object means forms only. */
  elicitation?: { form?: JsonObject; url?: JsonObject }
  /** Settings of the supported extensions, by identifier. */
  extensions?: Record<string, JsonObject>
  /** Only on 2025-11-25. */
  tasks?: JsonObject
}

/** The features that a server supports; an absent member is not supported. */
export interface ServerCapabilities {
  /** Capabilities outside of the specification, by name. */
  experimental?: Record<string, JsonObject>
  /** The server sends log messages. */
  logging?: JsonObject
  /** The server completes arguments. Since 2025-03-26. */
  completions?: JsonObject
  /** The server has prompts. `listChanged`: it notifies clients of changes of the list. */
  prompts?: { listChanged?: boolean }
  /** The server has resources. `subscribe`: clients can subscribe to changes of one. */
  resources?: { subscribe?: boolean; listChanged?: boolean }
  /** The server has tools. `listChanged`: it notifies clients of changes of the list. */
  tools?: { listChanged?: boolean }
  /** Settings of the supported extensions, by identifier. */
  extensions?: Record<string, JsonObject>
  /** Only on 2025-11-25. */
  tasks?: { list?: JsonObject; cancel?: JsonObject; requests?: { tools?: { call?: JsonObject } } }
}
