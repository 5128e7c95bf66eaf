import { randomUUID } from 'node:crypto'
import type { SamplingMessage, ToolResultContent, ToolUseContent } from '@jackfield/sdk'
import { failure } from '../../core/call-results.ts'
import { oneLine } from '../../shared/text.ts'
import type {
  AttachedCopy,
  ConversationCall,
  ConversationEntry,
  ConversationStore,
  ModelUsage,
  ToolSwitch,
} from '../../types/index.ts'
import { blocksOf } from '../messages.ts'
import { messageText, toolResult, toolUses, userText } from './blocks.ts'
import { wrappedCall } from './search-tools.ts'

const maxTitleLength = 60
const unfinishedMessage =
  'There is no result: the program ended while this call was under way. Whether it took effect is not known.'

/** The messages of a conversation: stored as they arrive, and in the model's form. */
export class Transcript {
  readonly id: string
  readonly messages: SamplingMessage[] = []
  /** Calls that were running when the program of the conversation ended. */
  readonly unfinished: readonly ToolUseContent[]
  /** Every call of a model, in order, including those before a summary. */
  readonly calls: ConversationCall[] = []
  readonly #store: ConversationStore
  readonly #usage = new Map<string, { inputTokens: number; outputTokens: number }>()
  #title = ''
  #switches: readonly ToolSwitch[] = []
  /** Tokens of the last request and its reply; undefined if they do not reflect the current context. */
  #contextTokens: number | undefined
  /** Number of entries, stored or not. */
  #entryCount = 0
  /** Entries to be stored with the next one: results of unfinished calls, switches before the first turn. */
  #unsaved: ConversationEntry[] = []

  constructor(store: ConversationStore, start: { id: string } | { resume: string } | undefined) {
    this.#store = store
    if (start === undefined || 'id' in start) this.id = start?.id ?? randomUUID()
    else {
      this.id = store.find(start.resume).id
      for (const entry of store.entries(this.id)) this.#countAndApply(entry)
    }
    this.unfinished = unansweredCalls(this.messages)
    const repairs = this.unfinished.map((use) => ({
      kind: 'result' as const,
      result: toolResult(use, failure(unfinishedMessage)),
    }))
    for (const entry of repairs) this.#applyEntry(entry)
    this.#unsaved = repairs
  }

  get title(): string {
    return this.#title
  }

  set title(title: string) {
    const short = shortenTitle(title)
    if (short !== '') this.#add({ kind: 'title', title: short })
  }

  /** Usage so far, by model. */
  get usage(): ModelUsage[] {
    return [...this.#usage].map(([model, tokens]) => ({ model, ...tokens }))
  }

  get switches(): readonly ToolSwitch[] {
    return this.#switches
  }

  /** Stored at once, except before the first turn: an empty conversation is not stored. */
  set switches(switches: readonly ToolSwitch[]) {
    const entry: ConversationEntry = { kind: 'tools', switches }
    if (this.#entryCount > 0) this.#add(entry)
    else {
      this.#unsaved = [entry]
      this.#applyEntry(entry)
    }
  }

  get contextTokens(): number | undefined {
    return this.#contextTokens
  }

  /** Starts a turn of the user. `attached`: resources that precede the messages. */
  beginTurn(
    model: string,
    context: string | undefined,
    messages: readonly SamplingMessage[],
    attached: readonly AttachedCopy[] = [],
  ): void {
    const message = (by: 'person' | 'host', one: SamplingMessage): ConversationEntry => ({
      kind: 'message',
      by,
      message: one,
    })
    const titleMessage = messages.findLast((one) => one.role === 'user' && messageText(one).trim() !== '')
    const titleText = titleMessage === undefined ? (attached[0]?.title ?? '') : messageText(titleMessage)
    const title = this.#title === '' ? shortenTitle(titleText) : ''
    this.#add(
      { kind: 'turn', model },
      ...(context === undefined ? [] : [message('host', userText(context))]),
      ...attached.flatMap(attachedEntries),
      ...messages.map((one) => message('person', one)),
      ...(title === '' ? [] : [{ kind: 'title' as const, title }]),
    )
  }

  addReply(content: SamplingMessage['content'], usage: ModelUsage | undefined): void {
    this.#add(
      { kind: 'message', by: 'model', message: { role: 'assistant', content } },
      ...(usage === undefined ? [] : [{ kind: 'usage' as const, ...usage }]),
    )
  }

