import type { ContentBlock, ResourceContents, SamplingContent, SamplingMessage } from '@jackfield/sdk'
import { bytesOf } from '../models/media.ts'
import { toMessageBlocks as blocksFor, blockText } from '../models/messages.ts'
import { estimateTokens } from '../models/tool-search/meter.ts'
import { fingerprint } from '../shared/fingerprint.ts'
import { isRecord, parsed } from '../shared/json.ts'
import type { ContentPreview, JsonNode } from '../types/index.ts'

/** Maximum base64 characters of one image or recording for a model; providers reject more. */
const maxMediaCharacters = 6_000_000
const headerCharacters = 65_536
/** The size to which providers scale images, and by which they charge. */
const imageCost = { pixelsPerToken: 750, most: 1_600 }
const audioBytesPerToken = 500

/** Contents as messages: texts, images and audio unchanged, a description of everything else. */
export function toMessages(contents: readonly ResourceContents[]): SamplingMessage[] {
  return contents.flatMap((resource): SamplingMessage[] => {
    const block: ContentBlock = { type: 'resource', resource }
    if ('blob' in resource && resource.blob.length > maxMediaCharacters) {
      return [userMessage({ type: 'text', text: blockText(block, 'it is too large for a model') })]
    }
    return blocksFor(block).map(userMessage)
  })
}

/** Estimated token cost of messages: texts by bytes, images by pixels. */
export function tokensOf(messages: readonly SamplingMessage[]): number {
  return messages.flatMap(({ content }) => content).reduce((sum, block) => sum + tokensIn(block), 0)
}

function tokensIn(block: SamplingContent): number {
  if (block.type === 'text') return estimateTokens(block.text)
  if (block.type === 'audio') return Math.ceil(bytesOf(block.data) / audioBytesPerToken)
  if (block.type !== 'image') return estimateTokens(JSON.stringify(block))
  const size = imageSize(Buffer.from(block.data.slice(0, headerCharacters), 'base64'))
  if (size === undefined) return imageCost.most
  return Math.min(
    imageCost.most,
    Math.max(1, Math.ceil((size.width * size.height) / imageCost.pixelsPerToken)),
  )
}

/** Contents in a comparable form, to detect changes. */
export function hashOf(contents: readonly ResourceContents[]): string {
  return fingerprint(
    contents.map((entry) => [entry.uri, entry.mimeType, 'text' in entry ? entry.text : entry.blob]),
  )
}

/** All texts; undefined if there is binary content too. */
export function joinedText(contents: readonly ResourceContents[]): string | undefined {
  const texts = contents.flatMap((entry) => ('text' in entry ? [entry.text] : []))
  return texts.length === contents.length ? texts.join('\n') : undefined
}

/** The number of characters, counting base64 for binary content. */
export function charactersIn(contents: readonly ResourceContents[]): number {
  return contents.reduce((sum, entry) => sum + ('text' in entry ? entry.text : entry.blob).length, 0)
}

function userMessage(content: SamplingContent): SamplingMessage {
  return { role: 'user', content }
}

const limits = { json: 2_000_000, shown: 10_000_000, head: 64, sniff: 65_536, contents: 100 }

/** Contents for display. One text has at most `characters`. */
export function previewOf(contents: readonly ResourceContents[], characters: number): ContentPreview[] {
  return contents.slice(0, limits.contents).map((entry) => {
    const common = { uri: entry.uri, ...(entry.mimeType !== undefined && { mimeType: entry.mimeType }) }
    return 'text' in entry
      ? { ...common, bytes: Buffer.byteLength(entry.text), ...textPreview(entry.text, entry, characters) }
      : { ...common, bytes: bytesOf(entry.blob), ...bytesPreview(entry.blob, entry) }
  })
}

type PreviewBody<T> = T extends ContentPreview ? Omit<T, 'uri' | 'mimeType' | 'bytes'> : never

