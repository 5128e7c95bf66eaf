import type {
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  ResourceContents,
  SamplingContent,
} from '@jackfield/sdk'
import type { Io, Output } from '../cli/io.ts'
import { base64Bytes, formatBytes, repeatsStructured } from './content.ts'
import { oneLine, plain } from './sanitize.ts'

/** Options of commands that print content. */
export interface ContentOptions {
  output?: 'json' | 'markdown' | 'raw'
  saveMedia?: string
}

/** Texts and bytes of content that is printed unchanged. */
type RawPiece = string | Buffer

/**
 * Prints pieces unchanged, one after another. On a terminal, text is sanitized and bytes are replaced by a note, since a terminal
 * would interpret them.
 */
export function printRaw(pieces: readonly RawPiece[], { stdout }: Io, output: Output): void {
  const isTerminal = stdout.isTTY === true
  pieces.forEach((piece, n) => {
    const separator = n > 0 && typeof piece === 'string' ? '\n' : ''
    if (typeof piece === 'string') stdout.write(separator + (isTerminal ? plain(piece) : piece))
    else if (!isTerminal) stdout.write(piece)
    else
      output.note(
        `${formatBytes(piece.length)} of binary data are not shown. Redirect the output, or use --save-media.`,
      )
  })
  if (isTerminal) stdout.write('\n')
}

/** Texts and bytes of blocks; links as their URIs. */
export function rawBlocks(blocks: readonly (ContentBlock | SamplingContent)[]): RawPiece[] {
  return blocks.flatMap((block): RawPiece[] => {
    switch (block.type) {
      case 'text':
        return [block.text]
      case 'image':
      case 'audio':
        return [Buffer.from(block.data, 'base64')]
      case 'resource_link':
        return [block.uri]
      case 'resource':
        return rawResources([block.resource])
      case 'tool_use':
        return [JSON.stringify(block.input)]
      default:
        return rawBlocks(block.content)
    }
  })
}

/** Texts and bytes of resources. */
export function rawResources(contents: readonly ResourceContents[]): RawPiece[] {
  return contents.map((entry) => ('text' in entry ? entry.text : Buffer.from(entry.blob, 'base64')))
}

/** A tool's result as raw output: its blocks, or its structured content if it has none. */
export function rawResult({ content, structuredContent }: CallToolResult): RawPiece[] {
  return content.length === 0 && structuredContent !== undefined
    ? [JSON.stringify(structuredContent)]
    : rawBlocks(content)
}

/** A tool's result as Markdown. Structured content is shown unless the blocks contain the same. */
export function markdownResult({ content, structuredContent }: CallToolResult): string {
  const parts = content.map(markdownBlock)
  if (
    structuredContent !== undefined &&
    !content.some((entry) => repeatsStructured(entry, structuredContent))
  )
    parts.push(fencedBlock(JSON.stringify(structuredContent, null, 2), 'json'))
  return parts.join('\n\n')
}

/** Resource contents as Markdown: a heading and a text each. */
export function markdownResources(contents: readonly ResourceContents[]): string {
  return contents.map(markdownResource).join('\n\n')
}

/** A prompt's messages as Markdown, with their roles as headings. */
export function markdownPrompt({ description, messages }: GetPromptResult): string {
  const about = description === undefined ? [] : [plain(description)]
  return [
    ...about,
    ...messages.map(({ role, content }) => `## ${oneLine(role)}\n\n${markdownBlock(content)}`),
  ].join('\n\n')
}

function markdownBlock(block: ContentBlock | SamplingContent): string {
  switch (block.type) {
    case 'text':
      return plain(block.text)
    case 'image':
    case 'audio':
      return binaryNote(block.type, block.mimeType, block.data)
    case 'resource_link':
      return `[${escapeMarkdown(block.title ?? block.name)}](<${oneLine(block.uri).replaceAll(/[<>\\]/g, encodeURIComponent)}>)`
    case 'resource':
      return markdownResource(block.resource)
    case 'tool_use':
      return `**${escapeMarkdown(block.name)}**\n\n${fencedBlock(JSON.stringify(block.input, null, 2), 'json')}`
    case 'tool_result':
      return block.content.map(markdownBlock).join('\n\n')
  }
}

function markdownResource(entry: ResourceContents): string {
  const type = entry.mimeType ?? ''
  const body =
    'blob' in entry
      ? binaryNote('binary data', type || 'application/octet-stream', entry.blob)
      : /^text\/markdown\b/i.test(type)
        ? plain(entry.text)
        : fencedBlock(entry.text, /\bjson\b/i.test(type) ? 'json' : '')
  return `### ${escapeMarkdown(entry.uri)}\n\n${body}`
}

function binaryNote(what: string, mimeType: string, data: string): string {
  return `*${what}, ${escapeMarkdown(mimeType)}, ${formatBytes(base64Bytes(data))}*`
}

/** A text in a fence longer than any it contains. */
function fencedBlock(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${plain(text).replace(/\n$/, '')}\n${fence}`
}

function escapeMarkdown(text: string): string {
  return oneLine(text).replaceAll(/[\\`*_[\]<>#]/g, '\\$&')
}
