import type { ContentBlock, SamplingContent, SamplingMessage, ToolResultContent } from '@jackfield/sdk'
import type { ModelMessage, ToolResultPart } from 'ai'
import type { ModelReply } from '../types/index.ts'
import {
  described,
  documentBlock,
  type Media,
  type MediaKind,
  type MediaSupport,
  mediaIn,
  omittedMedia,
  textIn,
  whyNot,
} from './media.ts'

type AssistantPart = Exclude<Extract<ModelMessage, { role: 'assistant' }>['content'], string>[number]
type UserPart = Exclude<Extract<ModelMessage, { role: 'user' }>['content'], string>[number]
type ToolOutput = ToolResultPart['output']
type OutputPart = Extract<ToolOutput, { type: 'content' }>['value'][number]
type MediaPart = { type: 'file'; data: { type: 'data'; data: string }; mediaType: string; filename?: string }
type ProviderOptions = NonNullable<ToolResultPart['providerOptions']>

/** Provider data to return with a tool call: the reasoning before it, and metadata. */
export interface RetainedParts {
  before: Extract<AssistantPart, { type: 'reasoning' }>[]
  options: ProviderOptions | undefined
}

/** Settings of the conversion. */
interface MessageOptions {
  names: ToolNames
  kept: ReadonlyMap<string, RetainedParts>
  media: MediaSupport
  /** Media kinds that the model rejected: a note replaces them. */
  refused: ReadonlySet<MediaKind>
}

/** Converts MCP sampling messages to those of the AI SDK, and reports which media kinds they contain. */
export function toModelMessages(
  messages: readonly SamplingMessage[],
  options: MessageOptions,
): { messages: ModelMessage[]; sent: Set<MediaKind> } {
  const conversion = new Conversion(options)
  for (const message of messages) conversion.add(message)
  return conversion.end()
}

class Conversion {
  readonly #options: MessageOptions
  readonly #calls = new Map<string, string>()
  readonly #out: ModelMessage[] = []
  readonly #sent = new Set<MediaKind>()
  /** Media of an earlier message that can be sent only in a user message. */
  #following: UserPart[] = []

  constructor(options: MessageOptions) {
    this.#options = options
  }

  add(message: SamplingMessage): void {
    const blocks = blocksOf(message.content)
    if (message.role === 'assistant') {
      this.#user([])
      const content = blocks.flatMap((block) => this.#assistantParts(block))
      if (content.length > 0) this.#out.push({ role: 'assistant', content })
      return
    }
    const results = blocks.filter((block) => block.type === 'tool_result')
    if (results.length > 0) {
      this.#out.push({
        role: 'tool',
        content: results.map((block) => ({
          type: 'tool-result',
          toolCallId: block.toolUseId,
          toolName: this.#calls.get(block.toolUseId) ?? 'unknown',
          output: this.#toolOutput(block),
        })),
      })
    }
    const content = blocks.flatMap((block) => this.#userParts(block))
    // Providers require the results of all calls first, so media wait for the message after them.
    if (content.length > 0) this.#user(content)
  }

