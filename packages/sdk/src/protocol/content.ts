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
  src: string
  mimeType?: string
  sizes?: string[]
  theme?: 'light' | 'dark'
}

/** Text for a model or a user. */
export interface TextContent {
  type: 'text'
  text: string
  annotations?: Annotations
  _meta?: JsonObject
}

/** An image for a model or a user. */
export interface ImageContent {
  type: 'image'
  /** Base64. */
  data: string
  mimeType: string
  annotations?: Annotations
  _meta?: JsonObject
}

/** Audio for a model or a user. Since 2025-03-26. */
export interface AudioContent {
  type: 'audio'
  /** Base64. */
  data: string
  mimeType: string
  annotations?: Annotations
  _meta?: JsonObject
}

/** A resource's contents as text. */
export interface TextResourceContents {
  uri: string
  mimeType?: string
  text: string
  _meta?: JsonObject
}

/** A resource's contents as bytes. */
export interface BlobResourceContents {
  uri: string
  mimeType?: string
  /** Base64. */
  blob: string
  _meta?: JsonObject
}

/** A resource's contents, as text or as bytes. */
export type ResourceContents = TextResourceContents | BlobResourceContents

/** A resource's contents, embedded in a message. */
export interface EmbeddedResource {
  type: 'resource'
  resource: ResourceContents
  annotations?: Annotations
  _meta?: JsonObject
}

/** A link to a resource. Since 2025-06-18. */
export interface ResourceLink {
  type: 'resource_link'
  uri: string
  name: string
  title?: string
  description?: string
  mimeType?: string
  size?: number
  icons?: Icon[]
  annotations?: Annotations
  _meta?: JsonObject
}

/** One block of a tool result or a prompt message. Clients whose revision lacks the type get text instead. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/** The model requests a tool call. Since 2025-11-25. */
export interface ToolUseContent {
  type: 'tool_use'
  id: string
  name: string
  input: JsonObject
  _meta?: JsonObject
}

/** The result of a tool call that the model requested. Since 2025-11-25. */
export interface ToolResultContent {
  type: 'tool_result'
  toolUseId: string
  content: ContentBlock[]
  structuredContent?: unknown
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
