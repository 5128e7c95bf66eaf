import type { JsonObject } from '../jsonrpc/message.ts'
import type { CacheHints, Implementation, LoggingLevel, ServerCapabilities } from '../protocol/definitions.ts'
import type { HeaderPlan } from '../protocol/headers.ts'
import type { MethodRow, ProtocolVersion } from '../protocol/methods.ts'
import type { Changes } from '../request/changes.ts'
import type { Caller, Exchange, Outcome } from '../request/exchange.ts'
import type {
  PromptDefinition,
  ResourceDefinition,
  SchemaOrNone,
  Takeover,
  TemplateDefinition,
  ToolDefinition,
} from './definitions.ts'
import type { Extension } from './extension.ts'

/** A tool made by `tool`. */
export type ToolValue<
  In extends SchemaOrNone = SchemaOrNone,
  Out extends SchemaOrNone = SchemaOrNone,
> = ToolDefinition<In, Out> & { readonly kind: 'tool' }

/** A resource made by `resource`. */
export type ResourceValue<U extends string = string> = ResourceDefinition<U> & { readonly kind: 'resource' }

/** A resource template made by `template`. */
export type TemplateValue<T extends string = string> = TemplateDefinition<T> & { readonly kind: 'template' }

/** A prompt made by `prompt`. */
export type PromptValue<In extends SchemaOrNone = SchemaOrNone> = PromptDefinition<In> & {
  readonly kind: 'prompt'
}

/** A tool with any schemas. */
export type AnyTool = { readonly kind: 'tool' } & Omit<ToolDefinition, 'run'> & {
    run: (args: never, ctx: never) => unknown
  }

/** A resource template with any variables. */
export type AnyTemplate = { readonly kind: 'template' } & Omit<TemplateDefinition, 'read' | 'complete'> & {
    complete?: object
    read: (variables: never, ctx: never, uri: string) => unknown
  }

/** A prompt with any schema. */
export type AnyPrompt = { readonly kind: 'prompt' } & Omit<PromptDefinition, 'run'> & {
    run: (args: never, ctx: never) => unknown
  }

/** The definitions of a server by name, as `tool`, `resource`, `template` and `prompt` return them. */
export interface Definitions {
  /** Tools by name: 1 to 128 of `A-Z a-z 0-9 _ - .`. */
  tools?: Record<string, AnyTool>
  /** Resources and templates by name. */
  resources?: Record<string, ResourceValue | AnyTemplate>
  /** Prompts by name. */
  prompts?: Record<string, AnyPrompt>
}

/**
 * Wraps the handling of every request. Call `next` with the exchange, or one that spreads it, and return its outcome or another
 * one; throw an `RpcError` to refuse the request. The first of several is the outermost.
 */
export type Middleware = (
  exchange: Exchange,
  next: (exchange: Exchange) => Promise<Outcome>,
) => Promise<Outcome>

/** Options of `defineServer`. Only `name` and `version` are required. */
export interface ServerOptions<D extends Definitions> {
  /** Name of the server for programs. */
  name: string
  /** Version of the server, in any form. */
  version: string
  /** Name for people. Default: `name`. */
  title?: string
  /** Purpose of the server, for people and models; sent as `description` of `serverInfo`. */
  serverDescription?: string
  /** URL of the server's web site. */
  websiteUrl?: string
  /** Icons to display. `https:` and `data:` URLs only. */
  icons?: Implementation['icons']
  /** Instructions for the model that uses this server. */
  instructions?: string
  /** Tools by name. An empty object declares the capability, to `add` tools later. Default: none. */
  tools?: D['tools']
  /** Resources and templates by name. An empty object declares the capability. Default: none. */
  resources?: D['resources']
  /** Prompts by name. An empty object declares the capability. Default: none. */
  prompts?: D['prompts']
  /** Cache hints of the lists. Default: 0 ms, private. */
  cache?: Partial<CacheHints>
  /** Entries on one page of a list. Default 1000. */
  pageSize?: number
  /** Middleware, outermost first. Default: none. */
  use?: Middleware[]
  /** Called with every error whose text is not sent to the client. Default: `console.error`. */
  onError?: (error: unknown, where: { method: string; name?: string }) => void
  /** Declared under `capabilities.experimental`. Default: none. */
  experimental?: ServerCapabilities['experimental']
  /** Extensions of the protocol. Default: none. */
  extensions?: readonly Extension[]
}

