import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'

/** The sender or recipient of a message. */
export type Role = 'user' | 'assistant'

/** Hints for the client on how to use or display something. */
export interface Annotations {
  /** Intended recipients. */
  audience?: Role[]
  /** From 0 (optional) to 1 (effectively required). */
  priority?: number
  /** ISO 8601 time of the last change. */
  lastModified?: string
}

/** An icon to display. Only `https:` and `data:` sources are safe. */
export interface Icon {
  /** URL of the image: `https:` or `data:`. */
  src: string
  /** Media type, if that of the source is missing or too general. */
  mimeType?: string
  /** Sizes for which it is suitable, such as `48x48`, or `any` for a scalable image. */
  sizes?: string[]
  /** The theme that it is designed for. Default: any. */
  theme?: 'light' | 'dark'
}

/** The members of every block of content. */
interface Block {
  /** Hints on its use. */
  annotations?: Annotations
  _meta?: JsonObject
}

/** Text for a model or a user. */
export interface TextContent extends Block {
  type: 'text'
  /** The text. */
  text: string
}

/** An image for a model or a user. */
export interface ImageContent extends Block {
  type: 'image'
  /** Base64. */
  data: string
  /** Media type, such as `image/png`. */
  mimeType: string
}

/** Audio for a model or a user. Since 2025-03-26. */
export interface AudioContent extends Block {
  type: 'audio'
  /** Base64. */
  data: string
  /** Media type, such as `audio/wav`. */
  mimeType: string
}

/** A resource's contents as text. */
export interface TextResourceContents {
  /** URI of the resource. */
  uri: string
  /** Media type of the text. */
  mimeType?: string
  /** The text. */
  text: string
  _meta?: JsonObject
}

/** A resource's contents as bytes. */
export interface BlobResourceContents {
  /** URI of the resource. */
  uri: string
  /** Media type of the bytes. */
  mimeType?: string
  /** Base64. */
  blob: string
  _meta?: JsonObject
}

/** A resource's contents, as text or as bytes. */
export type ResourceContents = TextResourceContents | BlobResourceContents

/** A resource's contents, embedded in a message. */
export interface EmbeddedResource extends Block {
  type: 'resource'
  /** The contents. */
  resource: ResourceContents
}

/** A link to a resource. Since 2025-06-18. */
export interface ResourceLink extends Block {
  type: 'resource_link'
  /** URI of the resource, for `resources/read`. It need not be in `resources/list`. */
  uri: string
  /** Name for programs. */
  name: string
  /** Name for people. Default: `name`. */
  title?: string
  /** Description for the model. */
  description?: string
  /** Media type of the contents. */
  mimeType?: string
  /** Bytes of the contents, before base64 encoding. */
  size?: number
  /** Icons to display. Since 2025-11-25. */
  icons?: Icon[]
}

/** One block of a tool result or a prompt message. Clients whose revision lacks the type get text instead. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/** The model requests a tool call. Since 2025-11-25. */
export interface ToolUseContent {
  type: 'tool_use'
  /** Identifies the call; its result has the same id. */
  id: string
  /** Name of the tool, one of the `tools` of the sampling request. */
  name: string
  /** Arguments of the call. */
  input: JsonObject
  _meta?: JsonObject
}

/** The result of a tool call that the model requested. Since 2025-11-25. */
export interface ToolResultContent {
  type: 'tool_result'
  /** The `id` of the call. */
  toolUseId: string
  /** The result for the model. */
  content: ContentBlock[]
  /** The result as JSON, if the tool has an output schema. */
  structuredContent?: unknown
  /** Whether the tool failed. Default false. */
  isError?: boolean
  _meta?: JsonObject
}

/** One block of a message in a conversation with a model. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent

/** Whether an icon's source is safe to fetch: `https:` or `data:`. */
export function isSafeIcon(icon: unknown): boolean {
  return isObject(icon) && typeof icon['src'] === 'string' && /^(?:https|data):/i.test(icon['src'])
}

/** A copy without unsafe icons, or the value itself if it has none. */
export function withSafeIcons<T extends object>(value: T, onUnsafe: (count: number) => void = () => {}): T {
  if (!('icons' in value) || value.icons === undefined) return value
  const icons: readonly unknown[] = Array.isArray(value.icons) ? value.icons : []
  const safe = icons.filter(isSafeIcon)
  if (Array.isArray(value.icons) && safe.length === icons.length) return value
  onUnsafe(icons.length - safe.length)
  return { ...value, icons: safe }
}