  addResult(result: ToolResultContent, activity?: number): void {
    this.#add({ kind: 'result', result, ...(activity !== undefined && { activity }) })
  }

  /** A message of the host to the model. */
  addHostMessage(message: SamplingMessage): void {
    this.#add({ kind: 'message', by: 'host', message })
  }

  addUsage(usage: ModelUsage): void {
    this.#add({ kind: 'usage', ...usage })
  }

  addSummary(text: string): void {
    this.#add({ kind: 'summary', text })
  }

  #add(...entries: ConversationEntry[]): void {
    const unsaved = this.#unsaved
    this.#store.append(this.id, this.#entryCount, [...unsaved, ...entries])
    this.#unsaved = []
    this.#entryCount += unsaved.length
    for (const entry of entries) this.#countAndApply(entry)
  }

  #countAndApply(entry: ConversationEntry): void {
    this.#entryCount += 1
    this.#applyEntry(entry)
  }

  #applyEntry(entry: ConversationEntry): void {
    switch (entry.kind) {
      case 'message':
        this.messages.push(entry.message)
        if (entry.by !== 'model') return
        for (const use of toolUses(entry.message)) {
          const { id, name, input } = wrappedCall(use)
          this.calls.push({ id, name, arguments: input })
        }
        return
      case 'result':
        this.#applyResult(entry.result)
        this.#applyToCall(entry)
        return
      case 'tools':
        this.#switches = entry.switches
        return
      case 'summary':
        this.messages.splice(0, this.messages.length, userText(summaryHead + entry.text))
        this.#contextTokens = undefined
        return
      case 'usage': {
        const { inputTokens = 0, outputTokens = 0 } = this.#usage.get(entry.model) ?? {}
        this.#usage.set(entry.model, {
          inputTokens: inputTokens + entry.inputTokens,
          outputTokens: outputTokens + entry.outputTokens,
        })
        this.#contextTokens = entry.inputTokens + entry.outputTokens
        return
      }
      case 'title':
        this.#title = entry.title
        return
      case 'turn':
        return
    }
  }

  #applyToCall({ result, activity }: Extract<ConversationEntry, { kind: 'result' }>): void {
    // Providers may reuse an id in a later reply.
    const at = this.calls.findLastIndex((call) => call.id === result.toolUseId && call.result === undefined)
    const call = this.calls[at]
    if (call !== undefined) this.calls[at] = { ...call, result, ...(activity !== undefined && { activity }) }
  }

  #applyResult(result: ToolResultContent): void {
    const last = this.messages.at(-1)
    const before = last === undefined || last.role !== 'user' ? [] : blocksOf(last.content)
    const appends = before.length > 0 && before.every((block) => block.type === 'tool_result')
    if (appends) this.messages.pop()
    this.messages.push({ role: 'user', content: appends ? [...before, result] : [result] })
  }
}

const summaryHead = '[From Jackfield, not from the person] A summary of the conversation so far:\n\n'

/** Calls of the last reply without a result. */
function unansweredCalls(messages: readonly SamplingMessage[]): ToolUseContent[] {
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const last = messages[at]
  if (last === undefined) return []
  const answered = new Set(
    messages
      .slice(at)
      .flatMap(({ content }) => blocksOf(content))
      .flatMap((block) => (block.type === 'tool_result' ? [block.toolUseId] : [])),
  )
  return blocksOf(last.content)
    .filter((block) => block.type === 'tool_use')
    .filter((use) => !answered.has(use.id))
}

/** The content of a resource as one message, however many parts it has; none if it is empty. */
function attachedEntries({ messages, because, ...copy }: AttachedCopy): ConversationEntry[] {
  const { server, uri, title, at, tokens } = copy
  const blocks = messages.flatMap(({ content }) => blocksOf(content))
  const [first] = blocks
  if (first === undefined) return []
  return [
    {
      kind: 'message',
      by: because === undefined ? 'person' : 'host',
      message: { role: 'user', content: blocks.length === 1 ? first : blocks },
      attached: { server, uri, title, at, tokens, ...(because !== undefined && { because }) },
    },
  ]
}

function shortenTitle(text: string): string {
  const characters = [...oneLine(text)]
  return characters.length <= maxTitleLength
    ? characters.join('')
    : `${characters.slice(0, maxTitleLength - 1).join('')}…`
}
