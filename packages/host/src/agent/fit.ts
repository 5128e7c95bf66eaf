import type { CallToolResult, ContentBlock } from '@jackfield/sdk'

/** Base64 characters of one image a model is given; providers refuse more. */
const imageCharacters = 6_000_000

/**
 * A tool's result as the model gets it: at most `characters` of text in all, and where something was left out, a
 * sentence that says how much. The result itself is not changed.
 */
export function fitForModel(result: CallToolResult, characters: number): ContentBlock[] {
  const blocks = withStructured(result)
  let room = characters
  let left = 0
  const out: ContentBlock[] = []
  const cut = (text: string): string => {
    const kept = text.slice(0, wholeCharacters(text, room))
    room -= kept.length
    left += text.length - kept.length
    return kept
  }
  for (const block of blocks) {
    if (block.type === 'text') {
      const text = cut(block.text)
      if (text !== '') out.push({ type: 'text', text })
    } else if (block.type === 'resource' && 'text' in block.resource) {
      const text = cut(block.resource.text)
      if (text !== '') out.push({ ...block, resource: { ...block.resource, text } })
    } else if (block.type === 'image' && block.data.length > imageCharacters) {
      out.push({ type: 'text', text: `[${block.mimeType} left out: too large for the model]` })
    } else {
      out.push(block)
    }
  }
  if (left > 0) {
    const total = characters - room + left
    out.push({
      type: 'text',
      text: `[cut: ${left} of ${total} characters left out here; ask for less, or for a part of it]`,
    })
  }
  return out
}

/** The content, and the structured content as text where no block says the same already. */
function withStructured({ content, structuredContent }: CallToolResult): readonly ContentBlock[] {
  if (structuredContent === undefined)
    return content.length > 0 ? content : [{ type: 'text', text: '(no output)' }]
  const json = JSON.stringify(structuredContent)
  if (content.some((block) => block.type === 'text' && sameJson(block.text, json))) return content
  return [...content, { type: 'text', text: json }]
}

function sameJson(text: string, json: string): boolean {
  if (text === json) return true
  // Longer than its pretty form could be: not the same, and not worth parsing.
  if (text.length < json.length || text.length > json.length * 20) return false
  try {
    return JSON.stringify(JSON.parse(text)) === json
  } catch {
    return false
  }
}

/** The largest length up to `room` that does not split a surrogate pair. */
function wholeCharacters(text: string, room: number): number {
  if (text.length <= room) return text.length
  const last = text.charCodeAt(room - 1)
  return last >= 0xd800 && last <= 0xdbff ? room - 1 : room
}