  end(): { messages: ModelMessage[]; sent: Set<MediaKind> } {
    this.#user([])
    return { messages: this.#out, sent: this.#sent }
  }

  #user(content: UserPart[]): void {
    const whole = [...this.#following, ...content]
    this.#following = []
    if (whole.length > 0) this.#out.push({ role: 'user', content: whole })
  }

  #assistantParts(block: SamplingContent): AssistantPart[] {
    switch (block.type) {
      case 'text':
        return block.text === '' ? [] : [{ type: 'text', text: block.text }]
      case 'image':
      case 'audio': {
        const media = mediaIn(block)
        if (media === undefined) return []
        const refusal = this.#refusal(media)
        if (refusal !== undefined) return [{ type: 'text', text: refusal }]
        if (this.#options.media.inReplies === true) return [this.#file(media)]
        return [{ type: 'text', text: this.#follow(media, 'your message') }]
      }
      case 'tool_use': {
        const toolName = this.#options.names.toWire(block.name)
        this.#calls.set(block.id, toolName)
        const extra = this.#options.kept.get(block.id)
        return [
          ...(extra?.before ?? []),
          {
            type: 'tool-call',
            toolCallId: block.id,
            toolName,
            input: block.input,
            ...(extra?.options !== undefined && { providerOptions: extra.options }),
          },
        ]
      }
      case 'tool_result':
        return []
    }
  }

  #userParts(block: SamplingContent): UserPart[] {
    switch (block.type) {
      case 'text':
        return block.text === '' ? [] : [{ type: 'text', text: block.text }]
      case 'image':
      case 'audio': {
        const media = mediaIn(block)
        if (media === undefined) return []
        const refusal = this.#refusal(media)
        return refusal === undefined ? [this.#file(media)] : [{ type: 'text', text: refusal }]
      }
      case 'tool_use':
      case 'tool_result':
        return []
    }
  }

  #toolOutput({ toolUseId, content, structuredContent, isError }: ToolResultContent): ToolOutput {
    const { media: support } = this.#options
    const name = this.#calls.get(toolUseId) ?? 'a tool'
    const parts: OutputPart[] = []
    const say = (text: string): void => {
      const at = support.textFirst === true ? 0 : parts.length - 1
      const last = parts[at]
      if (last?.type === 'text') parts[at] = { type: 'text', text: `${last.text}\n\n${text}` }
      else if (support.textFirst === true) parts.unshift({ type: 'text', text })
      else parts.push({ type: 'text', text })
    }
    for (const block of content) {
      const media = mediaIn(block)
      if (media === undefined) {
        say(textOf(block, ''))
        continue
      }
      const text = block.type === 'resource' ? textIn(media) : undefined
      const refusal = text === undefined ? this.#refusal(media) : `[resource ${uriOf(block)}]\n${text}`
      if (refusal !== undefined) say(refusal)
      else if (isError !== true && support.inResults.has(media.type)) parts.push(this.#file(media))
      else say(this.#follow(media, `the result of ${name}`))
    }
    if (content.length === 0) {
      say(structuredContent === undefined ? '(no output)' : JSON.stringify(structuredContent))
    }
    if (isError !== true && parts.some((part) => part.type !== 'text')) {
      // A provider may treat a result without text as missing.
      if (!parts.some((part) => part.type === 'text')) parts.unshift({ type: 'text', text: '[media only]' })
      return { type: 'content', value: parts }
    }
    const value = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n\n')
    return isError === true ? { type: 'error-text', value } : { type: 'text', value }
  }

  /** Why media are not sent to the model; undefined if they are. */
  #refusal(media: Media): string | undefined {
    const { media: support, refused } = this.#options
    if (!support.types.has(media.type)) return omittedMedia(media, whyNot(media, support))
    return refused.has(media.kind) ? omittedMedia(media, 'this model refused it') : undefined
  }

  /** Moves media to the next user message; returns the text that replaces them. */
  #follow(media: Media, of: string): string {
    this.#following.push({ type: 'text', text: `[${described(media)} of ${of}:]` }, this.#file(media))
    return `[${described(media)} follows in the next message of the user]`
  }

  #file(media: Media): MediaPart {
    this.#sent.add(media.kind)
    return {
      type: 'file',
      data: { type: 'data', data: media.data },
      mediaType: media.type,
      ...(media.filename !== undefined && { filename: media.filename }),
    }
  }
}

/** The blocks of a message, which may hold one or many. */
export function blocksOf(content: SamplingMessage['content']): SamplingContent[] {
  return Array.isArray(content) ? content : [content]
}

/** A content block as text, for places that accept only text; `why` is the reason. */
export function textOf(block: ContentBlock, why: string): string {
  const media = mediaIn(block)
  switch (block.type) {
    case 'text':
      return block.text
    case 'resource_link':
      return `[resource ${block.uri}: ${block.title ?? block.name}]`
    case 'resource':
      if ('text' in block.resource) return `[resource ${block.resource.uri}]\n${block.resource.text}`
      break
    default:
  }
  if (media === undefined) return ''
  if (block.type !== 'resource') return omittedMedia(media, why)
  return `[resource ${uriOf(block)}]\n${textIn(media) ?? omittedMedia(media, why)}`
}

/** A content block in a message: images, audio and PDF as they are, anything else as text. */
export function textBlock(block: ContentBlock): SamplingContent[] {
  const media = mediaIn(block)
  const label: SamplingContent[] =
    block.type === 'resource' ? [{ type: 'text', text: `[resource ${block.resource.uri}]` }] : []
  const document = media === undefined ? undefined : documentBlock(media)
  if (document !== undefined) return [...label, document]
  if (media === undefined || media.kind === 'file') {
    return [{ type: 'text', text: textOf(block, 'a message can contain only text, images, audio and PDF') }]
  }
  const { kind, data, type: mimeType } = media
  return [...label, { type: kind, data, mimeType }]
}

function uriOf(block: ContentBlock): string {
  return block.type === 'resource' ? block.resource.uri : ''
}

/** Tool names accepted by every provider: at most 64 of `[A-Za-z0-9_-]`, one to one with the given names. */
export interface ToolNames {
  toWire(name: string): string
  fromWire(name: string): string
}

const longest = 64

/** Creates the two-way mapping for the names of one request. Valid names stay unchanged. */
export function toolNames(names: Iterable<string>): ToolNames {
  const given = [...new Set(names)]
  const wire = new Map<string, string>()
  const back = new Map<string, string>()
  const plain = given.map((name) => [name, name.replace(/[^A-Za-z0-9_-]/g, '_')] as const)
  // Unchanged names first, so that no changed name collides with them.
  for (const [name, safe] of plain.toSorted(([a, x], [b, y]) => Number(a !== x) - Number(b !== y))) {
    let candidate = shorten(safe, '')
    for (let n = 2; back.has(candidate); n += 1) candidate = shorten(safe, `_${n}`)
    wire.set(name, candidate)
    back.set(candidate, name)
  }
  return {
    toWire: (name) => wire.get(name) ?? shorten(name.replace(/[^A-Za-z0-9_-]/g, '_'), ''),
    fromWire: (name) => back.get(name) ?? name,
  }
}

/** Removes the middle, since both ends distinguish tools. */
function shorten(name: string, suffix: string): string {
  const room = longest - suffix.length
  if (name.length <= room) return name + suffix
  const head = Math.ceil((room - 2) / 2)
  return `${name.slice(0, head)}__${name.slice(name.length - (room - 2 - head))}${suffix}`
}

/**
 * Limits a reply to so many tokens. Models get the limit; of one that `used` more anyway, only the proportional share of text is
 * kept, and the reply is marked as cut.
 */
export function limitTokens(reply: ModelReply, maxTokens: number, used: number): ModelReply {
  if (used <= maxTokens) return reply
  const blocks = blocksOf(reply.content)
  const texts = blocks.filter((block) => block.type === 'text')
  let room = Math.floor((texts.reduce((sum, { text }) => sum + text.length, 0) * maxTokens) / used)
  const content = texts.flatMap(({ text }) => {
    const start = text.slice(0, room).replace(/[\ud800-\udbff]$/, '')
    room -= start.length
    return start === '' ? [] : [{ type: 'text' as const, text: start }]
  })
  return { ...reply, content, stopReason: 'maxTokens' }
}
