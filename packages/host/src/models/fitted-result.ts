import type { CallToolResult, ContentBlock } from '@jackfield/sdk'
import { isRecord, parsed } from '../shared/json.ts'
import { oneLine } from '../shared/text.ts'
import { type Media, mediaIn, omittedMedia } from './media.ts'

/** Maximum characters of a result's text that a model gets whole, unless a conversation sets another. */
export const defaultResultCharacters = 20_000

/** Maximum base64 characters of one image or document for a model; providers reject more. */
const mediaCharacters = 6_000_000
/** The same for audio, which costs about a token for every 500 bytes. */
const audioCharacters = 1_500_000
/** UTF-8 bytes of a preview, an estimated 1 200 tokens. */
const previewBytes = 4_200
const noteBytes = 80
const bytesIn = (text: string): number => new TextEncoder().encode(text).length
const tooLargeToShow = 'it is too large for a model'
const outlined = 20

/**
 * A tool's result for a model: whole if its text has at most `characters`, else its start and a note about the rest. `keep`
 * stores the whole and returns its id. The result itself is not changed.
 */
export function fitResult(result: CallToolResult, characters: number, keep: () => string): ContentBlock[] {
  const blocks = blocksOf(result)
  const total = blocks.reduce((sum, block) => sum + sizeOf(block), 0)
  const tooLarge = blocks.some(isTooLarge)
  if (total <= characters && !tooLarge) return [...blocks]

  let room = Math.min(previewBytes, characters)
  let shown = 0
  const out: ContentBlock[] = []
  const cut = (text: string): string => {
    const cutText = beginning(text, room)
    room -= bytesIn(cutText)
    shown += cutText.length
    return cutText
  }
  const say = (text: string): void => {
    const last = out.at(-1)
    if (last?.type === 'text') out[out.length - 1] = { type: 'text', text: `${last.text}\n${text}` }
    else out.push({ type: 'text', text })
  }
  for (const block of blocks) {
    const text = textIn(block)
    if (sentAsMedia(block) !== undefined && !isTooLarge(block)) {
      out.push(block)
    } else if (block.type === 'text') {
      const cutText = cut(block.text)
      if (cutText !== '') say(cutText)
    } else if (block.type === 'resource' && text !== undefined) {
      room -= bytesIn(block.resource.uri)
      const cutText = cut(text)
      if (cutText !== '') out.push({ ...block, resource: { ...block.resource, text: cutText } })
    } else if (!isTooLarge(block) && sizeOf(block) <= room) {
      room -= sizeOf(block)
      shown += sizeOf(block)
      out.push(block)
    } else if (room > 0) {
      room -= noteBytes
      const media = mediaIn(block)
      say(
        media === undefined
          ? '[a link was left out: too large for the model]'
          : omittedMedia(media, tooLargeToShow),
      )
    }
  }
  const id = keep()
  const lines = [
    `[cut: ${shown} of ${total} characters are shown here. The whole result is stored: read more of it with read_result, id "${id}", by "from" or by "path".]`,
    ...outline(result),
  ]
  out.push({ type: 'text', text: lines.join('\n') })
  return out
}

/** Content that models accept as image, audio or document; undefined for everything else. */
function sentAsMedia(block: ContentBlock): Media | undefined {
  const media = mediaIn(block)
  return media?.kind === 'file' && media.type !== 'application/pdf' ? undefined : media
}

function isTooLarge(block: ContentBlock): boolean {
  const media = sentAsMedia(block)
  if (media === undefined) return false
  return media.data.length > (media.kind === 'audio' ? audioCharacters : mediaCharacters)
}

/** Text characters of a block; media are counted separately. */
function sizeOf(block: ContentBlock): number {
  if (sentAsMedia(block) !== undefined) return 0
  return textIn(block)?.length ?? JSON.stringify(block).length
}

/** The structure of a result's JSON, one level deep. */
function outline(result: CallToolResult): string[] {
  const document = documentOf(result)
  if (document === result) return []
  if (Array.isArray(document)) return [`It is JSON: a list of ${document.length}.`]
  if (!isRecord(document)) return []
  const members = Object.entries(document)
  const named = members
    .slice(0, outlined)
    .map(([name, value]) => `.${oneLine(name).slice(0, 40)}: ${describe(value)}`)
  const more = members.length > outlined ? `, and ${members.length - outlined} more` : ''
  return [`It is JSON: ${named.join(', ')}${more}.`]
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return `list of ${value.length}`
  if (typeof value === 'string') return `text of ${value.length}`
  return isRecord(value) ? `object of ${Object.keys(value).length}` : typeof value
}

/** The longest prefix of so many UTF-8 bytes that splits no surrogate pair. */
function beginning(text: string, bytes: number): string {
  // The names before it may have used more than the limit.
  if (bytes <= 0) return ''
  let start = text.slice(0, bytes)
  for (let size = bytesIn(start); size > bytes; size = bytesIn(start)) {
    start = start.slice(0, Math.floor((start.length * bytes) / size))
  }
  return start.length < text.length ? start.replace(/[\ud800-\udbff]$/, '') : start
}

/** The content, and the structured content as text unless a block contains the same. */
function blocksOf({ content, structuredContent }: CallToolResult): readonly ContentBlock[] {
  if (structuredContent === undefined)
    return content.length > 0 ? content : [{ type: 'text', text: '(no output)' }]
  const json = JSON.stringify(structuredContent)
  if (content.some((block) => block.type === 'text' && sameJson(block.text, json))) return content
  return [...content, { type: 'text', text: json }]
}

/** The text of a block, if that is what it is. */
export function textIn(block: ContentBlock): string | undefined {
  if (block.type === 'text') return block.text
  return block.type === 'resource' && 'text' in block.resource ? block.resource.text : undefined
}

/** All texts of a result, one after another. */
export function wholeText(result: CallToolResult): string {
  return blocksOf(result)
    .flatMap((block) => textIn(block) ?? [])
    .join('\n')
}

/** The document for paths: the structured content, else the JSON of its only text, else the whole result. */
export function documentOf(result: CallToolResult): unknown {
  if (result.structuredContent !== undefined) return result.structuredContent
  const texts = result.content.flatMap((block) => textIn(block) ?? [])
  const [only] = texts
  const value = texts.length === 1 && only !== undefined ? parsed(only) : undefined
  return value === undefined ? result : value
}

function sameJson(text: string, json: string): boolean {
  if (text === json) return true
  // Longer than its formatted form could be: not equal, and not worth parsing.
  if (text.length < json.length || text.length > json.length * 20) return false
  const value = parsed(text)
  return value !== undefined && JSON.stringify(value) === json
}
