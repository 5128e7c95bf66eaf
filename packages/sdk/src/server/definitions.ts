import type { JsonObject } from '../jsonrpc/message.ts'
import type { Annotations, ContentBlock, Icon, ResourceContents, TextContent } from '../protocol/content.ts'
import type {
  CacheHints,
  GetPromptResult,
  JsonSchema,
  PromptMessage,
  Resource,
  ToolAnnotations,
} from '../protocol/definitions.ts'
import type { InputRequired } from '../request/exchange.ts'
import type { Completer, Context } from './context.ts'
import type { DescribedSchema, InputOf, OutputOf, SchemaShape } from './schema.ts'
import type { TemplateVariables } from './uri-template.ts'

type Awaitable<T> = T | Promise<T>
/** A validator, an object of validators (the object schema with these members), plain JSON Schema, or none. */
export type SchemaOrNone = DescribedSchema | SchemaShape | JsonSchema | undefined

/** Members of a shape whose validator cannot describe itself as JSON Schema. */
type Undescribed<S> = S extends DescribedSchema | undefined
  ? never
  : {
      [M in keyof S]: S[M] extends DescribedSchema ? never : S[M] extends { '~standard': unknown } ? M : never
    }[keyof S]

type Assertion =
  | 'type'
  | 'properties'
  | 'required'
  | 'enum'
  | 'const'
  | 'allOf'
  | 'anyOf'
  | 'oneOf'
  | 'not'
  | 'if'
  | '$ref'
type Annotation = 'title' | 'description' | 'default' | 'deprecated' | `$${string}` | `x-${string}`

/** Members of what is neither a shape nor JSON Schema, such as `{ name: 'string' }`. */
type NoSchema<S> = S extends DescribedSchema | undefined
  ? never
  : string extends keyof S
    ? never
    : [Extract<keyof S, Assertion>] extends [never]
      ? {
          [M in keyof S]-?: S[M] extends string | number | boolean | null ? Exclude<M, Annotation> : never
        }[keyof S]
      : never

/** A type error for an object of validators that cannot describe themselves, and for what is not a schema. */
export type Described<In, Out = undefined> = [NoSchema<In> | NoSchema<Out>] extends [never]
  ? DescribedMembers<In, Out>
  : [NoSchema<In>] extends [never]
    ? { output: 'its members are neither schemas nor keywords of JSON Schema' }
    : { input: 'its members are neither schemas nor keywords of JSON Schema' }

type DescribedMembers<In, Out> = [Undescribed<In>] extends [never]
  ? [Undescribed<Out>] extends [never]
    ? unknown
    : { output: 'its members cannot describe themselves as JSON Schema: wrap each with toStandardJsonSchema' }
  : { input: 'its members cannot describe themselves as JSON Schema: wrap each with toStandardJsonSchema' }

/** The primitive values that are inferred with their literal types. */
export type Literal = string | number | boolean | null | undefined

/** Any JSON value, inferred with literal types: `'text'` is not widened to `string`. */
type Hint<L extends Literal> = L | Hint<L>[] | { [name: string]: Hint<L> } | object

/** The members of a `Reply`. */
export interface ReplyParts<T> {
  /** Content for model and user. Default: the structured value as JSON text. */
  content?: string | ContentBlock | (ContentBlock | string)[]
  /** A JSON value. It must match the output schema, unless `isError` is true. */
  structured?: T
  /** Whether the tool failed. */
  isError?: boolean
  /** The result's `_meta`. */
  meta?: JsonObject
}

/** A tool's result in full: content, structured content, failure and metadata. Make one with `reply`. */
export class Reply<out T = unknown> {
  /** Only an instance is a reply: an object with the same members is not. */
  readonly #isReply = true
  /** Content for model and user; undefined if it follows from `structured`. */
  readonly content: ContentBlock[] | undefined
  /** The structured value; undefined if there is none. */
  readonly structured: T | undefined
  /** Whether the tool failed. */
  readonly isError: boolean
  /** The result's `_meta`. */
  readonly meta: JsonObject | undefined

  constructor({ content, structured, isError = false, meta }: ReplyParts<T>) {
    this.content =
      content === undefined ? undefined : (Array.isArray(content) ? content : [content]).map(blockOf)
    this.structured = structured
    this.isError = isError
    this.meta = meta
  }

  /** Whether a value was made by `reply`. */
  static is(value: unknown): value is Reply {
    return typeof value === 'object' && value !== null && #isReply in value
  }
}

/** A string is a text block; anything else is left as it is. */
export function blockOf<T>(value: T | string): T | TextContent {
  return typeof value === 'string' ? { type: 'text', text: value } : value
}

/**
 * Creates a tool result with content besides its structured value, or with `isError` or metadata. The value itself is enough
 * otherwise.
 */
export function reply<T = never, L extends Literal = Literal>(
  parts: ReplyParts<T & Hint<L>>,
): Reply<NoInfer<T>> {
  return new Reply(parts)
}

/**
 * An error for the model: thrown from a tool, its message becomes an `isError` result. From a resource, template or prompt it
 * becomes a JSON-RPC error -32602 with its message.
 */
export class ToolError extends Error {
  override readonly name: string = 'ToolError'
}

/** Without an output schema: text, a content block, a list of both, or a `Reply`. With one: the value itself, or a `Reply`. */
export type ToolReturn<Out extends SchemaOrNone, L extends Literal = Literal> =
  | (Out extends undefined ? string | undefined : never)
  | ((Out extends undefined ? ContentBlock | (ContentBlock | string)[] : InputOf<Out>) & Hint<L>)
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has this type
  | (Out extends undefined ? void : never)
  | Reply<Out extends undefined ? unknown : InputOf<Out>>
  | InputRequired

