import type { ContentPreview, PromptPreview, ResourcePreview } from '@jackfield/host'
import { blockText, formatBytes } from './content.ts'
import type { Palette } from './palette.ts'
import { count, oneLine, plain } from './sanitize.ts'

const bytesPerLine = 16

/** A resource for display; a single text is printed alone, so that it can be piped. */
export function resourcePreview({ contents }: ResourcePreview, palette: Palette): string {
  const [only, ...others] = contents
  if (only === undefined) return palette.dim('(empty)')
  if (others.length === 0 && 'text' in only) return plain(only.text)
  return contents
    .map((content) => `${palette.dim(`── ${oneLine(content.uri)}`)}\n${contentPreview(content, palette)}`)
    .join('\n')
}

function contentPreview(content: ContentPreview, palette: Palette): string {
  if ('text' in content) return plain(content.text)
  const facts = [oneLine(content.mimeType ?? 'application/octet-stream'), formatBytes(content.bytes)]
  if (content.type === 'image' && content.width !== undefined && content.height !== undefined) {
    facts.push(`${content.width} × ${content.height}`)
  }
  if (content.type === 'binary' && content.looksLike !== undefined)
    facts.push(`looks like ${content.looksLike}`)
  const line = palette.dim(`[${facts.join(', ')}]`)
  return content.type === 'binary' ? `${line}\n${hexDump(content.head, palette)}` : line
}

/** A hex dump, with the characters beside the bytes. */
function hexDump(head: string, palette: Palette): string {
  const bytes = head.match(/../g) ?? []
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += bytesPerLine) {
    const row = bytes.slice(at, at + bytesPerLine)
    const characters = row.map((byte) => {
      const code = Number.parseInt(byte, 16)
      return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '.'
    })
    lines.push(
      `${palette.dim(at.toString(16).padStart(4, '0'))}  ${row.join(' ').padEnd(bytesPerLine * 3 - 1)}  ${characters.join('')}`,
    )
  }
  return lines.join('\n')
}

/** A prompt's messages with roles and approximate token counts. */
export function promptPreview(preview: PromptPreview, palette: Palette): string {
  const about = preview.description === undefined ? [] : [palette.dim(oneLine(preview.description))]
  const messages = preview.messages.map(({ role, content, tokens, withheld }) => {
    const cost =
      withheld === undefined ? `about ${count(tokens, 'token')}` : `not given to a model: ${withheld}`
    return `${palette.bold(`${role}:`)} ${palette.dim(`(${cost})`)}\n${blockText(content, palette)}`
  })
  return [...about, ...messages, palette.dim(`About ${count(preview.tokens, 'token')} in all.`)].join('\n')
}
