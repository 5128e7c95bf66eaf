import type { ContentBlock, SamplingContent, SamplingMessage, ToolResultContent } from '@jackfield/sdk'
import type { ModelMessage, ToolResultPart } from 'ai'
import type { ModelReply } from '../types/index.ts'
import {
  documentBlock,
  type Media,
  type MediaKind,
  type MediaSupport,
  mediaDescription,
  mediaIn,
  omittedMedia,
  textIn,
  unsupportedReason,
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
  retained: ReadonlyMap<string, RetainedParts>
  media: MediaSupport
  /** Media kinds that the model rejected: a note replaces them. */
  rejectedKinds: ReadonlySet<MediaKind>
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
  readonly #messages: ModelMessage[] = []
  readonly #sent = new Set<MediaKind>()
  /** Media of an earlier message that can be sent only in a user message. */
  #pendingMedia: UserPart[] = []

  constructor(options: MessageOptions) {
    this.#options = options
  }

  add(message: SamplingMessage): void {
    const blocks = blocksOf(message.content)
    if (message.role === 'assistant') {
      this.#pushUserMessage([])
      const content = blocks.flatMap((block) => this.#assistantParts(block))
      if (content.length > 0) this.#messages.push({ role: 'assistant', content })
      return
    }
    const results = blocks.filter((block) => block.type === 'tool_result')
    if (results.length > 0) {
      this.#messages.push({
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
    if (content.length > 0) this.#pushUserMessage(content)
  }

  end(): { messages: ModelMessage[]; sent: Set<MediaKind> } {
    this.#pushUserMessage([])
    return { messages: this.#messages, sent: this.#sent }
  }

  #pushUserMessage(content: UserPart[]): void {
    const all = [...this.#pendingMedia, ...content]
    this.#pendingMedia = []
    if (all.length > 0) this.#messages.push({ role: 'user', content: all })
  }

  #assistantParts(block: SamplingContent): AssistantPart[] {
    switch (block.type) {
      case 'text':
        return block.text === '' ? [] : [{ type: 'text', text: block.text }]
      case 'image':
      case 'audio': {
        const media = mediaIn(block)
        if (media === undefined) return []
        const refusal = this.#refusalText(media)
        if (refusal !== undefined) return [{ type: 'text', text: refusal }]
        if (this.#options.media.inReplies === true) return [this.#filePart(media)]
        return [{ type: 'text', text: this.#moveToNextMessage(media, 'your message') }]
      }
      case 'tool_use': {
        const toolName = this.#options.names.toWire(block.name)
        this.#calls.set(block.id, toolName)
        const retainedParts = this.#options.retained.get(block.id)
        return [
          ...(retainedParts?.before ?? []),
          {
            type: 'tool-call',
            toolCallId: block.id,
            toolName,
            input: block.input,
            ...(retainedParts?.options !== undefined && { providerOptions: retainedParts.options }),
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
        const refusal = this.#refusalText(media)
        return refusal === undefined ? [this.#filePart(media)] : [{ type: 'text', text: refusal }]
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
    const addText = (text: string): void => {
      const textIndex = support.textFirst === true ? 0 : parts.length - 1
      const last = parts[textIndex]
      if (last?.type === 'text') parts[textIndex] = { type: 'text', text: `${last.text}\n\n${text}` }
      else if (support.textFirst === true) parts.unshift({ type: 'text', text })
      else parts.push({ type: 'text', text })
    }
    for (const block of content) {
      const media = mediaIn(block)
      if (media === undefined) {
        addText(blockText(block, ''))
        continue
      }
      const text = block.type === 'resource' ? textIn(media) : undefined
      const refusal = text === undefined ? this.#refusalText(media) : `[resource ${uriOf(block)}]\n${text}`
      if (refusal !== undefined) addText(refusal)
      else if (isError !== true && support.inResults.has(media.type)) parts.push(this.#filePart(media))
      else addText(this.#moveToNextMessage(media, `the result of ${name}`))
    }
    if (content.length === 0) {
      addText(structuredContent === undefined ? '(no output)' : JSON.stringify(structuredContent))
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
  #refusalText(media: Media): string | undefined {
    const { media: support, rejectedKinds } = this.#options
    if (!support.types.has(media.type)) return omittedMedia(media, unsupportedReason(media, support))
    return rejectedKinds.has(media.kind) ? omittedMedia(media, 'this model refused it') : undefined
  }

  /** Moves media to the next user message; returns the text that replaces them. */
  #moveToNextMessage(media: Media, origin: string): string {
    this.#pendingMedia.push(
      { type: 'text', text: `[${mediaDescription(media)} of ${origin}:]` },
      this.#filePart(media),
    )
    return `[${mediaDescription(media)} follows in the next message of the user]`
  }

  #filePart(media: Media): MediaPart {
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

/** A content block as text, for places that accept only text; `reason`: why it is not sent as media. */
export function blockText(block: ContentBlock, reason: string): string {
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
  if (block.type !== 'resource') return omittedMedia(media, reason)
  return `[resource ${uriOf(block)}]\n${textIn(media) ?? omittedMedia(media, reason)}`
}

/** A content block in a message: images, audio and PDF as they are, anything else as text. */
export function toMessageBlocks(block: ContentBlock): SamplingContent[] {
  const media = mediaIn(block)
  const label: SamplingContent[] =
    block.type === 'resource' ? [{ type: 'text', text: `[resource ${block.resource.uri}]` }] : []
  const document = media === undefined ? undefined : documentBlock(media)
  if (document !== undefined) return [...label, document]
  if (media === undefined || media.kind === 'file') {
    return [
      { type: 'text', text: blockText(block, 'a message can contain only text, images, audio and PDF') },
    ]
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

const maxToolNameLength = 64

/** Creates the two-way mapping for the names of one request. Valid names stay unchanged. */
export function toolNames(names: Iterable<string>): ToolNames {
  const distinctNames = [...new Set(names)]
  const wire = new Map<string, string>()
  const original = new Map<string, string>()
  const safeNames = distinctNames.map((name) => [name, name.replace(/[^A-Za-z0-9_-]/g, '_')] as const)
  // Unchanged names first, so that no changed name collides with them.
  for (const [name, safe] of safeNames.toSorted(([a, x], [b, y]) => Number(a !== x) - Number(b !== y))) {
    let candidate = shortenName(safe, '')
    for (let n = 2; original.has(candidate); n += 1) candidate = shortenName(safe, `_${n}`)
    wire.set(name, candidate)
    original.set(candidate, name)
  }
  return {
    toWire: (name) => wire.get(name) ?? shortenName(name.replace(/[^A-Za-z0-9_-]/g, '_'), ''),
    fromWire: (name) => original.get(name) ?? name,
  }
}

/** Removes the middle, since both ends distinguish tools. */
function shortenName(name: string, suffix: string): string {
  const maxLength = maxToolNameLength - suffix.length
  if (name.length <= maxLength) return name + suffix
  const headLength = Math.ceil((maxLength - 2) / 2)
  return `${name.slice(0, headLength)}__${name.slice(name.length - (maxLength - 2 - headLength))}${suffix}`
}

/**
 * Limits a reply to so many tokens. Models get the limit; of one that `used` more anyway, only the proportional share of text is
 * kept, and the reply is marked as cut.
 */
export function limitTokens(reply: ModelReply, maxTokens: number, used: number): ModelReply {
  if (used <= maxTokens) return reply
  const blocks = blocksOf(reply.content)
  const texts = blocks.filter((block) => block.type === 'text')
  let maxLength = Math.floor((texts.reduce((sum, { text }) => sum + text.length, 0) * maxTokens) / used)
  const content = texts.flatMap(({ text }) => {
    const start = text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')
    maxLength -= start.length
    return start === '' ? [] : [{ type: 'text' as const, text: start }]
  })
  return { ...reply, content, stopReason: 'maxTokens' }
}