interface DefinitionMetadata {
  /** Name for people. Default: the key it is defined with. */
  title?: string
  /** Description for the model. Default: none. */
  description?: string
  /** Icons to display. `https:` and `data:` URLs only. Default: none. */
  icons?: Icon[]
  /** Its `_meta` in lists. Default: none. */
  meta?: JsonObject
  /**
   * OAuth scopes that a caller needs, all of them, to list and use this. Default: none. Transports without authorization, such
   * as stdio, have every scope.
   */
  scopes?: readonly string[]
}

/**
 * When another node runs the handler of a call again whose node stopped: `waiting`, if it waited for a response of the client;
 * `always`; or `never`.
 */
export type Takeover = 'never' | 'waiting' | 'always'

/**
 * A tool: its input, its output and its handler.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools
 */
export interface ToolDefinition<
  In extends SchemaOrNone = SchemaOrNone,
  Out extends SchemaOrNone = SchemaOrNone,
  L extends Literal = Literal,
> extends DefinitionMetadata {
  /** The schema of the arguments. Default: no arguments; those that a client sends are ignored. */
  input?: In
  /** The schema of the structured result, which is validated before it is sent. Default: no structured result. */
  output?: Out
  /** Hints about its behavior for clients. */
  annotations?: ToolAnnotations
  /**
   * Whether a call runs as a task, on a server with the tasks extension: `optional` if the client supports tasks, `required`
   * always, so that other clients are rejected. Default: only if the handler calls `ctx.task`.
   */
  task?: 'optional' | 'required'
  /**
   * Whether another node runs the handler again, in a session that several nodes serve, when the node of a call stopped and the
   * client resumes the stream of the call. `waiting`: if the handler waits for a response of the client. `always`: in any case.
   * `never`: the call ends with an error. A run has the responses and the results of `ctx.step` of the one before; everything
   * else before a request for input, or in an unfinished step, happens again, with the same idempotency keys. Default:
   * `always` for a tool whose `annotations` have `readOnlyHint` or `idempotentHint`, otherwise `waiting`.
   */
  takeover?: Takeover
  /**
   * Serves one call. `args` match `input`. To report a failure to the model, throw a `ToolError`; to respond with a
   * JSON-RPC error, throw an `RpcError`. Any other error is reported to `onError` of `defineServer`, and the client
   * gets a result with `isError` that does not contain its text.
   */
  run(args: OutputOf<In>, ctx: Context): Awaitable<ToolReturn<Out, L>>
}

/** A complete read result: contents, cache hints and metadata. */
export interface ReadReply {
  /** The contents; each has its own URI. */
  contents: ResourceContents[]
  /** Cache hints of this result. Default: those of the definition. */
  cache?: Partial<CacheHints>
  /** The result's `_meta`. */
  meta?: JsonObject
}

/** Text, bytes, one or several contents, or a `ReadReply`; undefined if the resource does not exist. */
export type ReadReturn =
  | string
  | Uint8Array
  | ResourceContents
  | ResourceContents[]
  | ReadReply
  | InputRequired
  | undefined

/**
 * A resource at one URI, and how it is read.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources
 */
export interface ResourceDefinition<U extends string = string> extends DefinitionMetadata {
  /** URI of the resource, unique within the server. */
  uri: U
  /** Media type. Default: none in lists; `text/plain` for text and `application/octet-stream` for bytes in results. */
  mimeType?: string
  /** Hints for clients on its use. */
  annotations?: Annotations
  /** Bytes of the contents, before base64 encoding. Default: unknown. */
  size?: number
  /** Cache hints of a read. Default: 0 ms, private. */
  cache?: Partial<CacheHints>
  /**
   * Serves one `resources/read`. To respond with a JSON-RPC error, throw an `RpcError`, or a `ToolError` for -32602
   * with its message. Any other error is reported to `onError`, and the client gets -32603 without its text.
   */
  read(ctx: Context): Awaitable<ReadReturn>
}

/**
 * A resource template, and how its resources are read.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource-templates
 */
export interface TemplateDefinition<T extends string = string> extends DefinitionMetadata {
  /** RFC 6570: `{name}`, `{+path}`, `{/segments*}`, `{?query}` and so on. */
  uriTemplate: T
  /** Media type of all its resources. Default: as in `ResourceDefinition`. */
  mimeType?: string
  /** Hints for clients on the use of its resources. */
  annotations?: Annotations
  /** Cache hints of a read. Default: 0 ms, private. */
  cache?: Partial<CacheHints>
  /** Suggestions for a variable, by its name. Default: none. */
  complete?: { [V in keyof TemplateVariables<T>]?: Completer }
  /** Resources of the template to show in `resources/list`, by default with its `mimeType`. Default: none. */
  list?(ctx: Context): Awaitable<Resource[]>
  /**
   * Serves one `resources/read` of a URI that matches the template. `variables` are decoded and not validated: one
   * may contain `/` or `..`, so check it before it becomes part of a path. Errors as in `ResourceDefinition`.
   */
  read(variables: TemplateVariables<T>, ctx: Context, uri: string): Awaitable<ReadReturn>
}

/** Text of one user message, messages, or the whole result. */
export type PromptReturn = string | PromptMessage | PromptMessage[] | GetPromptResult | InputRequired

/**
 * A prompt: its arguments and its handler.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/prompts
 */
export interface PromptDefinition<In extends SchemaOrNone = SchemaOrNone> extends DefinitionMetadata {
  /** The schema of the arguments, which are strings on the wire. Default: no arguments. */
  input?: In
  /** Suggestions for an argument, by its name. Default: none. */
  complete?: Record<string, Completer>
  /** Serves one `prompts/get`. `args` match `input`. Errors as in `ResourceDefinition`. */
  run(args: OutputOf<In>, ctx: Context): Awaitable<PromptReturn>
}
