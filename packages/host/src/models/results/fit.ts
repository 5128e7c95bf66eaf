import type { CallToolResult, ContentBlock } from '@jackfield/sdk'
import { isRecord } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import { leftOut, type Media, mediaIn } from '../media.ts'
import { blocksOf, documentOf, textIn } from './text.ts'

/** Base64 characters of one image or document that a model is given; providers refuse more. */
const mediaCharacters = 6_000_000
/** The same of a recording, which costs a model a token for every 500 bytes or so. */
const audioCharacters = 1_500_000
/** UTF-8 bytes of a preview, 1 200 tokens by estimate. */
const previewBytes = 4_200
const noteBytes = 80
const tooLargeHere = 'it is too large for a model'
const outlined = 20

/**
 * A tool's result as a model gets it: whole where its text has at most `characters`, else a beginning of it and a
 * sentence that says how much is left out. `keep` keeps the whole and gives its id. The result itself is not changed.
 */
export function fit(result: CallToolResult, characters: number, keep: () => string): ContentBlock[] {
  const blocks = blocksOf(result)
  const total = blocks.reduce((sum, block) => sum + sizeOf(block), 0)
  const tooLarge = blocks.some(isTooLarge)
  if (total <= characters && !tooLarge) return [...blocks]

  let room = Math.min(previewBytes, characters)
  let shown = 0
  const out: ContentBlock[] = []
  const cut = (text: string): string => {
    const kept = beginning(text, room)
    room -= Buffer.byteLength(kept)
    shown += kept.length
    return kept
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
      const kept = cut(block.text)
      if (kept !== '') say(kept)
    } else if (block.type === 'resource' && text !== undefined) {
      room -= Buffer.byteLength(block.resource.uri)
      const kept = cut(text)
      if (kept !== '') out.push({ ...block, resource: { ...block.resource, text: kept } })
    } else if (!isTooLarge(block) && sizeOf(block) <= room) {
      room -= sizeOf(block)
      shown += sizeOf(block)
      out.push(block)
    } else if (room > 0) {
      room -= noteBytes
      const media = mediaIn(block)
      say(
        media === undefined ? '[a link was left out: too large for the model]' : leftOut(media, tooLargeHere),
      )
    }
  }
  const id = keep()
  const lines = [
    `[cut: ${shown} of ${total} characters are shown here. The whole is kept: read more of it with read_result, id "${id}", by "from" or by "path".]`,
    ...outline(result),
  ]
  out.push({ type: 'text', text: lines.join('\n') })
  return out
}

/** What models take as an image, a recording or a document; undefined for all else. */
function sentAsMedia(block: ContentBlock): Media | undefined {
  const media = mediaIn(block)
  return media?.kind === 'file' && media.type !== 'application/pdf' ? undefined : media
}

function isTooLarge(block: ContentBlock): boolean {
  const media = sentAsMedia(block)
  if (media === undefined) return false
  return media.data.length > (media.kind === 'audio' ? audioCharacters : mediaCharacters)
}

/** Characters that a block costs as text; media are paid for otherwise. */
function sizeOf(block: ContentBlock): number {
  if (sentAsMedia(block) !== undefined) return 0
  return textIn(block)?.length ?? JSON.stringify(block).length
}

/** What stands where in the JSON of a result, one level deep. */
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

/** The longest beginning of so many UTF-8 bytes that splits no surrogate pair. */
function beginning(text: string, bytes: number): string {
  // Names of what came before may have taken more than there was.
  if (bytes <= 0) return ''
  let kept = text.slice(0, bytes)
  for (let size = Buffer.byteLength(kept); size > bytes; size = Buffer.byteLength(kept)) {
    kept = kept.slice(0, Math.floor((kept.length * bytes) / size))
  }
  return kept.length < text.length ? kept.replace(/[\ud800-\udbff]$/, '') : kept
}
