import type { CallToolResult, ContentBlock } from '@jackfield/sdk'
import { isRecord, parsed } from '../shared/json.ts'
import { oneLine } from '../shared/text.ts'
import { type Media, mediaIn, omittedMedia } from './media.ts'

/** Maximum characters of a result's text that a model gets whole, unless a conversation sets another. */
export const defaultResultCharacters = 20_000

/** Maximum base64 characters of one image or document for a model; providers reject more. */
const maxMediaCharacters = 6_000_000
/** The same for audio, which costs about a token for every 500 bytes. */
const maxAudioCharacters = 1_500_000
/** UTF-8 bytes of a preview, an estimated 1 200 tokens. */
const previewBytes = 4_200
const noteBytes = 80
const bytesIn = (text: string): number => new TextEncoder().encode(text).length
const tooLargeToShow = 'it is too large for a model'
const maxOutlineMembers = 20

/**
 * A tool's result for a model: whole if its text has at most `characters`, else its start and a note about the rest. `store`
 * stores the whole result and returns its id. The result itself is not changed.
 */
export function fitResult(result: CallToolResult, characters: number, store: () => string): ContentBlock[] {
  const blocks = blocksOf(result)
  const total = blocks.reduce((sum, block) => sum + textLength(block), 0)
  const tooLarge = blocks.some(isTooLarge)
  if (total <= characters && !tooLarge) return [...blocks]

  let remaining = Math.min(previewBytes, characters)
  let shownCharacters = 0
  const fitted: ContentBlock[] = []
  const cut = (text: string): string => {
    const cutText = prefixOfBytes(text, remaining)
    remaining -= bytesIn(cutText)
    shownCharacters += cutText.length
    return cutText
  }
  const addText = (text: string): void => {
    const last = fitted.at(-1)
    if (last?.type === 'text') fitted[fitted.length - 1] = { type: 'text', text: `${last.text}\n${text}` }
    else fitted.push({ type: 'text', text })
  }
  for (const block of blocks) {
    const text = textIn(block)
    if (modelMedia(block) !== undefined && !isTooLarge(block)) {
      fitted.push(block)
    } else if (block.type === 'text') {
      const cutText = cut(block.text)
      if (cutText !== '') addText(cutText)
    } else if (block.type === 'resource' && text !== undefined) {
      remaining -= bytesIn(block.resource.uri)
      const cutText = cut(text)
      if (cutText !== '') fitted.push({ ...block, resource: { ...block.resource, text: cutText } })
    } else if (!isTooLarge(block) && textLength(block) <= remaining) {
      remaining -= textLength(block)
      shownCharacters += textLength(block)
      fitted.push(block)
    } else if (remaining > 0) {
      remaining -= noteBytes
      const media = mediaIn(block)
      addText(
        media === undefined
          ? '[a link was left out: too large for the model]'
          : omittedMedia(media, tooLargeToShow),
      )
    }
  }
  const id = store()
  const lines = [
    `[cut: ${shownCharacters} of ${total} characters are shown here. The whole result is stored: read more of it with read_result, id "${id}", by "from" or by "path".]`,
    ...outlineOf(result),
  ]
  fitted.push({ type: 'text', text: lines.join('\n') })
  return fitted
}

/** Content that models accept as image, audio or document; undefined for everything else. */
function modelMedia(block: ContentBlock): Media | undefined {
  const media = mediaIn(block)
  return media?.kind === 'file' && media.type !== 'application/pdf' ? undefined : media
}

function isTooLarge(block: ContentBlock): boolean {
  const media = modelMedia(block)
  if (media === undefined) return false
  return media.data.length > (media.kind === 'audio' ? maxAudioCharacters : maxMediaCharacters)
}

/** Text characters of a block; media are counted separately. */
function textLength(block: ContentBlock): number {
  if (modelMedia(block) !== undefined) return 0
  return textIn(block)?.length ?? JSON.stringify(block).length
}

/** The structure of a result's JSON, one level deep. */
function outlineOf(result: CallToolResult): string[] {
  const document = documentOf(result)
  if (document === result) return []
  if (Array.isArray(document)) return [`It is JSON: a list of ${document.length}.`]
  if (!isRecord(document)) return []
  const members = Object.entries(document)
  const memberTexts = members
    .slice(0, maxOutlineMembers)
    .map(([name, value]) => `.${oneLine(name).slice(0, 40)}: ${describeValue(value)}`)
  const more = members.length > maxOutlineMembers ? `, and ${members.length - maxOutlineMembers} more` : ''
  return [`It is JSON: ${memberTexts.join(', ')}${more}.`]
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return `list of ${value.length}`
  if (typeof value === 'string') return `text of ${value.length}`
  return isRecord(value) ? `object of ${Object.keys(value).length}` : typeof value
}

/** The longest prefix of so many UTF-8 bytes that splits no surrogate pair. */
function prefixOfBytes(text: string, bytes: number): string {
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
  if (content.some((block) => block.type === 'text' && isSameJson(block.text, json))) return content
  return [...content, { type: 'text', text: json }]
}

/** The text of a text block or text resource; undefined for other content. */
export function textIn(block: ContentBlock): string | undefined {
  if (block.type === 'text') return block.text
  return block.type === 'resource' && 'text' in block.resource ? block.resource.text : undefined
}

/** All texts of a result, one after another. */
export function fullText(result: CallToolResult): string {
  return blocksOf(result)
    .flatMap((block) => textIn(block) ?? [])
    .join('\n')
}

/** The document for paths: the structured content, else the JSON of its only text, else the whole result. */
export function documentOf(result: CallToolResult): unknown {
  if (result.structuredContent !== undefined) return result.structuredContent
  const texts = result.content.flatMap((block) => textIn(block) ?? [])
  const [onlyText] = texts
  const value = texts.length === 1 && onlyText !== undefined ? parsed(onlyText) : undefined
  return value === undefined ? result : value
}

function isSameJson(text: string, json: string): boolean {
  if (text === json) return true
  // Longer than its formatted form could be: not equal, and not worth parsing.
  if (text.length < json.length || text.length > json.length * 20) return false
  const value = parsed(text)
  return value !== undefined && JSON.stringify(value) === json
}
