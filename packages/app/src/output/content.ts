import type {
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  ReadResourceResult,
  ResourceContents,
  SamplingContent,
} from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import type { Palette } from './palette.ts'
import { oneLine, plain } from './sanitize.ts'

/** Decoded size of a base64 text in bytes. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor((text.length * 3) / 4) - padding)
}

/** A readable size: `812 B`, `12.3 kB`, `4.0 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** A JSON value over several lines, safe to print. */
export function prettyJson(value: unknown): string {
  return plain(JSON.stringify(value, null, 2) ?? 'null')
}

/** A content block as text for a terminal. */
export function blockText(content: ContentBlock | SamplingContent, palette: Palette): string {
  switch (content.type) {
    case 'text':
      return plain(content.text)
    case 'image':
    case 'audio':
      return palette.dim(`[${oneLine(content.mimeType)}, ${formatBytes(base64Bytes(content.data))}]`)
    case 'resource_link': {
      const title = content.title ?? content.name
      const more = [content.mimeType, content.size === undefined ? undefined : formatBytes(content.size)]
      const facts = more.filter((fact) => fact !== undefined).map((fact) => oneLine(fact))
      const tail = facts.length === 0 ? '' : palette.dim(` (${facts.join(', ')})`)
      return `${palette.cyan(oneLine(content.uri))}  ${oneLine(title)}${tail}`
    }
    case 'resource':
      return resourceText(content.resource, palette)
    case 'tool_use':
      return `${palette.bold(oneLine(content.name))} ${prettyJson(content.input)}`
    case 'tool_result':
      return content.content.map((entry) => blockText(entry, palette)).join('\n')
  }
}

/** A resource's contents under its URI. */
export function resourceText(contents: ResourceContents, palette: Palette): string {
  const head = palette.dim(`── ${oneLine(contents.uri)}`)
  if ('text' in contents) return `${head}\n${plain(contents.text)}`
  const type = oneLine(contents.mimeType ?? 'application/octet-stream')
  return `${head}\n${palette.dim(`[${type}, ${formatBytes(base64Bytes(contents.blob))}]`)}`
}

/** A tool's result. Structured content is shown unless the blocks contain the same. */
export function toolResult(result: CallToolResult, palette: Palette): string {
  const parts = result.content.map((entry) => blockText(entry, palette))
  const structured = result.structuredContent
  if (structured !== undefined && !result.content.some((entry) => repeatsStructured(entry, structured))) {
    parts.push(prettyJson(structured))
  } else if (
    structured !== undefined &&
    result.content.length === 1 &&
    !isOnlyStructuredText(result, structured)
  ) {
    parts.splice(0, 1, prettyJson(structured))
  }
  return parts.length === 0 ? palette.dim('(no content)') : parts.join('\n')
}

/** A tool's result as commands print it: the text, and structured content only if there is none. `--json` prints both. */
export function printedResult(result: CallToolResult, palette: Palette): string {
  const { structuredContent: structured, ...blocks } = result
  const hasText = blocks.content.some((entry) => entry.type === 'text' && entry.text.trim() !== '')
  const isSame = blocks.content.some((entry) => repeatsStructured(entry, structured))
  return toolResult(hasText && !isSame ? blocks : result, palette)
}

/** Whether a block is the structured content as text: its JSON, or the text of its only member. */
export function repeatsStructured(entry: ContentBlock, structured: unknown): boolean {
  if (entry.type !== 'text') return false
  if (isOnlyMemberText(structured, entry.text)) return true
  try {
    return JSON.stringify(readJson(entry.text)) === JSON.stringify(structured)
  } catch {
    return false
  }
}

function isOnlyStructuredText({ content: [first] }: CallToolResult, structured: unknown): boolean {
  return first?.type === 'text' && isOnlyMemberText(structured, first.text)
}

function isOnlyMemberText(structured: unknown, text: string): boolean {
  if (typeof structured !== 'object' || structured === null) return false
  const values: unknown[] = Object.values(structured)
  return values.length === 1 && values[0] === text
}

/** The result of a read; a single text is printed alone, so that it can be piped. */
export function readResult(result: ReadResourceResult, palette: Palette): string {
  const [first] = result.contents
  if (first === undefined) return palette.dim('(empty)')
  if (result.contents.length === 1 && 'text' in first) return plain(first.text)
  return result.contents.map((entry) => resourceText(entry, palette)).join('\n')
}

/** A prompt's messages with their roles. */
export function promptResult(result: GetPromptResult, palette: Palette): string {
  const head = result.description === undefined ? [] : [palette.dim(oneLine(result.description))]
  const messages = result.messages.map(
    (message) => `${palette.bold(`${message.role}:`)} ${blockText(message.content, palette)}`,
  )
  return [...head, ...messages].join('\n')
}
