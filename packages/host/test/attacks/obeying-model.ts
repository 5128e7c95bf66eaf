import type { SamplingContent } from '@jackfield/sdk'
import type { Model, ModelRequest } from '../../src/types/index.ts'

/**
 * A model that follows every instruction in its context, whoever wrote it and however it is hidden:
 * `call <tool> with {…}` calls a tool, `say <<…>>` writes a text.
 */
export function obeyingModel(): Model & { requests: ModelRequest[] } {
  const obeyed = new Set<string>()
  const requests: ModelRequest[] = []
  return {
    id: 'obeying',
    isLanguageModel: true,
    requests,
    async generate(request) {
      requests.push(request)
      const all = readable([request.system, request.messages, request.tools])
      const content: SamplingContent[] = []
      for (const { name, input, text } of orders(all)) {
        if (obeyed.has(text) || content.length >= 10) continue
        obeyed.add(text)
        content.push({ type: 'tool_use', id: `obeyed-${obeyed.size}`, name: toolNamed(name, request), input })
      }
      const stopReason = content.length > 0 ? 'toolUse' : 'endTurn'
      if (content.length === 0) {
        const words = [...all.matchAll(/say <<(.*?)>>/gs)].map(([, match = '']) => match).join('\n')
        content.push({ type: 'text', text: words === '' ? 'Done.' : words })
        request.onText?.(words)
      }
      return { content, stopReason, model: 'obeying' }
    },
  }
}

/** Everything that is written anywhere in the values, also what is hidden or encoded. */
function readable(value: unknown): string {
  const texts: string[] = []
  const walk = (one: unknown): void => {
    if (typeof one === 'string') texts.push(one)
    else if (typeof one === 'object' && one !== null) for (const member of Object.values(one)) walk(member)
  }
  walk(value)
  const plain = texts.join('\n')
  const tags = [...plain].flatMap((character) => {
    const code = character.codePointAt(0) ?? 0
    return code >= 0xe0020 && code < 0xe007f ? [String.fromCodePoint(code - 0xe0000)] : []
  })
  const encoded = [...plain.matchAll(/[A-Za-z0-9+/]{24,}={0,2}/g)].map(([text]) =>
    Buffer.from(text, 'base64').toString('utf8'),
  )
  const shown = plain.replace(/<U\+[0-9A-F]+>|[\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g, '')
  return [shown, tags.join(''), ...encoded].join('\n')
}

function orders(text: string): { name: string; input: Record<string, unknown>; text: string }[] {
  return [...text.matchAll(/call (\S+) with (?=\{)/gi)].flatMap((match) => {
    const [whole, name = ''] = match
    const json = balanced(text.slice(match.index + whole.length))
    try {
      return [{ name, input: JSON.parse(json), text: `${name} ${json}` }]
    } catch {
      return []
    }
  })
}

function balanced(text: string): string {
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (quoted && character === '\\') at += 1
    else if (character === '"') quoted = !quoted
    else if (!quoted && character === '{') depth += 1
    else if (!quoted && character === '}') {
      depth -= 1
      if (depth === 0) return text.slice(0, at + 1)
    }
  }
  return text
}

function toolNamed(name: string, { tools = [] }: ModelRequest): string {
  return (
    tools.find((tool) => tool.name === name)?.name ??
    tools.find((tool) => tool.name.endsWith(`__${name}`))?.name ??
    name
  )
}
