import type { ContentBlock, SamplingContent } from '@jackfield/sdk'
import { oneLine } from '../shared/text.ts'

/** Kinds of media for a model: image, audio, or document. */
export type MediaKind = 'image' | 'audio' | 'file'

/** The media types that a model accepts besides text, and where a request may contain them. */
export interface MediaSupport {
  /** The MIME types that the model accepts. */
  types: ReadonlySet<string>
  /** The types allowed in a tool result. Others follow the results in a user message. */
  inResults: ReadonlySet<string>
  /** Whether a tool result has one text before its media, rather than any order. */
  textFirst?: true
  /** Whether an assistant message may contain media. */
  inReplies?: true
  /** Whether this is an assumption: a kind that the server rejects is not sent again. */
  assumed?: true
}

/** A medium in a message or a tool result. */
export interface Media {
  kind: MediaKind
  /** Lower case, without parameters. */
  type: string
  /** Base64. */
  data: string
  filename?: string
}

const images = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const pdf = 'application/pdf'
const documents = [pdf]
const noTypes: ReadonlySet<string> = new Set()

export const anthropicMedia: MediaSupport = {
  types: new Set([...images, ...documents]),
  inResults: new Set([...images, ...documents]),
}

/** Of the Responses API, which has no audio. */
export const openaiMedia: MediaSupport = anthropicMedia

export const googleMedia: MediaSupport = {
  types: new Set([
    ...['image/jpeg', 'image/png', 'image/webp', 'image/heic', 'image/heif'],
    ...['audio/wav', 'audio/mpeg', 'audio/aiff', 'audio/aac', 'audio/ogg', 'audio/flac'],
    ...documents,
  ]),
  inResults: new Set(['image/jpeg', 'image/png', 'image/webp', ...documents]),
  textFirst: true,
  inReplies: true,
}

/** For Chat Completions, whose tool results are text. The media accepted by the model behind it are unknown in advance. */
export const chatMedia: MediaSupport = {
  types: new Set([...images, 'audio/wav', 'audio/mpeg', ...documents]),
  inResults: noTypes,
  assumed: true,
}

/** For a model of Ollama, by its listed capabilities. */
export function ollamaMedia(capabilities: readonly unknown[]): MediaSupport {
  const types = [
    ...(capabilities.includes('vision') ? images : []),
    ...(capabilities.includes('audio') ? ['audio/wav', 'audio/mpeg'] : []),
  ]
  return { types: new Set(types), inResults: noTypes, assumed: true }
}

/** The media of a content block; undefined for text and links. */
export function mediaIn(block: ContentBlock): Media | undefined {
  if (block.type === 'image' || block.type === 'audio') {
    const type = mediaType(block.mimeType)
    return { kind: type === pdf ? 'file' : block.type, type, data: block.data }
  }
  if (block.type !== 'resource' || !('blob' in block.resource)) return undefined
  const { uri, blob, mimeType } = block.resource
  const type = mediaType(mimeType ?? 'application/octet-stream')
  const kind = kindOf(type)
  const filename = fileNameOf(uri)
  return { kind, type, data: blob, ...(filename !== undefined && { filename }) }
}

/**
 * A document in a message of a conversation. MCP sampling messages have no document type, so it is an image with its own media
 * type; `mediaIn` reads it back.
 */
export function documentBlock({ type, data }: Media): SamplingContent | undefined {
  return type === pdf ? { type: 'image', data, mimeType: pdf } : undefined
}

/** The text of bytes with a text media type; undefined for others and for invalid UTF-8. */
export function textIn({ type, data }: Media): string | undefined {
  if (!/^text\/|[/+](?:json|xml|yaml)$|^application\/(?:javascript|x-yaml|toml|sql)$/.test(type))
    return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(data, 'base64'))
  } catch {
    return undefined
  }
}

/** A note that replaces media, with the reason. */
export function omittedMedia(media: Media, reason: string): string {
  return `[${mediaDescription(media)} was left out: ${reason}]`
}

export function mediaDescription({ kind, type, data }: Media): string {
  const kindText = kind === 'audio' ? 'audio' : kind === 'image' ? 'an image' : 'a file'
  return `${kindText} of ${sizeText(bytesOf(data))} (${oneLine(type)})`
}

/** Why media cannot be sent to a model. */
export function unsupportedReason({ kind, type }: Media, { types }: MediaSupport): string {
  const ofKind = [...types].filter((one) => kindOf(one) === kind)
  if (types.size === 0) return 'this model accepts text only'
  if (ofKind.length > 0)
    return `this model accepts ${pluralKinds[kind]} of these types only: ${ofKind.join(', ')}`
  return kind === 'file'
    ? `this model does not accept files of type ${oneLine(type)}`
    : `this model does not accept ${pluralKinds[kind]}`
}

/** Decoded bytes of a base64 text. */
export function bytesOf(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding)
}

const pluralKinds: Readonly<Record<MediaKind, string>> = { image: 'images', audio: 'audio', file: 'files' }

function kindOf(type: string): MediaKind {
  return type.startsWith('image/') ? 'image' : type.startsWith('audio/') ? 'audio' : 'file'
}

const typeAliases: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/mp3': 'audio/mpeg',
  'audio/x-aiff': 'audio/aiff',
  'audio/x-flac': 'audio/flac',
  'application/x-pdf': 'application/pdf',
}

function mediaType(mimeType: string): string {
  const type = mimeType.split(';', 1).join('').trim().toLowerCase()
  return Object.hasOwn(typeAliases, type) ? (typeAliases[type] ?? type) : type
}

/** The last segment of a URI's path, as a file name for the provider. */
function fileNameOf(uri: string): string | undefined {
  const name = URL.parse(uri)?.pathname.split('/').at(-1)
  return name !== undefined && /^[\w.-]{1,100}$/.test(name) ? name : undefined
}

function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