/**
 * A server made by `defineServer`: definitions, and the handling of their requests. It is independent of transport, session
 * and revision; `serveStdio`, `serveSocket` and `serveHttp` serve it.
 */
export interface Server<D extends Definitions = Definitions> {
  /** Name, version and description of the server, as sent to clients. */
  readonly info: Implementation
  /** Instructions for the model that uses this server; undefined without. */
  readonly instructions: string | undefined
  /** The capabilities of its definitions and extensions; `capabilitiesOn` adds those that depend on the revision. */
  readonly capabilities: ServerCapabilities
  /** The capabilities to declare on a revision: those of some extensions depend on it, or on the caller. */
  capabilitiesOn(version: ProtocolVersion, caller?: Caller): ServerCapabilities
  /** The row of a request method, of the protocol or an extension, on a revision; undefined if it has none. */
  method(name: string, version: ProtocolVersion): MethodRow | undefined
  /** Changes of its definitions and resources, for transports and middleware. */
  readonly changes: Changes
  /**
   * Serves one request.
   * @throws RpcError for an error response
   */
  handle(exchange: Exchange): Promise<Outcome>
  /**
   * Adds or replaces definitions and notifies subscribed clients.
   * @throws McpError 'INVALID' for an invalid definition, and, once a client received the server's capabilities, for the first
   * definition of a kind that they do not name: that client would not list it. Define the server with an empty list of that
   * kind, such as `tools: {}`, to add to it later.
   */
  add(definitions: Definitions): void
  /** Removes definitions by name and notifies subscribed clients. Names that are not defined are ignored. */
  remove(names: { tools?: string[]; resources?: string[]; prompts?: string[] }): void
  /** Notifies subscribed clients that a resource changed. */
  resourceUpdated(uri: string): void
  /**
   * Notifies the session that received a URL elicitation with this id of its completion (2025-11-25). Other revisions have no
   * such notification: their clients repeat the call.
   */
  elicitationComplete(id: string): void
  /**
   * Whether a client connected to this process is subscribed to a resource, by `resources/subscribe` or
   * `subscriptions/listen`. Clients of other nodes are not included.
   */
  isSubscribed(uri: string): boolean
  /**
   * Sends a log message outside of a request to every session of this process whose level it reaches; the default level is
   * `info`. Clients of 2026-07-28 receive log messages only with the response to a request that enables them: use `ctx.log`.
   * @throws McpError 'INVALID' for an unknown level
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void
  /** All scopes that definitions require. */
  readonly scopes: readonly string[]
  /**
   * The scopes that a request requires by its definition.
   * @param uriChars the maximum length of a URI that is looked up. Default: no maximum
   */
  scopesFor(method: string, params: Readonly<JsonObject> | undefined, uriChars?: number): readonly string[]
  /** The arguments of a tool that are mirrored into HTTP headers; undefined if there are none. */
  headerPlan(tool: string): HeaderPlan | undefined
  /** Whether calls of a tool run as tasks; undefined if its handler decides. */
  taskSupport(tool: string): 'optional' | 'required' | undefined
  /** When another node runs a call of a tool again; 'never' for a tool that is not defined. */
  takeover(tool: string): Takeover
  /** `memoryOnly` of its extensions: state that only this process has, each as the end of a warning. */
  readonly memoryOnly?: readonly string[]
  /** Reports an error whose text is not sent to the client. */
  report(error: unknown, where: { method: string; name?: string }): void
  /** Only for types: what this server defines. */
  readonly '~definitions'?: D
}