function textPreview(
  text: string,
  { uri, mimeType = '' }: ResourceContents,
  characters: number,
): PreviewBody<ContentPreview> {
  const value =
    text.length <= limits.json && (/[/+]json\b/i.test(mimeType) || (mimeType === '' && /^\s*[[{]/.test(text)))
      ? parsed(text)
      : undefined
  const start = text.slice(0, characters).replace(/[\ud800-\udbff]$/, '')
  const textMember = { text: start, leftOut: text.length - start.length }
  if (value !== undefined) return { type: 'json', tree: jsonTree(value), ...textMember }
  const isMarkdown = /^text\/(?:x-)?markdown\b/i.test(mimeType) || /\.(?:md|markdown)$/i.test(uri)
  return { type: isMarkdown ? 'markdown' : 'text', ...textMember }
}

function bytesPreview(blob: string, { mimeType = '' }: ResourceContents): PreviewBody<ContentPreview> {
  // A multiple of four characters, so that each part can be decoded alone.
  const bytes = Buffer.from(blob.slice(0, limits.sniff), 'base64')
  const detectedType = detectFileType(bytes)
  const size = imageSize(bytes)
  const data = blob.length <= limits.shown ? { data: blob } : {}
  if (/^image\//i.test(mimeType) || (mimeType === '' && size !== undefined))
    return { type: 'image', ...size, ...data }
  if (/^audio\//i.test(mimeType)) return { type: 'audio', ...data }
  return {
    type: 'binary',
    ...(detectedType !== undefined && { looksLike: detectedType }),
    head: bytes.subarray(0, limits.head).toString('hex'),
  }
}

/** Width and height in pixels of a PNG, GIF, JPEG, WebP or BMP; undefined if unknown. */
export function imageSize(bytes: Buffer): { width: number; height: number } | undefined {
  try {
    return sizeIn(bytes)
  } catch {
    // The data ends within the header.
    return undefined
  }
}

function sizeIn(bytes: Buffer): { width: number; height: number } | undefined {
  switch (detectFileType(bytes)) {
    case 'png':
      return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    case 'gif':
      return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    case 'bmp':
      return { width: bytes.readInt32LE(18), height: Math.abs(bytes.readInt32LE(22)) }
    case 'webp':
      return webpSize(bytes)
    case 'jpeg':
      return jpegSize(bytes)
    default:
      return undefined
  }
}

const signatures: readonly (readonly [kind: string, hex: string, at?: number])[] = [
  ['png', '89504e470d0a1a0a'],
  ['gif', '474946383961'],
  ['gif', '474946383761'],
  ['jpeg', 'ffd8ff'],
  ['webp', '57454250', 8],
  ['bmp', '424d'],
  ['pdf', '255044462d'],
  ['zip', '504b0304'],
  ['gzip', '1f8b'],
  ['sqlite', '53514c69746520666f726d6174203300'],
  ['wasm', '0061736d'],
  ['elf', '7f454c46'],
  ['mp3', '494433'],
  ['ogg', '4f676753'],
  ['flac', '664c6143'],
  ['wav', '57415645', 8],
  ['mp4', '66747970', 4],
]

/** The file type by its first bytes. */
export function detectFileType(bytes: Buffer): string | undefined {
  return signatures.find(([, hex, offset = 0]) => {
    const signature = Buffer.from(hex, 'hex')
    return bytes.subarray(offset, offset + signature.length).equals(signature)
  })?.[0]
}

function webpSize(bytes: Buffer): { width: number; height: number } | undefined {
  const chunkType = bytes.toString('latin1', 12, 16)
  if (chunkType === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (chunkType === 'VP8 ') {
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  }
  if (chunkType !== 'VP8L') return undefined
  const packed = bytes.readUInt32LE(21)
  return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
}

/** Skips segments until one that starts a frame. */
function jpegSize(bytes: Buffer): { width: number; height: number } | undefined {
  let offset = 2
  while (offset + 9 < bytes.length && bytes[offset] === 0xff) {
    const marker = bytes[offset + 1] ?? 0
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { width: bytes.readUInt16BE(offset + 7), height: bytes.readUInt16BE(offset + 5) }
    offset += 2 + Math.max(2, bytes.readUInt16BE(offset + 2))
  }
  return undefined
}

const treeLimits = { nodes: 500, depth: 12, leaf: 200, key: 100 }

/** A JSON value as a tree of bounded size; `count` includes omitted items. */
function jsonTree(value: unknown): JsonNode {
  let remainingNodes = treeLimits.nodes
  const nodeOf = (member: unknown, depth: number, key?: string): JsonNode => {
    remainingNodes -= 1
    const keyMember = key === undefined ? {} : { key: shorten(key, treeLimits.key) }
    const isList = Array.isArray(member)
    if (!isList && !isRecord(member)) return { ...keyMember, ...scalarNode(member) }
    const members = isList
      ? member.map((item, offset) => [String(offset), item] as const)
      : Object.entries(member)
    const children: JsonNode[] = []
    for (const [name, item] of depth < treeLimits.depth ? members : []) {
      if (remainingNodes <= 0) break
      children.push(nodeOf(item, depth + 1, name))
    }
    return { ...keyMember, type: isList ? 'array' : 'object', count: members.length, children }
  }
  return nodeOf(value, 0)
}

function scalarNode(value: unknown): Pick<JsonNode, 'type' | 'value'> {
  if (typeof value === 'string')
    return { type: 'string', value: shorten(JSON.stringify(value), treeLimits.leaf) }
  if (typeof value === 'number') return { type: 'number', value: String(value) }
  if (typeof value === 'boolean') return { type: 'boolean', value: String(value) }
  return { type: 'null', value: 'null' }
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}… [${text.length - length} more characters]`
}
