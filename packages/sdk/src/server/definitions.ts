import type { InputRequired } from '../core/exchange.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { Annotations, ContentBlock, Icon, ResourceContents } from '../protocol/content.ts'
import type {
  CacheHints,
  GetPromptResult,
  JsonSchema,
  PromptMessage,
  Resource,
  ToolAnnotations,
} from '../protocol/definitions.ts'
import type { Completer, Context } from './context.ts'
import type { DescribedSchema, InputOf, OutputOf } from './schema.ts'
import type { TemplateVariables } from './uri-template.ts'

type Awaitable<T> = T | Promise<T>
/** A validator, plain JSON Schema, or none. */
export type SchemaOrNone = DescribedSchema | JsonSchema | undefined

/** A tool's result in full: content, structured content, failure and metadata. Make one with `reply`. */
export class Reply<T = unknown> {
  readonly content: ContentBlock[] | undefined
  readonly structured: T | undefined
  readonly isError: boolean
  readonly meta: JsonObject | undefined

  constructor(parts: {
    content?: string | ContentBlock | ContentBlock[]
    structured?: T
    isError?: boolean
    meta?: JsonObject
  }) {
    this.content =
      parts.content === undefined
        ? undefined
        : typeof parts.content === 'string'
          ? [{ type: 'text', text: parts.content }]
          : Array.isArray(parts.content)
            ? parts.content
            : [parts.content]
    this.structured = parts.structured
    this.isError = parts.isError ?? false
    this.meta = parts.meta
  }
}

/** Says everything about a tool's result; left out, `content` is the structured value as JSON text. */
export function reply<T = never>(parts: ConstructorParameters<typeof Reply<T>>[0]): Reply<T> {
  return new Reply(parts)
}

/** Throw it from a tool to tell the model what went wrong: the message becomes an `isError` result. */
export class ToolError extends Error {
  override readonly name: string = 'ToolError'
}

/** Without an output schema: text, content, or a `Reply`. With one: the value itself, or a `Reply`. */
export type ToolReturn<Out extends SchemaOrNone> =
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has this type
  | (Out extends undefined ? string | ContentBlock | ContentBlock[] | undefined | void : InputOf<Out>)
  | Reply<Out extends undefined ? unknown : InputOf<Out>>
  | InputRequired

interface Shown {
  title?: string
  description?: string
  icons?: Icon[]
  meta?: JsonObject
}

export interface ToolDefinition<
  In extends SchemaOrNone = SchemaOrNone,
  Out extends SchemaOrNone = SchemaOrNone,
> extends Shown {
  /** What the arguments must look like. Left out, the tool takes none. */
  input?: In
  /** What the structured result looks like; checked before it is sent. */
  output?: Out
  annotations?: ToolAnnotations
  run(args: OutputOf<In>, ctx: Context): Awaitable<ToolReturn<Out>>
}

export interface ReadReply {
  contents: ResourceContents[]
  cache?: Partial<CacheHints>
  meta?: JsonObject
}

/** Text, bytes, one or several contents, a `ReadReply`; undefined says that no such resource exists. */
export type ReadReturn =
  | string
  | Uint8Array
  | ResourceContents
  | ResourceContents[]
  | ReadReply
  | InputRequired
  | undefined

export interface ResourceDefinition extends Shown {
  uri: string
  mimeType?: string
  annotations?: Annotations
  size?: number
  /** How long and for whom a read stays fresh. Default 0, private. */
  cache?: Partial<CacheHints>
  read(ctx: Context): Awaitable<ReadReturn>
}

export interface TemplateDefinition<T extends string = string> extends Shown {
  /** RFC 6570: `{name}`, `{+path}`, `{/segments*}`, `{?query}` and so on. */
  uriTemplate: T
  mimeType?: string
  annotations?: Annotations
  cache?: Partial<CacheHints>
  /** Suggestions for a variable. */
  complete?: { [V in keyof TemplateVariables<T>]?: Completer }
  /** Members worth showing in `resources/list`. */
  list?(ctx: Context): Awaitable<Resource[]>
  read(variables: TemplateVariables<T>, ctx: Context, uri: string): Awaitable<ReadReturn>
}

/** Text of one user message, messages, or the whole result. */
export type PromptReturn = string | PromptMessage | PromptMessage[] | GetPromptResult | InputRequired

export interface PromptDefinition<In extends SchemaOrNone = SchemaOrNone> extends Shown {
  /** What the arguments must look like; on the wire every one is a string. */
  input?: In
  /** Suggestions for an argument. */
  complete?: Record<string, Completer>
  run(args: OutputOf<In>, ctx: Context): Awaitable<PromptReturn>
}
