import type { ContentBlock, ResourceContents, SamplingContent, SamplingMessage } from '@jackfield/sdk'
import { bytesOf } from '../models/media.ts'
import { saidOf as blocksFor, textOf } from '../models/messages.ts'
import { estimateTokens } from '../models/tool-search/tokens.ts'
import { fingerprint } from '../shared/json.ts'
import { imageSize } from './looks.ts'

/** Base64 characters of one image or recording that a model is given; providers refuse more. */
const mediaCharacters = 6_000_000
const sniffed = 65_536
/** What providers scale images down to, and charge for it. */
const image = { pixelsPerToken: 750, most: 1_600 }
const audioBytesPerToken = 500

/** Contents as what a person says: texts, images and audio as they are, of everything else what it is. */
export function saidOf(contents: readonly ResourceContents[]): SamplingMessage[] {
  return contents.flatMap((resource): SamplingMessage[] => {
    const block: ContentBlock = { type: 'resource', resource }
    if ('blob' in resource && resource.blob.length > mediaCharacters) {
      return [said({ type: 'text', text: textOf(block, 'it is too large for a model') })]
    }
    return blocksFor(block).map(said)
  })
}

/** About what messages cost: texts by their bytes, images by their pixels. */
export function tokensOf(messages: readonly SamplingMessage[]): number {
  return messages.flatMap(({ content }) => content).reduce((sum, block) => sum + tokensIn(block), 0)
}

function tokensIn(block: SamplingContent): number {
  if (block.type === 'text') return estimateTokens(block.text)
  if (block.type === 'audio') return Math.ceil(bytesOf(block.data) / audioBytesPerToken)
  if (block.type !== 'image') return estimateTokens(JSON.stringify(block))
  const size = imageSize(Buffer.from(block.data.slice(0, sniffed), 'base64'))
  if (size === undefined) return image.most
  return Math.min(image.most, Math.max(1, Math.ceil((size.width * size.height) / image.pixelsPerToken)))
}

/** What contents say, to find out whether they changed. */
export function hashOf(contents: readonly ResourceContents[]): string {
  return fingerprint(
    contents.map((entry) => [entry.uri, entry.mimeType, 'text' in entry ? entry.text : entry.blob]),
  )
}

/** All texts; undefined where there are bytes too. */
export function wholeText(contents: readonly ResourceContents[]): string | undefined {
  const texts = contents.flatMap((entry) => ('text' in entry ? [entry.text] : []))
  return texts.length === contents.length ? texts.join('\n') : undefined
}

export function charactersIn(contents: readonly ResourceContents[]): number {
  return contents.reduce((sum, entry) => sum + ('text' in entry ? entry.text : entry.blob).length, 0)
}

function said(content: SamplingContent): SamplingMessage {
  return { role: 'user', content }
}
