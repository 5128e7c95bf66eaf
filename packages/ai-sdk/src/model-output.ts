import type { CallToolResult, ContentBlock } from '@jackfield/sdk'
import type { ToolResultPart } from 'ai'
import type { ToolOutput } from './tool-set.ts'

/** How tool results are presented to the model. */
export interface ModelOutputOptions {
  /**
   * Whether the model accepts a media type in tool results. Other media are described by type and size. Default: images and
   * PDF.
   */
  media?: (mediaType: string) => boolean
  /** Maximum characters of text in one result; the rest is omitted, with a note. Default 100 000. */
  maxChars?: number
}

type Output = ToolResultPart['output']
type Part = Extract<Output, { type: 'content' }>['value'][number]

const defaultMaxChars = 100_000

function isAcceptedByDefault(mediaType: string): boolean {
  return mediaType.startsWith('image/') || mediaType === 'application/pdf'
}

/** The text of a result, with other content described. */
export function textOf(result: CallToolResult): string {
  return partsOf(result, () => false)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n')
}

/** A result as the model reads it. */
export function toModelOutput(output: unknown, options: ModelOutputOptions): Output {
  if (!isOutput(output)) return { type: 'text', value: JSON.stringify(output) ?? '' }
  if (output.denied === true) return { type: 'execution-denied', reason: textOf(output) }
  const { media = isAcceptedByDefault, maxChars = defaultMaxChars } = options
  const parts = truncateText(partsOf(output, media), maxChars)
  const [only] = parts
  if (parts.length === 1 && only?.type === 'text') return { type: 'text', value: only.text }
  return { type: 'content', value: parts }
}

function isOutput(output: unknown): output is ToolOutput {
  return typeof output === 'object' && output !== null && 'content' in output && Array.isArray(output.content)
}

function partsOf(result: CallToolResult, accepts: (mediaType: string) => boolean): Part[] {
  const visible = result.content.filter((block) => !isForUserOnly(block))
  const parts = visible.map((block) => partOf(block, accepts))
  const { structuredContent } = result
  // Servers repeat structured content as JSON text for older clients: not added twice, nor if that text is for the user only.
  const isRepeated = result.content.some(
    (block) => block.type === 'text' && isJsonOf(block.text, structuredContent),
  )
  if (structuredContent !== undefined && !isRepeated) parts.push(text(JSON.stringify(structuredContent)))
  const hidden = result.content.length - visible.length
  if (hidden > 0) parts.push(text(`[${hidden} of ${result.content.length} parts are for the user only]`))
  if (parts.length === 0 && result.isError !== true) parts.push(text('[The tool returned no content]'))
  return parts
}

function isForUserOnly({ annotations }: ContentBlock): boolean {
  const audience = annotations?.audience ?? []
  return audience.length > 0 && audience.every((role) => role === 'user')
}

function partOf(block: ContentBlock, accepts: (mediaType: string) => boolean): Part {
  switch (block.type) {
    case 'text':
      return text(block.text)
    case 'image':
    case 'audio':
      return file(block.data, block.mimeType, accepts)
    case 'resource': {
      const { resource } = block
      if ('text' in resource) return text(`${resource.uri}\n${resource.text}`)
      return file(resource.blob, resource.mimeType ?? 'application/octet-stream', accepts, resource.uri)
    }
    case 'resource_link': {
      const details = [block.mimeType, block.description].filter((detail) => detail !== undefined)
      return text(`${[`[resource: ${block.title ?? block.name}`, block.uri, ...details].join(', ')}]`)
    }
    default:
      return text(JSON.stringify(block))
  }
}

function file(data: string, mediaType: string, accepts: (mediaType: string) => boolean, uri?: string): Part {
  if (accepts(mediaType)) return { type: 'file', mediaType, data: { type: 'data', data } }
  const bytes = Math.floor((data.replace(/=+$/, '').length * 3) / 4)
  const from = uri === undefined ? '' : ` of ${uri}`
  return text(`[${mediaType}${from}, ${bytes} bytes, not shown to you]`)
}

function text(value: string): Part {
  return { type: 'text', text: value }
}

function isJsonOf(value: string, structured: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(value)) === JSON.stringify(structured)
  } catch {
    return false
  }
}

/** The parts, with at most `maxChars` characters of text together. */
function truncateText(parts: readonly Part[], maxChars: number): Part[] {
  let remaining = maxChars
  return parts.map((part) => {
    if (part.type !== 'text') return part
    const kept = part.text.slice(0, remaining)
    const omitted = part.text.length - kept.length
    remaining -= kept.length
    return omitted === 0 ? part : text(`${kept}\n[${omitted} more characters are left out]`)
  })
}
