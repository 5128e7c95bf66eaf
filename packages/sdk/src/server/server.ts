import type { Changes } from '../core/changes.ts'
import type { Caller, Exchange, Outcome } from '../core/exchange.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ServerCapabilities } from '../protocol/capabilities.ts'
import type { CacheHints, Implementation, LoggingLevel } from '../protocol/definitions.ts'
import type { HeaderPlan } from '../protocol/headers.ts'
import type { MethodRow, ProtocolVersion } from '../protocol/methods.ts'
import type {
  PromptDefinition,
  ResourceDefinition,
  SchemaOrNone,
  TemplateDefinition,
  ToolDefinition,
} from './definitions.ts'
import type { PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from './entries.ts'
import type { Extension } from './extension.ts'
import type { Make, making } from './making.ts'

/** A definition made by `tool`, `resource`, `template` or `prompt`; `kind` tells them apart. */
export type ToolValue<
  In extends SchemaOrNone = SchemaOrNone,
  Out extends SchemaOrNone = SchemaOrNone,
> = ToolDefinition<In, Out> & { readonly kind: 'tool'; readonly [making]?: Make<AnyTool, ToolEntry> }

/** A resource made by `resource`. */
export type ResourceValue<U extends string = string> = ResourceDefinition<U> & {
  readonly kind: 'resource'
  readonly [making]?: Make<ResourceValue, ResourceEntry>
}

/** A family of resources made by `template`. */
export type TemplateValue<T extends string = string> = TemplateDefinition<T> & {
  readonly kind: 'template'
  readonly [making]?: Make<AnyTemplate, TemplateEntry>
}

/** A prompt made by `prompt`. */
export type PromptValue<In extends SchemaOrNone = SchemaOrNone> = PromptDefinition<In> & {
  readonly kind: 'prompt'
  readonly [making]?: Make<AnyPrompt, PromptEntry>
}

/** Definitions as a server holds them, whatever their schemas. */
export type AnyTool = { readonly kind: 'tool'; readonly [making]?: Make<AnyTool, ToolEntry> } & Omit<
  ToolDefinition,
  'run'
> & {
    run: (args: never, ctx: never) => unknown
  }

/** A template as a server holds it, whatever its variables. */
export type AnyTemplate = {
  readonly kind: 'template'
  readonly [making]?: Make<AnyTemplate, TemplateEntry>
} & Omit<TemplateDefinition, 'read' | 'complete'> & {
    complete?: object
    read: (variables: never, ctx: never, uri: string) => unknown
  }

/** A prompt as a server holds it, whatever its schema. */
export type AnyPrompt = { readonly kind: 'prompt'; readonly [making]?: Make<AnyPrompt, PromptEntry> } & Omit<
  PromptDefinition,
  'run'
> & {
    run: (args: never, ctx: never) => unknown
  }

/** What a server offers, by name. */
export interface Definitions {
  tools?: Record<string, AnyTool>
  resources?: Record<string, ResourceValue | AnyTemplate>
  prompts?: Record<string, AnyPrompt>
}

/** Wraps the handling of every request, outermost first. */
export type Middleware = (
  exchange: Exchange,
  next: (exchange: Exchange) => Promise<Outcome>,
) => Promise<Outcome>

/** What a server is called and what it offers. Only `name` and `version` are needed. */
export interface ServerOptions<D extends Definitions> {
  name: string
  version: string
  title?: string
  serverDescription?: string
  websiteUrl?: string
  icons?: Implementation['icons']
  /** How to use this server well, in words for a model. */
  instructions?: string
  tools?: D['tools']
  resources?: D['resources']
  prompts?: D['prompts']
  /** Freshness of the lists. Default: 0 ms, private. */
  cache?: Partial<CacheHints>
  /** Entries on one page of a list. Default 1000. */
  pageSize?: number
  use?: Middleware[]
  /** Hears of every failure whose text the peer was not shown. Default: writes to stderr where there is one. */
  onError?: (error: unknown, where: { method: string; name?: string }) => void
  experimental?: ServerCapabilities['experimental']
  /** What it offers beyond the core protocol. Default: nothing. */
  extensions?: readonly Extension[]
}

/** A server: definitions and the way requests meet them. It knows no connection, session or era. */
export interface Server<D extends Definitions = Definitions> {
  readonly info: Implementation
  readonly instructions: string | undefined
  readonly capabilities: ServerCapabilities
  /** What it declares to a client of one revision: some extensions had another form on older ones, or depend on who asks. */
  capabilitiesOn(version: ProtocolVersion, caller?: Caller): ServerCapabilities
  /** The row of a client's request method on a revision, an extension's among them; undefined where there is none. */
  method(name: string, version: ProtocolVersion): MethodRow | undefined
  readonly changes: Changes
  /**
   * Serves one request, and gives its outcome: at once where nothing had to be waited for.
   * @throws RpcError where the protocol wants an error response; a promise rejects with it
   */
  handle(exchange: Exchange): Outcome | Promise<Outcome>
  /**
   * Adds or replaces definitions and notifies subscribed clients.
   * @throws McpError 'INVALID' for a definition that cannot be served, and, once a client was given the server's
   * capabilities, for the first definition of a kind that they do not name: that client would never ask for it. Define the
   * server with an empty list of that kind, such as `tools: {}`, to add to it later.
   */
  add(definitions: Definitions): void
  /** Removes definitions by name and notifies subscribed clients. Names that are not defined are ignored. */
  remove(names: { tools?: string[]; resources?: string[]; prompts?: string[] }): void
  /** Tells watchers that a resource has new contents. */
  resourceUpdated(uri: string): void
  /**
   * Tells the session that asked for a URL visit under this id that the person finished there (2025-11-25). On
   * other revisions a client finds out by calling again.
   */
  elicitationComplete(id: string): void
  /**
   * Whether a client connected to this process is subscribed to a resource, by `resources/subscribe` or
   * `subscriptions/listen`. Clients of other nodes are not known here.
   */
  isSubscribed(uri: string): boolean
  /**
   * Sends a log message that belongs to no request to every client connected to this process that wants its level: those
   * of sessions, `info` and above unless they set another level. Clients of 2026-07-28 get log messages only with the
   * response to a request that asks for them, so this sends them nothing; use `ctx.log` there.
   * @throws McpError 'INVALID' for a level that is none
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void
  /** Every scope that some definition needs. */
  readonly scopes: readonly string[]
  /**
   * What a request needs its caller to be allowed, as far as definitions say.
   * @param uriChars the longest URI that is looked up, where longer ones are refused anyway. Default: any
   */
  scopesFor(method: string, params: Readonly<JsonObject> | undefined, uriChars?: number): readonly string[]
  /** Which arguments of a tool are mirrored into HTTP headers; undefined when there are none. */
  headerPlan(tool: string): HeaderPlan | undefined
  /** Whether calls of a tool run as tasks; undefined when only its handler knows. */
  taskSupport(tool: string): 'optional' | 'required' | undefined
  /** What its extensions keep in the memory of this process, each as the end of a warning. */
  readonly memoryOnly?: readonly string[]
  /** Reports a failure whose text the peer is not shown. */
  report(error: unknown, where: { method: string; name?: string }): void
  /** Only for types: what this server defines. */
  readonly '~definitions'?: D
}
